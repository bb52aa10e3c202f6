"""The JSON form of a set of rules: version 1.

Published as `rules.schema.json` beside this file. Numbers are written with the shortest digits that read back as the
same float; a missing bound is left out, so no infinity is ever written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearmargin.core.box import Box
from clearmargin.core.interval import Interval
from clearmargin.core.polyhedron import Polyhedron
from clearmargin.core.rule import Label, Region, Rule
from clearmargin.core.space import FeatureSpace
from clearmargin.core.stats import RuleStats
from clearmargin.exceptions import ClearmarginError, FileDamagedError, FileTooNewError

__all__ = ["FORMAT", "VERSION", "read_document", "write_document"]

FORMAT = "clearmargin-rules"
VERSION = 1


def write_document(
    rules: Sequence[Rule], space: FeatureSpace, classes: tuple[Label, ...]
) -> dict[str, Any]:
    """Put rules, their features and classes into plain data for JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "classes": list(classes),
        "features": [_write_feature(space, j) for j in range(len(space))],
        "rules": [_write_rule(rule, space) for rule in rules],
    }


def _write_feature(space: FeatureSpace, j: int) -> dict[str, Any]:
    kinds = space.categories[j]
    entry = {
        "name": space.names[j],
        "lower": float(space.lower[j]) if np.isfinite(space.lower[j]) else None,
        "upper": float(space.upper[j]) if np.isfinite(space.upper[j]) else None,
        "integer": True if space.integer[j] else None,
        "categories": None if kinds is None else list(kinds),
        "unit": space.units[j],
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
            for j in region.bounded
            if j not in region.sets
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
        raise FileDamagedError(f'these are no clearmargin rules: "format" must be "{FORMAT}"')
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileDamagedError(f'"version" must be a whole number from 1, not {version!r}')
    if version > VERSION:
        raise FileTooNewError(
            f"these rules are in version {version} of the format; this clearmargin reads up to version "
            f"{VERSION}: update clearmargin"
        )
    try:
        space = _read_space(data["features"])
        classes = tuple(data["classes"])
    except _DAMAGE as error:
        raise FileDamagedError(f"the features or classes are damaged: {_say(error)}") from error
    rules = []
    for k, entry in enumerate(_as_list(data.get("rules"), "rules")):
        try:
            rules.append(_read_rule(entry, space))
        except _DAMAGE as error:
            raise FileDamagedError(f"rule {k} is damaged: {_say(error)}") from error
    return rules, space, classes


# What reading plain data of the wrong shape can raise.
_DAMAGE = (ClearmarginError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def _say(error: BaseException) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _as_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileDamagedError(f'"{what}" must be a list, not {type(value).__name__}')
    return value


def _read_space(entries: list[Mapping[str, Any]]) -> FeatureSpace:
    return FeatureSpace(
        [entry["name"] for entry in entries],
        [entry.get("lower", -np.inf) for entry in entries],
        [entry.get("upper", np.inf) for entry in entries],
        np.array([entry.get("integer", False) for entry in entries], dtype=np.bool_),
        [entry.get("categories") for entry in entries],
        [entry.get("unit") for entry in entries],
    )


def _read_rule(entry: Mapping[str, Any], space: FeatureSpace) -> Rule:
    stats = entry.get("stats")
    return Rule(
        _read_region(entry["when"], space),
        entry["label"],
        name=entry.get("name"),
        weight=entry.get("weight", 1.0),
        origin=entry.get("origin", "expert"),
        proof=entry.get("proof"),
        stats=None if stats is None else RuleStats(**stats),
    )


def _read_region(conditions: list[Mapping[str, Any]], space: FeatureSpace) -> Region:
    sets = {
        space.index(c["feature"]): _read_codes(c["in"], space, c["feature"])
        for c in conditions
        if "in" in c
    }
    linear = [c for c in conditions if "linear" in c]
    bounds = [c for c in conditions if "linear" not in c and "in" not in c]
    if linear and bounds:
        raise FileDamagedError('a rule has either "linear" conditions or bounds, not both')
    if not linear:
        intervals = {space.index(c["feature"]): _read_interval(c) for c in bounds}
        return Box.from_intervals(intervals, len(space), sets)
    A = np.zeros((len(linear), len(space)))
    for i, condition in enumerate(linear):
        for name, weight in condition["linear"].items():
            A[i, space.index(name)] = weight
    strict = np.array(["below" in c for c in linear])
    limits = [c["below"] if "below" in c else c["at_most"] for c in linear]
    return Polyhedron(A, limits, strict, sets)


def _read_interval(condition: Mapping[str, Any]) -> Interval:
    low, high = condition.get("at_least"), condition.get("at_most")
    above, below = condition.get("above"), condition.get("below")
    if all(bound is None for bound in (low, high, above, below)):
        raise FileDamagedError(f"the condition on {condition['feature']!r} has no bound")
    return Interval.from_flags(
        above if low is None and above is not None else -np.inf if low is None else low,
        below if high is None and below is not None else np.inf if high is None else high,
        above is None,
        below is None,
    )


def _read_codes(names: list[str], space: FeatureSpace, feature: str) -> list[int]:
    kinds = space.categories[space.index(feature)]
    if kinds is None:
        raise FileDamagedError(f"{feature!r} has no categories")
    return [kinds.index(name) for name in names]
