"""The linear support vector machine of one cell.

Each pair of classes in the cell gets a linear C-SVM, fitted to scaled points *less their mean*: libsvm keeps the
kernel in single precision, and on a small cell away from the origin the sign of its decision function would be
noise. A class that wins all its duels is the answer; where none does (three classes or more, each beaten by
another) it is the most frequent class of the cell.

Lemma. Let all points of a cell lie within R of some point, and let two classes have n_min <= n_max points there. If
4 C n_min R^2 < 1, then |w| <= 2 C n_min R (the multipliers of both classes have the same sum, at most C n_min), so
f varies by less than 1 over the cell. (a) If n_min < n_max, some point of the larger class has a multiplier below
C, hence y f >= 1 there, and the machine says the larger class all over the cell. (b) If n_min = n_max, all
multipliers are C, w = C sum y_i x_i, and the intercept is any value between bounds; libsvm takes their middle. So
on small cells the loss of the machine is known without fitting it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.cells import Frame, left_sides

__all__ = ["Duels", "fit_duels", "fit_pair", "is_settled"]

# The lemma says 1; libsvm's stopping tolerance of 0.001 asks for a little room.
_SMALL = 0.99


@dataclass(frozen=True, slots=True)
class Duels:
    """Linear decisions between pairs of classes, in the user's units.

    Parameters
    ----------
    pairs : ndarray of int of shape (p, 2)
        Codes of two classes each, the lower one first.
    normals : ndarray of shape (p, n)
        Weights a; the largest is 1 or -1, or all are 0 where one class wins everywhere.
    offsets : ndarray of shape (p,)
        Offsets t: the second class wins where a'x > t, the first elsewhere.
    n_support : int
        Number of points that are support vectors of some machine.
    """

    pairs: IntArray
    normals: FloatArray
    offsets: FloatArray
    n_support: int


def is_settled(smaller: IntArray, squared_radius: FloatArray, C: float) -> BoolArray:
    """Tell for cells whether the lemma applies: smaller count of two classes, squared radius.

    Examples
    --------
    >>> is_settled(np.array([1, 5]), np.array([0.25, 1.0]), C=0.1)
    array([ True, False])
    """
    return np.asarray(4 * C * smaller * squared_radius < _SMALL)


def fit_duels(points: FloatArray, codes: IntArray, frame: Frame, C: float) -> Duels:
    """Fit the machines of a cell.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points of the cell in the user's units.
    codes : ndarray of int of shape (m,)
        Their classes, at least two different ones.
    frame : Frame
        How the data are scaled.
    C : float
        Cost of an error on scaled data.

    Returns
    -------
    Duels
        One linear decision for each pair of classes in the cell.

    Examples
    --------
    >>> frame = Frame(np.zeros(1), np.array([10.0]))
    >>> duels = fit_duels(np.array([[2.0], [4.0]]), np.array([0, 1]), frame, C=0.1)
    >>> duels.normals, duels.offsets
    (array([[1.]]), array([3.]))
    """
    present = np.unique(codes)
    first, second = np.triu_indices(len(present), 1)
    pairs = np.column_stack([present[first], present[second]])
    normals, offsets = np.zeros((len(pairs), points.shape[1])), np.zeros(len(pairs))
    is_support = np.zeros(len(points), dtype=np.bool_)
    scaled = frame.scale(points)
    for p, (negative, positive) in enumerate(pairs):
        members = np.flatnonzero((codes == negative) | (codes == positive))
        mean = scaled[members].mean(axis=0)
        w, intercept, support = fit_pair(scaled[members] - mean, codes[members] == positive, C)
        is_support[members[support]] = True
        normals[p], offsets[p] = _in_units(w, intercept, mean, frame)
    return Duels(pairs, normals, offsets, int(is_support.sum()))


def fit_pair(
    centred: FloatArray,
    positive: BoolArray,
    C: float,
) -> tuple[FloatArray, float, IntArray]:
    """Fit a linear C-SVM of two classes to points whose mean is the origin.

    Parameters
    ----------
    centred : ndarray of shape (m, n)
        Points.
    positive : ndarray of bool of shape (m,)
        Which of them are of the second class; both classes occur.
    C : float
        Cost of an error.

    Returns
    -------
    w : ndarray of shape (n,)
        Weights.
    intercept : float
        Intercept: the second class where w'x + intercept > 0.
    support : ndarray of int
        Indices of the support vectors.

    Examples
    --------
    >>> fit_pair(np.array([[-0.1], [0.1]]), np.array([False, True]), C=0.1)
    (array([0.02]), 0.0, array([0, 1]))
    """
    n_positive = int(positive.sum())
    smaller = min(n_positive, len(positive) - n_positive)
    squared_radius = (centred**2).sum(axis=1).max()
    if 2 * smaller == len(positive) and is_settled(np.array(smaller), squared_radius, C):
        return _closed_form(centred, positive, C)
    machine = SVC(kernel="linear", C=C).fit(centred, positive)
    return machine.coef_[0], float(machine.intercept_[0]), machine.support_.astype(np.intp)


def _closed_form(
    centred: FloatArray,
    positive: BoolArray,
    C: float,
) -> tuple[FloatArray, float, IntArray]:
    """Case (b) of the lemma."""
    signs = np.where(positive, 1.0, -1.0)
    w = C * (signs @ centred)
    scores = centred @ w
    # y f <= 1 for points whose multiplier is C.
    highest = (1 - scores[positive]).min()
    lowest = (-1 - scores[~positive]).max()
    return w, float((highest + lowest) / 2), np.arange(len(centred))


def _in_units(
    w: FloatArray, intercept: float, mean: FloatArray, frame: Frame
) -> tuple[FloatArray, float]:
    """Write w'(z - mean) + intercept > 0 as a'x > t."""
    weights = w / frame.width
    largest = np.abs(weights).max(initial=0.0)
    if largest == 0:
        # One class wins everywhere: 0 > t or not.
        return weights, -1.0 if intercept > 0 else 1.0
    normal = weights / largest
    return normal, float(left_sides(normal, frame.restore(mean)) - intercept / largest)
