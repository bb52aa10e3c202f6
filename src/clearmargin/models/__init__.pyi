from .model_document import (
    model_schema as model_schema,
)
from .plane_model import (
    PlaneModel as PlaneModel,
)
from .saving import (
    load_model as load_model,
)
from .saving import (
    save_model as save_model,
)

__all__ = ["PlaneModel", "load_model", "model_schema", "save_model"]
