"""How to make the report again: versions, parameters, fingerprints of the data, and the call as lines of Python."""

from __future__ import annotations

import hashlib
import inspect
import platform
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator

from clearmargin import __version__
from clearmargin.exceptions import DataError
from clearmargin.models.fitted import is_fitted
from clearmargin.points import Scorecard
from clearmargin.rules import RuleSet
from clearmargin.rules.space import category_name
from clearmargin.tables.table import Column, Table, is_missing_value

# Where an object lies in memory changes from run to run.
_MEMORY_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def python_call(model: Any, has_labels: bool, options: dict[str, Any], *, was_fitted: bool) -> str:
    """Write the lines that make a report again from X and y."""
    from clearmargin.report.build import report

    defaults = {name: p.default for name, p in inspect.signature(report).parameters.items()}
    given = {name: value for name, value in options.items() if not _is(value, defaults[name])}
    imports = sorted({line for part in (model, *given.values()) for line in _imports(part)})
    remark = "  # as it was given, fitted before" if was_fitted else ""
    arguments = ["model", "X", *(["y"] if has_labels else [])]
    arguments += [f"{name}={_written(value)}" for name, value in given.items()]
    return "\n".join(
        [
            *imports,
            "from clearmargin.report import report",
            f"model = {_written(model)}{remark}",
            f"made = report({', '.join(arguments)})",
        ]
    )


def _is(value: Any, default: Any) -> bool:
    plain = str | int | float | None
    return isinstance(value, plain) and type(value) is type(default) and bool(value == default)


def _written(value: Any) -> str:
    """Return a value as Python writes it, whole: scikit-learn would shorten models."""
    if isinstance(value, RuleSet):
        return f"parse_rules({value.to_text()!r})"
    if isinstance(value, Scorecard):
        return "Scorecard.from_dict(document)"
    if isinstance(value, BaseEstimator):
        with config_context(print_changed_only=True):
            text = value.__repr__(N_CHAR_MAX=10**9)
        return _MEMORY_ADDRESS.sub("", " ".join(text.split()))
    return _MEMORY_ADDRESS.sub("", repr(value))


def _imports(value: Any) -> Iterator[str]:
    """Yield the lines that import what a value is written with."""
    if isinstance(value, RuleSet):
        yield "from clearmargin import parse_rules"
    if isinstance(value, Scorecard):
        yield "from clearmargin.points import Scorecard"
    for part in _parts(value):
        kind = type(part)
        if kind.__module__ != "builtins" and re.search(rf"\b{kind.__name__}\(", _written(value)):
            yield f"from {_public_module(kind)} import {kind.__name__}"


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and the models inside it."""
    yield value
    inner = value.get_params(deep=True).values() if isinstance(value, BaseEstimator) else ()
    for entry in inner:
        yield entry
        if isinstance(entry, list | tuple):
            yield from (
                part for item in entry for part in (item if isinstance(item, tuple) else [item])
            )


def _public_module(kind: type) -> str:
    """Return the shortest module from which a class can be imported: sklearn.svm, not sklearn.svm._classes."""
    parts = kind.__module__.split(".")
    for length in range(1, len(parts)):
        name = ".".join(parts[:length])
        if getattr(import_module(name), kind.__name__, None) is kind:
            return name
    return kind.__module__


Facts = dict[str, Any]

# Where an object lies in memory changes from run to run.
_LONGEST = 400
_PACKAGES = ("numpy", "scipy", "scikit-learn")


def fingerprint(X: Any) -> str:
    """Compute the SHA-256 of a table's canonical bytes."""
    table = Table.read(X)
    digest = hashlib.sha256()
    for name in table.names:
        try:
            digest.update(_canonical(name, table.column(name)))
        except DataError:  # dates and the like, in a column that the model does not look at
            digest.update(_canonical_texts(name, map(str, table.values(name).tolist())))
    return digest.hexdigest()


def fingerprint_column(name: str, values: Any) -> str:
    """Compute the SHA-256 of the canonical bytes of a single column."""
    try:
        canonical = _canonical(name, Column(name, values))
    except DataError:
        canonical = _canonical_texts(name, map(str, np.asarray(values).tolist()))
    return hashlib.sha256(canonical).hexdigest()


def _canonical(name: str, column: Column) -> bytes:
    if not column.is_numeric:
        return _canonical_texts(name, column.values.tolist())
    numbers = column.numbers()
    canonical = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return _head("n", name, len(numbers)) + canonical.astype("<f8").tobytes()


def _canonical_texts(name: str, texts: Iterable[Any]) -> bytes:
    values = [_text(value) for value in texts]
    return _head("t", name, len(values)) + b"".join(values)


def _head(kind: str, name: str, rows: int) -> bytes:
    title = name.encode("utf-8", "surrogatepass")
    return kind.encode() + _eight(len(title)) + title + _eight(rows)


def _text(value: Any) -> bytes:
    if is_missing_value(value):
        return b"\xff" * 8
    text = category_name(value).encode("utf-8", "surrogatepass")
    return _eight(len(text)) + text


def _eight(count: int) -> bytes:
    return count.to_bytes(8, "little")


def parameters(model: Any) -> dict[str, str]:
    """Return the parameters of a model as text, those of the models inside under their own names."""
    if not hasattr(model, "get_params"):
        return {}
    return {name: _short(value) for name, value in sorted(model.get_params(deep=True).items())}


def _short(value: Any) -> str:
    text = _MEMORY_ADDRESS.sub("", value.to_text() if isinstance(value, RuleSet) else repr(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def origin_facts(model: Any, X: Any, y: Any, options: dict[str, Any]) -> Facts:
    """Collect what is needed to make the report again."""
    is_value = isinstance(model, RuleSet | Scorecard)
    was = is_value or is_fitted(model)
    return {
        "versions": {
            "clearmargin": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in _PACKAGES},
        },
        "model": _short(model),
        "fitted_before": was,
        "parameters": parameters(model),
        "data": {
            "table_sha256": fingerprint(X),
            "classes_sha256": None if y is None else fingerprint_column("y", y),
        },
        "call": python_call(
            model,
            y is not None,
            options,
            was_fitted=was and not is_value,
        ),
    }
