"""Check plain data against a JSON Schema; say what does not fit, and where.

The one reader of all documents: what a document of rules or of a model may hold stands in the schemas that are shipped,
and nowhere else. It knows the part of JSON Schema (2020-12) that they use, and one annotation: the `title` of the items
of a list is what they are called in messages, beside the feature that they speak of (*rule 2: condition 1 ('age'):
'at_least' must be a number, not '3'*), and the `description` of what must *not* be is the message. Numbers must be
finite floats. Whether items differ (`uniqueItems`) is left to the values that are made of them, which compare what the
items mean.
"""

from __future__ import annotations

import contextlib
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clearmargin.exceptions import (
    ClearmarginError,
    FileDamagedError,
    FileTooNewError,
)
from clearmargin.rules.space import nearest_name

Check = Callable[[Any], None]

_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
ANNOTATIONS = frozenset(
    {"$schema", "$id", "$defs", "title", "description", "uniqueItems", "then", "else"}
)


@dataclass(frozen=True, slots=True)
class Format:
    """What a kind of document says of itself at its top."""

    name: str
    version: int
    is_not: str
    these_are: str
    hints: Mapping[str, str]

    def check_header(self, data: object) -> dict[str, Any]:
        """Make sure that data are a document of this format, in a version that can be read."""
        found = data.get("format") if isinstance(data, dict) else None
        if not isinstance(data, dict) or found != self.name:
            hint = self.hints.get(found, "") if isinstance(found, str) else ""
            raise FileDamagedError(f'{self.is_not}: "format" must be "{self.name}"{hint}')
        version = data.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise FileDamagedError(
                f'"version" must be a whole number from 1, not {reprlib.repr(version)}'
            )
        if version > self.version:
            raise FileTooNewError(
                f"{self.these_are} in version {version} of the format; this clearmargin reads up to version "
                f"{self.version}: update clearmargin"
            )
        return data


@contextlib.contextmanager
def inside(place: str) -> Iterator[None]:
    """Say of every error where in the document it is."""
    try:
        yield
    except FileTooNewError:
        raise
    except ClearmarginError as error:
        raise FileDamagedError(f"{place}: {error}") from error


def compile_schema(
    schema: Mapping[str, Any], elsewhere: Mapping[str, Check] | None = None
) -> Check:
    """Make a function that checks data against a schema."""
    check = _Compiler(schema, elsewhere or {}).compile(schema)

    def check_document(data: Any) -> None:
        try:
            check(data)
        except _MisfitError as misfit:
            raise FileDamagedError(misfit.about("the document")) from None

    return check_document


class _MisfitError(Exception):
    """What does not fit; its place is put before it on the way up."""

    def __init__(self, message: str, *, has_subject: bool = False):
        super().__init__(message)
        self.message = message
        self.has_subject = has_subject
        self.is_item = False

    def about(self, subject: str) -> str:
        return self.message if self.has_subject else f"{subject} {self.message}"

    def put_in(self, place: str, *, is_item: bool = False) -> _MisfitError:
        if not (self.is_item and not is_item):
            self.message = f"{place}{':' if self.has_subject else ''} {self.message}"
            self.has_subject = True
        self.is_item = is_item
        return self


def _misfit(expected: str, value: object) -> _MisfitError:
    return _MisfitError(f"must {expected}, not {reprlib.repr(value)}")


def _place(title: str, k: int, item: object) -> str:
    """Return an item of a list, by its position from 1 and by the feature or category that it speaks of."""
    place = f"{title} {k + 1}"
    parts = item if isinstance(item, dict) else {}
    feature, category = parts.get("feature"), parts.get("category")
    if not isinstance(feature, str) or not feature:
        return place
    column = f"{feature} = {category}" if isinstance(category, str) else feature
    return f"{place} ({column!r})"


class _Compiler:
    """Turns a schema into one function, keyword by keyword."""

    def __init__(self, root: Mapping[str, Any], elsewhere: Mapping[str, Check]):
        self.root = root
        self.elsewhere = elsewhere
        self._known: dict[str, Check] = {}

    def compile(self, schema: Mapping[str, Any]) -> Check:
        makers = dict.fromkeys(make for word, make in KEYWORDS.items() if word in schema)
        return _all_of([make(self, schema) for make in makers])

    def question(self, schema: Mapping[str, Any]) -> Callable[[Any], bool]:
        """Check whether data fit, as an answer instead of an error."""
        if schema.keys() - ANNOTATIONS == {"required"}:
            keys = frozenset(schema["required"])
            return lambda data: not isinstance(data, dict) or keys <= data.keys()
        check = self.compile(schema)

        def fits(data: Any) -> bool:
            try:
                check(data)
            except _MisfitError:
                return False
            return True

        return fits

    def reference(self, schema: Mapping[str, Any]) -> Check:
        address: str = schema["$ref"]
        if address in self.elsewhere:
            return self.elsewhere[address]
        if address not in self._known:
            part: Any = self.root
            for step in address.removeprefix("#/").split("/"):
                part = part[step]
            self._known[address] = self.compile(part)
        return self._known[address]

    def kind(self, schema: Mapping[str, Any]) -> Check:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        tests = [_IS[name] for name in types]
        names = [_TYPES[name] for name in types]
        # "true or false" brings the last "or" itself.
        expected = ", ".join(names) if types[-1] == "boolean" else " or ".join(names)
        if types == ["object"] and schema.get("required"):
            expected += f" with {schema['required'][0]!r}"

        def check(data: Any) -> None:
            for is_type in tests:
                if is_type(data):
                    return
            raise _misfit(f"be {expected}", data)

        return check

    def choice(self, schema: Mapping[str, Any]) -> Check:
        allowed = schema["enum"] if "enum" in schema else [schema["const"]]
        listed = ", ".join(map(repr, allowed))
        expected = f"be one of {listed}" if len(allowed) > 1 else f"be {listed}"

        def check(data: Any) -> None:
            if not any(data == one and type(data) is type(one) for one in allowed):
                raise _misfit(expected, data)

        return check

    def condition(self, schema: Mapping[str, Any]) -> Check:
        fits, then = self.question(schema["if"]), self.compile(schema["then"])
        otherwise = self.compile(schema["else"])

        def check(data: Any) -> None:
            (then if fits(data) else otherwise)(data)

        return check

    def members(self, schema: Mapping[str, Any]) -> Check:
        known = {key: self.compile(part) for key, part in schema.get("properties", {}).items()}
        required = tuple(schema.get("required", ()))
        more = schema.get("additionalProperties", True)
        others = None if isinstance(more, bool) else self.compile(more)

        def check(data: Any) -> None:
            if not isinstance(data, dict):
                return
            for key in required:
                if key not in data:
                    raise _MisfitError(f"{key!r} is missing", has_subject=True)
            for key, value in data.items():
                test = known.get(key, others)
                if test is None:
                    if more is False:
                        hint = nearest_name(str(key), list(known))
                        raise _MisfitError(
                            f"unknown key {reprlib.repr(key)}{hint}", has_subject=True
                        )
                    continue
                if value is None and key not in required:
                    raise _MisfitError(f"{key!r} must not be null; leave it out", has_subject=True)
                try:
                    test(value)
                except _MisfitError as misfit:
                    raise misfit.put_in(repr(key)) from None

        return check

    def items(self, schema: Mapping[str, Any]) -> Check:
        test = self.compile(schema["items"])
        title = self._title(schema["items"])

        def check(data: Any) -> None:
            for k, item in enumerate(data):
                try:
                    test(item)
                except _MisfitError as misfit:
                    raise misfit.put_in(_place(title, k, item), is_item=True) from None

        return check

    def _title(self, items: Mapping[str, Any]) -> str:
        """Return what the items of a list are called."""
        if "title" not in items and "$ref" in items:
            items = self.root["$defs"][items["$ref"].removeprefix("#/$defs/")]
        return str(items["title"])

    def key_names(self, schema: Mapping[str, Any]) -> Check:
        test = self.compile(schema["propertyNames"])

        def check(data: Any) -> None:
            for key in data:
                try:
                    test(key)
                except _MisfitError as misfit:
                    raise misfit.put_in(f"the key {key!r}") from None

        return check

    def size(self, schema: Mapping[str, Any]) -> Check:
        least = max(
            schema[word] for word in ("minLength", "minItems", "minProperties") if word in schema
        )
        expected = "not be empty" if least == 1 else f"have at least {least} entries"

        def check(data: Any) -> None:
            if isinstance(data, str | list | dict) and len(data) < least:
                raise _misfit(expected, data) if least > 1 else _MisfitError(f"must {expected}")

        return check

    def minimum(self, schema: Mapping[str, Any]) -> Check:
        is_open = "exclusiveMinimum" in schema
        least = schema["exclusiveMinimum" if is_open else "minimum"]
        expected = f"be {'more than' if is_open else 'at least'} {least}"

        def check(data: Any) -> None:
            if data < least or (is_open and data == least):
                raise _misfit(expected, data)

        return check

    def one_of_keys(self, schema: Mapping[str, Any]) -> Check:
        """Check that a key of a list is there: `anyOf`, each part of it a `required`."""
        needed = [part["required"] for part in schema["anyOf"]]
        *first, last = (repr(keys[-1]) for keys in needed)
        message = f"{', '.join(first)} or {last} is missing"
        alternatives = [frozenset(keys) for keys in needed]

        def check(data: Any) -> None:
            if not any(keys <= data.keys() for keys in alternatives):
                raise _MisfitError(message, has_subject=True)

        return check

    def every(self, schema: Mapping[str, Any]) -> Check:
        return _all_of([self.compile(part) for part in schema["allOf"]])

    def negation(self, schema: Mapping[str, Any]) -> Check:
        refused = schema["not"]
        fits = self.question(refused)

        def check(data: Any) -> None:
            if fits(data):
                raise _MisfitError(refused["description"], has_subject=True)

        return check

    def contained(self, schema: Mapping[str, Any]) -> Check:
        fits = self.question(schema["contains"])

        def check(data: Any) -> None:
            if not any(map(fits, data)):
                raise _MisfitError("lacks an item")

        return check


def _all_of(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]

    def check_all(data: Any) -> None:
        for check in checks:
            check(data)

    return check_all


def _is_number(data: Any) -> bool:
    """Return a finite number that a float can hold; true and false are none."""
    if isinstance(data, bool) or not isinstance(data, int | float):
        return False
    try:
        return math.isfinite(data)
    except OverflowError:  # a whole number beyond all floats
        return False


_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda data: isinstance(data, str),
    "number": _is_number,
    "integer": lambda data: isinstance(data, int) and not isinstance(data, bool),
    "boolean": lambda data: isinstance(data, bool),
    "array": lambda data: isinstance(data, list),
    "object": lambda data: isinstance(data, dict),
}

# In this order: what comes later may rely on the type.
KEYWORDS: dict[str, Callable[[_Compiler, Mapping[str, Any]], Check]] = {
    "$ref": _Compiler.reference,
    "type": _Compiler.kind,
    "enum": _Compiler.choice,
    "const": _Compiler.choice,
    "if": _Compiler.condition,
    "required": _Compiler.members,
    "properties": _Compiler.members,
    "additionalProperties": _Compiler.members,
    "propertyNames": _Compiler.key_names,
    "minLength": _Compiler.size,
    "minItems": _Compiler.size,
    "minProperties": _Compiler.size,
    "items": _Compiler.items,
    "minimum": _Compiler.minimum,
    "exclusiveMinimum": _Compiler.minimum,
    "anyOf": _Compiler.one_of_keys,
    "allOf": _Compiler.every,
    "not": _Compiler.negation,
    "contains": _Compiler.contained,
}
