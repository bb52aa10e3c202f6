"""Mathematical programs as values, the solvers behind them, and solutions that prove themselves.

`Program` (named blocks) -> `solve` or a `Session` -> `Solution`. Nothing here knows of data sets, estimators
or rules.
"""

from clearmargin.optim.block import Cone, Linear, Quadratic, Variables
from clearmargin.optim.conflict import Conflict, Demand, find_conflict
from clearmargin.optim.matrix import Matrix
from clearmargin.optim.program import Program
from clearmargin.optim.residual import Residual, Residuals
from clearmargin.optim.session import Session
from clearmargin.optim.solution import Solution
from clearmargin.optim.solve import solve

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
