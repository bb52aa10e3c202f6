"""Names and numbers in figures: shown letter by letter, measured, wrapped and cut."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from clearmargin.language.printer import format_number
from clearmargin.language.prose import plain
from clearmargin.rules import FeatureSpace

__all__ = [
    "SMALL",
    "VERBATIM",
    "fit_line",
    "share_text",
    "short_number",
    "text_width",
    "title_of",
    "wrap",
]

# Nothing is written smaller, in points.
SMALL = 8.0
# A name like "$x_1$" is a name and no formula.
VERBATIM: dict[str, Any] = {"parse_math": False, "usetex": False}

# A name may be broken behind these, which stay on their line.
_BREAKS = re.compile(r"(?<=[\s_\-/,;:=|&])|(?<=\.)(?!\d)")
# What is drawn is hinted to whole pixels and comes out up to this much wider than its outline.
_HINTING = 1.06
_POINTS_PER_INCH = 72.0


def title_of(space: FeatureSpace, feature: int) -> str:
    """The name of a feature, with its unit if it has one.

    Examples
    --------
    >>> title_of(FeatureSpace(["age"], units={"age": "years"}), 0)
    'age (years)'
    """
    unit = space.units[feature]
    return plain(space.names[feature]) + (f" ({plain(unit)})" if unit else "")


def short_number(x: float) -> str:
    """A number with three digits, for the end of a scale.

    Examples
    --------
    >>> short_number(0.123456), short_number(10.0), short_number(1234.0)
    ('0.123', '10', '1234')
    """
    return format_number(float(f"{x:.0f}" if abs(x) >= 1000 else f"{x:.3g}"))


def share_text(share: float) -> str:
    """A share in percent; only all is 100 %.

    Examples
    --------
    >>> share_text(0.957), share_text(0.9999), share_text(1.0)
    ('95.7 %', '99.9 %', '100 %')
    """
    tenths = round(1000 * share)
    return f"{format_number((min(tenths, 999) if share < 1 else tenths) / 10)} %"


def text_width(text: str, size: float = SMALL, *, bold: bool = False) -> float:
    """Width of a line of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) * _HINTING / _POINTS_PER_INCH


def fit_line(
    text: str, width: float, size: float = SMALL, *, bold: bool = False, keep_end: bool = True
) -> str:
    """Cut a line to a width in inches; what is cut is shown by an ellipsis.

    Parameters
    ----------
    text : str
        The line.
    width : float
        Inches to fill.
    size : float, default 8
        Size of the letters in points.
    bold : bool, default False
        Whether the letters are bold.
    keep_end : bool, default True
        Whether to cut in the middle: names are often told apart by how they end. A list is cut at its end.

    Returns
    -------
    str
        At least one letter of the text.

    Examples
    --------
    >>> fit_line("worst concavity of the nucleus, left", 1.3)
    'worst concav…us, left'
    """
    if text_width(text, size, bold=bold) <= width:
        return text

    def shortened(letters: int) -> str:
        # Two letters in five are kept of the end.
        tail = 2 * letters // 5 if keep_end else 0
        return f"{text[: letters - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"

    def width_of(letters: int) -> float:
        return text_width(shortened(letters), size, bold=bold)

    return shortened(max(1, bisect_right(range(len(text)), width, key=width_of) - 1))


def wrap(text: str, width: float, size: float = SMALL, *, max_lines: int = 4) -> list[str]:
    """Break a text into lines of a width in inches, between words and at underscores where possible.

    Parameters
    ----------
    text : str
        The text.
    width : float
        Inches to fill.
    size : float, default 8
        Size of the letters in points.
    max_lines : int, default 4
        The last of them is cut in its middle, if the text goes on.

    Returns
    -------
    list of str
        At least one line.
    """
    lines = [""]
    for word in _BREAKS.split(text):
        if lines[-1] and text_width((lines[-1] + word).rstrip(), size) > width:
            lines.append("")
        lines[-1] += word
        while text_width(lines[-1].rstrip(), size) > width and len(lines[-1]) > 1:
            head = _longest_head(lines[-1], width, size)
            lines[-1:] = [lines[-1][:head], lines[-1][head:]]
    shown = [line.strip() for line in lines if line.strip()] or [text]
    if len(shown) > max_lines:
        shown[max_lines - 1 :] = [fit_line(" ".join(shown[max_lines - 1 :]), width, size)]
    return shown


def _longest_head(word: str, width: float, size: float) -> int:
    """Number of letters that fit, at least one."""
    fitting = bisect_right(range(len(word)), width, key=lambda n: text_width(word[:n], size))
    return max(1, fitting - 1)
