"""HTML that cannot be broken by what stands in it: text is escaped when it enters, markup is a type of its own."""

from __future__ import annotations

import re
from html import escape

__all__ = ["Html", "join", "svg", "tag", "visible"]

# Bidirectional controls, zero-width characters and the like change what people see without being seen.
_HIDDEN = re.compile(r"[^\x20-\x7e\n]")
_PERCENT = re.compile(r"(?<=\d) %")
_LETTERS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+"
_RIGHT_TO_LEFT = re.compile(rf"{_LETTERS}(?: +{_LETTERS})*")
_EMPTY = frozenset({"meta", "br", "line", "rect", "path", "circle"})


class Html(str):
    """Text that is markup already.

    Examples
    --------
    >>> tag("p", Html("<b>bold</b>"), " & <plain>")
    '<p><b>bold</b> &amp; &lt;plain&gt;</p>'
    """

    __slots__ = ()


def visible(text: str) -> str:
    r"""Write what cannot be seen as an escape; line feeds stay.

    Examples
    --------
    >>> visible("size\u202eabc")
    'size\\u202eabc'
    """
    return _HIDDEN.sub(_show, text)


def _show(match: re.Match[str]) -> str:
    char = match.group()
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def join(children: tuple[str, ...] | list[str]) -> Html:
    """Put pieces behind each other, escaping those that are no markup.

    Examples
    --------
    >>> join(["a < b", tag("br")])
    'a &lt; b<br>'
    """
    return Html("".join(child if isinstance(child, Html) else _text(child) for child in children))


def _text(text: str) -> str:
    # A number and its percent sign stay on one line. Behind a name that runs from right to left, an invisible mark
    # keeps the number that follows from jumping before it.
    return _RIGHT_TO_LEFT.sub(r"\g<0>&lrm;", _PERCENT.sub("&nbsp;%", escape(visible(text))))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Html:
    """Make an element.

    Parameters
    ----------
    name : str
        Its name.
    *children : str
        What stands in it; plain text is escaped.
    **attributes : str, number or None
        Its attributes; `class_` stands for class, an underscore for a hyphen, None for leaving it out.

    Returns
    -------
    Html
        The element.

    Examples
    --------
    >>> tag("td", "<b>", class_="number", aria_label='"x"')
    '<td class="number" aria-label="&quot;x&quot;">&lt;b&gt;</td>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY and not children:
        return Html(f"<{name}{pairs}>" if name in ("meta", "br") else f"<{name}{pairs}/>")
    return Html(f"<{name}{pairs}>{join(children)}</{name}>")


def svg(width: float, height: float, label: str, *children: Html, class_: str) -> Html:
    """Make a drawing that says in words what it shows.

    Parameters
    ----------
    width, height : float
        Its size in units of its own.
    label : str
        What it shows.
    *children : Html
        Its shapes.
    class_ : str
        Its style.

    Returns
    -------
    Html
        The element.

    Examples
    --------
    >>> svg(10, 5, "a bar", class_="bar")[:29]
    '<svg viewBox="0 0 10 5" class'
    """
    body = join([tag("title", label), *children])
    head = f'<svg viewBox="0 0 {width:g} {height:g}" class="{class_}" role="img"'
    # Attribute names of SVG know capitals, which `tag` does not make.
    stretch = ' preserveAspectRatio="none"' if class_ == "bar" else ""
    return Html(f'{head}{stretch} aria-label="{escape(visible(label))}">{body}</svg>')
