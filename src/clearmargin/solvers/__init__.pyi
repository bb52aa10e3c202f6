from .conflict import (
    Conflict as Conflict,
)
from .conflict import (
    Demand as Demand,
)
from .conflict import (
    find_conflict as find_conflict,
)
from .matrix import (
    Matrix as Matrix,
)
from .program import (
    Cone as Cone,
)
from .program import (
    Linear as Linear,
)
from .program import (
    Program as Program,
)
from .program import (
    Quadratic as Quadratic,
)
from .program import (
    Variables as Variables,
)
from .residual import (
    Residual as Residual,
)
from .residual import (
    Residuals as Residuals,
)
from .session import (
    Session as Session,
)
from .solution import (
    Solution as Solution,
)
from .solving import (
    solve as solve,
)

__all__ = [
    "Cone",
    "Conflict",
    "Demand",
    "Linear",
    "Matrix",
    "Program",
    "Quadratic",
    "Residual",
    "Residuals",
    "Session",
    "Solution",
    "Variables",
    "find_conflict",
    "solve",
]
