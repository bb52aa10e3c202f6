from .lpsvc import (
    LPSVC as LPSVC,
)
from .lpsvccv import (
    LPSVCCV as LPSVCCV,
)
from .proximal import (
    ProximalSVC as ProximalSVC,
)

__all__ = ["LPSVC", "LPSVCCV", "ProximalSVC"]
