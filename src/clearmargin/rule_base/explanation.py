"""Explanations: why one case got its class, by a rule, and what is known of the rule: proved, or measured on rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.language.printer import Phrases, format_label
from clearmargin.language.prose import describe_premise, plain
from clearmargin.rules import FeatureSpace, Rule
from clearmargin.rules.rule import Label, RuleStats
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding

_WORDS = {
    "rule": "It falls under the rule",
    "nearest": "No rule covers it, and the nearest one is",
    "leaf": "The rule of its leaf, which holds where none of an earlier layer does, is",
    "sufficient": "What is enough for that is",
    "measured": "What goes with that is",
}
_ALL_DIGITS = 17
# Rows not used to find an explanation, below which its precision is said to be unknown.
_FEW_ROWS = 20
# The level of the bound that a precision on such rows is given with.
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Explanation:
    """A rule that gives one case its class, with what speaks for it.

    Parameters
    ----------
    kind : {"rule", "nearest", "leaf", "sufficient", "measured"}
        How the rule came about. "sufficient" (proved) and "measured" are those of `clearmargin.explain`.
    rule : Rule
        It covers the case, unless it is only the nearest one; its proof says whether the model predicts this class
        wherever the rule holds (for "sufficient": within the ranges of `space`). For "measured" its `stats` are counted
        on rows that were not used to find it.
    label : str, int, float or bool
        The predicted class.
    margin : float
        The model's score for the case, or its lead over the next class where there are more than two; NaN where the
        model has no scores.
    space : FeatureSpace
        The features, for the text.
    imputed : tuple of (str, float or str)
        The features whose value was missing, each with the value that the model imputes.
    case : tuple of float
        The case: its value of each feature, NaN for categories. The text rounds no bound beyond it.
    stands_in : str
        Of a plane that was distilled from the model: how often the two agree; empty where the model itself is
        explained.
    notes : tuple of str
        What else is to be known, as sentences.
    is_fewest : bool, optional
        Of "sufficient" and "measured": whether it is sure that no fewer features are enough, and of "measured" that no
        other conditions on as many cover more rows of the search. None for other kinds, which are not about that.
    points : PointsExplanation, optional
        Of a model that adds up points, what `clearmargin.explain` gives, too: all that adds up to the score, and the
        single changes that would give the case another class.

    Examples
    --------
    >>> from clearmargin import RuleExtractor
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> extractor = RuleExtractor(criterion="volume").fit(X, y)
    >>> explanation = extractor.explain(X.iloc[[0]])
    >>> explanation.label, explanation.rule.proof
    ('benign', 'proved')
    """

    kind: str
    rule: Rule
    label: Label
    margin: float
    space: FeatureSpace
    imputed: tuple[tuple[str, float | str], ...] = ()
    case: tuple[float, ...] = ()
    stands_in: str = ""
    notes: tuple[str, ...] = ()
    is_fewest: bool | None = None
    points: Any = None

    @property
    def guarantee(self) -> str:
        """What is known of the rule: "proved", "measured" on rows not used to find it, or else how it was seen."""
        return "measured" if self.kind == "measured" else self.rule.proof or "observed"

    @property
    def n_conditions(self) -> int:
        """The number of features that the rule has a condition on."""
        return len(self.rule.region.bounded)

    @property
    def coverage(self) -> float:
        """Share of the rows that the rule was counted on that it covers; NaN where it was not counted."""
        stats = self.rule.stats
        return np.nan if stats is None else stats.coverage

    @property
    def precision(self) -> float:
        """Share of the covered rows, of those not used to find the rule, with its class; NaN where none is covered."""
        stats = self.rule.stats
        return stats.fidelity if self.kind == "measured" and stats is not None else np.nan

    @property
    def precision_bound(self) -> float:
        """A number that the precision is not below, at 95 % confidence (exact binomial); NaN where none is covered."""
        stats = self.rule.stats
        if self.kind != "measured" or stats is None or not stats.covered:
            return np.nan
        return lowest_share(stats.agreed or 0, stats.covered)

    @property
    def sentence(self) -> str:
        """The rule as a sentence."""
        condition = self._condition()
        return f"{f'If {condition}, then' if condition else 'Always'} {plain(self.label)}."

    @property
    def text(self) -> str:
        """The explanation as sentences."""
        condition = self._condition()
        what = f"if {condition}" if condition else "always"
        label = plain(self.label)
        sure = self._proof_text()
        if self.imputed:
            taken = ", ".join(
                f"{plain(name)} {plain(value) if isinstance(value, str) else f'{value:.4g}'}"
                for name, value in self.imputed
            )
            sure = f"{sure}. Missing values were taken as: {taken}"
        score = "" if np.isnan(self.margin) else f" (score {self.margin:+.3g})"
        notes = "".join(f" {note}" for note in (*self.notes, *self._fewest_text()))
        return (
            f"The case is {label}{score}. {_WORDS[self.kind]}: {what}, then {label}. {sure}.{notes}"
        )

    def _fewest_text(self) -> tuple[str, ...]:
        """Say that fewer conditions may be enough, where that is so."""
        if self.is_fewest is not False:
            return ()
        if self.kind == "measured":
            return ("Fewer conditions, or a larger coverage, were not ruled out.",)
        return ("Fewer conditions were not ruled out.",)

    def _condition(self) -> str:
        # What was measured of a rule, and ends that are short already, are not rounded.
        digits = _ALL_DIGITS if self.kind in ("sufficient", "measured") else 3
        return describe_premise(self.rule, self.space, digits, self.case)

    def _proof_text(self) -> str:
        stats = self.rule.stats
        if self.kind == "measured" and stats is not None:
            return self._count_text(stats)
        if self.kind == "sufficient" and self.rule.proof == "proved":
            return "Proved for every case within the ranges"
        if self.rule.proof == "proved":
            return "On all of it the model says the same"
        if self.stands_in:
            same = "On all of it the same holds" if self.rule.proof == "distilled" else "It holds"
            return f"{same} for the distilled plane, which {self.stands_in}"
        if stats is not None and stats.agreed is not None and stats.agreed < stats.covered:
            return f"The model says the same of {stats.agreed} of the {stats.covered} training rows in it"
        return "The model was seen to say the same on it"

    def _count_text(self, stats: RuleStats) -> str:
        """Say how often a rule was right on rows that were not used to find it."""
        if stats.covered < _FEW_ROWS:
            where = f"{stats.agreed} of {stats.covered}" if stats.covered else "none"
            return (
                f"Only {stats.covered} of the {stats.rows} different rows not used to find it are covered by it, and "
                f"it is true of {where}: too few to tell how often it is"
            )
        bound = np.floor(1000 * self.precision_bound) / 10
        return (
            f"True of {stats.agreed} of {stats.covered} different rows not used to find it (at least {bound:.1f} %); "
            f"it covers {100 * stats.coverage:.0f} % of such rows"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON; a number that is not known is None.

        Returns
        -------
        dict
            The rule is a text in the rule language.
        """
        stats = self.rule.stats
        premise = Phrases(self.space).premise(self.rule)
        return {
            "class": self.label,
            "score": _known(self.margin),
            "kind": self.kind,
            "rule": f"{premise} => {format_label(self.label)}",
            "guarantee": self.guarantee,
            "proof": self.rule.proof,
            "n_conditions": self.n_conditions,
            "is_fewest": self.is_fewest,
            "rows": None if stats is None else stats.rows,
            "covered": None if stats is None else stats.covered,
            "agreed": None if stats is None else stats.agreed,
            "precision": _known(self.precision),
            "precision_bound": _known(self.precision_bound),
            "text": self.text,
            **({} if self.points is None else {"points": self.points.to_dict()}),
        }

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table

        rows = [("coverage", f"{100 * self.coverage:.0f} %")]
        return html_table(("what speaks for it", "share"), rows, lines=[self.text], numbers=(1,))


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def lowest_share(hits: int, rows: int, level: float = _LEVEL) -> float:
    """Give the exact (Clopper-Pearson) lower confidence bound of a share."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, rows - hits + 1, 1.0 - level)) if hits else 0.0


def case_values(encoding: Encoding, case: FloatArray) -> tuple[float, ...]:
    """Give the numbers of an encoded case by feature of the user's table, NaN for categories."""
    values = np.full(len(encoding.space), np.nan)
    for column, source in enumerate(encoding.sources):
        if source.code is None and encoding.space.categories[source.feature] is None:
            values[source.feature] = case[column]
    return tuple(values.tolist())


def imputed_values(space: FeatureSpace, missing: BoolArray) -> tuple[tuple[str, float | str], ...]:
    """Give the features of a case whose value is missing, each with the value that the model imputes."""
    filled = zip(space.names, space.fill, missing.tolist(), strict=True)
    return tuple((name, value) for name, value, gone in filled if gone and value is not None)
