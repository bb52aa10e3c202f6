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
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from clearmargin.advice.all_rows import AllRows, look_at_rows
from clearmargin.exceptions import DataError, InvalidValueError, RuleSyntaxError
from clearmargin.language import parse_rules
from clearmargin.language.prose import plain
from clearmargin.language.rule_source import RuleSource, read_rules
from clearmargin.rules import Box, FeatureSpace, OneHot, Polyhedron, Rule, RuleSet
from clearmargin.rules.domain import check_members
from clearmargin.rules.domain import read_groups as read_mapping
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name, seen_ranges
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions, is_partitions
from clearmargin.tables.table import as_header, refuse_collection
from clearmargin.tables.validation import (
    check_positive,
    plain_labels,
    read_points,
    read_training,
    read_training_parts,
)

__all__ = [
    "Advice",
    "AdviceCase",
    "Columns",
    "Premise",
    "called",
    "check_groups",
    "column_names",
    "column_of",
    "encode_rule",
    "one_hot_columns",
    "read_advice",
    "read_case",
    "read_change_costs",
    "read_groups",
    "saying_how_to_keep_names",
]


Advice = RuleSource


def read_advice(
    advice: Advice,
    names: Sequence[str] | None = None,
    classes: Sequence[Label] | None = None,
) -> RuleSet:
    """Take advice in any form, and insist that it speaks of what the data know.

    Parameters
    ----------
    advice : RuleSet, str or path
        Rules; or their text; or a .rules or .json file. A text has an arrow ``=>``, is a sentence with
        *if* and *then*, or has more than one line.
    names : sequence of str, optional
        The columns of the data. A feature that is no column must be there as 0/1 columns ``feature_category``.
    classes : sequence of labels, optional
        The classes of the data.

    Returns
    -------
    RuleSet
        The rules.

    Raises
    ------
    RuleSyntaxError
        Where a text cannot be read, or names a feature or class that the data do not have; it says where.
    DataError
        Where a rule names a feature or class that the data do not have.

    Examples
    --------
    >>> read_advice("bmi >= 30 => ill", names=["age", "bmi"], classes=["ill", "well"])
    <RuleSet of 1 rules over 1 features, classes ('ill', 'well')>
    """

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
    """Add, where advice names columns and the table that arrives has no names, how to keep them.

    Parameters
    ----------
    estimator : estimator
        Which is given the table.
    has_names : bool
        Whether the table has names.
    """
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
    """Name a rule for people.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> called(parse_rules("obese: bmi >= 30 => ill"), 0)
    'rule 1 (obese)'
    """
    name = rules[index].name
    return f"rule {index + 1}" if name is None else f"rule {index + 1} ({plain(name)})"


def read_change_costs(nu: Any, rules: RuleSet) -> FloatArray:
    r"""Read the parameter `nu`: what changing each rule costs.

    Parameters
    ----------
    nu : float, mapping from rule name to float, or sequence of float
        One cost for all rules; or costs by name, ``rule 2`` for the second rule where it has none, with the cost of
        all other rules under None (1 where that is left out); or one for each rule. Infinite for a rule that must not
        change.
    rules : RuleSet
        The rules.

    Returns
    -------
    ndarray of shape (r,)
        The cost of each rule.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("law: age < 18 => no\nbmi >= 30 => yes")
    >>> read_change_costs({"law": np.inf, None: 0.1}, rules).tolist()
    [inf, 0.1]
    """
    names = [rule.name or f"rule {k + 1}" for k, rule in enumerate(rules)]
    if isinstance(nu, Mapping):
        for name in nu:
            if name is not None and name not in names:
                raise InvalidValueError(
                    f"nu names {name!r}, and the advice has no such rule{nearest_name(str(name), names)}"
                )
        costs = [nu.get(name, nu.get(None, 1.0)) for name in names]
    elif isinstance(nu, Sequence | np.ndarray) and not isinstance(nu, str):
        costs = list(nu)
        if len(costs) != len(names):
            raise InvalidValueError(
                f"nu has {len(costs)} costs, and the advice has {len(names)} rules; give one for each rule, or a "
                "mapping from the names of some"
            )
    else:
        return np.full(len(names), check_positive("nu", nu))
    for name, cost in zip(names, costs, strict=True):
        if not isinstance(cost, Real) or isinstance(cost, bool) or not float(cost) > 0:
            raise InvalidValueError(
                f"nu of {name!r} must be a positive number, or infinite for a rule that must not change, not {cost!r}"
            )
    return np.array(costs, dtype=np.float64)


def column_of(feature: str, names: Sequence[str]) -> int | None:
    """Find the column of a feature: of the same name, or the only one of that name after a step ``step__``.

    Examples
    --------
    >>> column_of("size", ["remainder__size", "other"]), column_of("age", ["size"])
    (0, None)
    """
    if feature in names:
        return list(names).index(feature)
    found = [j for j, name in enumerate(names) if name.partition("__")[2] == feature]
    return found[0] if len(found) == 1 else None


def one_hot_columns(feature: str, names: Sequence[str]) -> dict[str, int]:
    """Find the 0/1 columns of a categorical feature by their names.

    Parameters
    ----------
    feature : str
        The feature.
    names : sequence of str
        The columns; those of a OneHotEncoder are called ``feature_category``, after a ColumnTransformer
        ``step__feature_category``.

    Returns
    -------
    dict from str to int
        Category to position of its column.

    Examples
    --------
    >>> one_hot_columns("colour", ["size", "cat__colour_red", "cat__colour_blue"])
    {'red': 1, 'blue': 2}
    """
    found = {}
    for j, name in enumerate(names):
        bare = name if name.startswith(f"{feature}_") else name.partition("__")[2]
        if bare.startswith(f"{feature}_"):
            found[bare[len(feature) + 1 :]] = j
    return found


def read_groups(
    groups: Any, names: Sequence[str], binary: BoolArray | None = None
) -> tuple[OneHot, ...]:
    """Read the parameter `groups`: which columns are the categories of one feature.

    Parameters
    ----------
    groups : iterable of str, mapping from feature to mapping from category to column, or None
        Names of features whose columns are called ``feature_category``; or the columns, by name or position.
    names : sequence of str
        The columns.
    binary : ndarray of bool of shape (n,), optional
        Which columns hold nothing but 0 and 1; a name stands for those alone.

    Returns
    -------
    tuple of OneHot
        The groups; none where nothing is declared. They are never guessed from the values of columns.

    Examples
    --------
    >>> read_groups(["colour"], ["age", "colour_red", "colour_blue"])
    (OneHot(feature='colour', columns=(1, 2), categories=('red', 'blue')),)
    """
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


def check_groups(
    groups: Sequence[OneHot], points: NDArray[np.float64], numbers: IntArray | None = None
) -> None:
    """Raise if some row has not exactly one category of a declared feature.

    Parameters
    ----------
    groups : sequence of OneHot
        The groups.
    points : ndarray of shape (m, n)
        The rows.
    numbers : ndarray of int of shape (m,), optional
        The numbers of the rows in the whole table, where these are only some of its rows.

    Examples
    --------
    >>> check_groups([OneHot("colour", [0, 1], ["red", "blue"])], np.array([[0.0, 1.0]]))
    """
    for group in groups:
        values = points[:, list(group.columns)]
        ones, zeros = (values == 1.0).sum(axis=1), (values == 0.0).sum(axis=1)
        wrong = np.flatnonzero((ones != 1) | (zeros != len(group.columns) - 1))
        if len(wrong):
            row = int(wrong[0])
            number = row if numbers is None else int(numbers[row])
            raise DataError(
                f"exactly one column of {group.feature!r} must be 1 and the others 0, and row {number + 1} has "
                f"{values[row].tolist()}; encode every category (OneHotEncoder without drop), or leave "
                f"{group.feature!r} out of groups"
            )


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the model each feature of the advice is.

    Parameters
    ----------
    names : tuple of str
        The columns.
    space : FeatureSpace
        The features of the advice.
    numbers : dict from int to int
        Feature to column, for features that are columns.
    groups : dict from int to dict from str to int
        Feature to its 0/1 columns by category.
    declared : tuple of OneHot, default ()
        Further categorical features that the data have as 0/1 columns, as the user declares them.

    Examples
    --------
    >>> space = FeatureSpace(["age", "colour"], categories={"colour": ["red"]})
    >>> columns = Columns.match(space, ["age", "colour_blue", "colour_red"])
    >>> columns.numbers, columns.groups
    ({0: 0}, {1: {'blue': 1, 'red': 2}})
    """

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
        """Find the columns of each feature, by name.

        Parameters
        ----------
        space : FeatureSpace
            The features of the advice.
        names : sequence of str
            The columns.
        binary : ndarray of bool, optional
            Which columns hold nothing but 0 and 1; only those stand for categories.
        by_position : bool, default False
            Whether the features are the columns in their order, whatever they are called.
        declared : tuple of OneHot, default ()
            Categorical features that are declared beside those of the advice.

        Returns
        -------
        Columns
            The columns of each feature.
        """
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


def column_names(space: FeatureSpace) -> list[str]:
    """Name the columns that a model of advice alone has: features, and 0/1 columns for categories.

    Examples
    --------
    >>> column_names(FeatureSpace(["age", "colour"], categories={"colour": ["red", "blue"]}))
    ['age', 'colour_red', 'colour_blue']
    """
    names = []
    for name, categories in zip(space.names, space.categories, strict=True):
        names += [name] if categories is None else [f"{name}_{category}" for category in categories]
    return names


@dataclass(frozen=True, slots=True)
class Premise:
    """A premise as rows D x <= d over the columns of the model, in the user's units.

    Parameters
    ----------
    D : ndarray of shape (k, n)
        Left-hand sides.
    d : ndarray of shape (k,)
        Right-hand sides.
    numeric_rows : ndarray of bool of shape (k,)
        Which rows may be refined: those on numbers, which come first.
    strict : ndarray of bool of shape (k,)
        Which rows were written with < or >; the model treats all as <= and >=.
    """

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
    """Write the premise of a rule as rows over the columns.

    Parameters
    ----------
    rule : Rule
        The rule.
    columns : Columns
        Where its features are.

    Returns
    -------
    Premise
        First the conditions on numbers, in the order of the rule, then those on categories.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("colour = red and age >= 30 => ill")
    >>> columns = Columns.match(rules.space, ["age", "colour_red", "colour_blue"])
    >>> encode_rule(rules[0], columns).D.tolist()
    [[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
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
    """What is to be learned from.

    Parameters
    ----------
    X : ndarray of shape (m, n) or None
        The points; None where there is advice alone.
    y : ndarray of shape (m,)
        Their signs.
    weight : ndarray of shape (m,)
        Their weights.
    classes : ndarray of shape (2,)
        The classes; the second is the positive one.
    rules : RuleSet
        The advice.
    columns : Columns
        The columns of each feature of the advice.
    binary : ndarray of bool of shape (n,) or None
        Which columns hold nothing but 0 and 1.
    by_position : bool
        Whether features of the advice are columns by position, not by name.
    premises : tuple of Premise
        The premises over the columns.
    sign : ndarray of shape (r,)
        The sign of the class of each rule.
    rows : AllRows, optional
        All points, where `X` is only a sample of them, whose weights stand for all.
    """

    X: FloatArray | None
    y: FloatArray
    weight: FloatArray
    classes: NDArray[Any]
    rules: RuleSet
    columns: Columns
    binary: NDArray[np.bool_] | None
    by_position: bool
    premises: tuple[Premise, ...]
    sign: FloatArray
    rows: AllRows | None = None

    def only(self, rows: Any) -> AdviceCase:
        """Return the same advice with some of the points."""
        if self.X is None:
            return self
        return replace(self, X=self.points[rows], y=self.y[rows], weight=self.weight[rows])

    def counting(self) -> AdviceCase:
        """Return the same case without points of no weight."""
        return self if self.weight.all() else self.only(self.weight > 0)

    @property
    def points(self) -> FloatArray:
        """The points, none where there is advice alone."""
        return np.zeros((0, len(self.columns.names))) if self.X is None else self.X

    @property
    def whole(self) -> BoolArray:
        """Which columns hold whole numbers only; none where there is advice alone."""
        if self.rows is not None:
            return self.rows.whole
        none = np.zeros(len(self.columns.names), dtype=np.bool_)
        return seen_ranges(list(self.points.T))[2] if len(self.points) else none

    def blocks(self) -> Partitions[Block]:
        """Give all points in partitions, in the user's units."""
        if self.rows is not None:
            return self.rows.blocks
        return ArrayBlocks(self.points, self.y, self.weight, names=self.columns.names)


def read_case(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> AdviceCase:
    """Read data and the estimator's advice, and note the features on the estimator.

    Parameters
    ----------
    estimator : estimator
        Has `advice`; gets `n_features_in_` and `feature_names_in_`.
    X, y : table and labels, or None and None
        The data.
    sample_weight : array-like of shape (m,), optional
        Weights of the points.

    Returns
    -------
    AdviceCase
        Data and advice.
    """
    if X is None and y is None:
        return _advice_alone(estimator)
    refuse_collection(X, estimator)
    refuse_collection(y, estimator, "y")
    if is_partitions(X):
        return _read_parts(estimator, X, y, sample_weight)
    if estimator.advice is None:
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        classes, signs = labels.classes, labels.signs
    else:
        points, classes, signs = _read_points(estimator, X, y)
    weight = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
    binary = np.asarray(((points == 0) | (points == 1)).all(axis=0))
    case = _matched(estimator, Block(points, signs, weight, np.arange(len(signs))), classes, binary)
    check_groups(case.columns.declared, points)
    return case


def _read_parts(estimator: Any, parts: TableParts, y: Any, sample_weight: Any) -> AdviceCase:
    """Read a table in partitions: as it is in memory where it is small, else a sample with all rows behind it."""
    training = read_training_parts(estimator, parts, y, None, sample_weight)
    rows, sample = look_at_rows(training.blocks)
    binary = (rows.low >= 0.0) & (rows.high <= 1.0) & rows.whole
    case = _matched(estimator, sample, training.classes, binary)
    for error in training.blocks.map(_wrong_group, common=(case.columns.declared,)):
        if error:
            raise DataError(error)
    return case if len(sample.y) == rows.n_rows else replace(case, rows=rows)


def _wrong_group(block: Block, groups: Sequence[OneHot]) -> str:
    """Say what is wrong with the first row of a block that has not one category of a declared feature."""
    try:
        check_groups(groups, block.X, block.rows)
    except DataError as error:
        return str(error)
    return ""


def _matched(estimator: Any, points: Block, classes: NDArray[Any], binary: BoolArray) -> AdviceCase:
    """Read the advice of an estimator, and match it with the columns of points."""
    given = getattr(estimator, "feature_names_in_", None)
    n = points.X.shape[1]
    names = [f"x{j}" for j in range(n)] if given is None else [str(c) for c in given]
    rules = RuleSet([], FeatureSpace(names), classes.tolist())
    by_position = False
    if estimator.advice is not None:
        # Rules read an array by position; a text can only know its columns as x0, x1, ...
        is_array = given is None and isinstance(estimator.advice, RuleSet)
        by_position = is_array and len(estimator.advice.space) == len(names)
        known = None if by_position else names
        with saying_how_to_keep_names(estimator, has_names=given is not None):
            rules = read_advice(estimator.advice, known, [as_label(c) for c in classes.tolist()])
    declared = read_groups(getattr(estimator, "groups", None), names, binary)
    columns = Columns.match(rules.space, names, binary, by_position, declared)
    return AdviceCase(
        points.X,
        points.y,
        points.cost,
        classes,
        rules,
        columns,
        binary,
        by_position,
        tuple(encode_rule(rule, columns) for rule in rules),
        _signs(rules, classes),
    )


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


def _advice_alone(estimator: Any) -> AdviceCase:
    if estimator.advice is None:
        raise DataError("there is neither data nor advice: nothing can be learned")
    rules = read_advice(estimator.advice)
    labels = {rule.label for rule in rules} | set(rules.classes)
    if len(labels) != 2:
        raise DataError(
            f"advice alone must speak of two classes, not of {len(labels)}: "
            f"{', '.join(repr(label) for label in rules.classes)}; declare both with 'classes: ...'"
        )
    names = column_names(rules.space)
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    columns = Columns.match(
        rules.space, names, declared=read_groups(getattr(estimator, "groups", None), names)
    )
    classes = np.unique(np.array(list(labels)))
    nothing = np.zeros(0)
    return AdviceCase(
        None,
        nothing,
        nothing,
        classes,
        rules,
        columns,
        None,
        False,
        tuple(encode_rule(rule, columns) for rule in rules),
        _signs(rules, classes),
    )


def _signs(rules: RuleSet, classes: NDArray[Any]) -> FloatArray:
    positive = as_label(classes[1])
    return np.array([1.0 if rule.label == positive else -1.0 for rule in rules])
