"""Models as files: JSON that people can read, that runs no code when it is loaded."""

from clearmargin.store.files import load_model, save_model
from clearmargin.store.plane_model import PlaneModel

__all__ = ["PlaneModel", "load_model", "save_model"]
