"""Why one case got its class: a box around it on which the model never says anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clearmargin.language.prose import describe_premise, plain
from clearmargin.rules import FeatureSpace, Rule
from clearmargin.rules.rule import Label

__all__ = ["KINDS", "Explanation"]

KINDS = ("rule", "on_demand", "largest", "central")

_WORDS = {
    "rule": "It falls under the rule",
    "on_demand": "A rule made for it is",
    "largest": "The largest box with it on this side of the plane is",
    "central": "A box with it well inside is",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A rule that covers one case, with what speaks for it.

    Parameters
    ----------
    kind : {"rule", "on_demand", "largest", "central"}
        How the rule came about.
    rule : Rule
        A box that contains the case; its proof says whether the model gives this class everywhere in it.
    label : str, int, float or bool
        What the model says.
    margin : float
        The model's score for the case, or its lead over the next class where there are more than two.
    confidence : float
        Mean of the parts, from 0 to 1.
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
        sure = (
            "On all of it the model says the same"
            if self.rule.proof == "proved"
            else ("The model was seen to say the same on it")
        )
        if self.imputed:
            taken = ", ".join(
                f"{plain(name)} {plain(value) if isinstance(value, str) else f'{value:.4g}'}"
                for name, value in self.imputed
            )
            sure = f"{sure}. Missing values were taken as: {taken}"
        shares = ", ".join(f"{name} {100 * value:.0f} %" for name, value in self.parts.items())
        return (
            f"The case is {label} (score {self.margin:+.3g}). {_WORDS[self.kind]}: {what}, then {label}. "
            f"{sure}. Confidence {100 * self.confidence:.0f} % ({shares})."
        )

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table

        rows = [(name, f"{100 * value:.0f} %") for name, value in self.parts.items()]
        rows.append(("confidence (their mean)", f"{100 * self.confidence:.0f} %"))
        return html_table(("what speaks for it", "share"), rows, lines=[self.text], numbers=(1,))
