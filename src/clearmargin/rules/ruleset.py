"""Rules that belong together: over the same features, for the same classes, in this order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
    RuleSyntaxError,
)
from clearmargin.rules.box import Box
from clearmargin.rules.file_writing import json_text, read_json, read_text, write_text_atomically
from clearmargin.rules.rule import Label, Region, Rule, RuleScores, RuleStats, as_label
from clearmargin.rules.rules_document import read_document, write_document
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.rule_base.row_coverage import RowCoverage

# Rows handled at a time where only the first rule of each is asked for.
_ROWS = 65_536


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class RuleSet(Value, Sequence[Rule]):
    """An immutable sequence of rules with the features and classes they speak about.

    Parameters
    ----------
    rules : iterable of Rule
        The rules; where several cover a row, the first one decides.
    space : FeatureSpace
        The features.
    classes : iterable of labels, optional
        The classes; by default those of the rules in the order in which they appear.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 and glucose >= 126 => ill")
    >>> rules.predict([[31.0, 140.0], [22.0, 90.0]], default="well")
    array(['ill', 'well'], dtype='<U4')
    >>> print(rules.to_text(), end="")
    bmi >= 30 and glucose >= 126 => ill
    """

    # Rows may come as a `Table` that was read already.
    _reads_tables: ClassVar[bool] = True

    rules: tuple[Rule, ...]
    space: FeatureSpace
    classes: tuple[Label, ...]
    # The rules that are boxes of bounds alone, and these boxes, once they were asked for.
    _plain: tuple[list[int], Box] | None = field(init=False, compare=False)

    def __init__(
        self,
        rules: Iterable[Rule],
        space: FeatureSpace,
        classes: Iterable[Label] | None = None,
    ):
        if not isinstance(space, FeatureSpace):
            raise InvalidValueError(
                f"the space of a rule set is a FeatureSpace, not {type(space).__name__}"
            )
        if isinstance(classes, str):
            raise InvalidValueError(
                f"classes must be a list of labels, not the single text {classes!r}"
            )
        members = tuple(rules)
        with_categories = frozenset(
            j for j, categories in enumerate(space.categories) if categories is not None
        )
        for k, rule in enumerate(members):
            _check_rule(rule, k, space, with_categories)
        rule_labels = dict.fromkeys(rule.label for rule in members)
        labels = tuple(rule_labels) if classes is None else tuple(as_label(c) for c in classes)
        known = set(labels)
        if len(known) < len(labels):
            raise InvalidValueError(f"the classes must differ: {labels}")
        for k, rule in enumerate(members):
            if rule.label not in known:
                hint = nearest_name(str(rule.label), [str(c) for c in labels])
                raise InvalidValueError(
                    f"rule {k + 1} says {rule.label!r}, which is no class{hint}"
                )
        members = tuple(rule._named_by(space) for rule in members)
        self._set(rules=members, space=space, classes=labels, _plain=None)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleSet:
        if isinstance(index, slice):
            return RuleSet(self.rules[index], self.space, self.classes)
        return self.rules[index]

    def __repr__(self) -> str:
        return f"<RuleSet of {len(self)} rules over {len(self.space)} features, classes {self.classes}>"

    def __str__(self) -> str:
        return self.to_text()

    # Applying the rules

    def _covered(self, points: FloatArray) -> BoolArray:
        """Tell for each rule and row whether the rule covers the row; boxes of bounds alone are asked together."""
        if self._plain is None:
            boxes = {
                r: rule.region
                for r, rule in enumerate(self.rules)
                if isinstance(rule.region, Box) and rule.region.has_bounds_alone
            }
            self._set(_plain=(list(boxes), Box.stack(list(boxes.values()), len(self.space))))
        assert self._plain is not None
        plain, stack = self._plain
        covered = np.empty((len(self), len(points)), dtype=np.bool_)
        covered[plain] = stack.contains(points)
        for r in set(range(len(self))) - set(plain):
            covered[r] = self.rules[r].region.contains(points)
        return covered

    def covers(self, X: Any) -> BoolArray:
        """Tell for each row and each rule whether the rule covers the row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The rows. A condition on a missing value is false, and a rule without a condition on it does not mind.
            Where the space has a value that a missing one counts as (`FeatureSpace.fill`), it takes its place first.

        Returns
        -------
        ndarray of bool of shape (m, r)
            One column a rule.
        """
        if _is_in_parts(X):
            return np.concatenate(X.map(_ask_part, common=(self, "covers")))
        return self._covered(self.space.read(X)).T

    def which(self, X: Any) -> IntArray:
        """Give for each row the index of the first rule that covers it, -1 where none does."""
        if _is_in_parts(X):
            return np.concatenate(X.map(_ask_part, common=(self, "which")))
        points = self.space.read(X)
        first = np.full(len(points), -1, dtype=np.intp)
        for start in range(0, len(points) if len(self) else 0, _ROWS):
            covered = self._covered(points[start : start + _ROWS])
            found = np.where(covered.any(axis=0), covered.argmax(axis=0), -1)
            first[start : start + _ROWS] = found
        return first

    def why(self, X: Any) -> list[RowCoverage]:
        """Name for each row the first rule that covers it, or the nearest one with the conditions that the row fails.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        list of RowCoverage
            One a row; it reads as a sentence.

        Examples
        --------
        >>> from clearmargin import parse_rules
        >>> (told,) = parse_rules("bmi >= 30 and age >= 50 => ill").why([[40, 45]])
        >>> told.status, told.rule, str(told.failed[0])
        ('nearest', 0, 'age is at least 50 (age is 45)')
        """
        from clearmargin.rule_base.row_coverage import why_covered

        table = self.space.read(X)
        return why_covered(self, X, table, self.which(table), [None] * len(table))

    def predict(self, X: Any, default: Label | None = None) -> NDArray[Any]:
        """Give for each row the class of the first rule that covers it.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.
        default : label, optional
            What to say where no rule fires; without it, None (and an array of objects).

        Returns
        -------
        ndarray of shape (m,)
            Classes; an array of objects if there is no type that keeps all of them as they are.
        """
        # The default stands last, where index -1 finds it.
        last = None if default is None else as_label(default)
        return _label_array([*(rule.label for rule in self.rules), last])[self.which(X)]

    def score(self, X: Any, y: Any = None, model: Any = None) -> RuleScores:
        """Count what the rules cover and how often they are right.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.
        y : array-like of shape (m,), optional
            The true classes, for the accuracy; those of a table in partitions are in its target.
        model : fitted classifier or array-like of shape (m,), optional
            The model (or its predictions), for the fidelity.

        Returns
        -------
        RuleScores
            For the rules as a whole and for each by itself.
        """
        if _is_in_parts(X):
            scores: list[RuleScores] = X.map(_score_part, common=(self, X.names, X.target, model))
            return sum(scores[1:], start=scores[0])
        covered = self.covers(X)
        rule_labels = [rule.label for rule in self.rules]
        predictions = model
        if hasattr(model, "predict"):
            predictions = model.predict(X) if len(covered) else []
        right = _matches(y, rule_labels, len(covered), "y")
        same = _matches(predictions, rule_labels, len(covered), "model")
        single = _count(covered, right, same)
        by_any = np.asarray(covered.any(axis=1, keepdims=True))
        (total,) = _count(by_any, _by_first(right, covered), _by_first(same, covered))
        overlaps = np.count_nonzero(np.count_nonzero(covered, axis=1) > 1)
        return RuleScores(total, tuple(single), overlaps=int(overlaps))

    # Reading and writing

    def to_text(self) -> str:
        """Write the rules in the rule language; `from_text` gives back the same rules, bit for bit."""
        from clearmargin.language import format_rules

        return format_rules(self)

    @classmethod
    def from_text(
        cls, text: str, space: FeatureSpace | None = None, classes: Iterable[Label] | None = None
    ) -> RuleSet:
        """Read rules written in the rule language; see `parse_rules`."""
        from clearmargin.language import parse_rules

        return parse_rules(text, space=space, classes=classes)

    def describe(self, digits: int = 3) -> str:
        """Say the rules in sentences for people; bounds are rounded inwards, so that what was proved stays true."""
        from clearmargin.language import describe_rules

        return describe_rules(self, digits=digits)

    def to_frame(self) -> pd.DataFrame:
        """Put the rules into a pandas data frame, one row a rule."""
        from clearmargin.language import rules_frame

        return rules_frame(self)

    def _repr_html_(self) -> str:
        from clearmargin.language import rules_html

        return rules_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Put the rules into plain data for JSON, with everything that is known about them."""
        return write_document(self.rules, self.space, self.classes)

    @classmethod
    def from_dict(cls, data: object) -> RuleSet:
        """Make rules from what `to_dict` gave; a proof becomes "stated", for there is no model to check it by."""
        rules, space, classes = read_document(data)
        try:
            return cls(rules, space, classes)
        except InvalidValueError as error:
            raise FileDamagedError(str(error)) from error

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the rules to a file, as JSON (.json) or in the rule language (.rules).

        Parameters
        ----------
        path : path
            The file; its suffix decides the form. Text keeps what the rules say, JSON also where they come from
            and how they were checked.
        overwrite : bool, default False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written, whole or not at all.
        """
        text = json_text(self.to_dict()) if _form(path) == ".json" else self.to_text()
        return write_text_atomically(path, text, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RuleSet:
        """Read rules from a .json or .rules file; a proof in it becomes "stated", for it cannot be checked here."""
        if _form(path) == ".rules":
            text = read_text(path)
            try:
                return cls.from_text(text)
            except RuleSyntaxError as error:
                raise error.in_file(str(path)) from None
        data = read_json(path)
        try:
            return cls.from_dict(data)
        except (FileDamagedError, FileTooNewError) as error:
            raise type(error)(f"{path}: {error}") from error


def _is_in_parts(X: object) -> bool:
    """Tell whether a table is given in partitions, which live in a higher room; see `clearmargin.scan`."""
    return hasattr(type(X), "lengths") and hasattr(type(X), "map")


def _ask_part(part: Any, rules: RuleSet, question: str) -> NDArray[Any]:
    answers: NDArray[Any] = getattr(rules, question)(part.table(rules.space.names))
    return answers


def _score_part(
    part: Any, rules: RuleSet, names: tuple[str, ...], target: str | None, model: Any
) -> RuleScores:
    return rules.score(part.table(names), None if target is None else part.values(target), model)


def _check_rule(rule: Rule, k: int, space: FeatureSpace, with_categories: frozenset[int]) -> None:
    if not isinstance(rule, Rule):
        raise InvalidValueError(f"rule {k + 1} is not a Rule but {type(rule).__name__}")
    if rule.n_features != len(space):
        raise InvalidValueError(
            f"rule {k + 1} is over {rule.n_features} features, the space has {len(space)}"
        )
    for feature, codes in rule.region.sets.items():
        categories = space.categories[feature]
        if categories is None or max(codes) >= len(categories):
            raise InvalidValueError(
                f"rule {k + 1} names a category of {space.names[feature]!r} that the space does not have"
            )
    # Most spaces have no categories, and most sets of rules have many rules.
    for feature in rule.region.bounded if with_categories else ():
        if feature in with_categories and _has_bound(rule.region, feature):
            raise InvalidValueError(
                f"rule {k + 1} has a bound on {space.names[feature]!r}, which has categories"
            )

    for feature in rule.region.missing:
        if (value := space.fill[feature]) is not None:
            raise InvalidValueError(
                f"rule {k + 1} asks whether {space.names[feature]!r} is missing, but in its space a missing one counts "
                f"as {value!r}, so that the rule would never hold; drop the rule, or that value from the space"
            )


def _has_bound(region: Region, feature: int) -> bool:
    """Check whether a feature is compared with numbers."""
    if isinstance(region, Box):
        return region.has_bounds(feature)
    return bool(region.A[:, feature].any())


def _form(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".rules"):
        raise InvalidValueError(f"{path}: the name of a rule file ends in .json or .rules")
    return suffix


def _label_array(labels: list[Any]) -> NDArray[Any]:
    answers = np.array(labels)
    # numpy turns 1 and "one" both into text, and 2**63 and -1 both into floats.
    return answers if answers.tolist() == labels else np.array(labels, dtype=object)


def _matches(answers: Any, rule_labels: list[Label], rows: int, what: str) -> BoolArray | None:
    """Tell for each row and rule whether the answer is what the rule says."""
    if answers is None:
        return None
    values = np.asarray(answers, dtype=object)
    if values.shape != (rows,):
        raise DataError(
            f"{what} has shape {values.shape}; one answer for each of {rows} rows is needed"
        )
    # Numbers instead of labels: each answer is looked up once, and pandas.NA is equal to no label.
    number = {label: k for k, label in enumerate(dict.fromkeys(rule_labels))}
    given = np.array([number.get(value, -1) for value in values], dtype=np.intp)
    same: BoolArray = given[:, None] == np.array(
        [number[label] for label in rule_labels], dtype=np.intp
    )
    return same


def _by_first(table: BoolArray | None, covered: BoolArray) -> BoolArray | None:
    """Return for each row the entry of the first rule that covers it, as a single column."""
    if table is None:
        return None
    if not covered.shape[1]:
        return np.zeros((len(covered), 1), dtype=np.bool_)
    return np.take_along_axis(table, covered.argmax(axis=1)[:, None], axis=1)


def _count(covered: BoolArray, right: BoolArray | None, same: BoolArray | None) -> list[RuleStats]:
    """Count down the columns."""
    hits = [
        [None] * covered.shape[1]
        if match is None
        else np.count_nonzero(covered & match, axis=0).tolist()
        for match in (covered, right, same)
    ]
    return [RuleStats(len(covered), *counts) for counts in zip(*hits, strict=True)]
