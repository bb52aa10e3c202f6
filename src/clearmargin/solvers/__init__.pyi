from .highs import (
    Session as Session,
)
from .highs import (
    Solution as Solution,
)
from .highs import (
    solve as solve,
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
    Variables as Variables,
)

__all__ = [
    "Cone",
    "Linear",
    "Program",
    "Session",
    "Solution",
    "Variables",
    "solve",
]
