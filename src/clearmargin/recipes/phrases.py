"""Counts in words."""

from __future__ import annotations

__all__ = ["number_of"]


def number_of(count: int, word: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> number_of(1, "row"), number_of(2, "class"), number_of(0, "category")
    ('1 row', '2 classes', '0 categories')
    """
    if count == 1:
        return f"1 {word}"
    if word.endswith("y"):
        return f"{count} {word[:-1]}ies"
    return f"{count} {word}{'es' if word.endswith('s') else 's'}"
