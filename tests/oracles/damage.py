"""Documents that are changed in one place by hand, or anywhere by chance."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

GONE = object()
WORDS = st.sampled_from(["", "age", "smoker", "ex", "below", "in", "linear", "ill", "well"])
KEYS = st.sampled_from(
    ["feature", "in", "at_most", "below", "linear", "name", "category", "weight"]
)
PLAIN = st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | WORDS
JUNK = st.recursive(
    PLAIN | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=4,
)


def put(document: Any, place: str, value: Any) -> Any:
    """Change a copy of a document in one place, given by keys and numbers between slashes."""
    document = copy.deepcopy(document)
    return _put(document, [int(k) if k.isdigit() else k for k in place.split("/")], value)


def _put(document: Any, place: list[Any], value: Any) -> Any:
    *way, last = place
    node = document
    for step in way:
        node = node[step]
    if value is GONE:
        del node[last]
    else:
        node[last] = value
    return document


def nodes(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a document."""
    if path:
        yield path
    listed = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else listed:
        yield from nodes(value, (*path, key))


def damaged(data: st.DataObject, document: Any) -> Any:
    """Take parts of a document away, or put junk in their place."""
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([*nodes(document)]))
        value = data.draw(st.just(GONE) | JUNK)
        _put(document, list(place), value)
    return document
