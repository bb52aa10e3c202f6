"""Models as files: JSON that people can read, that runs no code when it is loaded."""

from importlib import import_module
from typing import TYPE_CHECKING

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


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
