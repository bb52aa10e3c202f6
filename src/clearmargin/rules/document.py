"""The JSON form of a set of rules: versions 1 and 2.

Version 2 has conditions on missing values and the values that missing ones count as. A document without them is
written as version 1, so that earlier releases read it. Published as `rules.schema.json` beside this file. Numbers are
written with the shortest digits that read back as the same float; a missing bound is left out, so no infinity is ever
written.
"""

from __future__ import annotations

import contextlib
import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.exceptions import (
    ClearmarginError,
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval
from clearmargin.rules.polyhedron import MatrixBudget, Polyhedron
from clearmargin.rules.rule import Label, Region, Rule, as_label
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.stats import RuleStats
from clearmargin.rules.value import FloatArray

__all__ = ["FORMAT", "VERSION", "read_document", "rules_schema", "write_document"]

FORMAT = "clearmargin-rules"
VERSION = 2


def write_document(
    rules: Sequence[Rule], space: FeatureSpace, classes: tuple[Label, ...]
) -> dict[str, Any]:
    """Put rules, their features and classes into plain data for JSON."""
    return {
        "format": FORMAT,
        "version": VERSION if _speaks_of_missing(rules, space) else 1,
        "classes": list(classes),
        "features": [_write_feature(space, j) for j in range(len(space))],
        "rules": [_write_rule(rule, space) for rule in rules],
    }


def _speaks_of_missing(rules: Sequence[Rule], space: FeatureSpace) -> bool:
    return any(value is not None for value in space.fill) or any(
        rule.region.missing or rule.region.known for rule in rules
    )


def _write_feature(space: FeatureSpace, j: int) -> dict[str, Any]:
    kinds = space.categories[j]
    entry = {
        "name": space.names[j],
        "lower": float(space.lower[j]) if np.isfinite(space.lower[j]) else None,
        "upper": float(space.upper[j]) if np.isfinite(space.upper[j]) else None,
        "integer": True if space.integer[j] else None,
        "categories": None if kinds is None else list(kinds),
        "unit": space.units[j],
        "fill": space.fill[j],
    }
    return _without_none(entry)


def _write_rule(rule: Rule, space: FeatureSpace) -> dict[str, Any]:
    stats = rule.stats
    entry = {
        "label": rule.label,
        "name": rule.name,
        "weight": rule.weight if rule.weight != 1 else None,
        "origin": rule.origin,
        "proof": rule.proof,
        "stats": None
        if stats is None
        else _without_none(
            {
                "rows": stats.rows,
                "covered": stats.covered,
                "correct": stats.correct,
                "agreed": stats.agreed,
            }
        ),
        "when": _write_region(rule.region, space),
    }
    return _without_none(entry)


def _write_region(region: Region, space: FeatureSpace) -> list[dict[str, Any]]:
    conditions: list[dict[str, Any]] = []
    if isinstance(region, Box):
        conditions += [
            {"feature": space.names[j], **_write_interval(region.interval(j))}
            for j in region.entries.features.tolist()
        ]
    else:
        conditions += [
            {
                "linear": {space.names[j]: float(row[j]) for j in np.flatnonzero(row)},
                "below" if strict else "at_most": float(limit),
            }
            for row, limit, strict in zip(region.A, region.b, region.strict, strict=True)
        ]
    for j in region.sets:
        kinds = space.categories[j]
        assert kinds is not None
        conditions.append(
            {"feature": space.names[j], "in": [kinds[code] for code in sorted(region.sets[j])]}
        )
    for is_missing, listed in ((True, region.missing), (False, region.known)):
        conditions += [{"feature": space.names[j], "missing": is_missing} for j in listed]
    return conditions


def _write_interval(interval: Interval) -> dict[str, float]:
    bounds = {}
    if np.isfinite(interval.low):
        bounds["at_least" if interval.low_closed else "above"] = interval.low
    if np.isfinite(interval.high):
        bounds["at_most" if interval.high_closed else "below"] = interval.high
    return bounds


def _without_none(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def read_document(data: object) -> tuple[list[Rule], FeatureSpace, tuple[Label, ...]]:
    """Take rules, features and classes out of the plain data of JSON.

    Parameters
    ----------
    data : mapping
        What `write_document` made, possibly by way of a file.

    Returns
    -------
    rules, space, classes
        What a `RuleSet` is made of.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        said = data.get("format") if isinstance(data, Mapping) else None
        hint = "; this is a model, which load_model reads" if said == "clearmargin-model" else ""
        raise FileDamagedError(f'these are no clearmargin rules: "format" must be "{FORMAT}"{hint}')
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileDamagedError(f'"version" must be a whole number from 1, not {_show(version)}')
    if version > VERSION:
        raise FileTooNewError(
            f"these rules are in version {version} of the format; this clearmargin reads up to version "
            f"{VERSION}: update clearmargin"
        )
    _check_keys(data, ("format", "version", "classes", "features", "rules"))
    classes = tuple(_read_label(label, "a class") for label in _as_list(data, "classes"))
    space = _read_space(_as_list(data, "features"))
    names = _Names(space)
    rules = []
    for k, entry in enumerate(_as_list(data, "rules")):
        try:
            rules.append(_read_rule(entry, names))
        except ClearmarginError as error:
            raise FileDamagedError(f"rule {k + 1} is damaged: {error}") from error
    return rules, space, classes


def rules_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form in which rules are written, for programs that are not in Python.

    Returns
    -------
    dict
        A schema in the dialect 2020-12. What it cannot say (a feature that is named must exist, a lower bound lies
        below the upper one), `RuleSet.from_dict` checks.

    Examples
    --------
    >>> rules_schema()["title"]
    'clearmargin rules, versions 1 and 2'
    """
    text = resources.files("clearmargin.rules").joinpath("rules.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _show(value: object) -> str:
    """A value for a message: in full if it is short, else cut."""
    return reprlib.repr(value)


def _check_keys(
    entry: object, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """Make sure that nothing is missing, nothing is null and nothing would be passed over in silence."""
    if not isinstance(entry, Mapping):
        raise FileDamagedError(f"an object with {required[0]!r} is needed, not {_show(entry)}")
    for key in required:
        if key not in entry:
            raise FileDamagedError(f"{key!r} is missing")
    for key, value in entry.items():
        if key not in (*required, *optional):
            raise FileDamagedError(
                f"unknown key {_show(key)}{nearest_name(str(key), (*required, *optional))}"
            )
        if value is None:
            raise FileDamagedError(f"{key!r} must not be null; leave it out")
    return entry


def _as_list(entry: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(entry[key], list):
        raise FileDamagedError(f"{key!r} must be a list, not {_show(entry[key])}")
    return list(entry[key])


def _read_number(entry: Mapping[str, Any], key: str) -> float:
    value = entry[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            if math.isfinite(value):
                return float(value)
    raise FileDamagedError(f"{key!r} must be a number, not {_show(value)}")


def _read_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise FileDamagedError(f"{what} must be a text, not {_show(value)}")
    return value


def _read_label(value: object, what: str) -> Label:
    if not isinstance(value, str | int | float):
        raise FileDamagedError(f"{what} must be a text or a number, not {_show(value)}")
    try:
        return as_label(value)
    except InvalidValueError as error:
        raise FileDamagedError(f"{what} is damaged: {error}") from error


def _read_space(entries: list[Any]) -> FeatureSpace:
    features = []
    for j, entry in enumerate(entries):
        try:
            features.append(_read_feature(entry))
        except FileDamagedError as error:
            raise FileDamagedError(f"feature {j + 1} is damaged: {error}") from error
    columns = list(zip(*features, strict=True)) or [()] * 7
    names, lower, upper, integer, categories, units, fill = columns
    try:
        return FeatureSpace(
            names, lower, upper, np.array(integer, dtype=np.bool_), categories, units, fill
        )
    except InvalidValueError as error:
        raise FileDamagedError(f"the features are damaged: {error}") from error


def _read_feature(entry: object) -> tuple[Any, ...]:
    feature = _check_keys(
        entry, ("name",), ("lower", "upper", "integer", "categories", "unit", "fill")
    )
    integer, unit = feature.get("integer", False), feature.get("unit")
    if not isinstance(integer, bool):
        raise FileDamagedError(f"'integer' must be true or false, not {_show(integer)}")
    categories = None
    if "categories" in feature:
        categories = [_read_text(kind, "a category") for kind in _as_list(feature, "categories")]
    return (
        _read_text(feature["name"], "the name"),
        _read_number(feature, "lower") if "lower" in feature else -math.inf,
        _read_number(feature, "upper") if "upper" in feature else math.inf,
        integer,
        categories,
        unit if unit is None else _read_text(unit, "the unit"),
        _read_fill(feature, categories),
    )


def _read_fill(feature: Mapping[str, Any], categories: list[str] | None) -> float | str | None:
    if "fill" not in feature:
        return None
    if categories is None:
        return _read_number(feature, "fill")
    return _read_text(feature["fill"], "'fill'")


class _Names:
    """The features by name, looked up at once however many there are."""

    def __init__(self, space: FeatureSpace):
        self.space = space
        self.budget = MatrixBudget()
        self._index = {name: j for j, name in enumerate(space.names)}

    def __len__(self) -> int:
        return len(self.space)

    def index(self, name: str) -> int:
        """Position of a feature; an unknown name is an error that suggests the nearest one."""
        found = self._index.get(name)
        return self.space.index(name) if found is None else found


def _read_rule(entry: object, names: _Names) -> Rule:
    rule = _check_keys(entry, ("label", "when"), ("name", "weight", "origin", "proof", "stats"))
    stats = None
    if "stats" in rule:
        stats = RuleStats(**_check_keys(rule["stats"], ("rows", "covered"), ("correct", "agreed")))
    return Rule(
        _read_region(_as_list(rule, "when"), names),
        _read_label(rule["label"], "the label"),
        name=_read_text(rule["name"], "the name") if "name" in rule else None,
        weight=_read_number(rule, "weight") if "weight" in rule else 1.0,
        origin=rule.get("origin", "expert"),
        # A file can be edited, and there is no model here to prove anything by.
        proof="stated" if rule.get("proof") == "proved" else rule.get("proof"),
        stats=stats,
    )


def _read_region(conditions: list[Any], names: _Names) -> Region:
    linear: list[tuple[FloatArray, float, bool]] = []
    intervals: dict[int, Interval] = {}
    sets: dict[int, list[int]] = {}
    missing: dict[int, bool] = {}
    for c, entry in enumerate(conditions):
        try:
            if isinstance(entry, Mapping) and "linear" in entry:
                linear.append(_read_inequality(entry, names))
                continue
            condition = _check_keys(entry, ("feature",), ("in", "missing", *_BOUNDS))
            feature = names.index(_read_text(condition["feature"], "the feature"))
            if feature in intervals or feature in sets or feature in missing:
                raise FileDamagedError(f"a second condition on {condition['feature']!r}")
            if "in" in condition:
                sets[feature] = _read_codes(condition, names.space.categories[feature])
            elif "missing" in condition:
                missing[feature] = _read_missing(condition)
            else:
                intervals[feature] = _read_interval(condition)
        except ClearmarginError as error:
            raise FileDamagedError(f"condition {c + 1}: {error}") from error
    absent = [feature for feature, is_missing in missing.items() if is_missing]
    known = [feature for feature, is_missing in missing.items() if not is_missing]
    if not linear:
        return Box.from_intervals(intervals, len(names), sets, absent, known)
    if intervals:
        raise FileDamagedError("a rule has either 'linear' conditions or bounds, not both")
    rows, limits, strict = zip(*linear, strict=True)
    return Polyhedron(np.stack(rows), limits, strict, sets, absent, known)


def _read_missing(condition: Mapping[str, Any]) -> bool:
    _check_keys(condition, ("feature", "missing"))
    if not isinstance(condition["missing"], bool):
        raise FileDamagedError(
            f"'missing' must be true or false, not {_show(condition['missing'])}"
        )
    return condition["missing"]


_BOUNDS = ("at_least", "above", "at_most", "below")


def _read_inequality(entry: Mapping[str, Any], names: _Names) -> tuple[FloatArray, float, bool]:
    condition = _check_keys(entry, ("linear",), ("at_most", "below"))
    weights = condition["linear"]
    if not isinstance(weights, Mapping):
        raise FileDamagedError(f"'linear' must give weights by name, not {_show(weights)}")
    if not names.budget.take(len(names)):
        raise FileDamagedError(
            f"the linear conditions take more than {names.budget.gigabytes} GB over {len(names)} features; "
            "keep the rules in several files, each over the features that it needs"
        )
    row = np.zeros(len(names))
    for name in weights:
        row[names.index(_read_text(name, "the feature"))] = _read_number(weights, name)
    key = _one_key(condition, "at_most", "below")
    if key is None:
        raise FileDamagedError("'linear' needs 'at_most' or 'below'")
    return row, _read_number(condition, key), key == "below"


def _read_interval(condition: Mapping[str, Any]) -> Interval:
    low, high = (
        _one_key(condition, "at_least", "above"),
        _one_key(condition, "at_most", "below"),
    )
    if low is None and high is None:
        raise FileDamagedError(f"the condition on {condition['feature']!r} has no bound")
    return Interval.from_flags(
        -math.inf if low is None else _read_number(condition, low),
        math.inf if high is None else _read_number(condition, high),
        low == "at_least",
        high == "at_most",
    )


def _one_key(condition: Mapping[str, Any], closed: str, open_: str) -> str | None:
    if closed in condition and open_ in condition:
        raise FileDamagedError(f"{closed!r} and {open_!r} contradict each other; keep one")
    return closed if closed in condition else open_ if open_ in condition else None


def _read_codes(condition: Mapping[str, Any], kinds: tuple[str, ...] | None) -> list[int]:
    _check_keys(condition, ("feature", "in"))
    if kinds is None:
        raise FileDamagedError(f"{condition['feature']!r} has no categories")
    names = _as_list(condition, "in")
    for name in names:
        if _read_text(name, "a category") not in kinds:
            raise FileDamagedError(
                f"{condition['feature']!r} has no category {name!r}{nearest_name(name, kinds)}"
            )
    return [kinds.index(name) for name in names]
