"""The 1-norm SVM for a sequence of penalties, each solution starting from the one before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearmargin.lp_svm.lpsvm import LPSVMData, LPSVMSolution, balanced
from clearmargin.lp_svm.lpsvm_sifting import Master, grow, sift_lpsvm, steepest_features
from clearmargin.rules.arithmetic import weighted_sums

__all__ = ["LPSVMPath", "zero_penalty"]

# Up to this many points one master with all of them is kept; beyond it sifting from samples is faster.
_KEPT_POINTS = 8_000
# Below it (with costs of 1) the absolute tolerance of the solver, 1e-9, is no longer small against the rows' limits.
_LEAST_PENALTY = 1e-2


def zero_penalty(data: LPSVMData) -> float:
    """Return a penalty from which on all weights are zero.

    With w = 0 the multipliers of the lighter class are at their costs, and any multipliers of the other one that
    balance them and keep X'alpha within the penalty prove that w = 0 is optimal. Equal shares are one choice,
    so the value is the exact end of the path for balanced classes and above it otherwise.

    Parameters
    ----------
    data : LPSVMData
        The data; its own penalty plays no role.

    Returns
    -------
    float
        The penalty; 0 when no feature tells the classes apart in the mean.

    Examples
    --------
    >>> data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> zero_penalty(data)
    2.0
    """
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    return float(np.abs(weighted_sums(data.X, data.y * u)).max(initial=0.0))


class LPSVMPath:
    """Solutions for one data set and many penalties.

    Going from large penalties to small ones, features enter one by one and the basis of one solution is a good
    start for the next.

    Parameters
    ----------
    data : LPSVMData
        The data; its own penalty plays no role.
    tol : float, default 1e-6
        Relative gap to reach.
    max_iter : int, default 1000
        Most linear programs to solve for one penalty.

    Examples
    --------
    >>> data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> path = LPSVMPath(data)
    >>> [path.solve(penalty).w.tolist() for penalty in (3.0, 1.0)]
    [[0.0], [1.0]]
    """

    def __init__(self, data: LPSVMData, *, tol: float = 1e-6, max_iter: int = 1_000):
        self._unit = float(data.cost.max())
        self._data = replace(data, cost=data.cost / self._unit)
        self._tol = tol
        self._max_iter = max_iter
        self._features = steepest_features(data)
        self._master: Master | None = None

    def solve(self, penalty: float) -> LPSVMSolution:
        """Solve for one penalty, starting from the last solution."""
        data = replace(self._data, penalty=penalty / self._unit)
        if len(data) > _KEPT_POINTS or data.penalty < _LEAST_PENALTY:
            solution = sift_lpsvm(
                data, tol=self._tol, max_iter=self._max_iter, features=self._features
            )
            self._features = np.union1d(self._features, np.flatnonzero(solution.w))
        else:
            solution = grow(self._master_for(data), self._tol, self._max_iter)
        return replace(
            solution,
            u=solution.u * self._unit,
            objective=solution.objective * self._unit,
            bound=solution.bound * self._unit,
        )

    def _master_for(self, data: LPSVMData) -> Master:
        if self._master is None:
            everyone = np.arange(len(data))
            self._master = Master(data, self._features, everyone, np.zeros(len(data)))
        else:
            self._master.set_penalty(data.penalty)
        return self._master
