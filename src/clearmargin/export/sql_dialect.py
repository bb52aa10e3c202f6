"""What differs between databases: quotes, numbers, types, and what counts as missing.

A number becomes a literal that the engine reads as the same double. To add a dialect, add a row to `DIALECTS`.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.space import nearest_name


def approximate_literal(x: float) -> str:
    """Write a float with an exponent, which makes it a double in SQL; 0.1 would be a decimal number."""
    return _with_exponent(repr(float(x)))


@lru_cache(maxsize=4096)  # rules share their bounds
def sqlite_literal(x: float) -> str:
    """Write a float so that SQLite reads this very float."""
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
    """Check whether every number within the error of SQLite around the text rounds to x."""
    written, around = Fraction(text), abs(Fraction(x)) * _ERROR
    below, above = math.nextafter(x, -math.inf), math.nextafter(x, math.inf)
    low, high = (Fraction(x) + Fraction(below)) / 2, (Fraction(x) + Fraction(above)) / 2
    return low + around < written < high - around


def _as_product(x: float) -> str:
    """Return a whole number below 2**53 times or divided by powers of two; each step is exact."""
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


def _same(text: str) -> str:
    return text


def _ascii_lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _first_bytes(text: str) -> str:
    # PostgreSQL cuts a longer name off, between two characters.
    return text.encode("utf-8", "surrogatepass")[:63].decode("utf-8", "ignore")


def _plain_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _postgresql_text(text: str) -> str:
    # Whether a backslash stands for itself in '...' is a setting of the server; in E'...' it is not.
    quoted = _plain_text(text)
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


def _mysql_text(text: str) -> str:
    # Whether a backslash escapes is a mode of the server, and which letters are meant beyond ASCII is a setting of the
    # connection; hexadecimal digits with the name of their character set depend on neither.
    if text.isascii() and "\\" not in text:
        return _plain_text(text)
    return f"_utf8mb4 0x{text.encode('utf-8').hex().upper()}"


def _mysql_fold(text: str) -> str:
    # Names of columns are compared without case and accents.
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def _mysql_problem(name: str) -> str:
    if len(name) > 64:
        return "it has more than 64 characters"
    if name.endswith(" "):
        return "it ends in a blank"
    return "it has a character beyond U+FFFF" if any(c > "\uffff" for c in name) else ""


def _no_problem(name: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one database writes things; the fields with braces are filled with the quoted name of a column."""

    name: str
    mark: str
    """The quotation mark of identifiers; inside it is doubled."""
    number: Callable[[float], str]
    text: Callable[[str], str]
    measured: str
    """A column of numbers, as a double."""
    named: str
    """A column of categories, as text that compares letter by letter."""
    no_number: str
    """The test that a column of numbers has no value in this row."""
    fold: Callable[[str], str]
    """What the database sees of a name; two columns for which it is the same cannot be told apart."""
    truths: tuple[str, str] = ("FALSE", "TRUE")
    """The truth values."""
    guard: str = ""
    """The test that a column of numbers has a value, where a comparison alone may be true without one."""
    guards_all: bool = False
    """Whether every comparison needs that test, and not only those without an upper bound."""
    flag: str = "{}"
    """A column of zeros and ones as a number, be it one of numbers or of booleans."""
    problem: Callable[[str], str] = _no_problem
    """What is wrong with a name in this database; empty if nothing is."""

    def filled(self, column: str, value: str) -> str:
        """Return a column of numbers, with this value where there is none."""
        if self.no_number == "{} IS NULL":
            return f"COALESCE({self.measured.format(column)}, {value})"
        missing, measured = self.no_number.format(column), self.measured.format(column)
        return f"CASE WHEN {missing} THEN {value} ELSE {measured} END"

    def identifier(self, name: str) -> str:
        """Quote a name, whatever it is made of."""
        self.check_text(name, "the name")
        problem = self.problem(name)
        if problem:
            raise InvalidValueError(
                f"{self.name} takes no name such as {name!r}: {problem}; rename it"
            )
        return self.mark + name.replace(self.mark, 2 * self.mark) + self.mark

    def literal(self, text: str) -> str:
        """Quote a text."""
        self.check_text(text, "the text")
        return self.text(text)

    def check_text(self, text: str, what: str) -> None:
        """Refuse what no statement can hold."""
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InvalidValueError(
                f"{what} {text!r} cannot be written in SQL: it has a NUL or half a surrogate pair; rename it"
            )

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns that the database would take for one."""
        seen = Counter(self.fold(name) for name in names)
        same = [name for name in names if seen[self.fold(name)] > 1]
        if same:
            raise InvalidValueError(
                f"{self.name} cannot tell the columns {', '.join(map(repr, same))} apart; rename them"
            )


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("ansi", '"', approximate_literal, _plain_text, "{}", "{}", "{} IS NULL", _same),
        Dialect(
            "postgresql",
            '"',
            # A numeric literal would be an exact decimal number, and integers would be compared with it exactly.
            lambda x: f"float8 '{float(x)!r}'",
            _postgresql_text,
            "{}",
            'CAST({} AS text) COLLATE "C"',
            # NaN is equal to itself here, and larger than all numbers.
            "{0} IS NULL OR {0} = float8 'NaN'",
            _first_bytes,
            guard="{} <> float8 'NaN'",
            # A boolean is cast to integers and texts alone.
            flag="CASE CAST({0} AS text) WHEN 'true' THEN 1 WHEN 'false' THEN 0 "
            "ELSE CAST(CAST({0} AS text) AS float8) END",
        ),
        Dialect(
            "sqlite",
            # An unknown column in double quotes would be taken for a text; in backquotes it is an error.
            "`",
            sqlite_literal,
            _plain_text,
            # An integer beyond 2**53 is compared exactly unless it becomes a float first, as in numpy.
            "CAST({} AS REAL)",
            "CAST({} AS TEXT) COLLATE BINARY",
            # Every column may hold a text, which would be larger than all numbers. NaN is stored as NULL.
            "typeof({}) NOT IN ('integer', 'real')",
            _ascii_lower,
            # TRUE would be a column if there is one of this name.
            ("0", "1"),
            "typeof({}) IN ('integer', 'real')",
            True,
        ),
        Dialect(
            "duckdb",
            '"',
            approximate_literal,
            _plain_text,
            "{}",
            "CAST({} AS VARCHAR) COLLATE C",
            "{0} IS NULL OR isnan({0})",
            _ascii_lower,
            # NaN is larger than all numbers.
            guard="NOT isnan({})",
            flag="CAST({} AS DOUBLE)",
        ),
        Dialect(
            "mysql",
            # Double quotes would be texts unless the server is told otherwise.
            "`",
            # With an exponent, a literal and whatever it is compared with are doubles.
            approximate_literal,
            _mysql_text,
            "{}",
            # As bytes, since other comparisons ignore case or blanks at the end.
            "CAST(CONVERT({} USING utf8mb4) AS BINARY)",
            # There is no NaN.
            "{} IS NULL",
            _mysql_fold,
            problem=_mysql_problem,
        ),
    )
}


def find_dialect(name: object) -> Dialect:
    """Return the dialect of that name; an unknown one is an error that suggests the nearest."""
    if not isinstance(name, str) or name not in DIALECTS:
        raise InvalidValueError(
            f"there is no SQL dialect {name!r}{nearest_name(str(name), DIALECTS)}"
        )
    return DIALECTS[name]
