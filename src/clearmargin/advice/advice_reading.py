"""Read advice (rules, text, a file) over known features and classes, and declared groups of 0/1 columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError, InvalidValueError, RuleSyntaxError
from clearmargin.language import parse_rules
from clearmargin.language.lexer import Source
from clearmargin.language.sentences import is_sentence
from clearmargin.rules import FeatureSpace, OneHot, RuleSet
from clearmargin.rules.domain import check_members
from clearmargin.rules.domain import read_groups as read_mapping
from clearmargin.rules.file_writing import read_text
from clearmargin.rules.rule import Label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray

__all__ = [
    "Advice",
    "check_groups",
    "column_of",
    "one_hot_columns",
    "read_advice",
    "read_groups",
    "saying_how_to_keep_names",
]


Advice = RuleSet | str | os.PathLike[str]


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
    if isinstance(advice, RuleSet):
        rules = advice
    elif isinstance(advice, str) and _is_text(advice):
        rules = _parse(advice, names, classes)
    elif isinstance(advice, str | os.PathLike):
        rules = _load(Path(advice), names, classes)
    else:
        raise InvalidValueError(
            f"advice is a RuleSet, a text or the path of a file, not {type(advice).__name__}"
        )
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


def _is_text(advice: str) -> bool:
    """Check whether a text is rules rather than the name of a file with rules."""
    line = advice.strip()
    return "=>" in line or "\n" in line or is_sentence(Source(line), 0, len(line))


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
            place = {"line": error.line, "column": error.column, "length": error.length}
            raise RuleSyntaxError(
                f"{error.problem}{hint}", source=error.source, file=error.file, **place
            ) from None
        raise DataError(f"{error}{hint}") from None


def _load(path: Path, names: Sequence[str] | None, classes: Sequence[Label] | None) -> RuleSet:
    if not path.is_file():
        raise InvalidValueError(
            f"there is no file {str(path)!r}; advice as text needs a rule, such as 'bmi >= 30 => ill'"
        )
    if path.suffix == ".json":
        return RuleSet.load(path)
    text = read_text(path)
    try:
        return _parse(text, names, classes)
    except RuleSyntaxError as error:
        raise error.in_file(str(path)) from None


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
    columns = {kind: j for kind, j in columns.items() if binary is None or binary[j]}
    if not columns:
        raise DataError(
            f"groups names {feature!r}, and the data have no 0/1 columns '{feature}_...'"
            f"{nearest_name(str(feature), names)}"
        )
    return OneHot(feature, columns.values(), columns)


def check_groups(groups: Sequence[OneHot], points: NDArray[np.float64]) -> None:
    """Raise if some row has not exactly one category of a declared feature.

    Parameters
    ----------
    groups : sequence of OneHot
        The groups.
    points : ndarray of shape (m, n)
        The rows.

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
            raise DataError(
                f"exactly one column of {group.feature!r} must be 1 and the others 0, and row {row + 1} has "
                f"{values[row].tolist()}; encode every category (OneHotEncoder without drop), or leave "
                f"{group.feature!r} out of groups"
            )
