"""Tokens to conditions: comparisons of sums, sets of categories, and missing values."""

from __future__ import annotations

import math

from clearmargin.language.cursor import Cursor
from clearmargin.language.lexer import KEYWORDS, Token, number_value
from clearmargin.language.source import shown
from clearmargin.language.syntax import Bound, Chain, Condition, Membership, Missing, Name, Sum

__all__ = ["parse_premise"]

_MIRRORED = {">=": "<=", ">": "<"}
_COMPARISONS = frozenset({"<=", "<", ">=", ">", "="})
_SIGNS = frozenset({"+", "-"})
_IN_SUMS = frozenset({"+", "-", "*"})


def parse_premise(cursor: Cursor) -> list[Condition]:
    """Read the conditions before ``=>``; none for ``true``.

    Parameters
    ----------
    cursor : Cursor
        At the first token of the premise; afterwards at ``=>``.

    Returns
    -------
    list of Condition
        In the order written.
    """
    if cursor.token.kind == "=>":
        cursor.fail("nothing before '=>'; a rule without condition is written 'true => ...'")
    if cursor.token.kind == "true" and cursor.following.kind == "=>":
        cursor.take()
        return []
    conditions = [_parse_condition(cursor)]
    while cursor.token.kind == "and":
        cursor.take()
        conditions.append(_parse_condition(cursor))
    if cursor.token.kind != "=>":
        cursor.fail(_after_condition(cursor))
    return conditions


def _after_condition(cursor: Cursor) -> str:
    kind = cursor.token.kind
    if kind == "or":
        return "a premise has no 'or', so that it stays convex; write two rules"
    if kind == "end":
        return "no '=>' in this line; a rule reads 'premise => class'"
    if kind == ",":
        return "expected 'and' between conditions, not ','"
    return f"expected 'and' or '=>', not {cursor.what_is_here()}"


def _parse_condition(cursor: Cursor) -> Condition:
    if cursor.following.kind == "in" and cursor.token.kind in {"name", "quoted"}:
        return _parse_membership(cursor)
    if cursor.token.kind in {"name", "quoted"} and _is_word(cursor.following, "is"):
        return _parse_missing(cursor)
    sums = [_parse_sum(cursor)]
    signs: list[str] = []
    while cursor.token.kind in _COMPARISONS:
        if signs:
            _check_chain(cursor, signs[0])
        signs.append(cursor.take().kind)
        right = _parse_match(cursor) if signs[0] == "=" else _parse_sum(cursor)
        if not (sums[-1].terms or right.terms):
            raise cursor.source.error("no feature in this comparison", sums[-1].start, right.end)
        sums.append(right)
    if not signs or cursor.token.kind == "!=":
        cursor.fail(_no_comparison(cursor))
    return _as_condition(sums, signs)


def _as_condition(sums: list[Sum], signs: list[str]) -> Bound | Chain:
    start, end = sums[0].start, sums[-1].end
    if signs[0] in _MIRRORED:
        sums = sums[::-1]
        signs = [_MIRRORED[sign] for sign in reversed(signs)]
    holders = [k for k, side in enumerate(sums) if side.terms]
    feature = sums[holders[0]].name
    if len(holders) > 1 or feature is None:
        return Chain(tuple(sums), tuple(signs), start, end)
    k = holders[0]
    if signs[0] == "=":
        value = sums[1 - k].constant
        return Bound(feature, value, value, False, False, k == 0, start, end)
    low = sums[k - 1].constant if k > 0 else -math.inf
    high = sums[k + 1].constant if k < len(signs) else math.inf
    low_is_open, high_is_open = "<" in signs[:k], "<" in signs[k:]
    return Bound(feature, low, high, low_is_open, high_is_open, False, start, end)


def _check_chain(cursor: Cursor, first: str) -> None:
    here = cursor.token.kind
    if "=" in {first, here}:
        cursor.fail("'=' cannot be part of a chain; join two conditions with 'and'")
    if (first in _MIRRORED) != (here in _MIRRORED):
        cursor.fail("a chain that goes both ways; join two conditions with 'and'")


def _no_comparison(cursor: Cursor) -> str:
    token = cursor.token
    if token.kind == "!=":
        return f"{shown(token.text)} is not convex; write two rules, one with '<' and one with '>'"
    if token.kind in {"name", "quoted", "number"}:
        return f"unexpected {shown(token.text)}; {_between_words(cursor)}"
    advice = "; 'at least' is written '>='" if token.kind == "=>" else ""
    return f"expected a comparison (<=, <, >=, > or =), not {cursor.what_is_here()}{advice}"


def _between_words(cursor: Cursor) -> str:
    before = cursor.before
    if before.text.lower() == "if":
        return "a sentence that starts with 'if' has 'then' before its class, not '=>'"
    if before.kind == "number":
        return "a weight is written 2*x"
    if before.kind == "name" and cursor.token.kind == "name":
        return f"a name with blanks goes into backquotes: {_joined(before, cursor.token)}"
    return "two names or numbers need a sign between them"


def _joined(left: Token, right: Token) -> str:
    both = f"{left.text} {right.text}"
    return f"`{both}`" if len(both) < 60 else "`like this`"


def _parse_membership(cursor: Cursor) -> Membership:
    feature = cursor.take_name("a feature")
    cursor.take()
    if cursor.token.kind == "[":
        cursor.fail("a set is written {a, b}; for an interval write 3 <= x <= 5")
    cursor.expect("{", "after 'in'")
    if cursor.token.kind == "}":
        cursor.fail("an empty set of categories covers nothing")
    members = [cursor.take_category()]
    while cursor.token.kind == ",":
        cursor.take()
        members.append(cursor.take_category())
    cursor.expect("}", "after the categories")
    return Membership(feature, members, feature.start, cursor.last_end)


def _is_word(token: Token, word: str) -> bool:
    """Whether a token is this word, which may also be the name of a feature elsewhere."""
    return token.kind == "name" and token.text.lower() == word


def _parse_missing(cursor: Cursor) -> Missing:
    feature = cursor.take_name("a feature")
    cursor.take()
    is_missing = cursor.token.kind != "not"
    if not is_missing:
        cursor.take()
    if not _is_word(cursor.token, "missing"):
        cursor.fail(
            f"expected 'missing' or 'not missing' after 'is', not {cursor.what_is_here()}; "
            "a value is compared with '='"
        )
    cursor.take()
    return Missing(feature, is_missing, feature.start, cursor.last_end)


def _parse_match(cursor: Cursor) -> Sum:
    """The side after '=', where a category may be called true or false, or have an empty name."""
    token = cursor.token
    if token.kind in {"true", "false"}:
        cursor.take()
        name = Name(token.text, token.start, token.end)
    elif token.kind == "quoted" and cursor.following.kind not in _IN_SUMS:
        name = cursor.take_text("a category")
    else:
        return _parse_sum(cursor)
    return Sum(((1.0, name),), 0.0, name.start, name.end, name)


def _parse_sum(cursor: Cursor) -> Sum:
    start = cursor.token.start
    terms: list[tuple[float, Name]] = []
    constant = 0.0
    only: Name | None = None
    while True:
        weight = 1.0
        while cursor.token.kind in _SIGNS:
            weight = -weight if cursor.take().kind == "-" else weight
        number, name = _parse_term(cursor)
        if name is None:
            constant += weight * number
        else:
            terms.append((weight * number, name))
            only = name
        if cursor.token.kind not in _SIGNS:
            break
    end = cursor.last_end
    if not math.isfinite(constant):
        raise cursor.source.error("this sum is too large", start, end)
    if only is not None and (only.start, only.end) != (start, end):
        only = None
    return Sum(tuple(terms), constant, start, end, only)


def _parse_term(cursor: Cursor) -> tuple[float, Name | None]:
    """One of ``2``, ``x``, ``2*x`` and ``x*2``."""
    start = cursor.token.start
    first = _take_operand(cursor)
    if cursor.token.kind != "*":
        return (first, None) if isinstance(first, float) else (1.0, first)
    cursor.take()
    second = _take_operand(cursor)
    if isinstance(first, float) and isinstance(second, Name):
        weight, name = first, second
    elif isinstance(first, Name) and isinstance(second, float):
        weight, name = second, first
    else:
        problem = (
            "a product of two features; only linear conditions can be written"
            if isinstance(first, Name)
            else "a product of two numbers; write the result"
        )
        raise cursor.source.error(problem, start, cursor.last_end)
    if cursor.token.kind == "*":
        cursor.fail("a term has one '*': a number times a feature")
    return weight, name


def _take_operand(cursor: Cursor) -> float | Name:
    token = cursor.token
    if token.kind == "number":
        return number_value(cursor.source, cursor.take())
    if token.kind == "name":
        cursor.take()
        return Name(token.text, token.start, token.end)
    if token.kind != "quoted":
        cursor.fail(_no_operand(cursor))
    return cursor.take_name("a feature")


def _no_operand(cursor: Cursor) -> str:
    token = cursor.token
    if token.kind == "not":
        return "a premise has no 'not'; turn the comparison around"
    if token.kind == "true":
        return "'true' stands alone before '=>'; as a name it is written `true`"
    if token.kind in KEYWORDS and token.kind != "and":
        return f"unexpected keyword {shown(token.text)}; as a name it is written `{token.text}`"
    if token.kind == "!=":
        return _no_comparison(cursor)
    return f"expected a feature or a number, not {cursor.what_is_here()}"
