"""Rules with weights: what a support vector machine over rules says, as a value.

The value itself comes first, then its forms: text, HTML, data frame and plain data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import Phrases, format_label, format_number
from clearmargin.language.words import number_text
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray, Value, float_array, number
from clearmargin.tables.table import make_frame, name_row

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.points.points_explanation import PointsExplanation

# What each line says.
COLUMNS = ("class", "points", "where")


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LinearTerm(Value):
    """What one feature adds to the score beside the rules: a multiple of its value, or points for its category.

    Parameters
    ----------
    feature : int
        Position of the feature in its space.
    coef : float or array-like
        A number: one coefficient (two classes), or one for each class. Categories: a coefficient for each category, or
        a row of them for each class.
    fill : float, optional
        The value that a missing number counts as. None for a feature of categories, where a category that is missing
        or unknown adds nothing.

    Examples
    --------
    >>> LinearTerm(0, 0.5, fill=40.0).of(np.array([30.0, np.nan]))
    array([[15.],
           [20.]])
    >>> LinearTerm(1, [0.0, 2.0]).of(np.array([1.0, -1.0, np.nan]))
    array([[2.],
           [0.],
           [0.]])
    """

    feature: int
    coef: FloatArray
    fill: float | None

    def __init__(self, feature: int, coef: ArrayLike, fill: float | None = None):
        given = float_array(coef, "the coefficients of a linear term")
        if not np.isfinite(given).all() or given.ndim > (1 if fill is not None else 2):
            raise InvalidValueError("the coefficients of a linear term are finite numbers")
        value = None if fill is None else number(fill, "the value that a missing one counts as")
        if value is not None and not math.isfinite(value):
            raise InvalidValueError(f"a missing value cannot count as {value}")
        if value is None and given.ndim == 0:
            raise InvalidValueError(
                "a linear term of a number needs the value that a missing one counts as: fill="
            )
        self._set(feature=int(feature), coef=given, fill=value)

    @property
    def n_outputs(self) -> int:
        """For how many scores there are coefficients: 1 for two classes, else the number of classes."""
        return 1 if self.coef.ndim == (0 if self.fill is not None else 1) else len(self.coef)

    def of(self, values: FloatArray) -> FloatArray:
        """Give what each value of the feature adds to each score, of shape (m, n_outputs)."""
        if self.fill is not None:
            return np.where(np.isnan(values), self.fill, values)[:, None] * self.coef.reshape(1, -1)
        table = np.atleast_2d(self.coef)
        # Whatever is missing or unknown is looked up in the last place, which holds a zero.
        padded = np.hstack([table, np.zeros((len(table), 1))])
        known = values >= 0
        return np.asarray(padded[:, np.where(known, values, -1).astype(np.intp)].T)


@dataclass(frozen=True, slots=True)
class WeightLine:
    """One line of what weighted rules say.

    Parameters
    ----------
    output : int
        The score that the line adds to: 0 for two classes, else the position of the class.
    points : float
        What it adds; towards ``classes[1]`` where there are two classes.
    label : str, int, float or bool
        The class that it speaks for.
    text : str
        Where it holds, in the rule language, or what it multiplies.
    rule : int or None
        Position of the rule; None for a linear term.
    multiplies : int, optional
        Position of the number that the points are multiplied by; None where they are added as they are.

    Examples
    --------
    >>> WeightLine(0, -0.5, "well", "age < 40", 0).points
    -0.5
    """

    output: int
    points: float
    label: Label
    text: str
    rule: int | None
    multiplies: int | None = None


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class WeightedRules(Value):
    r"""Rules whose weights are summed where they hold; the sum decides the class.

    With two classes the score is *f(x) = sum of the weights of the rules that hold + linear terms + intercept*, and a
    row is of ``classes[1]`` where f(x) > threshold, else of ``classes[0]``. With more classes each has such a score,
    and the class with the highest one is predicted, of equals the first. A score is added up from the intercept on,
    then linear terms in their order, then rules in theirs: the same bits everywhere.

    Parameters
    ----------
    rules : RuleSet
        The rules, most important first; the label of each is the class it speaks for.
    weights : array-like of shape (r,) or (n_classes, r)
        Their weights, towards ``classes[1]`` with two classes, else towards each class.
    intercept : float or array-like of shape (n_classes,)
        What is added everywhere.
    linear : iterable of LinearTerm, optional
        Features that count beside the rules.
    threshold : float, default 0.0
        With two classes, the score above which ``classes[1]`` is predicted.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill\nage < 40 and bmi < 35 => well", classes=["well", "ill"])
    >>> said = WeightedRules(rules, [2.0, -1.5], -0.5)
    >>> said.predict([[32.0, 30.0], [32.0, 50.0]]).tolist()
    ['well', 'ill']
    >>> print(said)
    ill if the points of what holds sum to more than 0.5 (else well)
      +2    bmi >= 30
      -1.5  bmi < 35 and age < 40
    """

    rules: RuleSet
    weights: FloatArray
    intercept: FloatArray
    linear: tuple[LinearTerm, ...]
    threshold: float

    def __init__(
        self,
        rules: RuleSet,
        weights: ArrayLike,
        intercept: ArrayLike,
        linear: Iterable[LinearTerm] = (),
        threshold: float = 0.0,
    ):
        if not isinstance(rules, RuleSet):
            raise InvalidValueError(f"rules must be a RuleSet, not {type(rules).__name__}")
        if len(rules.classes) < 2:
            raise InvalidValueError(
                f"weighted rules tell at least two classes apart, not {list(rules.classes)}"
            )
        outputs = () if len(rules.classes) == 2 else (len(rules.classes),)
        factors = float_array(weights, "the weights", shape=(*outputs, len(rules)))
        added = float_array(intercept, "the intercept", shape=outputs)
        if not (np.isfinite(factors).all() and np.isfinite(added).all()):
            raise InvalidValueError("weights and intercept must be finite")
        limit = number(threshold, "the threshold")
        if not math.isfinite(limit) or (outputs and limit != 0.0):
            raise InvalidValueError(
                f"the threshold is a finite number, and 0 with more than two classes, not {limit}"
            )
        terms, seen = tuple(linear), set[int]()
        for term in terms:
            _check_term(term, rules.space, outputs[0] if outputs else 1, seen)
            seen.add(term.feature)
        self._set(rules=rules, weights=factors, intercept=added, linear=terms, threshold=limit)

    @property
    def space(self) -> FeatureSpace:
        """The features of the table."""
        return self.rules.space

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes."""
        return self.rules.classes

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, and so one score."""
        return len(self.classes) == 2

    @property
    def n_outputs(self) -> int:
        """Number of scores: 1 with two classes, else one for each class."""
        return 1 if self.is_binary else len(self.classes)

    @property
    def has_points(self) -> bool:
        """Whether all weights are whole numbers and nothing else counts."""
        return not self.linear and bool((self.weights == np.rint(self.weights)).all())

    # A score beyond all floats is infinite without a warning.
    @np.errstate(over="ignore", invalid="ignore")
    def decision_function(self, X: Any) -> FloatArray:
        """Give the score of each row; the threshold is not subtracted.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows. A condition on a missing value or on an unknown category is false; an infinity in a column with
            a linear term is an error, since a sum with it may have no value.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            The score of ``classes[1]``, or of each class.
        """
        table = self.space.read(X)
        held = self.rules.covers(table)
        weights = np.atleast_2d(self.weights)
        totals = np.repeat(np.atleast_1d(self.intercept)[:, None], len(table), axis=1)
        # One after the other: a product of matrices would round as the processor does.
        for term in self.linear:
            if term.fill is not None and np.isinf(table[:, term.feature]).any():
                row = int(np.argmax(np.isinf(table[:, term.feature])))
                raise DataError(
                    f"X contains an infinity (inf) in {name_row(row, X)}, column "
                    f"{self.space.names[term.feature]!r}; replace it by a number"
                )
            totals += term.of(table[:, term.feature]).T
        for r in range(len(self.rules)):
            totals += np.where(held[:, r], weights[:, [r]], 0.0)
        return np.asarray(totals[0] if self.is_binary else totals.T)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row."""
        scores = self.decision_function(X)
        codes = (
            (scores > self.threshold).astype(np.intp) if self.is_binary else scores.argmax(axis=1)
        )
        return np.asarray(np.array(self.classes)[codes])

    def with_threshold(self, threshold: float) -> WeightedRules:
        """Give the same rules with another score above which ``classes[1]`` is predicted."""
        return WeightedRules(self.rules, self.weights, self.intercept, self.linear, threshold)

    def explain(self, case: Any) -> PointsExplanation:
        """Say which rules hold of a case, what they add up to, and which single changes would flip its class.

        Parameters
        ----------
        case : data frame of one row, series or mapping with the names of features, or array-like
            One case, for example ``X.iloc[0]``; by name in any order.

        Returns
        -------
        PointsExplanation
            It reads as text.
        """
        from clearmargin.points.points_explanation import explain_points

        return explain_points(self, case)

    # Reading and writing

    def lines(self) -> list[WeightLine]:
        """List what adds to the scores, score by score: rules in their order, then linear terms."""
        phrases = Phrases(self.space)
        texts = [phrases.premise(rule) for rule in self.rules]
        found = []
        for k, weights in enumerate(np.atleast_2d(self.weights)):
            entries: list[tuple[float, str, int | None, int | None]] = [
                (float(weights[r]), texts[r], r, None) for r in np.flatnonzero(weights).tolist()
            ]
            for term in self.linear:
                number_at = None if term.fill is None else term.feature
                lines = self._term_lines(term, k, phrases)
                entries += [(coef, text, None, number_at) for coef, text in lines]
            found += [
                WeightLine(k, points, self._speaks_for(k, points), text, rule, multiplies)
                for points, text, rule, multiplies in entries
            ]
        return found

    def _speaks_for(self, output: int, points: float) -> Label:
        return self.classes[int(points > 0)] if self.is_binary else self.classes[output]

    def _term_lines(self, term: LinearTerm, k: int, phrases: Phrases) -> list[tuple[float, str]]:
        if term.fill is not None:
            coef = float(term.coef.reshape(-1)[k])
            text = f"times {phrases.names[term.feature]} ({format_number(term.fill)} where missing)"
            return [(coef, text)] if coef else []
        coefs = np.atleast_2d(term.coef)[k]
        return [
            (float(coefs[code]), phrases.chosen(term.feature, (code,)))
            for code in np.flatnonzero(coefs).tolist()
        ]

    def summary(self) -> str:
        """Say in a sentence how the sums decide."""
        if not self.is_binary:
            return "The class whose points sum to most"
        first, second = map(format_label, self.classes)
        limit = self.threshold - float(self.intercept)
        if self.has_points:
            # Whole points exceed the limit from the next whole number on.
            return f"{second} if the points of what holds sum to {math.floor(limit) + 1} or more (else {first})"
        return f"{second} if the points of what holds sum to more than {number_text(limit)} (else {first})"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<WeightedRules: {len(self.rules)} rules over {len(self.space)} features, classes {self.classes}>"

    def to_text(self, digits: int | None = 4) -> str:
        """Write the rules with their points, most important first.

        Parameters
        ----------
        digits : int or None, default 4
            Significant digits of the points; None for all of them.

        Returns
        -------
        str
            How the sums decide, then a line for each rule and linear term.
        """
        lines = self.lines()
        shown = [_points_text(line.points, digits) for line in lines]
        wide = max(map(len, shown), default=0)
        texts = [
            f"  {points.ljust(wide)}  {line.text}"
            for points, line in zip(shown, lines, strict=True)
        ]
        if self.is_binary:
            return "\n".join([self.summary(), *texts])
        blocks = [self.summary()]
        for k, label in enumerate(self.classes):
            start = _points_text(float(self.intercept[k]), digits)
            blocks += [f"{format_label(label)}: starts at {start}"]
            blocks += [text for text, line in zip(texts, lines, strict=True) if line.output == k]
        return "\n".join(blocks)

    def _repr_html_(self) -> str:
        from clearmargin.templates import render_macro

        rows = [(str(e.label), _points_text(e.points, 4), e.text) for e in self.lines()]
        above = render_macro("notebook.html", "lines", items=[self.summary()])
        return above + render_macro(
            "notebook.html", "table", columns=COLUMNS, rows=rows, codes=(2,), numbers=(1,)
        )

    def to_frame(self) -> pd.DataFrame:
        """Put the lines into a pandas data frame."""
        rows = [(line.label, line.points, line.text) for line in self.lines()]
        return make_frame(rows, columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Put everything into plain data for JSON, exactly: the form is in `weighted_rules.schema.json`."""
        from clearmargin.points.weighted_document import write_weighted_document

        return write_weighted_document(self)

    @classmethod
    def from_dict(cls, data: object) -> WeightedRules:
        """Make weighted rules from what `to_dict` gave."""
        from clearmargin.points.weighted_document import read_weighted_document

        return read_weighted_document(data)


def _points_text(points: float, digits: int | None) -> str:
    text = format_number(points) if digits is None else number_text(points, digits)
    return text if text.startswith("-") else f"+{text}"


def _check_term(term: object, space: FeatureSpace, n_outputs: int, seen: set[int]) -> None:
    if not isinstance(term, LinearTerm):
        raise InvalidValueError(f"linear terms must be LinearTerm, not {type(term).__name__}")
    if not 0 <= term.feature < space.n_features:
        raise InvalidValueError(
            f"a linear term of feature {term.feature}, but there are {space.n_features} features"
        )
    name, categories = space.names[term.feature], space.categories[term.feature]
    if term.feature in seen:
        raise InvalidValueError(f"feature {name!r} has two linear terms; put them together")
    if (categories is None) != (term.fill is not None):
        kind = (
            "a number and needs fill=" if categories is None else "categorical and takes no fill="
        )
        raise InvalidValueError(f"feature {name!r} is {kind}")
    if term.n_outputs != n_outputs:
        raise InvalidValueError(
            f"the linear term of {name!r} has coefficients for {term.n_outputs} scores, not {n_outputs}"
        )
    if categories is not None and term.coef.shape[-1] != len(categories):
        raise InvalidValueError(
            f"feature {name!r} has {len(categories)} categories, but {term.coef.shape[-1]} coefficients"
        )
