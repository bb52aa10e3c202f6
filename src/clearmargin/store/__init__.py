"""Models as files: JSON that people can read, that runs no code when it is loaded."""

from typing import TYPE_CHECKING

from clearmargin.lazy_names import lazy_names

if TYPE_CHECKING:
    from clearmargin.store.document import model_schema
    from clearmargin.store.files import load_model, save_model
    from clearmargin.store.plane_model import PlaneModel

__all__ = ["PlaneModel", "load_model", "model_schema", "save_model"]

# Loaded when first used: a model can be read and asked without scikit-learn (`store.reading`).
_HOME_OF = {
    "PlaneModel": "plane_model",
    "load_model": "files",
    "model_schema": "document",
    "save_model": "files",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
