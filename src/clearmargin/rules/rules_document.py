"""The JSON form of a set of rules: versions 1 and 2.

Version 2 has conditions on missing values and the values that missing ones count as. A document without them is
written as version 1, so that earlier releases read it. Published as `rules.schema.json` beside this file. Numbers are
written with the shortest digits that read back as the same float; a missing bound is left out, so no infinity is ever
written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.rules.box import Box
from clearmargin.rules.document import Part, open_document, optional
from clearmargin.rules.interval import Interval
from clearmargin.rules.polyhedron import MatrixBudget, Polyhedron
from clearmargin.rules.rule import ORIGINS, PROOFS, Label, Region, Rule, RuleStats, as_label
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import FloatArray

NAME, VERSION = "clearmargin-rules", 2


def write_document(
    rules: Sequence[Rule], space: FeatureSpace, classes: tuple[Label, ...]
) -> dict[str, Any]:
    """Put rules, their features and classes into plain data for JSON."""
    return {
        "format": NAME,
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
            for j in region.bounded
            if region.has_bounds(j)
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
    document = open_document(data, NAME, VERSION).record("format version classes features rules")
    space = _read_space(document["features"])
    index = {name: j for j, name in enumerate(space.names)}
    budget = MatrixBudget()
    rules = [_read_rule(entry, space, index, budget) for entry in document["rules"].items("rule")]
    return rules, space, tuple(map(_read_label, document["classes"].items("class")))


def _read_label(part: Part) -> Label:
    with part.inside():
        return as_label(part.data)


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


def _read_space(features: Part) -> FeatureSpace:
    entries = [
        part.record("name", "lower upper integer categories unit fill")
        for part in features.items("feature")
    ]

    def each(key: str, read: Any, default: Any = None) -> list[Any]:
        return [optional(entry, key, read, default) for entry in entries]

    names = each("name", Part.text)
    with features.inside():
        return FeatureSpace(
            names,
            each("lower", Part.number, -math.inf),
            each("upper", Part.number, math.inf),
            np.array(each("integer", Part.flag, False), dtype=np.bool_),
            each("categories", _read_categories),
            each("unit", lambda part: part.text(may_be_empty=True)),
            each("fill", _read_fill),
        )


def _read_categories(part: Part) -> list[str]:
    return [category.text(may_be_empty=True) for category in part.items("category", least=1)]


def _read_fill(part: Part) -> float | str:
    return part.data if isinstance(part.data, str) else part.number()


# What a proof in a file tells, which can be edited and has no model to prove anything by. Of a distilled plane a file
# has nothing; that model and rule agreed remains.
_UNCHECKED = {"proved": "stated", "distilled": "observed"}


def _read_rule(
    part: Part, space: FeatureSpace, index: Mapping[str, int], budget: MatrixBudget
) -> Rule:
    entry = part.record("label when", "name weight origin proof stats")
    proof: Any = optional(entry, "proof", lambda given: given.one_of(PROOFS))
    region = _read_region(entry["when"], space, index, budget)
    values = {
        "label": _read_label(entry["label"]),
        "name": optional(entry, "name", Part.text),
        "weight": optional(entry, "weight", Part.number, 1.0),
        "origin": optional(entry, "origin", lambda given: given.one_of(ORIGINS), "expert"),
        "proof": _UNCHECKED.get(proof, proof),
        "stats": optional(entry, "stats", _read_stats),
    }
    with part.inside():
        return Rule(region, **values)


def _read_stats(part: Part) -> RuleStats:
    counts = {
        key: count.whole() for key, count in part.record("rows covered", "correct agreed").items()
    }
    with part.inside():
        return RuleStats(**counts)


def _read_region(
    when: Part, space: FeatureSpace, index: Mapping[str, int], budget: MatrixBudget
) -> Region:
    n = len(space)
    lower, upper = np.full(n, -math.inf), np.full(n, math.inf)
    lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
    rows: list[tuple[FloatArray, float, bool]] = []
    bounded: set[int] = set()
    sets: dict[int, list[int]] = {}
    missing: dict[int, bool] = {}
    for part in when.items("condition"):
        keys = part.entries()
        if "linear" in keys:
            if not budget.take(n):
                raise when.error(
                    f"takes more than {budget.gigabytes} GB for linear conditions over {n} features; keep the rules "
                    "in several files, each over the features that it needs"
                )
            rows.append(_read_inequality(part, index))
            continue
        others = next((key for key in ("in", "missing") if key in keys), "")
        ends = "" if others else "at_least above at_most below"
        entry = part.record(f"feature {others}", ends)
        j = _find(entry["feature"], entry["feature"].text(), index)
        if j in bounded or j in sets or j in missing:
            raise part.error("is a second one on this feature")
        if others == "in":
            sets[j] = _read_codes(entry["in"], space.categories[j])
        elif others == "missing":
            missing[j] = entry["missing"].flag()
        else:
            low = _read_limit(part, entry, "at_least", "above")
            high = _read_limit(part, entry, "at_most", "below")
            if low is None and high is None:
                raise part.error("needs one of 'at_least', 'above', 'at_most' and 'below'")
            lower[j], lower_closed[j] = (-math.inf, True) if low is None else low
            upper[j], upper_closed[j] = (math.inf, True) if high is None else high
            bounded.add(j)
    absent = [j for j, is_missing in missing.items() if is_missing]
    known = [j for j, is_missing in missing.items() if not is_missing]
    with when.inside():
        if not rows:
            return Box(lower, upper, lower_closed, upper_closed, sets, absent, known)
        if bounded:
            raise when.error("has either 'linear' conditions or bounds, not both")
        weights, limits, strict = zip(*rows, strict=True)
        return Polyhedron(np.stack(weights), limits, strict, sets, absent, known)


def _read_limit(
    part: Part, entry: Mapping[str, Part], closed: str, opened: str
) -> tuple[float, bool] | None:
    """Read a limit, and whether it may be reached."""
    if closed in entry and opened in entry:
        raise part.error(f"has both {closed!r} and {opened!r}; keep one")
    key = closed if closed in entry else opened
    return (entry[key].number(), key == closed) if key in entry else None


def _read_inequality(part: Part, index: Mapping[str, int]) -> tuple[FloatArray, float, bool]:
    entry = part.record("linear", "at_most below")
    row = np.zeros(len(index))
    for name, weight in entry["linear"].entries(least=1).items():
        row[_find(weight, name, index)] = weight.number()
    limit = _read_limit(part, entry, "at_most", "below")
    if limit is None:
        raise part.error("needs 'at_most' or 'below'")
    return row, limit[0], not limit[1]


def _find(part: Part, name: str, index: Mapping[str, int]) -> int:
    if name not in index:
        raise part.error(f"names unknown feature {name!r}{nearest_name(name, index)}")
    return index[name]


def _read_codes(part: Part, categories: tuple[str, ...] | None) -> list[int]:
    if categories is None:
        raise part.error("names categories of a feature that has none")
    names = [name.text(may_be_empty=True) for name in part.items("category", least=1)]
    for name in names:
        if name not in categories:
            hint = nearest_name(name, categories)
            raise part.error(f"names unknown category {name!r}{hint}")
    return [categories.index(name) for name in names]
