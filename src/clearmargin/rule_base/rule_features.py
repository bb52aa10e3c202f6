"""Rules as columns: a 0/1 column for each rule, for anybody's pipeline.

`match_rules` finds the features of rules among the columns of a table; `RuleFeatures` is the transformer on top of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language import parse_rules
from clearmargin.language.printer import Phrases
from clearmargin.language.rule_source import RuleSource, read_rules
from clearmargin.rule_base.base import check_table
from clearmargin.rules import Box, FeatureSpace, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.space import category_name, nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.table import Table, as_header, read_frame
from clearmargin.tables.validation import check_choice

__all__ = ["MatchedRules", "RuleFeatures", "match_rules", "rule_titles"]


@dataclass(frozen=True, slots=True)
class MatchedRules:
    """Rules, and where their features stand in a table.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    positions : tuple of int
        The column of each feature of `rules.space`.

    Examples
    --------
    >>> matched = match_rules("bmi >= 30 => ill", Table.read({"age": [40, 50], "bmi": [22, 31]}))
    >>> matched.positions, matched.covers(Table.read({"age": [60], "bmi": [35]}))
    ((1,), array([[ True]]))
    """

    rules: RuleSet
    positions: tuple[int, ...]

    def covers(self, table: Table) -> BoolArray:
        """Tell for each row of a table with the same columns and each rule whether the rule covers the row."""
        space = self.rules.space
        if table.array is not None:
            return self.rules.covers(table.array[:, list(self.positions)])
        names = [table.names[j] for j in self.positions]
        return self.rules.covers(table.points(space, names))


def match_rules(
    source: RuleSource,
    table: Table,
    classes: Sequence[Label] | None = None,
    *,
    what: str = "rules",
) -> MatchedRules:
    """Read rules and find their features among the columns of a table.

    Parameters
    ----------
    source : RuleSet, str or path
        The rules; their text; or a .rules or .json file.
    table : Table
        The table. The columns of an array are called x0, x1, ...; a `RuleSet` over as many features is taken to be over
        its columns in their order.
    classes : sequence of labels, optional
        The classes that a text may name.
    what : str, default "rules"
        What the rules are, for messages.

    Returns
    -------
    MatchedRules
        The rules over the features that they name.

    Raises
    ------
    RuleSyntaxError
        Where a text cannot be read or names a column that the table does not have; it says where.
    DataError
        Where a rule set does, or has categories where the table has numbers.
    """

    def parse(text: str) -> RuleSet:
        return _parse(text, table, classes)

    rules = read_rules(source, parse, what=what)
    if not table.is_frame and isinstance(source, RuleSet) and len(rules.space) == len(table.names):
        return MatchedRules(rules, tuple(range(len(rules.space))))
    for name, categories in zip(rules.space.names, rules.space.categories, strict=True):
        if name not in table.keys:
            raise DataError(
                f"the rules speak of {name!r}, and the table has no such column{nearest_name(name, table.names)}"
            )
        if table.is_frame and categories is not None:
            _check_categories(name, categories, table)
    position = {name: j for j, name in enumerate(table.names)}
    return MatchedRules(rules, tuple(position[name] for name in rules.space.names))


def _parse(text: str, table: Table, classes: Sequence[Label] | None) -> RuleSet:
    rules = parse_rules(text, classes=classes)
    if any(name not in table.keys for name in rules.space.names):
        # Read once more with the names of the table: an unknown one is reported with its place in the text.
        named = dict(zip(rules.space.names, rules.space.categories, strict=True))
        known = {name: named[name] for name in table.names if named.get(name) is not None}
        parse_rules(text, space=FeatureSpace(table.names, categories=known), classes=classes)
    coded = {
        name: _named_categories(rules, j, table.column(name).categories)
        for j, (name, categories) in enumerate(
            zip(rules.space.names, rules.space.categories, strict=True)
        )
        if categories is None and table.is_frame and not table.column(name).is_numeric
    }
    if not coded:
        return rules
    # A text cannot show that 3 in `grade = 3` is the name of a category.
    categories = [
        coded.get(name, known)
        for name, known in zip(rules.space.names, rules.space.categories, strict=True)
    ]
    space = FeatureSpace(rules.space.names, categories=categories)
    return parse_rules(text, space=space, classes=classes)


def _named_categories(rules: RuleSet, feature: int, met: tuple[str, ...]) -> tuple[str, ...]:
    """List the categories of a column, and those that rules name as if they were numbers."""
    named = [
        category_name(interval.low)
        for rule in rules
        if isinstance(rule.region, Box)
        and (interval := rule.region.interval(feature)).low == interval.high
    ]
    return tuple(dict.fromkeys([*met, *named]))


def _check_categories(name: str, categories: Sequence[str], table: Table) -> None:
    """Raise if rules name categories of a column in which there are numbers alone."""
    column = table.column(name)
    if not column.has_number_type or column.declared is not None or column.is_missing.all():
        return
    met = {category_name(value) for value in np.unique(column.numbers())}
    if met.isdisjoint(categories):
        raise DataError(
            f"the rules have categories for {name!r} ({', '.join(categories[:3])}), and the table has numbers there"
        )


class RuleFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turn rules into columns: 1 where a rule covers a row, 0 elsewhere.

    For any pipeline: an expert's rules beside other features, through a `FeatureUnion` or a `ColumnTransformer`, or
    rules that were extracted from one model as features of another. The model decides how much to believe each of them.

    Parameters
    ----------
    rules : RuleSet, str or path
        The rules; their text in the rule language; or a .rules or .json file.
    vote : {False, True, "only"}, default False
        Whether what the rules vote is a column, too, or the only one: the weights of the rules for the second class
        that cover a row minus those for the first, in the order of their names. With one class it is their sum, with
        more than two there is a column for each class.

    Attributes
    ----------
    rules_ : RuleSet
        The rules as they were read.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, where it had any.

    See Also
    --------
    AdviceSVC : Takes rules as constraints, for rules that must hold and for rules without data.

    Notes
    -----
    A condition on a missing value is false, and so is one on a category that the value is not. Categories stand in the
    table by name; no column has to be encoded.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"bmi": [22, 31, None], "smoker": ["no", "yes", "ex"]})
    >>> columns = RuleFeatures("obese: bmi >= 30 => ill\nsmoker in {yes, ex} => ill", vote=True)
    >>> columns.set_output(transform="pandas").fit_transform(X)
       obese  smoker in {yes, ex}  vote
    0    0.0                  0.0   0.0
    1    1.0                  1.0   2.0
    2    0.0                  1.0   1.0
    """

    _reads_tables: ClassVar[bool] = True  # see `Table.taken_by`

    rules_: RuleSet

    def __init__(self, rules: RuleSource, *, vote: bool | str = False):
        self.rules = rules
        self.vote = vote

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the rules and find their features among the columns of a table.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; columns of an array are called x0, x1, ...
        y : object
            Is not looked at.

        Returns
        -------
        RuleFeatures
            Fitted.
        """
        if not isinstance(self.vote, bool):
            check_choice("vote", self.vote, ("only",))
        table = self._read(X, reset=True)
        self._matched = match_rules(self.rules, table)
        self.rules_ = self._matched.rules
        if not len(self.rules_):
            raise InvalidValueError("there are no rules, and so no column")
        return self

    def transform(self, X: Any) -> FloatArray:
        """Tell for each row which rules cover it.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m, n_columns)
            A column for each rule, and for the vote where it is asked for.
        """
        check_is_fitted(self)
        covers = self._matched.covers(self._read(X, reset=False)).astype(np.float64)
        if not self.vote:
            return covers
        votes = covers @ _ballot(self.rules_)
        return votes if self.vote == "only" else np.hstack([covers, votes])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the columns: a rule's name or, where it has none, its conditions.

        Parameters
        ----------
        input_features : array-like of str, optional
            Has to be the names of the columns of the table, where it is given.

        Returns
        -------
        ndarray of str
            One for each column.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and known is not None:
            if list(map(str, input_features)) != list(map(str, known)):
                raise InvalidValueError("input_features is not equal to feature_names_in_")
        elif input_features is not None and len(input_features) != self.n_features_in_:
            raise InvalidValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(input_features)}"
            )
        names = [] if self.vote == "only" else rule_titles(self.rules_)
        if self.vote:
            classes = _in_order(self.rules_.classes)
            names += ["vote"] if len(classes) <= 2 else [f"vote for {label}" for label in classes]
        return np.array(_told_apart(names), dtype=object)

    def _read(self, X: Any, *, reset: bool) -> Table:
        """Read rows, and note or check names and number of columns as scikit-learn does."""
        X = read_frame(X)
        check_table(X)
        table = Table.read(X)
        if table.array is not None and table.array.dtype.kind == "c":
            raise DataError("Complex data not supported")
        validate_data(self, as_header(X), skip_check_array=True, reset=reset)
        for size, what in zip(table.shape, ("sample", "feature"), strict=True):
            if not size:
                raise DataError(
                    f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is required."
                )
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.requires_fit = True
        return tags


def rule_titles(rules: RuleSet) -> list[str]:
    r"""Call each rule by its name or, where it has none, by its conditions.

    Parameters
    ----------
    rules : RuleSet
        The rules.

    Returns
    -------
    list of str
        One for each rule; two rules may have the same.

    Examples
    --------
    >>> rule_titles(parse_rules("obese: bmi >= 30 => ill\nbmi < 25 and age < 20 => well"))
    ['obese', 'bmi < 25 and age < 20']
    """
    phrases = Phrases(rules.space)
    return [rule.name or phrases.premise(rule) for rule in rules]


def _ballot(rules: RuleSet) -> FloatArray:
    """Return for each rule how it votes: towards the second class, or for each of more than two."""
    classes = _in_order(rules.classes)
    labels = np.array([classes.index(rule.label) for rule in rules])
    weights = np.array([rule.weight for rule in rules])
    if len(classes) > 2:
        return np.asarray(weights[:, None] * (labels[:, None] == np.arange(len(classes))))
    towards = labels if len(classes) == 2 else np.ones(len(labels))
    return np.asarray((weights * np.where(towards == 1, 1.0, -1.0))[:, None])


def _in_order(classes: Sequence[Label]) -> list[Label]:
    """Sort classes as scikit-learn does, numbers before texts; rules name them in any order."""
    return sorted(classes, key=lambda label: (isinstance(label, str), label))


def _told_apart(names: list[str]) -> list[str]:
    """Number names that occur more than once, from the second on."""
    taken = set(names)
    seen: set[str] = set()
    apart = []
    for name in names:
        title, k = name, 2
        while title in seen or (title != name and title in taken):
            title, k = f"{name} ({k})", k + 1
        seen.add(title)
        apart.append(title)
    return apart
