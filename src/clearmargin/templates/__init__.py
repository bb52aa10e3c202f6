"""HTML by Jinja2 templates: what stands in a page cannot become markup, and what cannot be seen is shown.

The templates are beside this file: `page.html` is the page of a report, `blocks.html` draws its blocks one by one,
`style.css` is its look, `notebook.html` has the tables that values show in notebooks. Jinja2 is imported when something
is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["html_table", "render", "render_macro", "visible"]

# Bidirectional controls, zero-width characters and the like change what people see without being seen.
_HIDDEN = re.compile(r"[^\x20-\x7e\n]")
_PERCENT = re.compile(r"(?<=\d) %")
_LETTERS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+"
_RIGHT_TO_LEFT = re.compile(rf"{_LETTERS}(?: +{_LETTERS})*")


def visible(text: str) -> str:
    r"""Write what cannot be seen as an escape; line feeds stay."""
    return _HIDDEN.sub(_show, text)


def _show(match: re.Match[str]) -> str:
    char = match.group()
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def render(template: str, **values: Any) -> str:
    """Fill a template."""
    return _environment().get_template(template).render(**values)


def render_macro(template: str, macro: str, **values: Any) -> str:
    """Fill a part of a template."""
    return str(getattr(_environment().get_template(template).module, macro)(**values)).strip()


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, lines: Sequence[str] = (), **look: Any
) -> str:
    """Draw a table for notebooks."""
    above = render_macro("notebook.html", "lines", items=lines) if lines else ""
    return above + render_macro("notebook.html", "table", columns=columns, rows=rows, **look)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("clearmargin"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _finalize(value: Any) -> Any:
    """Prepare a value before it is written: None is nothing, text is escaped and made visible, markup stays."""
    from markupsafe import Markup, escape

    if value is None:
        return ""
    # Markup is a subclass of str.
    if type(value) is not str:
        return value
    # A number and its percent sign stay on one line. Behind a name that runs from right to left, an invisible mark
    # keeps the number that follows from jumping before it.
    escaped = _PERCENT.sub("&nbsp;%", str(escape(visible(value))))
    return Markup(_RIGHT_TO_LEFT.sub(r"\g<0>&lrm;", escaped))  # noqa: S704 (escaped just above)
