"""Points as bars: what holds on the left, what it adds on the right, with proof from at least to at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.language.words import counted, number_text
from clearmargin.plot.canvas import (
    VERBATIM,
    class_colours,
    fit_line,
    keep_right_part,
    open_axes,
    short_number,
    size_of,
    strip_for_bars,
    wrap,
)
from clearmargin.points.scorecard import Scorecard, ScoreLine
from clearmargin.rules.rule import Label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_SIZE = 9.0
# Inches: the width of a new figure, a line of text, a line of the title, the axis below, between features.
_WIDTH, _LINE, _TITLE, _FOOT, _GAP = 8.0, 0.2, 0.19, 0.55, 0.12
# The parts of the width that names of features take, and all text with and without them; the bars have the rest.
_NAMES, _CARD_TEXT, _TEXT = 0.2, 0.45, 0.5
# The width of a bar of no width, as a share of the axis.
_THINNEST = 0.004


@dataclass(frozen=True, slots=True)
class _Bar:
    """One line: what holds, the ends of its bar, the class that it speaks for; without ends, a heading."""

    text: str
    low: float
    high: float
    label: Label
    name: str = ""
    is_heading: bool = False
    is_against: bool = False

    @property
    def number(self) -> str:
        """What stands beside the bar: from at least to at most, or points with their sign."""
        if not self.name:
            return ("" if self.high < 0 else "+") + number_text(self.high, 3)
        ends = dict.fromkeys((number_text(self.low), number_text(self.high)))
        return " to ".join(ends)


def plot_points(model: Any, *, max_lines: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the points of a scorecard, or of a fitted model that has one, as bars: the largest, class by class."""
    card = _scorecard(model)
    if not isinstance(max_lines, int) or max_lines < 1:
        raise InvalidValueError(f"max_lines must be a whole number from 1, not {max_lines!r}")
    lines, bars = card.lines(), list[_Bar]()
    if not lines:
        raise InvalidValueError("there are no points to draw: no rule has a weight")
    for k in range(card.n_outputs):
        mine = [line for line in lines if line.output == k]
        if not card.is_binary and mine:
            text = f"{plain(card.classes[k])} (starts at {number_text(float(card.intercept[k]))})"
            bars.append(_Bar(text, 0.0, 0.0, card.classes[k], is_heading=True))
        found = [
            _Bar(text, 0.0, p, line.label, is_against=p < 0 and not card.is_binary)
            for line in mine
            for text, p in [_reach(card, line)]
        ]
        share = max(1, max_lines // card.n_outputs)
        bars += sorted(found, key=lambda bar: -abs(bar.high))[:share]
    left_out = len(lines) - sum(not bar.is_heading for bar in bars)
    note = f"{counted(left_out, 'smaller one')} not shown" if left_out else ""
    drawn = _draw(bars, card.classes, [card.summary()], "points", ax, _TEXT, note)
    if card.is_binary:
        colours = class_colours(card.classes)
        for x, side, label in zip((0, 1), ("left", "right"), card.classes, strict=True):
            # The word "points" stands between the two.
            shown = fit_line(plain(label), 0.36 * size_of(drawn)[0] - 0.2, _SIZE, bold=True)
            drawn.annotate(
                f"{shown} →" if x else f"← {shown}",
                (x, 0),
                xycoords="axes fraction",
                xytext=(0, -26),
                textcoords="offset points",
                ha=side,
                va="center",
                color=colours[label],
                size=_SIZE,
                weight="bold",
                **VERBATIM,
            )
    return drawn


def plot_card(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a scorecard feature by feature, with proof from points at least to points at most; else as `plot_points`."""
    card = _scorecard(model)
    if not card.is_card:
        return plot_points(model, ax=ax)
    second = card.classes[1]
    bars = [
        _Bar(line.text, (line.proof or (0.0,))[0], line.values()[-1], second, plain(line.name))
        for line in card.card()
    ]
    if not bars:
        raise InvalidValueError(
            "there are no lines to draw: the card gives all cases the same points"
        )
    about = "" if card.proof is None else card.proof.about
    title = [about, *card.card_summary().splitlines()]
    drawn = _draw(bars, card.classes, title, f"points towards {plain(second)}", ax, _CARD_TEXT)
    if card.has_points or card.proof is not None:
        drawn.locator_params(axis="x", integer=True)
    return drawn


def _scorecard(model: Any) -> Scorecard:
    """Give the scorecard of a fitted model, or the one given."""
    from sklearn.utils.validation import check_is_fitted

    from clearmargin.points.reading import scorecard_of

    if hasattr(model, "fit"):
        check_is_fitted(model)
    card = scorecard_of(model)
    if card is None:
        raise InvalidValueError(
            f"a Scorecard is drawn, or a fitted ScoreRules or RuleSVC, not {type(model).__name__}"
        )
    return card


def _reach(card: Scorecard, line: ScoreLine) -> tuple[str, float]:
    """Return what a line adds; of a multiple of a number what its range adds, from one end to the other."""
    space, j = card.space, line.multiplies
    if j is not None:
        low, high = float(space.lower[j]), float(space.upper[j])
        if math.isfinite(low) and math.isfinite(high):
            ends = f"{short_number(low)} to {short_number(high)}"
            return f"{plain(space.names[j])}, from {ends}", line.points * (high - low)
    return plain(line.text), line.points


def _draw(
    bars: list[_Bar],
    classes: Sequence[Label],
    title: list[str],
    axis: str,
    ax: Axes | None,
    share: float,
    note: str = "",
) -> Axes:
    """Draw bars with their texts, from the top down."""
    width = _WIDTH if ax is None else size_of(open_axes(ax))[0]
    room = width * (share - (_NAMES if any(bar.name for bar in bars) else 0.0)) - 0.1
    texts = [wrap(plain(bar.text), room, _SIZE, max_lines=3) for bar in bars]
    head = [line for text in title if text for line in wrap(plain(text), 0.95 * width, _SIZE)]
    middles, bottom = [], 0.0
    for k, (bar, text) in enumerate(zip(bars, texts, strict=True)):
        bottom += _GAP if k and bar.name != bars[k - 1].name else 0.0
        height = _LINE * (len(text) + (0.0 if bar.name else 0.4))
        middles.append(bottom + height / 2)
        bottom += height
    foot = _FOOT + (_LINE if note else 0.0)
    size = (_WIDTH, bottom + _TITLE * (len(head) + 1) + foot)
    axes = open_axes(ax, size)
    if ax is None:
        axes.set_position((share, foot / size[1], 0.96 - share, bottom / size[1]))
    else:
        keep_right_part(axes, share)
    lowest = min(0.0, *(bar.high for bar in bars), *(bar.low for bar in bars))
    highest = max(0.0, *(bar.high for bar in bars))
    reach = highest - lowest or 1.0
    # Numbers stand beside the bars.
    spare = 0.22 * reach
    axes.set_xlim(lowest - (spare if lowest else 0.02 * reach), highest + spare)
    axes.set_ylim(bottom, 0.0)
    rows, colours = axes.get_yaxis_transform(), class_colours(list(classes))
    options: dict[str, Any] = {"va": "center", "size": _SIZE}
    for k, (bar, text, middle) in enumerate(zip(bars, texts, middles, strict=True)):
        if bar.name and (not k or bar.name != bars[k - 1].name):
            shown = fit_line(bar.name, _NAMES * width - 0.1, _SIZE, bold=True)
            at = -(share - 0.01) / (0.96 - share)
            axes.text(at, middle, shown, transform=rows, weight="bold", **options, **VERBATIM)
        weight = "bold" if bar.is_heading else "normal"
        joined = "\n".join(text)
        axes.text(
            -0.02, middle, joined, transform=rows, ha="right", weight=weight, **options, **VERBATIM
        )
        if bar.is_heading:
            continue
        length = bar.high - bar.low
        length = length if abs(length) > _THINNEST * reach else _THINNEST * reach
        alpha = 0.45 if bar.is_against else 1.0
        axes.barh(middle, length, 0.75 * _LINE, left=bar.low, color=colours[bar.label], alpha=alpha)
        is_up = length > 0
        axes.annotate(
            bar.number,
            (bar.low + length, middle),
            xytext=(4 if is_up else -4, 0),
            textcoords="offset points",
            ha="left" if is_up else "right",
            **options,
        )
    strip_for_bars(axes, _SIZE - 1)
    axes.set_title("\n".join(head), loc="right", size=_SIZE, **VERBATIM)
    axes.set_xlabel(axis, size=_SIZE, **VERBATIM)
    if note:
        below = -(foot - 0.05) / bottom
        axes.text(1.0, below, note, transform=axes.transAxes, ha="right", va="bottom", size=_SIZE)
    return axes
