"""Read advice and data, and match them: rules over named features become inequalities over the columns of the model.

`read_advice` takes rules, their text or a file; `read_groups` the declared groups of 0/1 columns; `read_case` puts
advice and data together, in the user's units.

A feature that is a column takes its conditions over as rows (`encode_rule`). A categorical feature is there as 0/1
columns, one for each category; a condition on it sets the columns of all other categories to zero. Such rows belong to
the rule but are never refined: a category cannot be moved a little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from clearmargin.exceptions import DataError, InvalidValueError, RuleSyntaxError
from clearmargin.language import parse_rules
from clearmargin.language.prose import plain
from clearmargin.language.rule_source import RuleSource, read_rules
from clearmargin.rules import Box, FeatureSpace, OneHot, Polyhedron, Rule, RuleSet
from clearmargin.rules.domain import check_members
from clearmargin.rules.domain import read_groups as read_mapping
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name, seen_ranges
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.row_order import sample_classes
from clearmargin.tables.table import as_header, refuse_collection
from clearmargin.tables.validation import plain_labels, read_points, read_training

Advice = RuleSource


def read_advice(
    advice: Advice, names: Sequence[str] | None = None, classes: Sequence[Label] | None = None
) -> RuleSet:
    """Take advice in any form, and insist that it speaks of what the data know."""

    def parse(text: str) -> RuleSet:
        return _parse(text, names, classes)

    rules = read_rules(advice, parse, what="advice")
    if names is not None:
        for name in rules.space.names:
            if column_of(name, names) is None and not one_hot_columns(name, names):
                raise DataError(
                    f"the advice speaks of {name!r}, and the data have no such column"
                    f"{nearest_name(name, names)}"
                )
    if classes is not None:
        _check_classes(rules, classes)
    _check_values(rules)
    return rules


@contextmanager
def saying_how_to_keep_names(estimator: Any, *, has_names: bool) -> Iterator[None]:
    """Add, where advice names columns and the table that arrives has no names, how to keep them."""
    try:
        yield
    except (RuleSyntaxError, DataError) as error:
        about_names = "unknown feature" in str(error) or "no such column" in str(error)
        if has_names or not about_names:
            raise
        hint = (
            f". The table that reaches {type(estimator).__name__} has no column names, so that they are x0, x1, ...; "
            "behind a transformer in a pipeline, keep them with set_output(transform='pandas') of the pipeline (and "
            "OneHotEncoder(sparse_output=False))"
        )
        if isinstance(error, RuleSyntaxError):
            raise RuleSyntaxError(
                f"{error.problem}{hint}",
                line=error.line,
                column=error.column,
                length=error.length,
                source=error.source,
                file=error.file,
                offset=error.offset,
                fix=error.fix,
            ) from None
        raise DataError(f"{error}{hint}") from None


def _parse(text: str, names: Sequence[str] | None, classes: Sequence[Label] | None) -> RuleSet:
    rules = parse_rules(text, classes=classes)
    if names is not None:
        # Read once more with the names of the data: an unknown one is reported with its place in the text.
        groups = {
            name: categories
            for name, categories in zip(rules.space.names, rules.space.categories, strict=True)
            if categories is not None and name not in names and one_hot_columns(name, names)
        }
        bare = {n for n in rules.space.names if n not in names and column_of(n, names) is not None}
        known = FeatureSpace([*names, *groups, *sorted(bare - set(groups))], categories=groups)
        parse_rules(text, space=known, classes=classes)
    return rules


def _check_values(rules: RuleSet) -> None:
    """Refuse conditions on missing values, where a support vector machine has no score to be advised on."""
    for k, rule in enumerate(rules):
        asked = (*rule.region.missing, *rule.region.known)
        if asked:
            called = f" ({rule.name})" if rule.name else ""
            raise DataError(
                f"rule {k + 1}{called} asks whether {rules.space.names[asked[0]]!r} is missing; advice is about "
                "values, since the model has no score where one is missing. Leave the condition out, and apply such "
                "rules beside the model"
            )


def _check_classes(rules: RuleSet, classes: Sequence[Label]) -> None:
    known = set(classes)
    for k, rule in enumerate(rules):
        if rule.label not in known:
            called = f" ({rule.name})" if rule.name else ""
            raise DataError(
                f"rule {k + 1}{called} is for class {rule.label!r}, which is no class of the data"
                f"{nearest_name(str(rule.label), [str(c) for c in classes])}"
            )


def called(rules: RuleSet, index: int) -> str:
    """Name a rule for people."""
    name = rules[index].name
    return f"rule {index + 1}" if name is None else f"rule {index + 1} ({plain(name)})"


def column_of(feature: str, names: Sequence[str]) -> int | None:
    """Find the column of a feature: of the same name, or the only one of that name after a step ``step__``."""
    if feature in names:
        return list(names).index(feature)
    found = [j for j, name in enumerate(names) if name.partition("__")[2] == feature]
    return found[0] if len(found) == 1 else None


def one_hot_columns(feature: str, names: Sequence[str]) -> dict[str, int]:
    """Find the 0/1 columns of a categorical feature by their names."""
    found = {}
    for j, name in enumerate(names):
        bare = name if name.startswith(f"{feature}_") else name.partition("__")[2]
        if bare.startswith(f"{feature}_"):
            found[bare[len(feature) + 1 :]] = j
    return found


def read_groups(
    groups: Any, names: Sequence[str], binary: BoolArray | None = None
) -> tuple[OneHot, ...]:
    """Read the parameter `groups`: which columns are the categories of one feature."""
    if groups is None:
        return ()
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InvalidValueError(
            f"groups must be names of features, or a mapping from feature to its columns, not {groups!r}"
        )
    space = FeatureSpace(names)
    if isinstance(groups, Mapping):
        found = tuple(read_mapping(groups, space))
    else:
        found = tuple(_named(feature, names, binary) for feature in groups)
    check_members([j for group in found for j in group.columns], space)
    return found


def _named(feature: Any, names: Sequence[str], binary: BoolArray | None) -> OneHot:
    if not isinstance(feature, str):
        raise InvalidValueError(
            f"groups must be names of features, and {feature!r} is no name; for columns of other names give a mapping "
            "from feature to its columns, such as {'colour': {'red': 'is_red', 'blue': 'is_blue'}}"
        )
    columns = one_hot_columns(feature, names)
    columns = {name: j for name, j in columns.items() if binary is None or binary[j]}
    if not columns:
        raise DataError(
            f"groups names {feature!r}, and the data have no 0/1 columns '{feature}_...'"
            f"{nearest_name(str(feature), names)}"
        )
    return OneHot(feature, columns.values(), columns)


def check_groups(groups: Sequence[OneHot], points: NDArray[np.float64]) -> None:
    """Raise if some row has not exactly one category of a declared feature."""
    for group in groups:
        values = points[:, list(group.columns)]
        ones, zeros = (values == 1.0).sum(axis=1), (values == 0.0).sum(axis=1)
        wrong = np.flatnonzero((ones != 1) | (zeros != len(group.columns) - 1))
        if len(wrong):
            row = int(wrong[0])
            raise DataError(
                f"exactly one column of {group.feature!r} must be 1 and the others 0, and row {row + 1} has "
                f"{values[row].tolist()}; encode every category (OneHotEncoder without drop), or leave "
                f"{group.feature!r} out of groups"
            )


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the model each feature of the advice is."""

    names: tuple[str, ...]
    space: FeatureSpace
    numbers: dict[int, int]
    groups: dict[int, dict[str, int]]
    declared: tuple[OneHot, ...] = ()

    @property
    def one_hot(self) -> tuple[OneHot, ...]:
        """The groups of columns of which exactly one is 1: those of the advice, and those that are declared."""
        of_advice = [
            OneHot(self.space.names[feature], group.values(), group)
            for feature, group in self.groups.items()
        ]
        taken = {j for group in of_advice for j in group.columns}
        return (*of_advice, *(g for g in self.declared if taken.isdisjoint(g.columns)))

    @classmethod
    def match(
        cls,
        space: FeatureSpace,
        names: Sequence[str],
        binary: BoolArray | None = None,
        by_position: bool = False,
        declared: tuple[OneHot, ...] = (),
    ) -> Columns:
        """Find the columns of each feature, by name."""
        numbers: dict[int, int] = {}
        groups: dict[int, dict[str, int]] = {}
        for j, (name, categories) in enumerate(zip(space.names, space.categories, strict=True)):
            if by_position and categories is None:
                numbers[j] = j
            elif (column := column_of(name, names)) is not None:
                if categories is not None:
                    raise DataError(
                        f"the advice has categories for {name!r}, and the data have numbers there; "
                        f"encode it as 0/1 columns such as '{name}_{categories[0]}' (OneHotEncoder)"
                    )
                numbers[j] = column
            else:
                groups[j] = _group(name, categories, names, binary)
        return cls(tuple(names), space, numbers, groups, declared)


def _group(
    name: str, categories: tuple[str, ...] | None, names: Sequence[str], binary: BoolArray | None
) -> dict[str, int]:
    found = one_hot_columns(name, names)
    if not found:
        raise DataError(
            f"the advice speaks of {name!r}, and the data have no such column{nearest_name(name, names)}"
        )
    if categories is None:
        raise DataError(
            f"the advice takes {name!r} for a number, and the data have it as 0/1 columns; "
            f"write '{name} = {next(iter(found))}' instead"
        )
    # A column such as smoker_years is no category of smoker.
    found = {
        category: j
        for category, j in found.items()
        if category in categories or binary is None or binary[j]
    }
    for category in categories:
        if category not in found:
            raise DataError(
                f"the advice names category {category!r} of {name!r}, and the data have no column "
                f"'{name}_{category}'{nearest_name(category, found)}; "
                "encode every category (OneHotEncoder without drop)"
            )
    return found


@dataclass(frozen=True, slots=True)
class Premise:
    """A premise as rows D x <= d over the columns of the model, in the user's units."""

    D: FloatArray
    d: FloatArray
    numeric_rows: BoolArray
    strict: BoolArray

    def covers(self, X: FloatArray) -> BoolArray:
        """Tell for each row of a table whether it satisfies the premise."""
        inside = np.ones(len(X), dtype=np.bool_)
        for row, limit, strict in zip(self.D, self.d, self.strict, strict=True):
            used = np.flatnonzero(row)
            value = X[:, used] @ row[used]
            inside &= value < limit if strict else value <= limit
        return inside


def encode_rule(rule: Rule, columns: Columns) -> Premise:
    """Write the premise of a rule as rows over the columns."""
    region = rule.region
    flat = Polyhedron.from_box(region) if isinstance(region, Box) else region
    n = len(columns.names)
    numbers = np.zeros((len(flat.b), n))
    for feature, column in columns.numbers.items():
        numbers[:, column] = flat.A[:, feature]
    others = []
    for feature in region.sets:
        categories = columns.space.categories[feature]
        assert categories is not None
        allowed = {categories[code] for code in region.sets[feature]}
        others += [j for category, j in columns.groups[feature].items() if category not in allowed]
    fixed = np.zeros((len(others), n))
    fixed[np.arange(len(others)), others] = 1.0
    return Premise(
        D=np.concatenate([numbers, fixed]),
        d=np.concatenate([flat.b, np.zeros(len(others))]),
        numeric_rows=np.arange(len(flat.b) + len(others)) < len(flat.b),
        strict=np.concatenate([flat.strict, np.zeros(len(others), dtype=np.bool_)]),
    )


_ONE_MODEL_A_CLASS = (
    "advice is for one class against the others. Train a model for each class, with labels y == c and "
    "the rules for it"
)


@dataclass(frozen=True, slots=True)
class AdviceCase:
    """What is to be learned from: points of some weight, and rules over their columns."""

    points: FloatArray
    y: FloatArray
    weight: FloatArray
    classes: NDArray[Any]
    rules: RuleSet
    columns: Columns
    binary: NDArray[np.bool_]
    by_position: bool
    premises: tuple[Premise, ...]
    sign: FloatArray

    def merged(self, n_rows: int) -> AdviceCase:
        """Return at most so many points, drawn by their values, with equal ones as one, in an order of their values."""
        rows = sample_classes(self.points, (self.y > 0).astype(np.intp), n_rows)
        points, y, weight = self.points[rows], self.y[rows], self.weight[rows].copy()
        if len(rows) < len(self.y):
            for sign in (-1.0, 1.0):  # each class weighs what all its rows do
                weight[y == sign] *= self.weight[self.y == sign].sum() / (
                    weight[y == sign].sum() or 1
                )
        table, inverse = np.unique(np.column_stack([y, points]), axis=0, return_inverse=True)
        by_weight = np.argsort(weight, kind="stable")  # the same sums in any order of points
        total = np.bincount(inverse.ravel()[by_weight], weight[by_weight], len(table))
        return replace(self, points=table[:, 1:], y=table[:, 0], weight=total.astype(np.float64))

    @property
    def whole(self) -> BoolArray:
        """Which columns hold whole numbers only, or are declared to."""
        whole = seen_ranges(list(self.points.T))[2].copy()
        for feature, column in self.columns.numbers.items():
            whole[column] |= self.columns.space.integer[feature]
        return whole


def read_case(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> AdviceCase:
    """Read data and the estimator's advice, and note the features on the estimator; rows of no weight are left out."""
    refuse_collection(X, estimator)
    refuse_collection(y, estimator, "y")
    if estimator.advice is None:
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        classes, signs = labels.classes, labels.signs
    else:
        points, classes, signs = _read_points(estimator, X, y)
    weight = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
    binary = np.asarray(((points == 0) | (points == 1)).all(axis=0))
    given = getattr(estimator, "feature_names_in_", None)
    names = [f"x{j}" for j in range(points.shape[1])] if given is None else [str(c) for c in given]
    rules = RuleSet([], FeatureSpace(names), classes.tolist())
    by_position = False
    if estimator.advice is not None:
        # Rules read an array by position; a text can only know its columns as x0, x1, ...
        is_array = given is None and isinstance(estimator.advice, RuleSet)
        by_position = is_array and len(estimator.advice.space) == len(names)
        known = None if by_position else names
        with saying_how_to_keep_names(estimator, has_names=given is not None):
            rules = read_advice(estimator.advice, known, [as_label(c) for c in classes.tolist()])
    declared = read_groups(estimator.groups, names, binary)
    columns = Columns.match(rules.space, names, binary, by_position, declared)
    check_groups(columns.declared, points)
    premises = tuple(encode_rule(rule, columns) for rule in rules)
    positive = as_label(classes[1])
    sign = np.array([1.0 if rule.label == positive else -1.0 for rule in rules])
    counting = weight > 0
    data = points[counting], signs[counting], weight[counting]
    return AdviceCase(*data, classes, rules, columns, binary, by_position, premises, sign)


def _read_points(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any], FloatArray]:
    """Read points and labels as `read_training` does; the second class may be known to the advice alone."""
    y = plain_labels(y, X)
    labels_met = np.asarray(y)
    only = np.unique(labels_met) if labels_met.ndim == 1 else np.zeros(0)
    if len(only) != 1 or (only.dtype.kind == "f" and not np.isfinite(only).all()):
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        return points, labels.classes, labels.signs
    check_classification_targets(y)
    rules = read_advice(estimator.advice)
    both = np.unique(np.array([*only.tolist(), *(rule.label for rule in rules)]))
    if len(both) != 2:
        raise DataError(
            f"y holds only one class, {only[0]!r}, and the advice "
            + ("no other" if len(both) < 2 else f"{len(both) - 1} others")
            + "; a classifier needs two classes to tell apart"
        )
    validate_data(estimator, as_header(X), skip_check_array=True)
    return read_points(estimator, X), both, np.where(labels_met == both[1], 1.0, -1.0)
