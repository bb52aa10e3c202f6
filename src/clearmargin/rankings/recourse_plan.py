"""One case of a model, and what may happen to its features: directions, limits, options and costs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError, NotLinearError
from clearmargin.language.printer import Phrases, format_number
from clearmargin.models.fitted import check_fitted
from clearmargin.models.surface import Source, Surface, read_surface
from clearmargin.models.threshold import find_threshold
from clearmargin.rankings.recourse_milp import Moves
from clearmargin.rule_base.feature_ranges import read_bounds, read_relations
from clearmargin.rule_svm.reading import read_weighted_rules
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules import Domain, FeatureSpace, Polyhedron
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import category_name, nearest_name
from clearmargin.rules.value import FloatArray, IntArray, number
from clearmargin.tables.table import ModelTable, Table, is_frame, is_missing_value

__all__ = [
    "Case",
    "FeatureChange",
    "Plan",
    "RuleCase",
    "Step",
    "make_plan",
    "read_case",
    "read_rule_case",
]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A case with the model that judges it.

    Parameters
    ----------
    model : fitted classifier
        The model.
    surface : Surface
        Its planes in the user's units.
    space : FeatureSpace
        The user's features with what the list X, or the case alone, tells about them.
    values : mapping from name to value
        The case.
    categories : mapping from name to mapping
        For each categorical feature, the user's value of each category.
    frame : Table or None
        A data frame or table of the type that the model takes; None for an array.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> case = read_case(RidgeClassifier().fit(X, ["no", "no", "yes", "yes"]), [4.5], X)
    >>> case.label(), case.label({"x0": 2})
    ('yes', 'no')
    """

    model: Any
    surface: Surface
    space: FeatureSpace
    values: Mapping[str, Any]
    categories: Mapping[str, Mapping[str, Any]]
    frame: Table | None

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes of the model."""
        return self.surface.classes

    def table(self, changed: Mapping[str, Any] | None = None) -> Any:
        """Return the case as a table of one row that the model takes, with some values changed."""
        row = {**self.values, **(changed or {})}
        table = ModelTable.read(self.model, _as_table(row, self.frame)).table
        return table.taken_by(self.model)

    def point(self, changed: Mapping[str, Any] | None = None) -> FloatArray:
        """Return the encoded case, with some values changed."""
        point: FloatArray = self.surface.encode(self.table(changed))[0]
        return point

    def label(self, changed: Mapping[str, Any] | None = None) -> Label:
        """Return the class that the model predicts."""
        with _quiet():
            return as_label(np.ravel(self.model.predict(self.table(changed)))[0])

    def score(self, changed: Mapping[str, Any] | None = None) -> float:
        """Return the score that a model of two classes gives."""
        return float(self.scores(self.table(changed))[0])

    def scores(self, given: Any) -> FloatArray:
        """Return the scores that a model of two classes gives to rows, by its decision function if it has one."""
        has_threshold = find_threshold(self.model) is not None  # from which the plane counts
        if has_threshold or not hasattr(self.model, "decision_function"):
            return self.surface.hyperplane.decision(self.surface.encode(given))
        with _quiet():
            return np.ravel(np.asarray(self.model.decision_function(given), dtype=np.float64))

    def others(self, X: Any, listed: bool | None) -> FloatArray:
        """Return the scores of the rows of a list, without one row that is the case itself."""
        table = ModelTable.read(self.model, X).table
        scores = self.scores(table.taken_by(self.model))
        values = self.surface.read(self.table())
        same = np.flatnonzero((self.surface.read(table) == values).all(axis=1))
        return _without_case(scores, same, listed)


@dataclass(frozen=True, slots=True, eq=False)
class RuleCase:
    """A case with the weighted rules that judge it.

    Parameters
    ----------
    weighted : WeightedRules
        The rules with their weights.
    space : FeatureSpace
        The features, with what the list X, or the rules alone, tell about them.
    values : mapping from name to value
        The case.
    categories : mapping from name to mapping
        For each categorical feature, the user's value of each category.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> from clearmargin.rule_svm import WeightedRules
    >>> rules = parse_rules("bmi >= 30 => ill", classes=["well", "ill"])
    >>> case = read_case(WeightedRules(rules, [2.0], -1.0), [33.0], None)
    >>> case.label(), case.label({"bmi": 29})
    ('ill', 'well')
    """

    weighted: WeightedRules
    space: FeatureSpace
    values: Mapping[str, Any]
    categories: Mapping[str, Mapping[str, Any]]

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes of the rules."""
        return self.weighted.classes

    def code(self, name: str, value: Any) -> float:
        """Return a value as rules read it: NaN where it is missing, -1 for a category that they do not know."""
        if is_missing_value(value):
            return math.nan
        known = self.weighted.space.categories[self.weighted.space.index(name)]
        if known is None:
            return number(value, f"the value of {name!r}")
        category = category_name(value)
        return float(known.index(category)) if category in known else -1.0

    def point(self, changed: Mapping[str, Any] | None = None) -> FloatArray:
        """Return the case as numbers, with some values changed."""
        row = {**self.values, **(changed or {})}
        codes = [self.code(name, row[name]) for name in self.weighted.space.names]
        return np.asarray(self.weighted.space.filled(np.array([codes]))[0])

    def label(self, changed: Mapping[str, Any] | None = None) -> Label:
        """Return the class that the rules predict."""
        return as_label(self.weighted.predict(self.point(changed)[None])[0])

    def scores(self, given: Any) -> FloatArray:
        """Return scores of rows, beyond the threshold where there are two classes: of shape (m, n_scores)."""
        values = np.asarray(self.weighted.decision_function(given))
        return values.reshape(len(values), -1) - self.weighted.threshold

    def others(self, X: Any, listed: bool | None) -> FloatArray:
        """Return the scores of the rows of a list, without one row that is the case itself."""
        table = self.weighted.space.read(X)
        scores = self.scores(table)[:, 0]
        return _without_case(scores, _equal_rows(table, self.point()), listed)


def _equal_rows(table: FloatArray, point: FloatArray) -> IntArray:
    return np.flatnonzero(((table == point) | (np.isnan(table) & np.isnan(point))).all(axis=1))


def _without_case(scores: FloatArray, same: IntArray, listed: bool | None) -> FloatArray:
    """Leave the first row that is equal to the case out, unless it is said that none is the case itself."""
    if listed is False:
        return scores
    if len(same):
        return np.delete(scores, same[0])
    if listed:
        raise DataError(
            "no row of X is equal to the case; add it to the list, or say Rank(n, listed=False)"
        )
    return scores


def read_rule_case(weighted: WeightedRules, x: Any, X: Any) -> RuleCase:
    """Read a case of weighted rules.

    Parameters
    ----------
    weighted : WeightedRules
        The rules with their weights.
    x : data frame of one row, mapping from name to value, or array-like of shape (n,)
        The case; values that may not change may be missing.
    X : data frame or array-like of shape (m, n), or None
        Rows that tell the ranges of the features; by default those of the rules.

    Returns
    -------
    RuleCase
        The case.
    """
    known = weighted.space
    names = Table.read(X).names if X is not None and is_frame(X) else known.names
    given = _read_row(x, names)
    values = {name: _value(given, name) for name in known.names}
    space = known if X is None else _ranges_of(known, X)
    case = RuleCase(weighted, space, values, {})
    return RuleCase(weighted, space, values, _written_categories(case, X))


def _ranges_of(known: FeatureSpace, X: Any) -> FeatureSpace:
    """Return the features of rules with the ranges of a list; whole numbers are those of the list."""
    table = Table.read(X if is_frame(X) else np.asarray(X))
    seen = FeatureSpace.from_data(X)
    places = [
        seen.index(name) if name in seen.names else None if is_frame(X) else j
        for j, name in enumerate(known.names)
    ]
    if len(table.names) < len(known.names) or None in places:
        missing = [n for n, place in zip(known.names, places, strict=True) if place is None]
        raise DataError(f"X lacks the columns {', '.join(map(repr, missing or known.names))}")
    lower, upper, integer = known.lower.copy(), known.upper.copy(), known.integer.copy()
    for j, place in enumerate(places):
        if known.categories[j] is None and place is not None and seen.categories[place] is None:
            lower[j], upper[j] = seen.lower[place], seen.upper[place]
            integer[j] = seen.integer[place]
    return FeatureSpace(known.names, lower, upper, integer, known.categories)


def read_case(model: Any, x: Any, X: Any) -> Case | RuleCase:
    """Read a case and the surface of its model.

    Parameters
    ----------
    model : fitted classifier, or WeightedRules
        Linear, possibly after affine steps; or rules with weights, such as those of a `RuleSVC`.
    x : data frame of one row, mapping from name to value, or array-like of shape (n,)
        The case.
    X : data frame or array-like of shape (m, n), or None
        Rows that tell the ranges of the features.

    Returns
    -------
    Case or RuleCase
        The first without missing values.
    """
    weighted = read_weighted_rules(model)
    if weighted is not None:
        return read_rule_case(weighted, x, X)
    check_fitted(model)
    names = _table_names(model, X)
    values = _read_row(x, names)
    frame = _frame_like(model, x, X)
    base = _as_table(values, frame) if X is None else X
    if X is None and names is None:
        _check_width(model, values)
    try:
        surface = read_surface(model, base)
    except NotLinearError as error:
        raise InvalidValueError(
            f"{error.problem}; recourse needs a linear model, such as LPSVC or SVC(kernel='linear'), alone or after "
            "steps that scale, select or one-hot encode"
        ) from None
    values = {name: _value(values, name) for name in surface.space.names}
    case = Case(model, surface, surface.space, values, {}, frame)
    _check_known(case)
    space = _space_of(case) if X is None else surface.space
    return Case(model, surface, space, values, _written_categories(case, X), frame)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        yield


def _table_names(model: Any, X: Any) -> tuple[str, ...] | None:
    if X is not None and is_frame(X):
        return Table.read(X).names
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        return tuple(str(name) for name in known)
    if X is None:
        return None
    return tuple(f"x{j}" for j in range(np.shape(X)[1] if np.ndim(X) == 2 else 0))


def _read_row(x: Any, names: tuple[str, ...] | None) -> dict[str, Any]:
    if is_frame(x):
        if len(x) != 1:
            raise DataError(f"x must be one case, not a table of {len(x)} rows; pass X.iloc[[k]]")
        return {column.name: _plain(column.values[0]) for column in Table.read(x).all_columns()}
    # The keys of a series are its labels, but it runs over its values.
    keys_of = getattr(x, "keys", list)
    labels = [label for label in keys_of() if isinstance(label, str)]
    if labels and len(labels) == len(x):
        return {label: _scalar(label, x[label]) for label in labels}
    array = np.asarray(x)
    if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
        array = np.asarray(x, dtype=object)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1:
        raise DataError(
            f"x must be one case (a data frame of one row, a mapping or one row of values), not of shape {array.shape}"
        )
    known = names or tuple(f"x{j}" for j in range(len(array)))
    if len(known) != len(array):
        raise DataError(f"x has {len(array)} values, but the table has {len(known)} columns")
    return dict(zip(known, map(_plain, array), strict=True))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _scalar(name: str, value: Any) -> Any:
    if np.ndim(value):
        raise DataError(f"the value of {name!r} must be a single one, not {value!r}")
    return _plain(value)


def _value(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        raise DataError(f"the case has no value for {name!r}")
    return values[name]


def _check_width(model: Any, values: Mapping[str, Any]) -> None:
    expected = getattr(model, "n_features_in_", len(values))
    if len(values) != expected:
        raise DataError(
            f"x has {len(values)} values, but the model was fitted to {expected} columns"
        )


def _frame_like(model: Any, x: Any, X: Any) -> Table | None:
    for table in (X, x):
        if table is not None and is_frame(table):
            return Table.read(table)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else Table.read({str(name): [] for name in names})


def _as_table(row: Mapping[str, Any], frame: Table | None) -> Any:
    if frame is not None:
        return frame.make_named({name: [value] for name, value in row.items()})
    values = list(row.values())
    are_numbers = all(isinstance(value, int | float) for value in values)
    return np.array([values], dtype=np.float64 if are_numbers else object)


def _check_known(case: Case) -> None:
    wrong = np.flatnonzero(~np.isfinite(case.point()))
    if len(wrong):
        name = case.surface.space.names[case.surface.sources[wrong[0]].feature]
        raise DataError(
            f"the value of {name!r} is {case.values[name]}, and a case with missing or infinite values has no place "
            "beside the plane; fill it in first"
        )


def _space_of(case: Case) -> FeatureSpace:
    """Return the features of a single row: without ranges, and whole only where a number was given as an integer."""
    known = case.surface.space
    integer = [isinstance(value, int) for value in case.values.values()]
    return FeatureSpace(known.names, integer=integer, categories=known.categories)


def _written_categories(case: Case | RuleCase, X: Any) -> dict[str, dict[str, Any]]:
    """Return for each categorical feature how the user writes each category."""
    space = case.surface.space if isinstance(case, Case) else case.space
    columns = {} if X is None else {c.name: c for c in Table.read(X).columns_of(space.names)}
    found: dict[str, dict[str, Any]] = {}
    for name, categories in zip(space.names, space.categories, strict=True):
        if categories is None:
            continue
        value = case.values[name]
        written = columns[name].written if name in columns else {}
        if not is_missing_value(value):
            written = {**written, category_name(value): value}
        found[name] = {c: written.get(c, _alike(c, value)) for c in categories}
    return found


def _alike(category: str, value: Any) -> Any:
    """Return a category that does not occur, written like one that does."""
    if isinstance(value, bool):
        return category == "True"
    if isinstance(value, int | float):
        return type(value)(float(category))
    return category


# Enough digits for people; a value is rounded away from where it came from, so that it still suffices.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """Another value of one feature.

    Parameters
    ----------
    feature : str
        Its name.
    before, after : number, text or bool
        Its values, in the user's units.
    cost : float
        What the change costs.

    Examples
    --------
    >>> print(FeatureChange("bmi", 31.2, 27.0, 0.1))
    bmi were 27 instead of 31.2
    """

    feature: str
    before: Any
    after: Any
    cost: float

    def __str__(self) -> str:
        after = self.after
        if isinstance(after, float) and not after.is_integer():
            after = (round_up if after > self.before else round_down)(after, _DIGITS)
        return f"{self.feature} were {_say(after)} instead of {_say(self.before)}"


def _say(value: object) -> str:
    if isinstance(value, float):
        return format_number(value)
    return str(value)


_DIRECTIONS = ("any", "increase", "decrease")
# How far from equality floats that should satisfy an equation may be, relative to its terms.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """One move in the user's words.

    Parameters
    ----------
    name : str
        The feature.
    cost : float
        Cost per unit.
    least, most : float
        The amounts that are allowed.
    integer : bool
        Whether the amount is a whole number.
    sign : {1, -1, 0}
        Whether a number goes up or down by the amount; 0 for an option.
    value : Any
        The bound that the number must not pass, or the option.
    leaves : str, optional
        The 0/1 column of the category that is given up, where the options of a feature are columns.

    Examples
    --------
    >>> Step("age", 1.0, 0.0, 5.0, True, 1, 40.0).after(35, 3.0)
    38
    """

    name: str
    cost: float
    least: float
    most: float
    integer: bool
    sign: int
    value: Any
    leaves: str | None = None

    def after(self, before: Any, amount: float) -> Any:
        """Return the new value."""
        if self.sign == 0:
            return self.value
        limit = min if self.sign > 0 else max
        moved = limit(_at_least(float(before), self.sign, amount), float(self.value))
        return type(before)(moved) if self.integer and isinstance(before, int) else moved


def _at_least(before: float, sign: int, amount: float) -> float:
    """Return the first float that is an amount away: one that is nearer would gain too little."""
    exact = Fraction(before) + sign * Fraction(amount)
    nearest = float(exact)
    too_near = nearest < exact if sign > 0 else nearest > exact
    return math.nextafter(nearest, sign * math.inf) if too_near else nearest


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All moves that are allowed.

    Parameters
    ----------
    case : Case
        The case.
    steps : tuple of Step
        The moves.
    allowed : tuple of str
        The features that were declared actionable.
    groups : tuple of tuple of str
        Names of 0/1 columns of which exactly one is 1.
    relations : Polyhedron, optional
        What holds between the features, before and after the change.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from clearmargin.rankings.recourse_plan import read_case
    >>> X = [[0.0], [1.5], [4.0], [5.0]]
    >>> case = read_case(RidgeClassifier().fit(X, ["no", "no", "yes", "yes"]), [4.5], X)
    >>> [(step.sign, step.most) for step in make_plan(case, ["x0"], None, None).steps]
    [(1, 0.5), (-1, 4.5)]
    """

    case: Case | RuleCase
    steps: tuple[Step, ...]
    allowed: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    relations: Polyhedron | None = None

    @property
    def slacks(self) -> FloatArray:
        """By how much the left-hand side of each relation may grow."""
        if self.relations is None:
            return np.zeros(0)
        values = _numbers(self.case.values, self.case.space)
        return np.array(
            [
                -exact_score(row, values, -float(limit))
                for row, limit in zip(self.relations.A, self.relations.b, strict=True)
            ]
        )

    def satisfies_relations(self, changes: tuple[FeatureChange, ...]) -> bool:
        """Check whether the case satisfies the relations after some changes; of an equation, but for rounding."""
        if self.relations is None:
            return True
        after = {**self.case.values, **{change.feature: change.after for change in changes}}
        return _violated(self.relations, _numbers(after, self.case.space)) is None

    def place(self, name: str) -> int:
        """Return the position of a feature; the columns of a group are one feature, at the first of their places."""
        group = next((columns for columns in self.groups if name in columns), (name,))
        return self.case.space.index(group[0])

    def moves(self, coef: FloatArray) -> Moves:
        """Return the moves with what they add to scores, whose weights over the encoded columns are the rows of `coef`.

        What they take away from the slacks of relations stands in further rows, with the other sign.
        """
        assert isinstance(self.case, Case)
        place = {source: k for k, source in enumerate(self.case.surface.sources)}
        # A feature that the model drops, and a category that it does not know, have no column.
        weights = np.column_stack([coef, np.zeros(len(coef))])
        entries = []
        for step in self.steps:
            j = self.case.space.index(step.name)
            categories, before = self.case.space.categories[j], self.case.values[step.name]
            if categories is None:
                amount = step.sign or float(step.value) - float(before)
                gain = weights[:, place.get(Source(j, None), -1)] * amount
                if step.leaves is not None:
                    old = self.case.space.index(step.leaves)
                    gain = gain - weights[:, place.get(Source(old, None), -1)]
            else:
                code = {c: place.get(Source(j, k), -1) for k, c in enumerate(categories)}
                old, new = (code.get(category_name(v), -1) for v in (before, step.value))
                gain = weights[:, new] - weights[:, old]
            gain = np.concatenate([gain, -self._growth(step)])
            feature = self.place(step.name)
            entries.append((feature, gain, step.cost, step.least, step.most, step.integer))
        return Moves.of(entries)

    def _growth(self, step: Step) -> FloatArray:
        """Return by how much one unit of a move makes the left-hand side of each relation grow."""
        space = self.case.space
        j = space.index(step.name)
        if self.relations is None or space.categories[j] is not None:
            return np.zeros(0 if self.relations is None else len(self.relations.b))
        amount = step.sign or float(step.value) - float(self.case.values[step.name])
        growth = self.relations.A[:, j] * amount
        if step.leaves is not None:
            growth = growth - self.relations.A[:, space.index(step.leaves)]
        return np.asarray(growth)

    def changes(self, amounts: FloatArray) -> tuple[FeatureChange, ...]:
        """Return what amounts of the moves come to."""
        made = []
        for step, amount in zip(self.steps, amounts.tolist(), strict=True):
            before = self.case.values[step.name]
            after = step.after(before, amount) if amount > 0 else before
            if after != before:
                made.append(FeatureChange(step.name, before, after, step.cost * amount))
                if step.leaves is not None:
                    left = self.case.values[step.leaves]
                    made.append(FeatureChange(step.leaves, left, type(left)(0), 0.0))
        return tuple(made)


def make_plan(case: Case | RuleCase, actionable: Any, costs: Any, bounds: Any) -> Plan:
    """Read what may change, within which bounds and at what cost.

    Parameters
    ----------
    case : Case
        The case.
    actionable, costs, bounds
        As in `recourse`.

    Returns
    -------
    Plan
        The moves.
    """
    wishes = _read_actionable(actionable, case.space)
    prices = _read_costs(costs, case.space)
    space, declared = _read_bounds(bounds, case.space)
    groups = _read_columns_of_groups(bounds, case)
    relations = read_relations(bounds, case.space)
    if relations is not None:
        _check_relations(relations, case)
    steps: list[Step] = []
    for columns in groups:
        steps += _group_steps(case, columns, wishes, prices)
    grouped = {name for columns in groups for name in columns}
    for name, wish in wishes.items():
        if name in grouped:
            continue
        j = space.index(name)
        if space.categories[j] is not None:
            steps += _category_steps(case, name, wish, prices.get(name, 1.0))
            continue
        if is_missing_value(case.values[name]):
            raise DataError(
                f"the value of {name!r} is missing, so that nothing says what a change of it is; fill it in, or leave "
                "it out of actionable"
            )
        before = float(case.values[name])
        whole = bool(space.integer[j]) and before.is_integer()
        if isinstance(wish, list | set | frozenset | np.ndarray):
            values = [_allowed_number(value, name, whole) for value in wish]
            ends = (min([*values, before]), max([*values, before]))
            price = prices.get(name) or _default_cost(case.space, j, *ends)
            steps += _value_steps(case, name, values, price)
            continue
        given = (float(space.lower[j]), float(space.upper[j]))
        low, high = _limits(name, wish, before, given, (bool(declared[0][j]), bool(declared[1][j])))
        price = prices.get(name) or _default_cost(case.space, j, low, high)
        steps += _number_steps(name, before, low, high, whole, price)
    return Plan(case, tuple(steps), tuple(wishes), groups, relations)


def _numbers(values: Mapping[str, Any], space: FeatureSpace) -> FloatArray:
    """Return the numbers of a case; 0 for categories, which have no part in relations."""
    pairs = zip(space.names, space.categories, strict=True)
    return np.array(
        [float(values[name]) if categories is None else 0.0 for name, categories in pairs]
    )


def _violated(relations: Polyhedron, values: FloatArray) -> int | None:
    """Return the first relation that numbers do not satisfy; the two rows of an equation hold but for rounding."""
    rows = list(zip(relations.A, relations.b.tolist(), relations.strict.tolist(), strict=True))
    sides = {(*row.tolist(), limit) for row, limit, _ in rows}
    for k, (row, limit, is_strict) in enumerate(rows):
        excess = exact_score(row, values, -limit)
        is_equation = (*(0.0 - row).tolist(), 0.0 - limit) in sides
        size = float(np.abs(row * values).sum()) + abs(limit)
        if excess > (_ROUNDING * size if is_equation else 0.0) or (is_strict and excess == 0):
            return k
    return None


def _check_relations(relations: Polyhedron, case: Case | RuleCase) -> None:
    values = _numbers(case.values, case.space)
    k = _violated(relations, values)
    if k is None:
        return
    row = Polyhedron(relations.A[[k]], relations.b[[k]], relations.strict[[k]])
    used = np.flatnonzero(row.A[0]).tolist()
    listed = ", ".join(f"{case.space.names[j]} = {values[j]:g}" for j in used)
    raise DataError(
        f"the case does not satisfy {Phrases(case.space).conditions(row)[0]!r}: it has {listed}; correct the case, or "
        "leave the relation out of the domain"
    )


def _read_actionable(actionable: Any, space: FeatureSpace) -> dict[str, Any]:
    if isinstance(actionable, str) or not isinstance(actionable, Iterable):
        raise InvalidValueError(
            f"actionable must be a list of names or a mapping from names to what is allowed, not {actionable!r}"
        )
    wishes = (
        dict(actionable) if isinstance(actionable, Mapping) else dict.fromkeys(actionable, "any")
    )
    if not wishes:
        raise InvalidValueError("nothing is actionable; name at least one feature that may change")
    _check_names(wishes, space, "actionable names")
    return wishes


def _check_names(names: Iterable[Any], space: FeatureSpace, what: str) -> None:
    for name in names:
        if name not in space.names:
            hint = nearest_name(str(name), space.names)
            raise InvalidValueError(f"{what} unknown feature {name!r}{hint}")


def _read_costs(costs: Any, space: FeatureSpace) -> dict[str, float]:
    if costs is None:
        return {}
    if not isinstance(costs, Mapping):
        raise InvalidValueError(f"costs must map names to costs, not be {type(costs).__name__}")
    _check_names(costs, space, "costs name")
    prices = {name: number(cost, f"the cost of {name!r}") for name, cost in costs.items()}
    for name, cost in prices.items():
        if not 0 < cost < math.inf:
            raise InvalidValueError(
                f"the cost of {name!r} must be positive and finite, not {cost:g}; "
                "to keep a feature as it is, leave it out of actionable"
            )
    return prices


def _read_bounds(bounds: Any, known: FeatureSpace) -> tuple[FeatureSpace, tuple[Any, Any]]:
    """Read ranges, and which of their lower and upper ends are declared."""
    if bounds is None:
        nothing = np.zeros(len(known), dtype=np.bool_)
        return known, (nothing, nothing)
    if isinstance(bounds, Domain):
        return _read_domain(bounds, known)
    if isinstance(bounds, Mapping):
        _check_names(bounds, known, "bounds name")
        for name in bounds:
            if known.categories[known.index(name)] is not None:
                raise InvalidValueError(
                    f"{name!r} is categorical and has no bounds; list what is allowed: "
                    f"actionable={{{name!r}: [...]}}"
                )
    space, declared = read_bounds(bounds, known)
    ends = (declared[0], declared[1])
    if not isinstance(bounds, FeatureSpace):
        return space, ends
    integer = [bounds.integer[bounds.index(name)] for name in space.names]
    return FeatureSpace(space.names, space.lower, space.upper, integer, space.categories), ends


def _read_domain(domain: Domain, known: FeatureSpace) -> tuple[FeatureSpace, tuple[Any, Any]]:
    """Return the ranges of a domain; what it does not know is as the list or the case tells."""
    _check_names(domain.space.names, known, "the domain names")
    lower, upper, integer = known.lower.copy(), known.upper.copy(), known.integer.copy()
    low, high = np.zeros((2, len(known)), dtype=np.bool_)
    for k, name in enumerate(domain.space.names):
        j = known.index(name)
        if known.categories[j] is not None:
            continue
        low[j], high[j] = domain.lower_declared[k], domain.upper_declared[k]
        integer[j] = domain.space.integer[k]
        if np.isfinite(domain.space.lower[k]):
            lower[j] = domain.space.lower[k]
        if np.isfinite(domain.space.upper[k]):
            upper[j] = domain.space.upper[k]
    return FeatureSpace(known.names, lower, upper, integer, known.categories), (low, high)


def _read_columns_of_groups(bounds: Any, case: Case | RuleCase) -> tuple[tuple[str, ...], ...]:
    """Return the names of the 0/1 columns of each categorical feature of a domain, and check those of the case."""
    if not isinstance(bounds, Domain):
        return ()
    found = []
    for group in bounds.groups:
        columns = tuple(bounds.space.names[k] for k in group.columns)
        values = [float(case.values[name]) for name in columns]
        if sorted(values) != [0.0] * (len(values) - 1) + [1.0]:
            listed = ", ".join(f"{n} = {v:g}" for n, v in zip(columns, values, strict=True))
            raise DataError(
                f"exactly one column of {group.feature!r} must be 1 and the others 0, but the case has {listed}; "
                "correct the case, or leave the group out of the domain"
            )
        found.append(columns)
    return tuple(found)


def _group_steps(
    case: Case | RuleCase,
    columns: tuple[str, ...],
    wishes: Mapping[str, Any],
    prices: Mapping[str, float],
) -> list[Step]:
    """List the ways to take another category: its column becomes 1, and the one that was 1 becomes 0."""
    listed = [name for name in columns if name in wishes]
    taken = next(name for name in columns if float(case.values[name]) == 1.0)
    if not listed:
        return []
    for name in listed:
        if not (isinstance(wishes[name], str) and wishes[name] == "any"):
            raise InvalidValueError(
                f"{name!r} is a category in a 0/1 column, which is taken or given up; allow 'any', not {wishes[name]!r}"
            )
    if taken not in listed or len(listed) < 2:
        others = ", ".join(repr(name) for name in columns if name not in listed)
        raise InvalidValueError(
            f"exactly one of {', '.join(columns)} is 1, now {taken!r}: one can be taken only if {taken!r} may be given "
            f"up; make {others} actionable as well"
        )
    return [
        Step(
            name,
            prices.get(name, 1.0),
            1.0,
            1.0,
            True,
            0,
            type(case.values[name])(1),
            leaves=taken,
        )
        for name in listed
        if name != taken
    ]


def _limits(
    name: str,
    wish: Any,
    before: float,
    given: tuple[float, float],
    is_declared: tuple[bool, bool],
) -> tuple[float, float]:
    """Return the values that a number may take, besides staying where it is."""
    if isinstance(wish, tuple) and len(wish) == 2:
        low, high = (number(end, f"the limits of {name!r}") for end in wish)
        low = max(low, given[0]) if is_declared[0] else low
        high = min(high, given[1]) if is_declared[1] else high
        if low > high:
            raise InvalidValueError(
                f"the limits of {name!r} leave nothing: from {low:g} to {high:g}"
            )
        return low, high
    if not isinstance(wish, str) or wish not in _DIRECTIONS:
        hint = nearest_name(wish, _DIRECTIONS) if isinstance(wish, str) else ""
        raise InvalidValueError(
            f"what is allowed for {name!r} must be 'any', 'increase', 'decrease', a pair (low, high) or a list of "
            f"values, not {wish!r}{hint}"
        )
    # What was declared is a limit; what was seen in the data only says how far it goes.
    low = given[0] if is_declared[0] else min(given[0], before)
    high = given[1] if is_declared[1] else max(given[1], before)
    if wish == "increase":
        low = max(low, before)
    if wish == "decrease":
        high = min(high, before)
    return low, high


def _default_cost(space: FeatureSpace, j: int, low: float, high: float) -> float:
    """Return the whole range costs 1: that seen in the data, else that which is allowed."""
    for width in (space.upper[j] - space.lower[j], high - low):
        if 0 < width < math.inf:
            return 1.0 / float(width)
    if low == high:
        return 1.0  # there is nowhere to go
    raise InvalidValueError(
        f"nothing says how much a change of {space.names[j]!r} costs: give X, whose range is the unit, or bounds, or "
        f"costs={{{space.names[j]!r}: ...}}"
    )


def _number_steps(
    name: str, before: float, low: float, high: float, whole: bool, price: float
) -> list[Step]:
    if whole:
        low, high = _inwards(low, high)
    steps = []
    if high > before:
        steps.append(Step(name, price, max(0.0, low - before), high - before, whole, 1, high))
    if low < before:
        steps.append(Step(name, price, max(0.0, before - high), before - low, whole, -1, low))
    return [step for step in steps if step.least <= step.most]


def _inwards(low: float, high: float) -> tuple[float, float]:
    return (
        math.ceil(low) if math.isfinite(low) else low,
        math.floor(high) if math.isfinite(high) else high,
    )


def _allowed_number(value: Any, name: str, whole: bool) -> float:
    x = number(value, f"an allowed value of {name!r}")
    if not math.isfinite(x) or (whole and not x.is_integer()):
        kind = "a whole number" if whole else "finite"
        raise InvalidValueError(f"an allowed value of {name!r} must be {kind}, not {value!r}")
    return x


def _value_steps(
    case: Case | RuleCase, name: str, values: Iterable[float], price: float
) -> list[Step]:
    before = case.values[name]
    is_whole = isinstance(before, int)
    return [
        Step(
            name,
            price * abs(value - float(before)),
            1.0,
            1.0,
            True,
            0,
            type(before)(value) if is_whole and value.is_integer() else value,
        )
        for value in dict.fromkeys(values)
        if value != float(before)
    ]


def _category_steps(case: Case | RuleCase, name: str, wish: Any, price: float) -> list[Step]:
    categories = case.categories[name]
    if isinstance(wish, str):
        if wish != "any":
            raise InvalidValueError(
                f"{name!r} is categorical, and categories have no order; allow 'any' or a list of them, not {wish!r}"
            )
        requested = list(categories)
    elif isinstance(wish, Iterable):
        requested = [category_name(value) for value in wish]
    else:
        raise InvalidValueError(
            f"{name!r} is categorical; allow 'any' or a list of them, not {wish!r}"
        )
    for category in requested:
        if category not in categories:
            raise InvalidValueError(
                f"{category!r} is no category of {name!r} that the model knows{nearest_name(category, categories)}"
            )
    value = case.values[name]
    current = None if is_missing_value(value) else category_name(value)
    return [
        Step(name, price, 1.0, 1.0, True, 0, categories[category])
        for category in dict.fromkeys(requested)
        if category != current
    ]
