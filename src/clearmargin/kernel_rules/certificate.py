"""The proof that a kernel machine gives one class everywhere in a box."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.box_search import decide
from clearmargin.models.kernel_machine import KernelMachine, read_machine
from clearmargin.rules import Box, Domain, FeatureSpace
from clearmargin.rules.rule import as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.validation import check_whole

# Features of a witness that are rounded to whole numbers in every way; further ones to the nearest.
_MAX_BROKEN = 3
# Combinations of categories that are looked at one by one; of more, the hull of their 0/1 columns is proved.
_MAX_COMBINATIONS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """The answer to the question whether a kernel machine gives one class everywhere in a box.

    Parameters
    ----------
    status : {"proved", "refuted", "unknown"}
        The answer.
    witness : ndarray of shape (n,) or None
        For "refuted" a case of the box that the model classifies otherwise, in the user's units: inside of open bounds,
        with one category of each feature, given by its code, and whole numbers where the space has them.
    nodes : int
        How many boxes were looked at.
    bound : float
        For "proved" a positive number that the decision function does not go below in the box (with three or more
        classes, no duel of the class).

    Examples
    --------
    >>> Certificate("unknown", None, 10, -0.5).is_proved
    False
    """

    status: Literal["proved", "refuted", "unknown"]
    witness: FloatArray | None
    nodes: int
    bound: float

    @property
    def is_proved(self) -> bool:
        """Whether the class was proved."""
        return self.status == "proved"


def certify(
    estimator: Any,
    box: Box,
    label: Any,
    *,
    space: FeatureSpace | None = None,
    budget: int = 20_000,
    time_limit: float | None = None,
) -> Certificate:
    """Prove or refute that a kernel machine gives a class everywhere in a box.

    The decision function is bounded from below over the box, and the box is halved where the bound is not good enough,
    until it is positive everywhere or a point is found at which the model predicts another class. Bounds allow for
    every rounding of floating-point arithmetic, so "proved" holds for the decision function in real arithmetic.

    Parameters
    ----------
    estimator : fitted estimator
        An `SVC`, `NuSVC` or `OneClassSVM` with a linear, polynomial or RBF kernel, bare or at the end of a
        pipeline of scalers, selections and one-hot encoders.
    box : Box
        Over the features of the table, in the user's units.
    label : class
        The class in question; 1 (inside) or -1 (outside) for a one-class machine.
    space : FeatureSpace, optional
        Where features live: the box ends there, whether it is infinite or only larger, and the answer is about that
        part of it. A kernel machine is proved over finite boxes. Where the space has whole numbers, the answer is about
        cases with whole numbers, and so is the witness. Features and categories are counted as in the space, and found
        by their names; without a space, or where the model knows other names, as in the model.
    budget : int, default 20000
        Most boxes to look at.
    time_limit : float, optional
        Seconds of the processor after which the answer is "unknown".

    Returns
    -------
    Certificate
        The answer, with a witness where the class was refuted.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> model = SVC(gamma=1.0, C=10.0).fit([[0.0], [1.0], [3.0], [4.0]], ["near", "near", "far", "far"])
    >>> certify(model, Box([0.0], [1.5]), "near").status
    'proved'
    >>> certify(model, Box([0.0], [3.0]), "near").status
    'refuted'
    """
    check_whole("budget", budget, 1)
    if time_limit is not None and not time_limit > 0.0:
        raise InvalidValueError(f"time_limit is {time_limit}; give seconds above 0, or None")
    machine = read_machine(estimator)
    k = class_position(machine, label)
    _check_box(machine, box, space)
    order = _Order.of(machine, space)
    n = len(machine.encoding.space)
    whole = np.zeros(n, np.bool_) if space is None else space.integer[order.feature]
    cases = Domain(FeatureSpace([str(j) for j in range(n)], integer=whole))
    # Boxes whose real points are all that is left to decide; a witness that is no possible case cuts one in two.
    waiting = [cases.round_to_values(order.to_model(box, space))]
    nodes, bound = 0, np.inf
    end = np.inf if time_limit is None else time.process_time() + time_limit
    while waiting:
        left = None if time_limit is None else max(0.0, end - time.process_time())
        if left == 0.0 or (nodes and nodes >= budget):
            return Certificate("unknown", None, nodes, -np.inf)
        asked = waiting.pop()
        found = _decide_box(machine, k, asked, budget - nodes, left)
        nodes += found.nodes
        bound = min(bound, found.bound)
        if found.status == "unknown":
            return Certificate("unknown", None, nodes, found.bound)
        if found.row is not None:
            row = _whole_witness(machine, k, found.row, asked, whole)
            if row is not None:
                return Certificate("refuted", order.from_model(row), nodes, found.bound)
            waiting += _parts(asked, found.row, whole, cases)
    return Certificate("proved", None, nodes, float(bound))


class _Found(NamedTuple):
    """What was found of one box: a status, for "refuted" a row of it, the work and the bound."""

    status: Literal["proved", "refuted", "unknown"]
    row: FloatArray | None
    nodes: int
    bound: float


def _decide_box(
    machine: KernelMachine, k: int, asked: Box, budget: int, time_limit: float | None
) -> _Found:
    """Prove or refute a class over all real points of a box, with one category of each feature."""
    lower, upper, exact = encoded_boxes(machine, asked)
    function = machine.region(k)
    low, high = machine.box_to_machine(lower, upper)
    nodes, bound, left = 0, np.inf, time_limit
    start = time.process_time()
    for part in range(len(low)):
        if nodes >= budget or (part and left is not None and left <= 0.0):
            return _Found("unknown", None, nodes, -np.inf)
        verdict = decide(function, low[part], high[part], max_nodes=budget - nodes, time_limit=left)
        nodes += verdict.nodes
        if verdict.status == "refuted" and verdict.witness is not None:
            encoded, row = _in_user_units(machine, verdict.witness, lower[part], upper[part], asked)
            # Between categories: the one that it is nearest to, if that is a witness as well.
            if not exact:
                row = _with_one_category(machine, encoded, row, asked)
                encoded = _encoded(machine, row, encoded)
            if asked.contains(row[None])[0] and _predicts_otherwise(machine, encoded, k):
                return _Found("refuted", row, nodes, verdict.bound)
        if verdict.status != "proved":
            return _Found("unknown", None, nodes, verdict.bound)
        if time_limit is not None:
            left = time_limit - (time.process_time() - start)
        bound = min(bound, verdict.bound)
    return _Found("proved", None, nodes, float(bound))


def _with_one_category(
    machine: KernelMachine, encoded: FloatArray, row: FloatArray, box: Box
) -> FloatArray:
    """Return a row with the allowed category whose column is largest, for each categorical feature."""
    best: dict[int, tuple[float, int]] = {}
    for column, (j, code) in enumerate(machine.encoding.sources):
        if code is not None and _allows(box, j, code):
            best[j] = max(best.get(j, (-np.inf, code)), (float(encoded[column]), code))
    chosen = row.copy()
    for j, (_, code) in best.items():
        chosen[j] = code
    return chosen


def _encoded(machine: KernelMachine, row: FloatArray, start: FloatArray) -> FloatArray:
    """Return the encoded columns of a row; those that the machine does not look at stay as they are."""
    encoded = start.copy()
    for column, (j, code) in enumerate(machine.encoding.sources):
        if code is not None:
            encoded[column] = float(row[j] == code)
        elif column in machine.source:
            encoded[column] = row[j]
    return encoded


def _whole_witness(
    machine: KernelMachine, k: int, row: FloatArray, box: Box, whole: BoolArray
) -> FloatArray | None:
    """Return a row with whole numbers beside a witness that is one as well; None where there is none."""
    broken = np.flatnonzero(whole & (row != np.floor(row)))[:_MAX_BROKEN]
    start = np.zeros(len(machine.encoding.sources))
    for ends in itertools.product((np.rint, np.floor, np.ceil), repeat=len(broken)):
        near = np.where(whole, np.rint(row), row)
        near[broken] = [end(row[j]) for end, j in zip(ends, broken, strict=True)]
        inside = box.contains(near[None])[0]
        if inside and _predicts_otherwise(machine, _encoded(machine, near, start), k):
            return near
    return None


def _parts(box: Box, row: FloatArray, whole: BoolArray, cases: Domain) -> list[Box]:
    """Return a box without the strip between two whole numbers in which a row lies."""
    j = int(np.flatnonzero(whole & (row != np.floor(row)))[0])
    below, above = box.upper.copy(), box.lower.copy()
    below[j], above[j] = np.floor(row[j]), np.ceil(row[j])
    flags = box.lower_closed, box.upper_closed, box.sets
    halves = Box(box.lower, below, *flags), Box(above, box.upper, *flags)
    return [half for half in halves if not cases.round_to_values(half).is_empty]


def class_position(machine: KernelMachine, label: Any) -> int:
    """Give the position of a class, or say which classes there are."""
    plain = as_label(label)
    if plain not in machine.classes:
        hint = nearest_name(str(plain), map(str, machine.classes))
        listed = ", ".join(map(repr, machine.classes))
        raise InvalidValueError(
            f"{plain!r} is no class of the model{hint}; its classes are {listed}"
        )
    return machine.classes.index(plain)


def _check_box(machine: KernelMachine, box: Box, space: FeatureSpace | None) -> None:
    if not isinstance(box, Box):
        raise InvalidValueError(f"box must be a Box, not {type(box).__name__}")
    if space is not None and not isinstance(space, FeatureSpace):
        raise InvalidValueError(f"space must be a FeatureSpace, not {type(space).__name__}")
    n = len(machine.encoding.space)
    if box.n_features != n:
        raise DataError(f"the box has {box.n_features} features, but the model takes {n}")
    if space is not None and len(space) != box.n_features:
        raise DataError(f"space has {len(space)} features, but the box has {box.n_features}")


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """For each feature of the model its position in the user's space, and the model's code of each of its codes."""

    feature: list[int]
    codes: list[dict[int, int] | None]

    @classmethod
    def of(cls, machine: KernelMachine, space: FeatureSpace | None) -> _Order:
        known = machine.encoding.space
        if space is None or set(space.names) != set(known.names):
            return cls(list(range(len(known))), [None] * len(known))
        feature = [space.index(name) for name in known.names]
        codes: list[dict[int, int] | None] = []
        for categories, f in zip(known.categories, feature, strict=True):
            given = space.categories[f]
            if categories is None or given is None:
                codes.append(None)
            else:
                codes.append(
                    {
                        c: categories.index(kind)
                        for c, kind in enumerate(given)
                        if kind in categories
                    }
                )
        return cls(feature, codes)

    def to_model(self, box: Box, space: FeatureSpace | None) -> Box:
        """Return the box as the model counts, with the ends of the space where it has none of its own."""
        if box.missing:
            raise InvalidValueError(
                f"the region asks for cases in which feature {box.missing[0]} is missing, and a kernel machine has no "
                "score there; certify a region of values"
            )
        f = self.feature
        lower, upper = box.lower[f], box.upper[f]
        lower_closed, upper_closed = box.lower_closed[f], box.upper_closed[f]
        sets = {}
        for j, given in enumerate(f):
            if given in box.sets:
                codes = self.codes[j]
                known = box.sets[given]
                sets[j] = known if codes is None else [codes[c] for c in known if c in codes]
        if space is not None:
            free = np.array([j not in sets for j in range(len(f))], dtype=np.bool_)
            below, above = free & (space.lower[f] > lower), free & (space.upper[f] < upper)
            lower = np.where(below, space.lower[f], lower)
            upper = np.where(above, space.upper[f], upper)
            lower_closed, upper_closed = lower_closed | below, upper_closed | above
        return Box(lower, upper, lower_closed, upper_closed, sets)

    def from_model(self, row: FloatArray) -> FloatArray:
        """Return a row as the user counts."""
        given = np.empty_like(row)
        for j, (feature, codes) in enumerate(zip(self.feature, self.codes, strict=True)):
            back = {inner: code for code, inner in (codes or {}).items()}
            given[feature] = back.get(int(row[j]), row[j]) if codes else row[j]
        return given


def encoded_boxes(machine: KernelMachine, box: Box) -> tuple[FloatArray, FloatArray, bool]:
    """Read a box over the user's features as boxes over encoded columns."""
    encoding = machine.encoding
    feature = np.array([source.feature for source in encoding.sources], dtype=np.intp)
    lower, upper = box.lower[feature].copy(), box.upper[feature].copy()
    combinations, exact = _category_columns(machine, box)
    used = np.zeros(len(feature), dtype=np.bool_)
    used[machine.source] = True
    is_category = np.array([source.code is not None for source in encoding.sources], np.bool_)
    shut = box.lower_closed[feature] & box.upper_closed[feature]
    counted, names = used & ~is_category, encoding.columns.names
    endless = np.flatnonzero(counted & ~(np.isfinite(lower) & np.isfinite(upper)))
    if len(endless):
        raise DataError(
            f"the box has no end in {names[endless[0]]!r}, and a kernel machine is proved over finite boxes; give the "
            "box ends there, or pass space=FeatureSpace.from_data(X), at whose ranges it then ends"
        )
    last = np.where(shut, upper, np.nextafter(upper, -np.inf))
    empty = np.flatnonzero(counted & (lower > last))
    if len(empty):
        raise DataError(f"the box is empty in {names[empty[0]]!r}: no number lies between its ends")
    lower[~used & ~is_category] = upper[~used & ~is_category] = 0.0
    lows, highs = [], []
    for ends in combinations:
        low, high = lower.copy(), upper.copy()
        low[is_category], high[is_category] = ends
        lows.append(low)
        highs.append(high)
    return np.array(lows), np.array(highs), exact


def _category_columns(
    machine: KernelMachine, box: Box
) -> tuple[list[tuple[FloatArray, FloatArray]], bool]:
    """Return the ends of all 0/1 columns: for each combination of allowed categories, or for the hull of all."""
    encoding = machine.encoding
    groups: dict[int, list[int]] = {}
    for source in encoding.sources:
        if source.code is not None:
            groups.setdefault(source.feature, []).append(source.code)
    allowed = {j: [c for c in codes if _allows(box, j, c)] for j, codes in groups.items()}
    for j, codes in allowed.items():
        if not codes:
            raise DataError(
                f"the box is empty in {encoding.space.names[j]!r}: it allows no category that the model knows"
            )
    columns = [source for source in encoding.sources if source.code is not None]
    if np.prod([float(len(codes)) for codes in allowed.values()]) > _MAX_COMBINATIONS:
        low = np.array([float(allowed[j] == [code]) for j, code in columns])
        return [(low, np.array([float(code in allowed[j]) for j, code in columns]))], False
    found = []
    for one in itertools.product(*allowed.values()):
        chosen = dict(zip(allowed, one, strict=True))
        ends = np.array([float(chosen[j] == code) for j, code in columns])
        found.append((ends, ends))
    return found, True


def _allows(box: Box, feature: int, code: int) -> bool:
    return feature not in box.sets or code in box.sets[feature]


def _in_user_units(
    machine: KernelMachine, witness: FloatArray, lower: FloatArray, upper: FloatArray, box: Box
) -> tuple[FloatArray, FloatArray]:
    """Return a witness as an encoded row within its box, and as a row of the user's features."""
    # An end that does not belong to the box is left for the next number inside.
    first = np.where(box.lower_closed, box.lower, np.nextafter(box.lower, np.inf))
    last = np.where(box.upper_closed, box.upper, np.nextafter(box.upper, -np.inf))
    feature = np.array([source.feature for source in machine.encoding.sources], dtype=np.intp)
    middle = np.where(np.isfinite(lower), lower, 0.0)
    encoded = np.clip(
        machine.from_machine(witness[None, :], middle)[0],
        np.maximum(lower, first[feature]),
        np.minimum(upper, last[feature]),
    )
    # A feature that the machine does not look at may have any value of the box.
    row = np.where(np.isfinite(first), first, np.where(np.isfinite(last), last, 0.0))
    for j, codes in box.sets.items():
        row[j] = min(codes, default=0)
    for column, (j, code) in enumerate(machine.encoding.sources):
        if code is None:
            row[j] = encoded[column] if column in machine.source else row[j]
        elif encoded[column] > 0.5:
            row[j] = code
    return encoded, row


def _predicts_otherwise(machine: KernelMachine, encoded: FloatArray, k: int) -> bool:
    """Check whether the model classifies an encoded row otherwise, with three or more classes by the vote of all."""
    values = machine.function.values(machine.to_machine(encoded[None, :]))[0]
    c = len(machine.classes)
    if c == 2:
        return bool((values[0] > 0) != (k == 1))
    votes = np.zeros(c)
    for value, (first, second) in zip(values, itertools.combinations(range(c), 2), strict=True):
        votes[first if value > 0 else second] += 1
    if machine.breaks_ties:
        return bool(votes.max() > votes[k])
    return int(np.argmax(votes)) != k
