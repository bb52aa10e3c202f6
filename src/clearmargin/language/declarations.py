"""Tokens to declarations: the classes, and what each feature is."""

from __future__ import annotations

import math

from clearmargin.language.cursor import Cursor
from clearmargin.language.syntax import ClassesNode, FeatureNode

__all__ = ["is_declaration", "parse_classes", "parse_feature"]


def is_declaration(cursor: Cursor, word: str) -> bool:
    """Tell whether a line is a declaration: it starts with this word and has no ``=>``."""
    return cursor.is_word(word) and all(token.kind != "=>" for token in cursor.tokens)


def parse_classes(cursor: Cursor) -> ClassesNode:
    """Read ``classes: benign, malignant``.

    Parameters
    ----------
    cursor : Cursor
        At the word ``classes``; afterwards at the end of the line.

    Returns
    -------
    ClassesNode
        The classes in the order written, all different.
    """
    start = cursor.take().start
    cursor.expect(":", "after 'classes' (or '=>' if this is a rule)")
    labels = [cursor.take_label()]
    while cursor.token.kind == ",":
        cursor.take()
        labels.append(cursor.take_label())
    cursor.expect_end("write ',' between classes")
    seen = set()
    for label in labels:
        if label.value in seen:
            raise cursor.source.error("this class is listed twice", label.start, label.end)
        seen.add(label.value)
    return ClassesNode(labels, start, cursor.last_end)


def parse_feature(cursor: Cursor) -> FeatureNode:
    """Read ``feature age: integer in [20, 80] unit years fill 35``.

    Parameters
    ----------
    cursor : Cursor
        At the word ``feature``; afterwards at the end of the line.

    Returns
    -------
    FeatureNode
        What was said; every part but the name may be missing.
    """
    start = cursor.take().start
    name = cursor.take_name("the name of a feature")
    node = FeatureNode(name, start, name.end)
    if cursor.token.kind != "end":
        cursor.expect(":", "after the name of the feature (or '=>' if this is a rule)")
        _parse_part(cursor, node)
    while cursor.token.kind != "end":
        _parse_part(cursor, node)
    node.end = cursor.last_end
    return node


def _parse_part(cursor: Cursor, node: FeatureNode) -> None:
    if cursor.is_word("integer"):
        _once(cursor, node.is_integer)
        cursor.take()
        node.is_integer = True
    elif cursor.is_word("unit"):
        _once(cursor, node.unit is not None)
        cursor.take()
        node.unit = cursor.take_name("a unit").text
    elif cursor.is_word("fill"):
        _once(cursor, node.fill is not None)
        cursor.take()
        node.fill = cursor.take_category()
    elif cursor.token.kind == "in" and cursor.following.kind == "[":
        _once(cursor, node.lower is not None)
        cursor.take()
        _parse_range(cursor, node)
    elif cursor.token.kind == "in" and cursor.following.kind == "{":
        _once(cursor, node.categories is not None)
        cursor.take()
        _parse_categories(cursor, node)
    else:
        cursor.fail(
            "expected 'integer', 'in [low, high]', 'in {a, b}', 'unit ...' or 'fill ...', "
            f"not {cursor.what_is_here()}"
        )


def _once(cursor: Cursor, is_known: bool) -> None:
    if is_known:
        cursor.fail("this was said before in the same line")


def _parse_range(cursor: Cursor, node: FeatureNode) -> None:
    start = cursor.take().start
    node.lower = _take_bound(cursor)
    cursor.expect(",", "between the bounds")
    node.upper = _take_bound(cursor)
    cursor.expect("]", "after the bounds")
    if node.lower > node.upper or node.lower == math.inf or node.upper == -math.inf:
        raise cursor.source.error("this range is empty", start, cursor.last_end)


def _take_bound(cursor: Cursor) -> float:
    """Take a number or, here alone, infinity."""
    sign = -1.0 if cursor.token.kind == "-" else 1.0
    is_signed = cursor.token.kind in {"+", "-"}
    word = cursor.following if is_signed else cursor.token
    if word.kind != "name" or word.text.lower() != "inf":
        return cursor.take_number()
    if is_signed:
        cursor.take()
    cursor.take()
    return sign * math.inf


def _parse_categories(cursor: Cursor, node: FeatureNode) -> None:
    cursor.take()
    names = [cursor.take_category()]
    while cursor.token.kind == ",":
        cursor.take()
        names.append(cursor.take_category())
    cursor.expect("}", "after the categories")
    seen = set()
    for name in names:
        if name.text in seen:
            raise cursor.source.error("this category is listed twice", name.start, name.end)
        seen.add(name.text)
    node.categories = names
