"""Proofs that a file claims, checked again against the planes in the same file.

A file can be edited, cut and pasted. So the word *proved* is never taken from it: each rule that claims it is
decided anew, in exact arithmetic, over the cases that can exist (`Domain`): whole numbers where features are marked as
such, exactly one category of each feature, and the ranges that were declared when the rules were
extracted.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.models.planes import Planes
from clearmargin.rules import Box, HalfSpace, RuleSet
from clearmargin.rules.domain import Domain
from clearmargin.rules.rule import Proof, Rule
from clearmargin.tables.encoding import Encoding

# The fact of a model that names the features whose lower and upper ends were declared, as JSON.
DECLARED_RANGES = "declared_ranges"


def check_proofs(model: Planes, rules: RuleSet) -> RuleSet:
    """Decide for each rule that claims a proof whether the model gives its class everywhere in it."""
    if rules.space.names != model.space.names or not any(r.proof == "stated" for r in rules):
        return rules
    domain = _domain(model)
    regions = model.surface(model.space).regions()
    place = {label: k for k, label in enumerate(model.rules.classes)}
    checked, refuted = [], []
    for k, rule in enumerate(rules):
        proof: Proof | None = rule.proof
        region = rule.region
        is_asked = proof == "stated" and rule.label in place
        # A case without a value has no place beside a plane.
        if is_asked and isinstance(region, Box) and not region.missing:
            proof = _decide(
                domain, encoded_box(region, model.encoding_), regions[place[rule.label]]
            )
            if proof == "stated" and DECLARED_RANGES in (model.facts or {}):
                proof = None
            refuted += [k] if proof is None else []
        checked.append(_with_proof(rule, proof))
    if refuted:
        first = rules[refuted[0]]
        warnings.warn(
            f"{len(refuted)} of {len(rules)} rules are marked as proved in the file, but its model gives another class "
            f"somewhere in them, the first of them rule {refuted[0] + 1} ({first}); the mark is taken off. The file "
            "was changed since it was written: extract the rules again",
            UncertifiedWarning,
            stacklevel=2,
        )
    return RuleSet(checked, rules.space, rules.classes)


def _decide(domain: Domain, box: Box, region: Sequence[HalfSpace]) -> Proof | None:
    """Decide whether a box is proved to lie in a region; "stated" if only within ranges that were not declared."""
    if all(domain.is_inside(box, side) for side in region):
        return "proved"
    within = all(domain.is_inside(box, side, seen=True) for side in region)
    return "stated" if within else None


def _domain(model: Planes) -> Domain:
    """Return the cases that can exist: over encoded columns, with the ranges that were declared."""
    declared = np.array(
        [[name in names for name in model.space.names] for names in _declared(model.facts)],
        dtype=np.bool_,
    )
    return model.encoding_.domain(declared=declared)


def _declared(facts: Mapping[str, Any] | None) -> tuple[set[str], set[str]]:
    """Return the features whose lower end was declared, and those whose upper end was."""
    try:
        ends = json.loads((facts or {}).get(DECLARED_RANGES, "{}"))
        return set(ends["lower"]), set(ends["upper"])
    except (KeyError, TypeError, ValueError):  # somebody else's fact of that name declares nothing
        return set(), set()


def encoded_box(region: Box, encoding: Encoding) -> Box:
    """Return the same box over encoded columns: a category that is not allowed has a column that is 0."""
    feature = [source.feature for source in encoding.sources]
    lower, upper = region.lower[feature].copy(), region.upper[feature].copy()
    for column, (j, code) in enumerate(encoding.sources):
        if code is not None:
            allowed = j not in region.sets or code in region.sets[j]
            lower[column], upper[column] = 0.0, float(allowed)
    return Box(lower, upper, region.lower_closed[feature], region.upper_closed[feature])


def _with_proof(rule: Rule, proof: Proof | None) -> Rule:
    if proof == rule.proof:
        return rule
    return Rule(
        rule.region,
        rule.label,
        name=rule.name,
        weight=rule.weight,
        origin=rule.origin,
        proof=proof,
        stats=rule.stats,
    )
