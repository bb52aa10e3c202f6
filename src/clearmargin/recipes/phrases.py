"""Counts, and the first words about a row."""

from __future__ import annotations

from clearmargin.rules.rule import Label

__all__ = ["number_of", "row_heading"]


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


def row_heading(row: int, predicted: Label, true: Label | None) -> str:
    """Name a row, and say whether its class is predicted right, where that is known.

    Examples
    --------
    >>> row_heading(3, "ill", "ill"), row_heading(3, "ill", "well"), row_heading(3, "ill", None)
    ('Row 3 (right).', 'Row 3 (wrong: it is well).', 'Row 3.')
    """
    if true is None:
        return f"Row {row}."
    return f"Row {row} ({'right' if predicted == true else f'wrong: it is {true}'})."
