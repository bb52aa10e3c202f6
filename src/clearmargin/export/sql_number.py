"""Numbers as SQL literals that every engine reads as the same double."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

__all__ = ["approximate_literal", "sqlite_literal"]


def approximate_literal(x: float) -> str:
    """Write a float with an exponent, which makes it a double in SQL; 0.1 would be a decimal number.

    Examples
    --------
    >>> approximate_literal(30.0), approximate_literal(-0.1), approximate_literal(1e300)
    ('30e0', '-0.1e0', '1e300')
    """
    return _with_exponent(repr(float(x)))


@lru_cache(maxsize=4096)  # rules share their bounds
def sqlite_literal(x: float) -> str:
    """Write a float so that SQLite reads this very float.

    SQLite does not round correctly when it reads a number. It reads some 18 digits, computes in a wider format, and
    errs in the last bit where the written number lies close to the middle between two floats, or is very large or
    small. So the shortest text is taken if it keeps clear of the middle, else more digits, and beyond that a
    product or quotient of whole numbers, in which nothing is ever rounded.

    Parameters
    ----------
    x : float
        A finite number.

    Returns
    -------
    str
        A literal or an expression in parentheses.

    Examples
    --------
    >>> sqlite_literal(30.0), sqlite_literal(0.1)
    ('30e0', '0.1e0')
    >>> sqlite_literal(25.34217322269396)  # SQLite 3.40 takes the shorter text for the next float
    '2.53421732226939618e1'
    >>> sqlite_literal(5e-324)[:45]
    '(1e0 / 4611686018427387904 / 4611686018427387'
    """
    if x == 0:
        return "0e0"
    if _PLAIN_RANGE[0] < abs(x) < _PLAIN_RANGE[1]:
        for text in (repr(x), f"{x:.17e}"):
            if _is_clear(text, x):
                return _with_exponent(text)
    return _as_product(x)


# Within it, powers of ten and what they multiply stay far from overflow and underflow.
_PLAIN_RANGE = (1e-250, 1e250)
# SQLite computes with 64 bits (long double) or about 100 (double-double), in a handful of operations.
_ERROR = Fraction(1, 2**58)
_STEP = 2**62


def _with_exponent(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent or 0)}"


def _is_clear(text: str, x: float) -> bool:
    """Whether every number within the error of SQLite around the text rounds to x."""
    written, around = Fraction(text), abs(Fraction(x)) * _ERROR
    below, above = math.nextafter(x, -math.inf), math.nextafter(x, math.inf)
    low, high = (Fraction(x) + Fraction(below)) / 2, (Fraction(x) + Fraction(above)) / 2
    return low + around < written < high - around


def _as_product(x: float) -> str:
    """A whole number below 2**53 times or divided by powers of two; each step is exact."""
    top, bottom = abs(x).as_integer_ratio()
    size = top.bit_length()
    shift = max(0, size - 53)  # the bits below are zero
    factor = top >> shift
    up, down = 2**shift, bottom
    text = f"{'-' if x < 0 else ''}{factor}e0"
    while up > 1:
        step = min(up, _STEP)
        text, up = f"{text} * {step}", up // step
    while down > 1:
        step = min(down, _STEP)
        text, down = f"{text} / {step}", down // step
    return f"({text})"
