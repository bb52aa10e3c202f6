"""One case of a model, and what may happen to its features: options with their costs, and what they add to scores.

A case is a row of numbers and codes of categories. Scores are linear in what `Case.linear` gives: the encoded columns
of a linear model, or what the linear terms of rules with weights add; besides, rules add their weights where they hold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError, NotLinearError
from clearmargin.language.printer import format_number
from clearmargin.models.fitted import check_fitted
from clearmargin.models.surface import Surface, read_surface
from clearmargin.models.threshold import find_threshold
from clearmargin.points.cells import Cell, box_of, cell_starts, cut_into_cells
from clearmargin.points.reading import scorecard_of
from clearmargin.rule_base.feature_ranges import read_bounds
from clearmargin.rules import Box, Domain, FeatureSpace
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import category_name, nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, number
from clearmargin.tables.table import ModelTable, Table, case_table, is_frame, is_missing_value


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A case with the model that decides on it: a classifier with its planes, or a scorecard without."""

    model: Any
    surface: Surface | None
    # The features with what the list X, or the case alone, tells about them.
    space: FeatureSpace
    values: Mapping[str, Any]
    # For each categorical feature, how the user writes each category.
    categories: Mapping[str, Mapping[str, Any]]
    # A table of the type that the model takes; None for an array, and for rules, which take codes.
    frame: Table | None

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes of the model."""
        known: tuple[Label, ...] = (self.surface or self.model).classes
        return known

    def code(self, name: str, value: Any) -> float:
        """Return a value as a number: NaN where it is missing, -1 for a category that the model does not know."""
        if is_missing_value(value):
            return math.nan
        known = self.space.categories[self.space.index(name)]
        if known is None:
            return number(value, f"the value of {name!r}")
        category = category_name(value)
        return float(known.index(category)) if category in known else -1.0

    def codes(self, changed: Mapping[str, Any] | None = None) -> FloatArray:
        """Return the case as a row of numbers and codes, with some values changed."""
        row = {**self.values, **(changed or {})}
        codes = np.array([[self.code(name, row[name]) for name in self.space.names]])
        filled: FloatArray = (self.surface or self.model).space.filled(codes)[0]
        return filled

    def table(self, changed: Mapping[str, Any] | None = None) -> Any:
        """Return the case as a table of one row that the model takes, with some values changed."""
        if self.surface is None:
            return self.codes(changed)[None]
        row = {**self.values, **(changed or {})}
        return ModelTable.read(self.model, _as_table(row, self.frame)).table.taken_by(self.model)

    def label(self, changed: Mapping[str, Any] | None = None) -> Label:
        """Return the class that the model predicts."""
        with _quiet():
            return as_label(np.ravel(self.model.predict(self.table(changed)))[0])

    def scores(self, given: Any) -> FloatArray:
        """Return the scores of rows, beyond a threshold: one a row for two classes, else one a class of the rules."""
        if self.surface is None:
            values = np.atleast_2d(self.model.decision_function(given).T).T
            return np.asarray(values - self.model.threshold)
        has_threshold = find_threshold(self.model) is not None  # from which the plane counts
        if has_threshold or not hasattr(self.model, "decision_function"):
            (margin,) = self.surface.margins(1)
            return margin.values(self.surface.read(given))[:, None]
        with _quiet():
            return np.reshape(self.model.decision_function(given), (-1, 1)).astype(np.float64)

    def others(self, X: Any) -> FloatArray:
        """Return the scores of the rows of a list, without one row that is the case itself, if there is one."""
        if self.surface is None:
            given = rows = self.model.space.filled(self.model.space.read(X))
        else:
            table = ModelTable.read(self.model, X).table
            given, rows = table.taken_by(self.model), self.surface.read(table)
        own = self.codes()
        same = ((rows == own) | (np.isnan(rows) & np.isnan(own))).all(axis=1)
        return np.delete(self.scores(given)[:, 0], np.flatnonzero(same)[:1])

    def linear(self, codes: FloatArray) -> FloatArray:
        """Return what scores are linear in, for some rows of numbers and codes."""
        if self.surface is not None:
            return self.surface.one_hot.spread(codes)
        terms = [term.of(codes[:, term.feature]) for term in self.model.linear]
        return np.hstack([np.zeros((len(codes), 0)), *terms])

    def slope(self, feature: int) -> FloatArray:
        """Return what one unit of a number changes in what scores are linear in."""
        pair = np.array([self.codes(), self.codes()])
        pair[:, feature] = 0.0, 1.0
        zero, one = self.linear(pair)
        return np.asarray(one - zero)

    def effects(self, options: Sequence[Option], coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what each option adds to each row, without rules, and what going further by one unit adds."""
        now = self.codes()
        changed = np.tile(now, (len(options), 1))
        for row, option in zip(changed, options, strict=True):
            row[option.place] = option.code
        slopes = np.zeros((len(options), len(self.linear(now[None])[0])))
        for k, option in enumerate(options):
            if option.sign:
                slopes[k] = option.sign * self.slope(option.place)
        weights = coef
        if self.surface is None:
            weights = np.tile(coef, (1, len(self.model.linear)))
        return weights @ (self.linear(changed) - self.linear(now[None])).T, weights @ slopes.T

    def rule_parts(
        self, options: Sequence[Option]
    ) -> tuple[list[int], FloatArray, FloatArray, FloatArray, IntArray]:
        """List the rules whose truth may change, and for each place whether their conditions hold now and by options.

        Returns these rules, whether each holds now, and for each of their parts whether it holds now, how that differs
        with each option, and the position of its rule.
        """
        changed: list[int] = []
        base: list[float] = []
        rows: list[FloatArray] = []
        owner: list[int] = []
        now = self.codes()
        for r, rule in enumerate(() if self.surface is not None else self.model.rules):
            box = box_of(rule.region)
            parts: list[tuple[float, FloatArray]] = []
            for j in sorted(box.bounded):
                held = _holds(box, j, float(now[j]))
                row = np.array(
                    [_holds(box, j, o.code) - held if o.place == j else 0.0 for o in options]
                )
                if held != 1.0 or row.any():  # else it holds, whatever happens
                    parts.append((held, row))
            if not parts or any(held == 0.0 and not row.any() for held, row in parts):
                continue
            base += [held for held, _ in parts]
            rows += [row for _, row in parts]
            owner += [len(changed)] * len(parts)
            changed.append(r)
        holds = np.zeros(0)
        if changed:
            holds = self.model.rules.covers(now[None])[0, changed].astype(np.float64)
        differences = np.array(rows).reshape(len(rows), len(options))
        return changed, holds, np.array(base), differences, np.array(owner, dtype=np.intp)


def _holds(box: Box, j: int, value: float) -> float:
    """Return 1.0 where a box allows a value of a feature, else 0.0."""
    is_missing = math.isnan(value)
    if j in box.missing or j in box.known:
        return float(is_missing == (j in box.missing))
    if is_missing:
        return 0.0
    return float(int(value) in box.sets[j] if j in box.sets else value in box.interval(j))


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        yield


def read_case(model: Any, x: Any, X: Any) -> Case:
    """Read a case and the surface of its model; only features of rules that stay may be missing."""
    weighted = scorecard_of(model)
    if weighted is None:
        check_fitted(model)
        known = getattr(model, "feature_names_in_", None)
    else:
        known = weighted.space.names
    frame, names, given = _read_row(x, X, known)
    surface = None
    if weighted is not None:
        space = weighted.space if X is None else _ranges_of(weighted.space, X)
    else:
        expected = getattr(model, "n_features_in_", len(given))
        if names is None and len(given) != expected:
            raise DataError(
                f"x has {len(given)} values, but the model was fitted to {expected} columns"
            )
        try:
            surface = read_surface(model, _as_table(given, frame) if X is None else X)
        except NotLinearError as error:
            raise InvalidValueError(
                f"{error.problem}; recourse needs a linear model, such as LPSVC or SVC(kernel='linear'), alone or "
                "after steps that scale, select or one-hot encode"
            ) from None
        space = surface.space
    for name in space.names:
        if name not in given:
            raise DataError(f"the case has no value for {name!r}")
    values = {name: given[name] for name in space.names}
    if surface is not None and X is None:
        # A single row has no ranges, and a number is whole only where it was given as an integer.
        integer = [isinstance(value, int) for value in values.values()]
        space = FeatureSpace(space.names, integer=integer, categories=space.categories)
    written = _written_categories(space, values, X)
    case = Case(weighted or model, surface, space, values, written, frame)
    if surface is not None:
        wrong = np.flatnonzero(~np.isfinite(surface.one_hot.encode(case.table())[0]))
        if len(wrong):
            name = space.names[surface.one_hot.sources[wrong[0]].feature]
            raise DataError(
                f"the value of {name!r} is {values[name]}, and a case with missing or infinite values has no place "
                "beside the plane; fill it in first"
            )
    return case


def _ranges_of(known: FeatureSpace, X: Any) -> FeatureSpace:
    """Return the features of rules with the ranges of a list; whole numbers are those of the list."""
    seen, has_names = FeatureSpace.from_data(X), is_frame(X)
    columns = seen.names if has_names else known.names[: len(seen)]
    missing = [name for name in known.names if name not in columns]
    if missing:
        raise DataError(f"X lacks the columns {', '.join(map(repr, missing))}")
    lower, upper, integer = known.lower.copy(), known.upper.copy(), known.integer.copy()
    for j, name in enumerate(known.names):
        k = seen.index(name) if has_names else j
        if known.categories[j] is None and seen.categories[k] is None:
            lower[j], upper[j], integer[j] = seen.lower[k], seen.upper[k], seen.integer[k]
    return FeatureSpace(known.names, lower, upper, integer, known.categories)


def _read_row(
    x: Any, X: Any, known: Sequence[str] | None
) -> tuple[Table | None, tuple[str, ...] | None, dict[str, Any]]:
    """Read a case by name; also give a table of the user's type, and the names that were known of an array."""
    frame = next((Table.read(t) for t in (X, x) if t is not None and is_frame(t)), None)
    if frame is None and known is not None:
        frame = Table.read({str(name): [] for name in known})
    names: tuple[str, ...] | None = None if known is None else tuple(map(str, known))
    if X is not None and (is_frame(X) or known is None):
        names = Table.read(X).names
    row = x if is_frame(x) and len(x) == 1 else case_table(x)
    if is_frame(row):
        named = {column.name: column.values[0] for column in Table.read(row).all_columns()}
    else:
        columns = names or tuple(f"x{j}" for j in range(row.shape[1]))
        if len(columns) != row.shape[1]:
            raise DataError(
                f"x has {row.shape[1]} values, but the table has {len(columns)} columns"
            )
        named = dict(zip(columns, row[0], strict=True))
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in named.items()}
    return frame, names, plain


def _written_categories(
    space: FeatureSpace, values: Mapping[str, Any], X: Any
) -> dict[str, dict[str, Any]]:
    """Return how the user writes each category of each categorical feature."""
    columns = {} if X is None else {c.name: c for c in Table.read(X).columns_of(space.names)}
    found: dict[str, dict[str, Any]] = {}
    for name, categories in zip(space.names, space.categories, strict=True):
        if categories is not None:
            written = columns[name].written if name in columns else {}
            if not is_missing_value(values[name]):
                written = {**written, category_name(values[name]): values[name]}
            found[name] = {
                each: written.get(each, _alike(each, values[name])) for each in categories
            }
    return found


def _as_table(row: Mapping[str, Any], frame: Table | None) -> Any:
    if frame is not None:
        return frame.make_named({name: [value] for name, value in row.items()})
    values = list(row.values())
    are_numbers = all(isinstance(value, int | float) for value in values)
    return np.array([values], dtype=np.float64 if are_numbers else object)


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
        new, old = (
            format_number(value) if isinstance(value, float) else str(value)
            for value in (after, self.before)
        )
        return f"{self.feature} were {new} instead of {old}"


@dataclass(frozen=True, slots=True)
class Option:
    """Another value of a feature, or the cell of values that a number may go to."""

    # The position of the feature.
    place: int
    name: str
    # The new value; of a cell the one that is nearest.
    value: Any
    code: float
    cost: float
    # Into the cell: cost of a unit, direction, the last value, and whether by whole units only.
    unit: float = 0.0
    sign: int = 0
    far: float | None = None
    integer: bool = False

    @property
    def width(self) -> float:
        """How much further than the nearest value of its cell a number may go."""
        return 0.0 if self.far is None else abs(self.far - float(self.value))

    def change(self, case: Case, amount: float) -> list[FeatureChange]:
        """Return what the option comes to in the words of the user, where a number goes further by an amount."""
        before, after = case.values[self.name], self.value
        if amount > 0 and self.far is not None:
            # The first float that is an amount away: one that is nearer would gain too little.
            exact = Fraction(float(after)) + self.sign * Fraction(amount)
            moved = float(exact)
            if (moved - exact) * self.sign < 0:
                moved = math.nextafter(moved, self.sign * math.inf)
            limit = min if self.sign > 0 else max
            moved = limit(moved, self.far)
            after = type(before)(moved) if self.integer and isinstance(before, int) else moved
        if after == before:
            return []
        return [FeatureChange(self.name, before, after, self.cost + self.unit * amount)]


_DIRECTIONS = ("any", "increase", "decrease")


def read_options(case: Case, actionable: Any, costs: Any, bounds: Any) -> list[Option]:
    """Read what may happen to a case, as in `recourse`."""
    if isinstance(actionable, str) or not isinstance(actionable, Iterable):
        raise InvalidValueError(
            f"actionable must be a list of names or a mapping from names to what is allowed, not {actionable!r}"
        )
    is_mapping = isinstance(actionable, Mapping)
    allowed = dict(actionable) if is_mapping else dict.fromkeys(actionable, "any")
    if not allowed:
        raise InvalidValueError("nothing is actionable; name at least one feature that may change")
    _check_names(allowed, case.space, "actionable names")
    prices = _read_costs(costs, case.space)
    space, declared = _read_bounds(bounds, case.space)
    options: list[Option] = []
    for name, how in allowed.items():
        j = space.index(name)
        if space.categories[j] is not None:
            options += _category_options(case, j, how, prices.get(name, 1.0))
            continue
        before = case.values[name]
        if is_missing_value(before):
            raise DataError(
                f"the value of {name!r} is missing, so that nothing says what a change of it is; fill it in, or leave "
                "it out of actionable"
            )
        start = float(before)
        whole = bool(space.integer[j]) and start.is_integer()
        cells: list[tuple[int, Cell]]
        if isinstance(how, list | set | frozenset | np.ndarray):
            values = [number(value, f"an allowed value of {name!r}") for value in how]
            for value in values:
                if not math.isfinite(value) or (whole and not value.is_integer()):
                    kind = "a whole number" if whole else "finite"
                    raise InvalidValueError(
                        f"an allowed value of {name!r} must be {kind}, not {value!r}"
                    )
            low, high = min([*values, start]), max([*values, start])
            cells = [(0, Cell(value, value)) for value in dict.fromkeys(values)]
        else:
            low, high = _limits(space, j, how, start, declared[:, j])
            # Cells between which rules tell, above and below where the number is.
            starts = [] if case.surface is not None else cell_starts(case.model.rules, j)
            least = math.ceil(low) if whole and math.isfinite(low) else low
            most = math.floor(high) if whole and math.isfinite(high) else high
            above = cut_into_cells(starts, max(least, start), most, whole)
            below = cut_into_cells(starts, least, min(most, start), whole)
            cells = [*((1, cell) for cell in above), *((-1, cell) for cell in below)]
        price = prices.get(name) or _default_cost(case.space, j, low, high)
        is_sloped = bool(case.slope(j).any())
        for sign, cell in cells:
            nearest = cell.nearest(start)
            far = (cell.high if sign > 0 else cell.low) if sign and is_sloped else nearest
            if nearest != start or far != nearest:
                is_kept = isinstance(before, int) and (whole or (not sign and nearest.is_integer()))
                written = type(before)(nearest) if is_kept else nearest
                cost = price * abs(nearest - start)
                further = (price, sign, far if sign else None, whole and sign != 0)
                options.append(Option(j, name, written, nearest, cost, *further))
    return options


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


def _read_bounds(bounds: Any, known: FeatureSpace) -> tuple[FeatureSpace, BoolArray]:
    """Read ranges, and which of their lower and upper ends are declared."""
    if bounds is None:
        return known, np.zeros((2, len(known)), dtype=np.bool_)
    if isinstance(bounds, Domain):
        raise InvalidValueError(
            "bounds of recourse are a mapping, a FeatureSpace or a pair (low, high), not a Domain"
        )
    if isinstance(bounds, Mapping):
        _check_names(bounds, known, "bounds name")
        for name in bounds:
            if known.categories[known.index(name)] is not None:
                raise InvalidValueError(
                    f"{name!r} is categorical and has no bounds; list what is allowed: "
                    f"actionable={{{name!r}: [...]}}"
                )
    space, declared = read_bounds(bounds, known)
    if isinstance(bounds, FeatureSpace):
        integer = [bounds.integer[bounds.index(name)] for name in space.names]
        space = FeatureSpace(space.names, space.lower, space.upper, integer, space.categories)
    return space, declared


def _limits(
    space: FeatureSpace, j: int, how: Any, before: float, is_declared: BoolArray
) -> tuple[float, float]:
    """Return the values that a number may take, besides staying where it is."""
    name, given = space.names[j], (float(space.lower[j]), float(space.upper[j]))
    if isinstance(how, tuple) and len(how) == 2:
        low, high = (number(end, f"the limits of {name!r}") for end in how)
        low = max(low, given[0]) if is_declared[0] else low
        high = min(high, given[1]) if is_declared[1] else high
        if low > high:
            raise InvalidValueError(
                f"the limits of {name!r} leave nothing: from {low:g} to {high:g}"
            )
        return low, high
    if not isinstance(how, str) or how not in _DIRECTIONS:
        hint = nearest_name(how, _DIRECTIONS) if isinstance(how, str) else ""
        raise InvalidValueError(
            f"what is allowed for {name!r} must be 'any', 'increase', 'decrease', a pair (low, high) or a list of "
            f"values, not {how!r}{hint}"
        )
    # What was declared is a limit; what was seen in the data only says how far it goes.
    low = given[0] if is_declared[0] else min(given[0], before)
    high = given[1] if is_declared[1] else max(given[1], before)
    return max(low, before) if how == "increase" else low, (
        min(high, before) if how == "decrease" else high
    )


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


def _category_options(case: Case, j: int, how: Any, price: float) -> list[Option]:
    name = case.space.names[j]
    categories = case.categories[name]
    if isinstance(how, str) and how == "any":
        requested = list(categories)
    elif isinstance(how, Iterable) and not isinstance(how, str):
        requested = [category_name(value) for value in how]
    else:
        raise InvalidValueError(
            f"{name!r} is categorical, and categories have no order; allow 'any' or a list of them, not {how!r}"
        )
    for category in requested:
        if category not in categories:
            raise InvalidValueError(
                f"{category!r} is no category of {name!r} that the model knows{nearest_name(category, categories)}"
            )
    value = case.values[name]
    current = None if is_missing_value(value) else category_name(value)
    return [
        Option(j, name, categories[category], case.code(name, category), price)
        for category in dict.fromkeys(requested)
        if category != current
    ]
