"""The tree as rules: an ordered list of polyhedra that predicts exactly what the tree predicts.

Each leaf gives a rule for each class that it can predict. Premises are the bisectors between its centre and the other
centres of its layer, less those that follow from the others, and the inequalities of its machine. The rules stand
in the order of the layers, and the first rule that covers a row decides: cells of different layers overlap, so a
rule of a later layer by itself is not what the tree predicts everywhere in its region. The very last leaf takes
whatever no rule before it took; its rules do without bisectors, so that the list covers every row.

Tree and rules evaluate the same rows with the same numbers in the same order, and so agree to the last bit, also on
the bisectors themselves. (A dropped row follows with so much room to spare that rounding takes it away only hundreds of
training ranges from the data. Where features are so far from zero, compared with their range, that it could happen
nearer, no row is dropped.)

**Inequalities of a cell that follow from the others** (`needed_rows`). The cell of a centre is {z : v_k'z <= 1 for all
k} once its centre is the origin and each row is divided by its right-hand side. A row r'z <= 1 follows from these, with
room to spare, exactly when

    r = sum lambda_k v_k,   lambda >= 0,   sum lambda_k <= 1 - margin

(Farkas). A nonnegative least-squares problem looks for the multipliers. They are the certificate: because they sum
to less than 1, rows that hold up to an error of rounding imply r'z <= 1 - margin up to the same error, so that
dropping the row changes nothing in floating point either. Where no certificate is found the row stays, which is
always right.

What a solver says of its multipliers is not believed: their signs, what they leave over and the error of computing
that are looked at here. Where they are no least-squares solution (SciPy 1.15.0 gives such ones, with a residual that
is not theirs), the active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) is run
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from clearmargin.exceptions import InvalidValueError, NotLinearError
from clearmargin.rules import Box, FeatureSpace, Polyhedron, Rule, RuleSet
from clearmargin.rules.rule import Label, Proof, Region, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.svm_tree import Layer, Leaf, SVMTree, TrainingRange, bisectors

__all__ = ["exact_rules", "is_implied", "is_void", "needed_rows", "nonnegative_least_squares"]


# A row is dropped with a room of 1e-6 (`needed_rows`); rounding near the data must be far below that.
_ROOM = 1e-9


def exact_rules(
    tree: SVMTree,
    space: FeatureSpace | None = None,
    classes: Iterable[Label] | None = None,
    *,
    data: tuple[FloatArray, IntArray] | None = None,
) -> RuleSet:
    """Write a tree whose leaves decide by planes as an ordered list of rules that agrees with it on every row.

    Rules of the first layer are marked as proved: no rule stands before them that could take a row away, and they
    are what the tree evaluates. Later rules hold only where no earlier one does, and are marked as observed.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    space : FeatureSpace, optional
        The features; by default the names of the tree.
    classes : iterable of labels, optional
        What to call the classes, in the order of the tree; by default as the tree does.
    data : (points, codes), optional
        Rows and the positions of their classes, to count how each rule does by itself.

    Returns
    -------
    RuleSet
        The rules; the first that covers a row decides, and some rule covers each row.

    Examples
    --------
    >>> layer = Layer([[0.0], [4.0]], [(3, 0), (0, 2)], [Leaf("pure", 0, [3, 0]), Leaf("pure", 1, [0, 2])])
    >>> tree = SVMTree([layer], low=[0.0], width=[4.0], names=["size"], classes=["small", "large"])
    >>> print(exact_rules(tree), end="")
    leaf_0: size <= 2 => small
    leaf_1: true => large
    """
    curved = next((k for k, leaf in enumerate(tree.leaves) if not leaf.is_linear), None)
    if curved is not None:
        raise NotLinearError(
            f"leaf {curved} decides by a kernel function, not by planes",
            "exact rules need kernel='linear' and leaves of one class that predict it everywhere; interval rules, "
            "rules_, are there for any tree",
        )
    features = FeatureSpace(tree.names) if space is None else space
    labels = tree.classes if classes is None else tuple(as_label(c) for c in classes)
    if len(labels) != len(tree.classes):
        raise InvalidValueError(
            f"the tree has {len(tree.classes)} classes, but {len(labels)} labels were given for them"
        )
    rules = [
        Rule(region, labels[code], origin="extracted", proof=proof, name=f"leaf_{number}")
        for number, proof, code, rows in _premises(tree)
        if (region := _region(rows)) is not None
    ]
    listed = RuleSet(rules, features, labels)
    return listed if data is None else _counted(listed, tree, *data)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Inequalities in the user's units."""

    A: FloatArray
    b: FloatArray
    strict: BoolArray

    def and_also(self, other: _Rows) -> _Rows:
        return _Rows(
            np.vstack([self.A, other.A]),
            np.append(self.b, other.b),
            np.append(self.strict, other.strict),
        )

    @classmethod
    def none(cls, n_features: int) -> _Rows:
        return cls(np.empty((0, n_features)), np.empty(0), np.empty(0, dtype=np.bool_))


def _premises(tree: SVMTree) -> Iterator[tuple[int, Proof, int, _Rows]]:
    """Yield for each rule: the number of its leaf, how sure it is, the class and the premise."""
    number, last = 0, tree.n_leaves - 1
    for t, layer in enumerate(tree.layers):
        for cell, leaf in enumerate(layer.leaves):
            if leaf is None:
                continue
            rows, V = _Rows.none(len(tree.names)), np.empty((0, len(tree.names)))
            if number < last:
                rows, V = _cell(layer, cell, tree.frame)
            # The last leaf has no bisectors, so other leaves of its layer lie in its region.
            alone = t == 0 and (number < last or tree.n_leaves == 1)
            for code, extra in _answers(leaf, layer.centres[cell], V, tree.frame):
                yield number, "proved" if alone else "observed", code, rows.and_also(extra)
            number += 1


def _cell(layer: Layer, cell: int, frame: TrainingRange) -> tuple[_Rows, FloatArray]:
    """Return the bisectors that a cell needs, and the same rows as V z <= 1 around its centre on scaled data."""
    others = np.delete(np.arange(len(layer.centres)), cell)
    scaled = frame.scale(layer.centres)
    steps = scaled[others] - scaled[cell]
    squared = (steps**2).sum(axis=1)
    apart = squared > 0  # an equal centre further down takes nothing away
    others, V = others[apart], 2 * steps[apart] / squared[apart, None]
    if _noise(layer.centres, squared[apart], frame) < _ROOM:
        needed = needed_rows(V)
        others, V = others[needed], V[needed]
    else:
        V = V[:0]  # nothing follows from no rows
    A, b = bisectors(layer.centres, frame.width, np.full(len(others), cell), others)
    return _Rows(A, b, others < cell), V


def _noise(centres: FloatArray, squared: FloatArray, frame: TrainingRange) -> float:
    """Bound the error of the evaluation of a row near the data, relative to its right-hand side around the centre.

    A row is a sum of n products; its weights grow with the distance to the other centre, the right-hand side with the
    square of it, so that the nearest centre has the largest relative error.
    """
    reach = np.abs(centres).max(axis=0) + np.abs(frame.low)
    magnitude = float((reach / frame.width).sum())
    eps = float(np.finfo(np.float64).eps)
    return 4 * (len(reach) + 4) * eps * magnitude / math.sqrt(squared.min(initial=math.inf))


def _answers(
    leaf: Leaf, centre: FloatArray, V: FloatArray, frame: TrainingRange
) -> Iterator[tuple[int, _Rows]]:
    """Yield the classes that a leaf can predict within its cell, and what its machine asks for."""
    none = _Rows.none(len(centre))
    if not leaf.pairs:
        yield leaf.label, none
        return
    for code in sorted({code for pair in leaf.pairs for code in pair}):
        duels = [
            (normal, offset, code == second)
            for (first, second), normal, offset in zip(
                leaf.pairs, leaf.normals, leaf.offsets, strict=True
            )
            if code in (first, second)
        ]
        rows = _winning(duels, centre, V, frame)
        if rows is not None:
            yield code, rows
    if len(leaf.pairs) > 1:
        yield leaf.label, none  # no class wins all its duels


def _winning(
    duels: list[tuple[FloatArray, float, bool]],
    centre: FloatArray,
    V: FloatArray,
    frame: TrainingRange,
) -> _Rows | None:
    """Return the inequalities under which a class wins all its duels; None if it cannot within the cell."""
    rows = _Rows.none(len(centre))
    for normal, offset, is_second in duels:
        if not normal.any():
            if (offset < 0) != is_second:
                return None
            continue
        side = _side(normal, offset, is_second)
        if not _follows(side, centre, V, frame):
            rows = rows.and_also(side)
    A, b = _around(rows, centre, frame)
    return None if is_void(np.vstack([V, A]), np.append(np.ones(len(V)), b)) else rows


def _side(normal: FloatArray, offset: float, is_second: bool) -> _Rows:
    """Return the side of a plane on which the second class wins (normal'x > offset), or the other one."""
    sign = -1.0 if is_second else 1.0
    return _Rows(sign * normal[None, :], np.array([sign * offset]), np.array([is_second]))


def _follows(row: _Rows, centre: FloatArray, V: FloatArray, frame: TrainingRange) -> bool:
    """Check whether a row holds all over the cell, with room to spare."""
    (weights,), (limit,) = _around(row, centre, frame)
    # A row that the centre itself does not satisfy does not follow.
    return bool(limit > 0) and is_implied(V, weights / limit)


def _around(rows: _Rows, centre: FloatArray, frame: TrainingRange) -> tuple[FloatArray, FloatArray]:
    """Write rows for scaled data around a centre."""
    widths = np.where(np.isfinite(frame.width), frame.width, 0.0)
    return rows.A * widths, rows.b - rows.A @ centre


def _region(rows: _Rows) -> Region | None:
    """Return the polyhedron of some rows, a box where it is one; None where that is empty."""
    if not len(rows.b):
        return Box.from_intervals({}, rows.A.shape[1])
    region = Polyhedron(rows.A, rows.b, rows.strict)
    # Intervals that only touch, at a point that neither has to itself, are too close to be found void before.
    return None if region.has_unit_rows and region.to_box().is_empty else region


def _counted(rules: RuleSet, tree: SVMTree, points: FloatArray, codes: IntArray) -> RuleSet:
    """Return the same rules with what they cover, each by itself, and how often data and tree agree with them."""
    names = np.array(rules.classes, dtype=object)
    scores = rules.score(points, names[codes], names[tree.decide(points)])
    counted = [
        Rule(
            rule.region,
            rule.label,
            name=rule.name,
            origin=rule.origin,
            proof=rule.proof,
            stats=stats,
        )
        for rule, stats in zip(rules, scores.rules, strict=True)
    ]
    return RuleSet(counted, rules.space, rules.classes)


# Room between a dropped row and the others, far above rounding and far below anything that matters.
_MARGIN = 1e-6
# Largest error of the combination, relative to the row.
_EXACT = 1e-11
_EPS = float(np.finfo(np.float64).eps)


def needed_rows(V: FloatArray) -> BoolArray:
    """Tell which rows of {z : V z <= 1} are needed; all others follow from them.

    Parameters
    ----------
    V : ndarray of shape (k, n)
        The rows.

    Returns
    -------
    ndarray of bool of shape (k,)
        False for rows that are certain to be redundant.

    Examples
    --------
    >>> needed_rows(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.4, 0.4]]))
    array([ True,  True,  True, False])
    """
    squared = (V**2).sum(axis=1)
    kept = ~_beyond_a_box(V, squared)
    # The first row that a ray from the origin meets is needed; each row is tried as a ray.
    met = np.zeros(len(V), dtype=np.bool_)
    met[np.argmax(V @ V[kept].T, axis=0) if len(V) else []] = True
    # Short rows are far away and most likely redundant.
    for k in np.argsort(squared, kind="stable"):
        if kept[k] and not met[k]:
            kept[k] = False
            kept[k] = not is_implied(V[kept], V[k])
    return kept


def _beyond_a_box(V: FloatArray, squared: FloatArray) -> BoolArray:
    """Find rows that hold all over a box around the cell, where the rows nearest to the origin give such a box.

    If e_l = sum lambda_k v_k with lambda >= 0, then z_l <= sum lambda_k in the cell. Bounds on all coordinates
    bound every other row, many at a time; the multipliers of such a row again sum to less than 1.
    """
    n = V.shape[1]
    nearest = np.argsort(-squared, kind="stable")[: 4 * (n + 1)]
    far = np.ones(len(V), dtype=np.bool_)
    far[nearest] = False
    if far.sum() <= 2 * n:  # not worth the 2 n problems
        return np.zeros(len(V), dtype=np.bool_)
    upper, lower = (np.array([_reach(V[nearest], side * e) for e in np.eye(n)]) for side in (1, -1))
    with np.errstate(invalid="ignore"):  # zero times infinity, where a row needs no bound
        most = np.where(V > 0, V * upper, np.where(V < 0, -V * lower, 0.0)).sum(axis=1)
    return np.asarray(far & (most <= 1 - _MARGIN))


def _reach(V: FloatArray, direction: FloatArray) -> float:
    """Return a bound on direction'z wherever V z <= 1, infinite where none is found."""
    multipliers, _, error = nonnegative_least_squares(V.T, direction)
    return float(multipliers.sum()) if error <= _EXACT else np.inf


def is_implied(V: FloatArray, row: FloatArray) -> bool:
    """Tell whether row'z <= 1 - margin is certain wherever V z <= 1.

    Parameters
    ----------
    V : ndarray of shape (k, n)
        The rows that hold.
    row : ndarray of shape (n,)
        The row in question.

    Returns
    -------
    bool
        True with a certificate; False where there is none or it was not found.

    Examples
    --------
    >>> V = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> is_implied(V, np.array([0.5, 0.4])), is_implied(V, np.array([0.5, 0.6]))
    (True, False)
    """
    size = float(np.abs(row).max(initial=0.0))
    if size == 0 or not len(V):
        return size == 0
    # Rows that point into the direction of the one in question nearly always suffice; more enter as they are missed.
    step = V.shape[1] + 1
    working = np.argsort(-(V @ row), kind="stable")[: 2 * step]
    while True:
        error, direction, limit = _combine(V[working], row, size)
        if error <= _EXACT:
            return True
        beyond = V @ direction - limit
        beyond[working] = -np.inf
        missed = np.argsort(-beyond, kind="stable")[:step]
        missed = missed[beyond[missed] > _EXACT]
        if not len(missed):
            return False
        working = np.append(working, missed)


def _combine(V: FloatArray, row: FloatArray, size: float) -> tuple[float, FloatArray, float]:
    """Look for multipliers; give the error of the best ones, and d and t with V d <= t, row'd > (1 - margin) t.

    What is left over by a nonnegative least-squares solution is at an obtuse angle to all columns: that is where d
    and t come from. The point d / t shows that the row does not follow.
    """
    # Columns of comparable size; the last equation bounds the sum, with a slack variable.
    lengths = np.abs(V).max(axis=1)
    system = np.zeros((V.shape[1] + 1, len(V) + 1))
    system[:-1, :-1] = (V / lengths[:, None]).T
    system[-1, :-1] = size / lengths
    system[-1, -1] = 1.0
    wanted = np.append(row / size, 1 - _MARGIN)
    _, left, error = nonnegative_least_squares(system, wanted)
    return error, left[:-1], -size * float(left[-1])


def is_void(A: FloatArray, b: FloatArray) -> bool:
    """Tell whether it is certain that no z satisfies A z <= b.

    By Farkas' lemma there is none exactly when lambda >= 0 exist with A' lambda = 0 and b'lambda = -1.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.

    Returns
    -------
    bool
        True with a certificate; False where there is none or it was not found.

    Examples
    --------
    >>> A = np.array([[1.0], [-1.0]])
    >>> is_void(A, np.array([1.0, -2.0])), is_void(A, np.array([1.0, -1.0]))
    (True, False)
    """
    if not len(b):
        return False
    sizes = np.maximum(np.abs(A).max(axis=1), np.abs(b))
    system = np.vstack([A.T, b]) / sizes
    _, _, error = nonnegative_least_squares(system, np.append(np.zeros(A.shape[1]), -1.0))
    return error <= _EXACT


def nonnegative_least_squares(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Minimise the length of b - A x over x >= 0, and say how good the answer is without asking the solver.

    Parameters
    ----------
    A : ndarray of shape (n, k)
        Columns of comparable size.
    b : ndarray of shape (n,)
        What is to be combined of them.

    Returns
    -------
    x : ndarray of shape (k,)
        Not negative.
    left : ndarray of shape (n,)
        b - A x.
    error : float
        A bound on the length of the true b - A x, rounding included.

    Examples
    --------
    >>> x, left, error = nonnegative_least_squares(np.eye(2), np.array([3.0, -4.0]))
    >>> x, left, round(error, 6)
    (array([3., 0.]), array([ 0., -4.]), 4.0)
    """
    try:
        x = np.maximum(nnls(A, b)[0], 0.0)
    except RuntimeError:  # too many iterations
        x = np.zeros(A.shape[1])
    left = b - (A * x).sum(axis=1)
    if not _is_least(A, b, x, left):
        x = _active_set(A, b)
        left = b - (A * x).sum(axis=1)
    rounding = (A.shape[1] + 2) * _EPS * ((np.abs(A) * x).sum(axis=1) + np.abs(b))
    return x, left, float(np.linalg.norm(np.abs(left) + rounding)) * (1 + 4 * _EPS)


def _is_least(A: FloatArray, b: FloatArray, x: FloatArray, left: FloatArray) -> bool:
    """Return the conditions of optimality: no column could still help, and those in use have given all they can."""
    gains = (A * left[:, None]).sum(axis=0)
    room = 1e-10 * (1.0 + float(np.abs(b).max(initial=0.0))) * np.abs(A).sum(axis=0)
    return bool((gains <= room).all() and (np.abs(gains) <= room)[x > 0].all())


def _active_set(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the method of Lawson and Hanson: let in the column that helps most, take out those that turn negative."""
    k = A.shape[1]
    x, used = np.zeros(k), np.zeros(k, dtype=np.bool_)
    tolerance = 1e-13 * np.abs(A).sum(axis=0) * (1.0 + float(np.abs(b).max(initial=0.0)))
    for _ in range(3 * k + 10):
        gains = np.where(used, -np.inf, (A * (b - (A * x).sum(axis=1))[:, None]).sum(axis=0))
        j = int(np.argmax(gains))
        if used.all() or gains[j] <= tolerance[j]:
            break
        used[j] = True
        while True:
            target = np.zeros(k)
            target[used] = np.linalg.lstsq(A[:, used], b, rcond=None)[0]
            shrinking = used & (target <= 0)
            if not shrinking.any():
                x = target
                break
            # As far towards the target as all stay positive; whoever stops the way goes out.
            way = x[shrinking] / (x[shrinking] - target[shrinking] + np.finfo(np.float64).tiny)
            x = np.maximum(x + float(way.min()) * (target - x), 0.0)
            out = shrinking & (x <= 1e-14 * (1.0 + np.abs(target)))
            out[np.flatnonzero(shrinking)[int(np.argmin(way))]] = True
            x[out], used[out] = 0.0, False
    return x
