"""The JSON form of a set of rules: versions 1 and 2.

Version 2 has conditions on missing values and the values that missing ones count as. A document without them is
written as version 1, so that earlier releases read it. Published as `rules.schema.json` beside this file. Numbers are
written with the shortest digits that read back as the same float; a missing bound is left out, so no infinity is ever
written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval
from clearmargin.rules.json_schema import Format, compile_schema, inside
from clearmargin.rules.polyhedron import MatrixBudget, Polyhedron
from clearmargin.rules.rule import Label, Region, Rule, RuleStats, as_label
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import FloatArray

FORMAT = Format(
    "clearmargin-rules",
    2,
    "these are no clearmargin rules",
    "these rules are",
    {
        "clearmargin-model": "; this is a model, which load_model reads",
        "clearmargin-weighted-rules": "; these are rules with points, whose sum decides, which load_model reads",
    },
)


def write_document(
    rules: Sequence[Rule], space: FeatureSpace, classes: tuple[Label, ...]
) -> dict[str, Any]:
    """Put rules, their features and classes into plain data for JSON."""
    return {
        "format": FORMAT.name,
        "version": FORMAT.version if _speaks_of_missing(rules, space) else 1,
        "classes": list(classes),
        "features": [_write_feature(space, j) for j in range(len(space))],
        "rules": [_write_rule(rule, space) for rule in rules],
    }


def _speaks_of_missing(rules: Sequence[Rule], space: FeatureSpace) -> bool:
    return any(value is not None for value in space.fill) or any(
        rule.region.missing or rule.region.known for rule in rules
    )


def _write_feature(space: FeatureSpace, j: int) -> dict[str, Any]:
    categories = space.categories[j]
    entry = {
        "name": space.names[j],
        "lower": float(space.lower[j]) if np.isfinite(space.lower[j]) else None,
        "upper": float(space.upper[j]) if np.isfinite(space.upper[j]) else None,
        "integer": True if space.integer[j] else None,
        "categories": None if categories is None else list(categories),
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
        categories = space.categories[j]
        assert categories is not None
        conditions.append(
            {"feature": space.names[j], "in": [categories[code] for code in sorted(region.sets[j])]}
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
    """Take rules, features and classes out of the plain data of JSON."""
    document = FORMAT.check_header(data)
    _checker()(document)
    space = _read_space(document["features"])
    names = _Names(space)
    rules = []
    for k, entry in enumerate(document["rules"]):
        with inside(f"rule {k + 1}"):
            rules.append(_read_rule(entry, names))
    with inside("the classes are damaged"):
        classes = tuple(map(as_label, document["classes"]))
    return rules, space, classes


@cache
def _checker() -> Callable[[Any], None]:
    return compile_schema(rules_schema())


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


def _read_space(entries: list[Mapping[str, Any]]) -> FeatureSpace:
    with inside("the features are damaged"):
        return FeatureSpace(
            [entry["name"] for entry in entries],
            [entry.get("lower", -math.inf) for entry in entries],
            [entry.get("upper", math.inf) for entry in entries],
            np.array([entry.get("integer", False) for entry in entries], dtype=np.bool_),
            [entry.get("categories") for entry in entries],
            [entry.get("unit") for entry in entries],
            [entry.get("fill") for entry in entries],
        )


class _Names:
    """The features by name, looked up at once however many there are."""

    def __init__(self, space: FeatureSpace):
        self.space = space
        self.budget = MatrixBudget()
        self._index = {name: j for j, name in enumerate(space.names)}

    def __len__(self) -> int:
        return len(self.space)

    def index(self, name: str) -> int:
        """Find the position of a feature; an unknown name is an error that suggests the nearest one."""
        found = self._index.get(name)
        return self.space.index(name) if found is None else found


# What a proof in a file is worth. Of a distilled plane a file has nothing; that model and rule agreed remains.
_UNCHECKED: Mapping[Any, Any] = {"proved": "stated", "distilled": "observed"}


def _read_rule(entry: Mapping[str, Any], names: _Names) -> Rule:
    return Rule(
        _read_region(entry["when"], names),
        entry["label"],
        name=entry.get("name"),
        weight=entry.get("weight", 1.0),
        origin=entry.get("origin", "expert"),
        # A file can be edited, and there is no model here to prove anything by.
        proof=_UNCHECKED.get(entry.get("proof"), entry.get("proof")),
        stats=RuleStats(**entry["stats"]) if "stats" in entry else None,
    )


def _read_region(conditions: list[Mapping[str, Any]], names: _Names) -> Region:
    linear: list[tuple[FloatArray, float, bool]] = []
    intervals: dict[int, Interval] = {}
    sets: dict[int, list[int]] = {}
    missing: dict[int, bool] = {}
    for c, condition in enumerate(conditions):
        with inside(f"condition {c + 1}"):
            if "linear" in condition:
                linear.append(_read_inequality(condition, names))
                continue
            feature = names.index(condition["feature"])
            if feature in intervals or feature in sets or feature in missing:
                raise FileDamagedError(f"a second condition on {condition['feature']!r}")
            if "in" in condition:
                sets[feature] = _read_codes(condition, names.space.categories[feature])
            elif "missing" in condition:
                missing[feature] = condition["missing"]
            else:
                intervals[feature] = _read_interval(condition)
    absent = [feature for feature, is_missing in missing.items() if is_missing]
    known = [feature for feature, is_missing in missing.items() if not is_missing]
    if not linear:
        return Box.from_intervals(intervals, len(names), sets, absent, known)
    rows, limits, strict = zip(*linear, strict=True)
    return Polyhedron(np.stack(rows), limits, strict, sets, absent, known)


def _read_inequality(condition: Mapping[str, Any], names: _Names) -> tuple[FloatArray, float, bool]:
    if not names.budget.take(len(names)):
        raise FileDamagedError(
            f"the linear conditions take more than {names.budget.gigabytes} GB over {len(names)} features; "
            "keep the rules in several files, each over the features that it needs"
        )
    row = np.zeros(len(names))
    for name, weight in condition["linear"].items():
        row[names.index(name)] = weight
    is_strict = "below" in condition
    return row, float(condition["below" if is_strict else "at_most"]), is_strict


def _read_interval(condition: Mapping[str, Any]) -> Interval:
    return Interval.from_flags(
        condition.get("at_least", condition.get("above", -math.inf)),
        condition.get("at_most", condition.get("below", math.inf)),
        "at_least" in condition,
        "at_most" in condition,
    )


def _read_codes(condition: Mapping[str, Any], categories: tuple[str, ...] | None) -> list[int]:
    if categories is None:
        raise FileDamagedError(f"{condition['feature']!r} has no categories")
    for name in condition["in"]:
        if name not in categories:
            raise FileDamagedError(
                f"{condition['feature']!r} has no category {name!r}{nearest_name(name, categories)}"
            )
    return [categories.index(name) for name in condition["in"]]
