"""Counts, and the first words about a row."""

from __future__ import annotations

from clearmargin.rules.rule import Label


def number_of(count: int, word: str) -> str:
    """Count things in words."""
    if count == 1:
        return f"1 {word}"
    if word.endswith("y"):
        return f"{count} {word[:-1]}ies"
    return f"{count} {word}{'es' if word.endswith('s') else 's'}"


def row_heading(row: int, predicted: Label, true: Label | None) -> str:
    """Name a row, and say whether its class is predicted right, where that is known."""
    if true is None:
        return f"Row {row}."
    return f"Row {row} ({'right' if predicted == true else f'wrong: it is {true}'})."
