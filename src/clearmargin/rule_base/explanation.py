"""Explanations: why one case got its class, by a rule, and how the rule does on training data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import describe_premise, plain
from clearmargin.rules import FeatureSpace, Rule
from clearmargin.rules.rule import Label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding

__all__ = [
    "PARTS",
    "Explanation",
    "case_values",
    "check_weights",
    "imputed_values",
    "weighted_confidence",
]


#: What speaks for a box beside a plane; for other rules it is the first two.
PARTS = ("coverage", "purity", "volume", "distance")

_WORDS = {
    "rule": "It falls under the rule",
    "on_demand": "A rule made for it is",
    "largest": "The largest box with it on this side of the plane is",
    "central": "A box with it well inside is",
    "grown": "A box grown around it is",
    "nearest": "No rule covers it, and the nearest one is",
    "leaf": "The rule of its leaf, which holds where none of an earlier layer does, is",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A rule that gives one case its class, with what speaks for it.

    Parameters
    ----------
    kind : {"rule", "on_demand", "largest", "central", "grown", "nearest", "leaf"}
        How the rule came about.
    rule : Rule
        It covers the case, unless it is only the nearest one; its proof says whether the model predicts this class
        wherever the rule holds.
    label : str, int, float or bool
        The predicted class.
    margin : float
        The model's score for the case, or its lead over the next class where there are more than two; NaN where the
        model has no scores.
    confidence : float
        Mean of the parts, from 0 to 1; each counts by its weight.
    parts : mapping
        `coverage`: share of the class's training points (those the model gets right) in the box; `purity`: share of
        the training points in the box that are of the class, with one success and one failure added; `volume`: volume
        of the box as a share of the largest one with the case in it; `distance`: how far the case is from the plane,
        against the farthest training point of the class.
    space : FeatureSpace
        The features, for the text.
    imputed : tuple of (str, float or str)
        The features whose value was missing, each with the value that the model imputes.
    case : tuple of float
        The case: its value of each feature, NaN for categories. The text rounds no bound beyond it.
    weights : mapping
        The weight of each part in the confidence; one that is not named has weight 1.
    stands_in : str
        Of a plane that was distilled from the model: how often the two agree; empty where the model itself is
        explained.

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
    confidence: float
    parts: Mapping[str, float]
    space: FeatureSpace
    imputed: tuple[tuple[str, float | str], ...] = ()
    case: tuple[float, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    stands_in: str = ""

    @property
    def sentence(self) -> str:
        """The rule as a sentence."""
        condition = describe_premise(self.rule, self.space, case=self.case)
        return f"{f'If {condition}, then' if condition else 'Always'} {plain(self.label)}."

    @property
    def text(self) -> str:
        """The explanation as sentences."""
        condition = describe_premise(self.rule, self.space, case=self.case)
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
        shares = ", ".join(
            f"{name} {100 * value:.0f} %{self._weight_text(name)}"
            for name, value in self.parts.items()
        )
        return (
            f"The case is {label}{score}. {_WORDS[self.kind]}: {what}, then {label}. "
            f"{sure}. Confidence {100 * self.confidence:.0f} % ({shares})."
        )

    def _weight_text(self, part: str) -> str:
        weight = self.weights.get(part, 1.0)
        return "" if weight == 1.0 else f" with weight {weight:g}"

    def _proof_text(self) -> str:
        stats = self.rule.stats
        if self.rule.proof == "proved":
            return "On all of it the model says the same"
        if self.stands_in:
            same = "On all of it the same holds" if self.rule.proof == "distilled" else "It holds"
            return f"{same} for the distilled plane, which {self.stands_in}"
        if stats is not None and stats.agreed is not None and stats.agreed < stats.covered:
            return f"The model says the same of {stats.agreed} of the {stats.covered} training rows in it"
        return "The model was seen to say the same on it"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table

        rows = [
            (f"{name}{self._weight_text(name)}", f"{100 * value:.0f} %")
            for name, value in self.parts.items()
        ]
        rows.append(("confidence (their mean)", f"{100 * self.confidence:.0f} %"))
        return html_table(("what speaks for it", "share"), rows, lines=[self.text], numbers=(1,))


def weighted_confidence(
    parts: Mapping[str, FloatArray], weights: Mapping[str, float] | None
) -> FloatArray:
    """Return the confidence of explanations: the mean of their parts, each counting by its weight.

    Fung, Sandilya and Rao (KDD 2005, section 7) name the parts and leave "some scoring scheme" open; without weights
    all parts count the same.

    Parameters
    ----------
    parts : mapping from name to ndarray of shape (k,)
        What speaks for each of k explanations, from 0 to 1.
    weights : mapping from name to float, or None
        Weights, not negative; a part that is not named has weight 1.

    Returns
    -------
    ndarray of shape (k,)
        From 0 to 1.

    Examples
    --------
    >>> parts = {"coverage": np.array([0.2]), "purity": np.array([0.8])}
    >>> weighted_confidence(parts, None).tolist(), weighted_confidence(parts, {"coverage": 0}).tolist()
    ([0.5], [0.8])
    """
    by_part = list(check_weights(weights, parts).values())
    return np.asarray(np.average(np.stack(list(parts.values())), axis=0, weights=by_part))


def check_weights(
    weights: Mapping[str, float] | None, parts: Iterable[str] = PARTS
) -> dict[str, float]:
    """Return the weight of each part of a confidence; raise if one makes no sense.

    Parameters
    ----------
    weights : mapping from name to float, or None
        As for `weighted_confidence`.
    parts : iterable of str, optional
        The parts; by default those of a box beside a plane.

    Returns
    -------
    dict
        One for each part, in their order.

    Examples
    --------
    >>> check_weights({"purity": 2})
    {'coverage': 1.0, 'purity': 2.0, 'volume': 1.0, 'distance': 1.0}
    """
    given, names = {} if weights is None else weights, list(parts)
    if not isinstance(given, Mapping):
        raise InvalidValueError(
            f"weights must be a mapping from parts to numbers, such as {{'purity': 2}}, not {given!r}"
        )
    known = ", ".join(map(repr, names))
    for name, weight in given.items():
        if name not in names:
            raise InvalidValueError(
                f"weights: the parts of the confidence are {known}, not {name!r}{nearest_name(str(name), names)}"
            )
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not is_number or not 0.0 <= float(weight) < np.inf:
            raise InvalidValueError(
                f"weights: that of {name!r} must be a number from 0, not {weight!r}; 0 leaves the part out"
            )
    by_part = {name: float(given.get(name, 1.0)) for name in names}
    if not any(by_part.values()):
        raise InvalidValueError(
            f"weights: all parts ({known}) have weight 0; at least one has to count"
        )
    return by_part


def case_values(encoding: Encoding, case: FloatArray) -> tuple[float, ...]:
    """Give the numbers of an encoded case by feature of the user's table, NaN for categories."""
    values = np.full(len(encoding.space), np.nan)
    for column, source in enumerate(encoding.sources):
        if source.code is None:
            values[source.feature] = case[column]
    return tuple(values.tolist())


def imputed_values(space: FeatureSpace, missing: BoolArray) -> tuple[tuple[str, float | str], ...]:
    """Give the features of a case whose value is missing, each with the value that the model imputes."""
    filled = zip(space.names, space.fill, missing.tolist(), strict=True)
    return tuple((name, value) for name, value, gone in filled if gone and value is not None)
