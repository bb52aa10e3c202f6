"""Read documents of plain data, as JSON gives them: whatever does not fit is refused by its place.

What a document may hold stands in the schemas that are shipped, for programs in other languages; here each part is
asked for what it has to be, and the tests compare the two. Numbers must be finite floats.
"""

from __future__ import annotations

import contextlib
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clearmargin.exceptions import ClearmarginError, FileDamagedError, FileTooNewError
from clearmargin.rules.space import nearest_name

# What a document may say that it is, and who reads it.
READERS = {
    "clearmargin-rules": "RuleSet.load",
    "clearmargin-model": "load_model",
    "clearmargin-weighted-rules": "load_model",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document, and where it stands."""

    data: Any
    path: tuple[str, ...] = ()

    def error(self, problem: str) -> FileDamagedError:
        """Make an error that names the place."""
        return FileDamagedError(f"{': '.join(self.path) or 'the document'} {problem}")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Name the place in every error about what is made of this part."""
        try:
            yield
        except FileTooNewError:
            raise
        except (ClearmarginError, ValueError) as error:
            raise FileDamagedError(": ".join([*self.path, str(error)])) from error

    def _must(self, fits: bool, be: str) -> Any:
        if not fits:
            raise self.error(f"must be {be}, not {reprlib.repr(self.data)}")
        return self.data

    def text(self, *, may_be_empty: bool = False) -> str:
        """Read a text."""
        fits = isinstance(self.data, str) and (may_be_empty or self.data != "")
        return str(self._must(fits, "a text" if may_be_empty else "a text that is not empty"))

    def number(self) -> float:
        """Read a number that a float can hold; true and false are none."""
        fits = isinstance(self.data, int | float) and not isinstance(self.data, bool)
        with contextlib.suppress(OverflowError):  # a whole number beyond all floats
            return float(self._must(fits and math.isfinite(self.data), "a number"))
        raise self.error("is too large for a number")

    def whole(self) -> int:
        """Read a whole number from 0."""
        fits = isinstance(self.data, int) and not isinstance(self.data, bool) and self.data >= 0
        return int(self._must(fits, "a whole number from 0"))

    def flag(self) -> bool:
        """Read true or false."""
        return bool(self._must(isinstance(self.data, bool), "true or false"))

    def one_of(self, allowed: tuple[str, ...]) -> str:
        """Read one of some texts."""
        fits = isinstance(self.data, str) and self.data in allowed
        return str(self._must(fits, f"one of {', '.join(map(repr, allowed))}"))

    def items(self, title: str, least: int = 0) -> list[Part]:
        """Read a list; an item is called by its position from 1 and the feature or category that it speaks of."""
        self._must(isinstance(self.data, list), "a list")
        if len(self.data) < least:
            raise self.error(f"must have at least {least} {'entry' if least == 1 else 'entries'}")
        parts = []
        for k, item in enumerate(self.data, 1):
            spoken = item if isinstance(item, dict) else {}
            names = [spoken.get(key) for key in ("feature", "category")]
            column = " = ".join(name for name in names if isinstance(name, str))
            place = f"{title} {k} ({column!r})" if column else f"{title} {k}"
            parts.append(Part(item, (*self.path[:-1], place)))
        return parts

    def entries(self, least: int = 0) -> dict[str, Part]:
        """Read an object whose keys are names."""
        self._must(isinstance(self.data, dict) and len(self.data) >= least, "an object")
        return {key: Part(value, (*self.path, repr(key))) for key, value in self.data.items()}

    def record(self, required: str, optional: str = "") -> dict[str, Part]:
        """Read an object with these keys, given as words, and with no others."""
        parts, needed = self.entries(), required.split()
        known = [*needed, *optional.split()]
        for key in needed:
            if key not in parts:
                raise FileDamagedError(": ".join([*self.path, f"{key!r} is missing"]))
        for key in parts:
            if key not in known:
                hint = nearest_name(str(key), known)
                problem = f"unknown key {reprlib.repr(key)}{hint}"
                raise FileDamagedError(": ".join([*self.path, problem]))
        return parts


def optional(
    record: Mapping[str, Part], key: str, read: Callable[[Part], Any], default: Any = None
) -> Any:
    """Read a part of a record, if it is there."""
    return read(record[key]) if key in record else default


def open_document(data: object, name: str, version: int) -> Part:
    """Make sure that data are a document of this format, in a version that can be read."""
    found = data.get("format") if isinstance(data, dict) else None
    if not isinstance(data, dict) or found != name:
        reader = READERS.get(found) if isinstance(found, str) else None
        hint = "" if reader is None else f"; this is {found!r}, which {reader} reads"
        raise FileDamagedError(f'"format" must be {name!r}{hint}')
    given = data.get("version")
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise FileDamagedError(
            f'"version" must be a whole number from 1, not {reprlib.repr(given)}'
        )
    if given > version:
        raise FileTooNewError(
            f"this is version {given} of {name!r}; this clearmargin reads up to version {version}: update clearmargin"
        )
    return Part(data)
