"""Read a table and an expert's rules: cases and premises over the encoded columns of the table, in the user's units.

`read_rules_over` reads rules over the features of a table: names, categories and classes that the table does not have
are errors with their place in the text. A number is one column, a category is a 0/1 column (`Encoding`); a condition on
a category says which of these columns are 0. Such rows belong to the premise but are never refined: a category cannot
be moved a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from clearmargin.exceptions import DataError
from clearmargin.language import parse_rules
from clearmargin.language.printer import format_rule
from clearmargin.language.prose import plain
from clearmargin.language.rule_source import RuleSource, read_rules
from clearmargin.rule_base.training import read_labels
from clearmargin.rules import Box, FeatureSpace, Polyhedron, Rule, RuleSet
from clearmargin.rules.rule import Label, Region, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding, column_encoding, filling_encoding
from clearmargin.tables.row_order import sample_classes
from clearmargin.tables.table import Table, read_frame, refuse_collection
from clearmargin.tables.validation import check_extremes, check_finite


def rule_name(rule: Rule, k: int) -> str:
    """Name a rule in a message."""
    return f"rule {k + 1}" if rule.name is None else f"rule {k + 1} ({plain(rule.name)})"


def read_rules_over(
    source: RuleSource, table: FeatureSpace, classes: Sequence[Label] | None, *, has_names: bool
) -> tuple[RuleSet, RuleSet]:
    """Read rules as they are given, and over the features of a table with the ranges that the rules declare."""

    def parse(text: str) -> RuleSet:
        own = parse_rules(text, classes=classes)
        stray = [name for name in own.space.names if name not in table.names]
        if stray and not has_names:
            raise DataError(
                f"the advice speaks of {stray[0]!r}, and the table has no column names, so that they are x0, x1, ...; "
                "behind a transformer in a pipeline, keep them with set_output(transform='pandas')"
            )
        parse_rules(text, with_rules(table, own.space), classes)  # raises, with the place
        return own

    given = read_rules(source, parse, what="advice")
    for name in given.space.names:
        if name not in table.names:
            raise DataError(
                f"the advice speaks of {name!r}, and the data have no such column"
                f"{nearest_name(name, table.names)}"
            )
    for k, rule in enumerate(given):
        asked = (*rule.region.missing, *rule.region.known)
        if asked:
            raise DataError(
                f"{rule_name(rule, k)} asks whether {given.space.names[asked[0]]!r} is missing; advice is about "
                "values, since missing ones are filled. Leave the condition out, and apply such rules beside the model"
            )
        if classes is not None and rule.label not in classes:
            raise DataError(
                f"{rule_name(rule, k)} is for class {rule.label!r}, which is no class of the data"
                f"{nearest_name(str(rule.label), [str(c) for c in classes])}"
            )
    return given, over(given, with_rules(table, given.space), classes)


def with_rules(table: FeatureSpace, own: FeatureSpace) -> FeatureSpace:
    """Give the features of a table with the ranges that rules declare, and with the categories that they name."""
    place = {name: j for j, name in enumerate(own.names)}
    lower, upper = np.full(len(table), -np.inf), np.full(len(table), np.inf)
    integer, categories = np.zeros(len(table), dtype=np.bool_), list(table.categories)
    for j, name in enumerate(table.names):
        k = place.get(name)
        known = categories[j]
        if k is not None:
            lower[j], upper[j] = own.lower[k], own.upper[k]
            integer[j] = own.integer[k]
            if known is not None:
                categories[j] = tuple(dict.fromkeys((*known, *(own.categories[k] or ()))))
    return FeatureSpace(table.names, lower, upper, integer, categories)


def over(rules: RuleSet, space: FeatureSpace, classes: Sequence[Label] | None = None) -> RuleSet:
    """Say rules over other features of the same names."""
    text = "".join(f"{format_rule(rule, rules.space)}\n" for rule in rules)
    said = parse_rules(text, space, rules.classes if classes is None else classes)
    kept = [
        replace(new, origin=old.origin, proof=old.proof, stats=old.stats)
        for new, old in zip(said, rules, strict=True)
    ]
    return RuleSet(kept, space, said.classes)


def narrowed(rules: RuleSet, own: FeatureSpace) -> RuleSet:
    """Say rules over the features they were given in, and after these the others that they came to speak of."""
    space = rules.space
    met = sorted({j for rule in rules for j in rule.region.bounded})
    more = [space.names[j] for j in met if space.names[j] not in own.names]
    place = [space.index(name) for name in own.names]
    if not more and all(
        space.categories[j] is None or own.categories[k] for k, j in enumerate(place)
    ):
        return over(rules, own)
    categories = [own.categories[k] or space.categories[j] for k, j in enumerate(place)]
    free = np.full(len(more), np.inf)
    wider = FeatureSpace(
        [*own.names, *more],
        np.concatenate([own.lower, -free]),
        np.concatenate([own.upper, free]),
        np.concatenate([own.integer, np.zeros(len(more), dtype=np.bool_)]),
        [*categories, *[None] * len(more)],
        [*own.units, *[None] * len(more)],
    )
    return over(rules, wider)


@dataclass(frozen=True, slots=True)
class Premise:
    """A premise as rows D x <= d over the encoded columns; those that are numeric may be refined."""

    D: FloatArray
    d: FloatArray
    numeric_rows: BoolArray
    strict: BoolArray

    @classmethod
    def of(cls, region: Region, encoding: Encoding) -> Premise:
        """Write a region over the features of a table as rows; the column of a category that is not allowed is 0."""
        flat = Polyhedron.from_box(region) if isinstance(region, Box) else region
        numbers, barred, sets = np.zeros((len(flat.b), len(encoding.sources))), [], region.sets
        for k, (feature, code) in enumerate(encoding.sources):
            if code is None:
                numbers[:, k] = flat.A[:, feature]
            elif feature in sets and code not in sets[feature]:
                barred.append(k)
        fixed = np.zeros((len(barred), len(encoding.sources)))
        fixed[np.arange(len(barred)), barred] = 1.0
        return cls(
            D=np.concatenate([numbers, fixed]),
            d=np.concatenate([flat.b, np.zeros(len(barred))]),
            numeric_rows=np.arange(len(flat.b) + len(barred)) < len(flat.b),
            strict=np.concatenate([flat.strict, np.zeros(len(barred), dtype=np.bool_)]),
        )

    def covers(self, points: FloatArray) -> BoolArray:
        """Tell for each encoded row whether it satisfies the premise."""
        inside = np.ones(len(points), dtype=np.bool_)
        for row, limit, strict in zip(self.D, self.d, self.strict, strict=True):
            used = np.flatnonzero(row)
            value = points[:, used] @ row[used]
            inside &= value < limit if strict else value <= limit
        return inside


@dataclass(frozen=True, slots=True)
class Cases:
    """What is learned from: encoded rows of some weight, and rules over them."""

    encoding: Encoding
    values: FloatArray
    points: FloatArray
    y: FloatArray
    weight: FloatArray
    classes: NDArray[Any]
    given: RuleSet
    rules: RuleSet
    premises: tuple[Premise, ...]
    sign: FloatArray

    @property
    def declared(self) -> tuple[FloatArray, FloatArray]:
        """The range of each column as the rules declare it, infinite where they do not."""
        feature = [source.feature for source in self.encoding.sources]
        number = np.array([source.code is None for source in self.encoding.sources])
        space = self.rules.space
        lower, upper = space.lower[feature], space.upper[feature]
        return np.where(number, lower, 0.0), np.where(number, upper, 1.0)

    def take(self, rows: BoolArray) -> Cases:
        """Select rows by a mask."""
        values, points = self.values[rows], self.points[rows]
        return replace(self, values=values, points=points, y=self.y[rows], weight=self.weight[rows])

    def merged(self, n_rows: int) -> Cases:
        """Return at most so many rows, drawn by their values, with equal ones as one, in an order of their values."""
        rows = sample_classes(self.points, (self.y > 0).astype(np.intp), n_rows)
        points, y, weight = self.points[rows], self.y[rows], self.weight[rows].copy()
        if len(rows) < len(self.y):
            for sign in (-1.0, 1.0):  # each class weighs what all its rows do
                own = weight[y == sign].sum() or 1.0
                weight[y == sign] *= self.weight[self.y == sign].sum() / own
        table, inverse = np.unique(np.column_stack([y, points]), axis=0, return_inverse=True)
        by_weight = np.argsort(weight, kind="stable")  # the same sums in any order of rows
        total = np.bincount(inverse.ravel()[by_weight], weight[by_weight], len(table))
        return replace(self, points=table[:, 1:], y=table[:, 0], weight=total.astype(np.float64))


def read_cases(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Cases:
    """Read a table and the estimator's advice, without rows of no weight, and note the features on the estimator."""
    X = read_frame(X, estimator)
    refuse_collection(y, estimator, "y")
    labels = read_labels(X, y)
    table, advice = Table.read(X), estimator.advice
    validate_data(estimator, table.given, skip_check_array=True)
    weight = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
    classes = np.unique(labels)
    rows = np.flatnonzero(weight > 0)
    used = table if len(rows) == len(labels) else table.take(rows)
    own = advice.space.names if isinstance(advice, RuleSet) and not table.is_frame else ()
    encoding = filling_encoding(used, own if len(own) == len(table.names) else None)
    values = encoding.read(table)
    check_finite(values, estimator, X)
    check_extremes(values, estimator, X)
    if len(classes) == 1 and advice is not None:  # the other class may be known to the advice alone
        known = read_rules(advice, what="advice")
        classes = np.unique(np.array([*classes.tolist(), *(rule.label for rule in known)]))
    if len(classes) != 2:
        few = f"y holds only one class, {classes.tolist()[0]!r}, and the advice no other"
        many = f"Only binary classification is supported, and y has {len(classes)} classes"
        raise DataError(
            f"{few if len(classes) < 2 else many}; a classifier needs two classes to tell apart. Train a model for "
            "each class of several, with labels y == c and the rules for it"
        )
    names = [as_label(label) for label in classes.tolist()]
    given = rules = RuleSet([], encoding.space, names)
    if advice is not None:
        given, rules = read_rules_over(advice, encoding.space, names, has_names=table.is_frame)
        seen, said = encoding.space, rules.space
        integer = seen.integer | said.integer
        whole = FeatureSpace(seen.names, seen.lower, seen.upper, integer, said.categories)
        encoding = column_encoding(whole.with_fill(seen.fill))
    return Cases(
        encoding,
        values[rows],
        encoding.spread(values[rows]),
        np.where(labels[rows] == classes[1], 1.0, -1.0),
        weight[rows],
        classes,
        given,
        rules,
        tuple(Premise.of(rule.region, encoding) for rule in rules),
        np.array([1.0 if rule.label == names[1] else -1.0 for rule in rules]),
    )
