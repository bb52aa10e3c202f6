"""The additive value: rules whose points are added up, and the sum decides the class.

The rules are its rows. Where each of them speaks of one feature, the value has a second layout, the card: feature by
feature, the cells that the rules cut its values into, and the points of each cell, of which the least are 0. A card
with proof has two columns of whole points more: what a linear model adds in a cell at least, and at most.

The value itself comes first, then its forms: text, HTML, data frame and plain data.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import Phrases, format_label, format_number
from clearmargin.language.words import number_text
from clearmargin.points.cells import (
    CardLine,
    card_lines,
    card_range,
    least_points,
    range_text,
    single_feature,
)
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, float_array, number
from clearmargin.tables.table import make_frame, name_row

if TYPE_CHECKING:
    import pandas as pd

    from clearmargin.points.explanation import PointsExplanation

# Beyond this a float is not sure to hold a sum of points, and other languages add up floats.
_MOST_POINTS = 2**50
_WIDTH = 100


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


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Proof(Value):
    """The proof columns of a scorecard: what a linear model of two classes adds at least, and at most.

    Parameters
    ----------
    at_least, at_most : array-like of int of shape (r,)
        Points of each rule, of which just one holds for each feature of the model; a case for which none holds is
        outside, and nothing is proved of it.
    limits : pair of int
        The model is proved to predict the first class where the points at most add up to no more than the first number,
        and the second class where the points at least add up to the second number or more. Rounding is included.
    unit : float, default 1.0
        What a point is in the score of the model.
    about : str, default ""
        What has to be known first, such as how often a distilled plane agrees with another model.

    Examples
    --------
    >>> Proof([0, 2], [2, 5], (1, 3)).limits
    (1, 3)
    """

    at_least: IntArray
    at_most: IntArray
    limits: tuple[int, int]
    unit: float
    about: str

    def __init__(
        self,
        at_least: ArrayLike,
        at_most: ArrayLike,
        limits: Iterable[int],
        unit: float = 1.0,
        about: str = "",
    ):
        low, high = _whole(at_least, "at_least"), _whole(at_most, "at_most")
        if len(low) != len(high) or (low > high).any():
            raise InvalidValueError("at_least must not exceed at_most in any row")
        pair = tuple(_whole([*limits], "limits").tolist())
        if len(pair) != 2 or pair[0] >= pair[1]:
            raise InvalidValueError(f"limits must be two numbers that ascend, not {list(pair)}")
        step = number(unit, "the unit")
        if not 0 < step < math.inf:
            raise InvalidValueError(f"the unit must be a positive number, not {step}")
        self._set(at_least=low, at_most=high, limits=pair, unit=step, about=str(about))


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One row of a scorecard.

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
    >>> ScoreLine(0, -0.5, "well", "age < 40", 0).points
    -0.5
    """

    output: int
    points: float
    label: Label
    text: str
    rule: int | None
    multiplies: int | None = None


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Scorecard(Value):
    r"""Rules with points: the points of all rules that hold for a case are added up, and the sum decides its class.

    With two classes the score is *f(x) = sum of the points of the rules that hold + linear terms + intercept*, and a
    row is of ``classes[1]`` where f(x) > threshold, else of ``classes[0]``. With more classes each has such a score,
    and the class with the highest one is predicted, of equals the first. A score is added up from the intercept on,
    then linear terms in their order, then rules in theirs: the same bits everywhere.

    Parameters
    ----------
    rules : RuleSet
        The rules, most important first; the label of each is the class it speaks for.
    weights : array-like of shape (r,) or (n_classes, r)
        Their points, towards ``classes[1]`` with two classes, else towards each class.
    intercept : float or array-like of shape (n_classes,)
        What is added everywhere.
    linear : iterable of LinearTerm, optional
        Features that count beside the rules.
    threshold : float, default 0.0
        With two classes, the score above which ``classes[1]`` is predicted.
    proof : Proof, optional
        The proof columns; the rules then are the cells of the features of a linear model.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill\nage < 40 and bmi < 35 => well", classes=["well", "ill"])
    >>> card = Scorecard(rules, [2.0, -1.5], -0.5)
    >>> card.predict([[32.0, 30.0], [32.0, 50.0]]).tolist()
    ['well', 'ill']
    >>> print(card)
    ill if the points of what holds sum to more than 0.5 (else well)
      +2    bmi >= 30
      -1.5  bmi < 35 and age < 40

    Where each rule speaks of one feature, it is printed feature by feature, as a card:

    >>> rules = parse_rules("bmi >= 30 => ill\nage < 40 => well", classes=["well", "ill"])
    >>> print(Scorecard(rules, [2, -1], -0.5))
    ill if the points sum to 2 or more (else well)
      bmi  < 30   0
           >= 30  2
      age  < 40   0
           >= 40  1
      A missing or unknown value has points, too: age 1.
    """

    rules: RuleSet
    weights: FloatArray
    intercept: FloatArray
    linear: tuple[LinearTerm, ...]
    threshold: float
    proof: Proof | None

    def __init__(
        self,
        rules: RuleSet,
        weights: ArrayLike,
        intercept: ArrayLike,
        linear: Iterable[LinearTerm] = (),
        threshold: float = 0.0,
        proof: Proof | None = None,
    ):
        if not isinstance(rules, RuleSet):
            raise InvalidValueError(f"rules must be a RuleSet, not {type(rules).__name__}")
        if len(rules.classes) < 2:
            raise InvalidValueError(
                f"a scorecard tells at least two classes apart, not {list(rules.classes)}"
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
        if proof is not None:
            if outputs or terms or any(single_feature(rule) is None for rule in rules):
                raise InvalidValueError(
                    "a scorecard with proof columns has two classes, no linear terms, and rules on one feature each"
                )
            if len(proof.at_least) != len(rules):
                raise InvalidValueError(
                    f"there are {len(rules)} rules, but {len(proof.at_least)} points at least and at most"
                )
        self._set(
            rules=rules,
            weights=factors,
            intercept=added,
            linear=terms,
            threshold=limit,
            proof=proof,
        )

    @classmethod
    def of_proof(cls, rules: RuleSet, proof: Proof) -> Scorecard:
        """Make a scorecard whose points are the middle of proof columns: its class agrees with each proof.

        Parameters
        ----------
        rules : RuleSet
            The cells of each feature.
        proof : Proof
            Their points at least and at most.

        Returns
        -------
        Scorecard
            The card.
        """
        middle = (proof.at_least + proof.at_most) / 2.0
        return cls(rules, middle, -sum(proof.limits) / 2.0, proof=proof)

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

    @property
    def is_card(self) -> bool:
        """Whether it can be laid out feature by feature: two classes, and rules on one feature each."""
        plain = self.is_binary and not self.linear and len(self.rules) > 0
        return plain and all(single_feature(rule) is not None for rule in self.rules)

    @property
    def n_cuts(self) -> int:
        """Into how many cells more than features the features are cut, without those of missing values."""
        cells = [_feature(rule) for rule in self.rules if not rule.region.missing]
        return len(cells) - len(set(cells))

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
        """Give the class of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        scores = self.decision_function(X)
        codes = (
            (scores > self.threshold).astype(np.intp) if self.is_binary else scores.argmax(axis=1)
        )
        return np.asarray(np.array(self.classes)[codes])

    def with_threshold(self, threshold: float) -> Scorecard:
        """Give the same rules with another score above which ``classes[1]`` is predicted.

        Parameters
        ----------
        threshold : float
            The score.

        Returns
        -------
        Scorecard
            The other card, without proof columns.
        """
        return Scorecard(self.rules, self.weights, self.intercept, self.linear, threshold)

    # Proof columns

    def totals(self, X: Any) -> tuple[IntArray, IntArray, BoolArray]:
        """Add up the proof columns for each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        at_least, at_most : ndarray of int of shape (m,)
            The sums; zero where a value is in no cell.
        inside : ndarray of bool of shape (m,)
            Whether each feature has a cell that holds.
        """
        if self.proof is None:
            raise InvalidValueError(
                "this scorecard has no proof columns; ScoreRules(certify=True) gives them"
            )
        held = self.rules.covers(X)
        features = np.array([single_feature(rule) for rule in self.rules], dtype=np.intp)
        inside = np.ones(len(held), dtype=np.bool_)
        for j in np.unique(features).tolist():
            inside &= held[:, features == j].sum(axis=1) == 1
        counted = np.where(inside[:, None], held, False).astype(np.int64)
        return counted @ self.proof.at_least, counted @ self.proof.at_most, inside

    def prove_codes(self, X: Any) -> IntArray:
        """Give the position of the class that the model is proved to predict for each row, -1 where none is.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in `classes`.
        """
        low, high, inside = self.totals(X)
        assert self.proof is not None
        few, many = self.proof.limits
        codes = np.where(low >= many, 1, np.where(high <= few, 0, -1))
        return np.where(inside, codes, -1).astype(np.intp)

    def prove(self, X: Any) -> NDArray[Any]:
        """Give the class that the model is proved to predict for each row, None where none is.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of object of shape (m,)
            Classes.
        """
        found = np.empty(len(self.classes) + 1, dtype=object)
        found[:-1] = self.classes
        return np.asarray(found[self.prove_codes(X)])

    def explain(self, case: Any) -> PointsExplanation:
        """Say what adds up to the score of a case, and which single changes would give it another class.

        Parameters
        ----------
        case : data frame of one row, series or mapping with the names of features, or array-like
            One case, for example ``X.iloc[0]``; by name in any order.

        Returns
        -------
        PointsExplanation
            It reads as text.
        """
        from clearmargin.points.explanation import explain_points

        return explain_points(self, case)

    # Reading and writing

    def lines(self) -> list[ScoreLine]:
        """List what adds to the scores, score by score: rules in their order, then linear terms.

        Returns
        -------
        list of ScoreLine
            A line for each weight and each coefficient but zeros.
        """
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
                ScoreLine(k, points, self._speaks_for(k, points), text, rule, multiplies)
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

    def card(self) -> list[CardLine]:
        """Lay the card out: for each feature its cells, with their points or with the proof columns.

        Returns
        -------
        list of CardLine
            The lines, feature by feature; without proof columns the least points of each feature are 0.
        """
        if not self.is_card:
            raise InvalidValueError(
                "a card has two classes and rules on one feature each; lines() lists these rules"
            )
        if self.proof is None:
            return card_lines(self.rules, self.weights)
        lines = card_lines(self.rules, self.weights, (self.proof.at_least, self.proof.at_most))
        # A feature of one cell adds nothing: `notes` says that it has to be inside.
        used = {line.name for line in lines if line.proof != (0, 0)}
        return [line for line in lines if line.name in used]

    def least_points(self) -> dict[int, float]:
        """Give the least that each feature of a card can add, which counts as 0 on it; 0 in a card with proof."""
        return least_points(self.rules, self.weights, is_proof=self.proof is not None)

    def summary(self) -> str:
        """Say how the sums of `lines` decide; of proof columns, what they prove, in two lines."""
        if self.proof is None:
            limit = self.threshold - np.atleast_1d(self.intercept)[0]
            return self._decision("points of what holds", float(limit))
        (few, many), (first, second) = self.proof.limits, map(format_label, self.classes)
        return (
            f'{second} is proved if the points "at least" sum to {many} or more\n'
            f'{first} is proved if the points "at most" sum to {few} or less; else ask the model'
        )

    def card_summary(self) -> str:
        """Say how the sums of `card` decide, where the least points of each feature are 0."""
        if self.proof is not None:
            return self.summary()
        start = float(self.intercept) + sum(self.least_points().values())
        return self._decision("points", self.threshold - start)

    def _decision(self, what: str, limit: float) -> str:
        if not self.is_binary:
            return "The class whose points sum to most"
        first, second = map(format_label, self.classes)
        if self.has_points:
            # Whole points exceed the limit from the next whole number on.
            return f"{second} if the {what} sum to {math.floor(limit) + 1} or more (else {first})"
        return f"{second} if the {what} sum to more than {number_text(limit)} (else {first})"

    def notes(self) -> list[str]:
        """Say what the lines of a card leave open: points of missing values, or what has to hold for a proof."""
        if not self.is_card:
            return []
        names, space = self.space.names, self.space
        if self.proof is not None:
            shown = {line.name for line in self.card()}
            alone = [j for j in dict.fromkeys(map(_feature, self.rules)) if names[j] not in shown]
            needed = [
                f"{names[j]} is a known category"
                if space.categories[j] is not None
                else f"{names[j]} is within {range_text(*card_range(self.rules, j))}"
                for j in alone
            ]
            return [f"Proved where, besides, {', '.join(needed)}."] if needed else []
        # A value that is missing or unknown has no cell, and so no points of rules, where no rule asks for it.
        asked = {_feature(rule) for rule in self.rules if rule.region.missing or rule.region.known}
        other = [
            f"{names[j]} {number_text(-low)}"
            for j, low in self.least_points().items()
            if low and j not in asked and space.fill[j] is None
        ]
        if not other:
            return []
        return [f"A missing or unknown value has points, too: {', '.join(other)}."]

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Scorecard: {len(self.rules)} rules over {len(self.space)} features, classes {self.classes}>"

    def to_text(self, digits: int | None = 4) -> str:
        """Write the card feature by feature, or the rules with their points, most important first.

        Parameters
        ----------
        digits : int or None, default 4
            Significant digits of the points; None for all of them, and for the rules as they are.

        Returns
        -------
        str
            How the sums decide, then a line for each cell, or for each rule and linear term.
        """
        if self.proof is not None or (self.is_card and digits is not None):
            return self._card_text(digits)
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

    def _card_text(self, digits: int | None) -> str:
        above = [] if self.proof is None else textwrap.wrap(self.proof.about, _WIDTH)
        rows = [] if self.proof is None else [("", "", *self.columns[2:])]
        rows += [
            (name if k == 0 else "", line.text, *line.numbers(digits))
            for name, group in groupby(self.card(), key=lambda line: line.name)
            for k, line in enumerate(group)
        ]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            "  "
            + "  ".join(
                cell.ljust(width) if k < 2 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, wide, strict=True))
            )
            for row in rows
        ]
        notes = [f"  {line}" for note in self.notes() for line in textwrap.wrap(note, _WIDTH)]
        return "\n".join([*above, self.card_summary(), *(table if self.card() else []), *notes])

    @property
    def columns(self) -> tuple[str, ...]:
        """The titles of the columns of `to_frame`."""
        if not self.is_card:
            return "class", "points", "where"
        points = ("points",) if self.proof is None else ("at least", "at most")
        return "feature", "value", *points

    def rows(self) -> list[tuple[Any, ...]]:
        """List the rows of `to_frame`: the lines of the card, or the rules and linear terms with their points."""
        if not self.is_card:
            return [(line.label, line.points, line.text) for line in self.lines()]
        return [(line.name, line.text, *line.values()) for line in self.card()]

    def _repr_html_(self) -> str:
        from clearmargin.templates import render_macro

        said = self.card_summary() if self.is_card else self.summary()
        about = [] if self.proof is None or not self.proof.about else [self.proof.about]
        above = render_macro("notebook.html", "lines", items=[*about, *said.split("\n")])
        if self.is_card:
            groups = [
                (name, [(line.text, *line.numbers(4)) for line in group])
                for name, group in groupby(self.card(), key=lambda line: line.name)
            ]
            table = render_macro(
                "notebook.html",
                "grouped",
                columns=self.columns,
                groups=groups,
                numbers=len(self.columns) - 2,
            )
            return above + table + render_macro("notebook.html", "lines", items=self.notes())
        rows = [(str(e.label), _points_text(e.points, 4), e.text) for e in self.lines()]
        return above + render_macro(
            "notebook.html", "table", columns=self.columns, rows=rows, codes=(2,), numbers=(1,)
        )

    def to_frame(self) -> pd.DataFrame:
        """Put the card, or the rules with their points, into a pandas data frame, one row a line.

        Returns
        -------
        DataFrame
            With the columns `columns`.
        """
        return make_frame(self.rows(), columns=list(self.columns))

    def to_dict(self) -> dict[str, Any]:
        """Put everything into plain data for JSON, exactly.

        Returns
        -------
        dict
            A document whose form is in `scorecard.schema.json`.
        """
        from clearmargin.points.document import write_scorecard

        return write_scorecard(self)

    @classmethod
    def from_dict(cls, data: object) -> Scorecard:
        """Make a scorecard from what `to_dict` gave.

        Parameters
        ----------
        data : dict
            The document.

        Returns
        -------
        Scorecard
            The scorecard.
        """
        from clearmargin.points.document import read_scorecard

        return read_scorecard(data)


def _feature(rule: Any) -> int:
    found = single_feature(rule)
    assert found is not None
    return found


def _whole(points: ArrayLike, what: str) -> IntArray:
    given = float_array(points, what)
    if given.ndim != 1 or (given != np.rint(given)).any() or (np.abs(given) > _MOST_POINTS).any():
        raise InvalidValueError(f"{what} must be a list of whole numbers below 2**50")
    whole = given.astype(np.int64)
    whole.setflags(write=False)
    return whole


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
