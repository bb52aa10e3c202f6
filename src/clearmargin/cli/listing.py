"""Print models and rules on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearmargin.cli.console import Console
from clearmargin.language.prose import ratio_text
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.unseen import unseen_text

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes


def print_model(
    model: Planes, accuracy: float | None, console: Console, *, given: bool = False
) -> None:
    """Say how many features a model needs, and on which share of the rows it is right."""
    right = "" if accuracy is None else f" and is right on {ratio_text(accuracy)} of these rows"
    features = number_of(len(model.space), "feature")
    console.say(f"The model uses {len(model.features_used)} of {features}{right}.")
    facts = dict(model.facts or {})
    text = unseen_text(facts)
    if text and given:
        rows = number_of(int(facts["rows"]), "row") if "rows" in facts else "rows"
        text = f"Its file says, of the {rows} that it was trained on:\n{text}"
    if text:
        console.say(text)
