"""Places in a text as browsers count them: in units of UTF-16, of which a character beyond the first plane has two."""

from __future__ import annotations

from typing import Any

_PLACES = ("from", "to")
_PAIRS = ("premise", "class_span")


def in_browser_offsets(answer: Any, text: str) -> Any:
    r"""Translate all places of an answer, whatever it holds."""
    if text.isascii() or max(text) <= "\uffff":
        return answer
    table = [0]
    for char in text:
        table.append(table[-1] + (2 if char > "\uffff" else 1))
    return _translated(answer, table)


def _translated(value: Any, table: list[int]) -> Any:
    if isinstance(value, list):
        return [_translated(entry, table) for entry in value]
    if not isinstance(value, dict):
        return value
    answer: dict[str, Any] = {}
    for name, entry in value.items():
        if name in _PLACES and isinstance(entry, int):
            answer[name] = table[entry]
        elif name in _PAIRS and entry is not None:
            answer[name] = [table[place] for place in entry]
        elif name == "spans":
            answer[name] = [[table[place] for place in span] for span in entry]
        else:
            answer[name] = _translated(entry, table)
    return answer


def python_offset(text: str, offset: int) -> int:
    r"""Translate a place as browsers count it; one inside of a character is that before it."""
    units = 0
    for k, char in enumerate(text):
        units += 2 if char > "\uffff" else 1
        if units > offset:
            return k
    return len(text)
