"""The call that makes a report again: lines of Python that can be run where the data are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator

from clearmargin.rules import RuleSet

__all__ = ["python_call"]

# Where an object lies in memory changes from run to run.
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def python_call(model: Any, has_labels: bool, options: dict[str, Any], *, was_fitted: bool) -> str:
    """Write the lines that make a report again from X and y.

    Parameters
    ----------
    model : object
        What was passed to `report`.
    has_labels : bool
        Whether there is y.
    options : dict
        The other arguments of `report`; those that have their default value are left out.
    was_fitted : bool
        Whether the model was fitted before: then its weights are not in the call, only how it was made.

    Returns
    -------
    str
        Imports, the model and the call.

    Examples
    --------
    >>> from clearmargin import LPSVC
    >>> print(python_call(LPSVC(nu=0.5), True, {"cv": None, "cases": 3}, was_fitted=False))
    from clearmargin import LPSVC
    from clearmargin.report import report
    model = LPSVC(nu=0.5)
    made = report(model, X, y, cv=None)
    """
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
    """A value as Python writes it, whole: scikit-learn would shorten models."""
    if isinstance(value, RuleSet):
        return f"parse_rules({value.to_text()!r})"
    if isinstance(value, BaseEstimator):
        with config_context(print_changed_only=True):
            text = value.__repr__(N_CHAR_MAX=10**9)
        return _ADDRESS.sub("", " ".join(text.split()))
    return _ADDRESS.sub("", repr(value))


def _imports(value: Any) -> Iterator[str]:
    """The lines that import what a value is written with."""
    if isinstance(value, RuleSet):
        yield "from clearmargin import parse_rules"
    for part in _parts(value):
        kind = type(part)
        if kind.__module__ != "builtins" and re.search(rf"\b{kind.__name__}\(", _written(value)):
            yield f"from {_public_module(kind)} import {kind.__name__}"


def _parts(value: Any) -> Iterator[Any]:
    """A value and the models inside it."""
    yield value
    inner = value.get_params(deep=True).values() if isinstance(value, BaseEstimator) else ()
    for entry in inner:
        yield entry
        if isinstance(entry, list | tuple):
            yield from (
                part for item in entry for part in (item if isinstance(item, tuple) else [item])
            )


def _public_module(kind: type) -> str:
    """The shortest module from which a class can be imported: sklearn.svm, not sklearn.svm._classes."""
    parts = kind.__module__.split(".")
    for length in range(1, len(parts)):
        name = ".".join(parts[:length])
        if getattr(import_module(name), kind.__name__, None) is kind:
            return name
    return kind.__module__
