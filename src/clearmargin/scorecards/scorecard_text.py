"""A scorecard as text, Markdown, HTML, data frame and plain data."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    InvalidValueError,
    MissingDependencyError,
)
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.scorecards.scorecard import Scorecard, ScoredFeature, show_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["card_frame", "card_html", "card_markdown", "card_text", "read_card", "write_card"]

_KEYS = {"features", "classes", "points", "threshold"}


def card_text(card: Scorecard) -> str:
    """Write a card as a plain table, each feature named once."""
    cells = _cells(card)
    wide = [max((len(line[j]) for line in cells), default=0) for j in range(3)]
    lines = [
        f"  {name.ljust(wide[0])}  {kind.ljust(wide[1])}  {points.rjust(wide[2])}"
        for name, kind, points in cells
    ]
    return "\n".join([card.summary(), *lines])


def card_markdown(card: Scorecard) -> str:
    """Write a card as a table in Markdown."""
    lines = [" | ".join(word.replace("|", "\\|") for word in line) for line in _cells(card)]
    head = ["", "| feature | value | points |", "|---|---|---:|"]
    return "\n".join([card.summary(), *head, *(f"| {line} |" for line in lines)])


def card_html(card: Scorecard) -> str:
    """Draw a card as a table for notebooks; whatever stands in names is shown, not obeyed."""
    from clearmargin.templates import render_macro

    groups = [
        (name, [(value, show_number(points)) for _, value, points in lines])
        for name, lines in groupby(card.lines(), key=lambda line: line[0])
    ]
    columns = ("feature", "value", "points")
    above = render_macro("notebook.html", "lines", items=[card.summary()])
    return above + render_macro("notebook.html", "grouped", columns=columns, groups=groups)


def card_frame(card: Scorecard) -> pd.DataFrame:
    """Put a card into a pandas data frame, one row an interval or category."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "a data frame needs pandas: pip install clearmargin[frames]"
        ) from error
    return pd.DataFrame(card.lines(), columns=["feature", "value", "points"])


def write_card(card: Scorecard) -> dict[str, Any]:
    """Put a card into plain data for JSON."""
    # Rules know how to write a space; here there are none of them.
    shell = RuleSet((), card.space, card.classes).to_dict()
    points = [
        {"feature": card.space.names[part.feature], "points": part.points.tolist()}
        | ({} if part.cuts is None else {"cuts": part.cuts.tolist()})
        for part in card.features
    ]
    return {
        "features": shell,
        "classes": list(card.classes),
        "points": points,
        "threshold": card.threshold,
    }


def read_card(
    data: object,
) -> tuple[list[ScoredFeature], float, FeatureSpace, tuple[Label, ...]]:
    """Read what `write_card` wrote; anything else is an error that says what is missing or wrong."""
    if not isinstance(data, Mapping) or not set(data) >= _KEYS:
        missing = sorted(_KEYS - set(data)) if isinstance(data, Mapping) else sorted(_KEYS)
        raise FileDamagedError(f"this is no scorecard: {', '.join(missing)} missing")
    shell = RuleSet.from_dict(data["features"])
    try:
        parts = [
            ScoredFeature(shell.space.index(entry["feature"]), entry["points"], entry.get("cuts"))
            for entry in data["points"]
        ]
        card = Scorecard(parts, data["threshold"], shell.space, data["classes"])
    except (InvalidValueError, DataError) as error:
        raise FileDamagedError(str(error)) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise FileDamagedError(f"the points of this scorecard cannot be read: {error!r}") from error
    return list(card.features), card.threshold, card.space, card.classes


def _cells(card: Scorecard) -> list[tuple[str, str, str]]:
    """The lines of the card as texts, with a name only where it changes."""
    cells, before = [], None
    for name, kind, points in card.lines():
        cells.append(("" if name == before else name, kind, show_number(points)))
        before = name
    return cells
