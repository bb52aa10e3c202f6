"""The master program of sifting: the dual of the 1-norm SVM over some points and some features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.lp_svm.lpsvm import Basis, FloatArray, LPSVMData, signed_bounds
from clearmargin.rules.summation import weighted_sums
from clearmargin.solvers import Linear, Program, Session, Variables

__all__ = ["Master"]

Index = NDArray[np.intp]

# The certificate divides by the largest violation of a row: it must be far below the gap asked for.
_SOLVER_TOL = 1e-9


class Master:
    """A program that grows: points (columns) and features (rows) enter, the basis stays.

    Parameters
    ----------
    data : LPSVMData
        The whole data, normalised.
    features : ndarray of int
        Features to start with.
    window : ndarray of int
        Points to start with.
    fixed : ndarray of shape (m,)
        The signed multipliers alpha of the points outside the window.
    """

    def __init__(self, data: LPSVMData, features: Index, window: Index, fixed: FloatArray):
        self.data = data
        self.fixed = fixed.copy()
        self.in_window = np.zeros(len(data), dtype=np.bool_)
        self.in_window[window] = True
        # In order, so that a block of all points and features is X itself.
        self._points = {"points0": np.sort(window)}
        self._features = {"features0": np.sort(features)}
        self._taken = weighted_sums(data.X, self.fixed)
        self._session = Session(
            self._first_program(), method="dual", tol=_SOLVER_TOL, presolve=False
        )

    @property
    def features(self) -> Index:
        """All features in the master."""
        return np.concatenate(list(self._features.values()))

    def solve(self) -> tuple[FloatArray, float, FloatArray]:
        """Give weights and intercept (zero for features outside) and the signed multipliers of all points."""
        answer = self._session.solve(explain=False)
        w = np.zeros(self.data.X.shape[1])
        for name, index in self._features.items():
            w[index] = -answer.duals[name]
        alpha = self.fixed.copy()
        for name, index in self._points.items():
            alpha[index] = answer.values[name]
        b = -float(answer.duals["balance"][0]) if self.data.fit_intercept else 0.0
        return w, b, alpha

    def basis(self) -> Basis | None:
        """Where the last solution was, if its number of points on the margin is that of its unknowns."""
        columns, rows = self._session.basic()
        points = [index[columns[name]] for name, index in self._points.items()]
        features = [np.delete(index, rows[name]) for name, index in self._features.items()]
        with_intercept = self.data.fit_intercept and not len(rows["balance"])
        basis = Basis(np.concatenate(points), np.concatenate(features), with_intercept)
        size = len(basis.features) + int(with_intercept)
        return basis if len(basis.points) == size else None

    def add_points(self, index: Index) -> None:
        """Let points into the window; their multipliers are no longer fixed."""
        if not len(index):
            return
        name = f"points{len(self._points)}"
        self.fixed[index] = 0.0
        self.in_window[index] = True
        self._points[name] = index
        terms = {row: self._block(index, features) for row, features in self._features.items()}
        if self.data.fit_intercept:
            terms["balance"] = np.ones((1, len(index)))
        self._session.add_columns(self._columns(name), terms)
        self._taken = weighted_sums(self.data.X, self.fixed)
        self._refresh_limits()

    def add_features(self, index: Index) -> None:
        """Let features in, as rows."""
        if not len(index):
            return
        name = f"features{len(self._features)}"
        self._features[name] = index
        self._session.add_rows(self._rows(name))

    def set_penalty(self, penalty: float) -> None:
        """Go on with another penalty, from where the last solution was."""
        self.data = replace(self.data, penalty=penalty)
        self._refresh_limits()

    def _first_program(self) -> Program:
        blocks: list[Variables | Linear] = [self._columns("points0"), self._rows("features0")]
        if self.data.fit_intercept:
            blocks.append(Linear("balance", {"points0": 1.0}, *self._balance()))
        return Program(blocks)

    def _columns(self, name: str) -> Variables:
        index = self._points[name]
        y, cost = self.data.y[index], self.data.cost[index]
        return Variables(name, len(index), *signed_bounds(y, cost), cost=-y)

    def _rows(self, name: str) -> Linear:
        features = self._features[name]
        terms = {block: self._block(points, features) for block, points in self._points.items()}
        return Linear(name, terms, *self._limits(features))

    def _block(self, points: Index, features: Index) -> Any:
        """The part of X' that belongs to some points and features."""
        X = self.data.X
        rows = X if len(points) == X.shape[0] else X[points]
        return rows.T if len(features) == X.shape[1] else rows[:, features].T

    def _limits(self, features: Index) -> tuple[FloatArray, FloatArray]:
        """What the fixed multipliers leave of the rows' range."""
        taken = self._taken[features]
        return -self.data.penalty - taken, self.data.penalty - taken

    def _balance(self) -> tuple[float, float]:
        missing = -float(self.fixed.sum())
        return missing, missing

    def _refresh_limits(self) -> None:
        for name, features in self._features.items():
            self._session.set_limits(name, *self._limits(features))
        if self.data.fit_intercept:
            self._session.set_limits("balance", *self._balance())
