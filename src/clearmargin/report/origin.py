"""How to make the report again: versions, parameters, fingerprints of the data, the call."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np

from clearmargin import __version__
from clearmargin.exceptions import DataError
from clearmargin.models.fitted import is_fitted
from clearmargin.report.call import python_call
from clearmargin.rules import RuleSet
from clearmargin.rules.space import category_name
from clearmargin.tables.table import Column, Table, is_missing_value

__all__ = ["fingerprint", "fingerprint_column", "origin_facts", "parameters"]

Facts = dict[str, Any]

# Where an object lies in memory changes from run to run.
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_LONGEST = 400
_PACKAGES = ("numpy", "scipy", "scikit-learn")


def fingerprint(X: Any) -> str:
    """SHA-256 of a table's canonical bytes.

    For each column in its order: ``n`` (numbers) or ``t`` (texts), the length of the name as 8 bytes, the name in
    UTF-8, the number of rows as 8 bytes; then each number as a 64-bit float, with one NaN for all that is missing and
    0 for -0, and each text as 8 bytes of length (all ones where missing) and UTF-8. Numbers are little-endian. So the
    same values have the same fingerprint, whatever the types of their columns.

    Parameters
    ----------
    X : data frame or array-like of shape (m, n)
        The table; columns of an array are called x0, x1, ...

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> fingerprint([[1, 2], [3, 4]]) == fingerprint(np.array([[1.0, 2.0], [3.0, 4.0]]))
    True
    >>> fingerprint([[1, 2], [3, 4]])[:8] == fingerprint([[1, 2], [3, 5]])[:8]
    False
    """
    table = Table.read(X)
    digest = hashlib.sha256()
    for name in table.names:
        try:
            digest.update(_canonical(name, table.column(name)))
        except DataError:  # dates and the like, in a column that the model does not look at
            digest.update(_canonical_texts(name, map(str, table.values(name).tolist())))
    return digest.hexdigest()


def fingerprint_column(name: str, values: Any) -> str:
    """SHA-256 of the canonical bytes of a single column.

    Examples
    --------
    >>> fingerprint_column("y", ["a", "b"]) == fingerprint_column("y", np.array(["a", "b"]))
    True
    """
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
    """The parameters of a model as text, those of the models inside under their own names.

    Examples
    --------
    >>> from clearmargin import LPSVC, RuleExtractor
    >>> parameters(RuleExtractor(LPSVC(nu=0.5)))["estimator__nu"]
    '0.5'
    """
    if isinstance(model, RuleSet) or not hasattr(model, "get_params"):
        return {}
    return {name: _short(value) for name, value in sorted(model.get_params(deep=True).items())}


def _short(value: Any) -> str:
    text = _ADDRESS.sub("", value.to_text() if isinstance(value, RuleSet) else repr(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def origin_facts(model: Any, X: Any, y: Any, options: dict[str, Any]) -> Facts:
    """Collect what is needed to make the report again.

    Parameters
    ----------
    model : object
        What was passed to `report`.
    X, y
        The data.
    options : dict
        The other arguments of `report`.

    Returns
    -------
    dict
        Versions, parameters, fingerprints, call.
    """
    was = isinstance(model, RuleSet) or is_fitted(model)
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
            was_fitted=was and not isinstance(model, RuleSet),
        ),
    }
