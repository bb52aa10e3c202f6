"""Proofs that a file claims, checked again against the planes in the same file.

A file can be edited, cut and pasted. So the word *proved* is never taken from it: each rule that claims it is
decided anew, in exact arithmetic, over the cases that can exist (`Domain`): whole numbers where features are marked as
such, exactly one category of each feature, and the ranges that were declared when the rules were
extracted.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.models.planes import Planes
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.domain import Domain
from clearmargin.rules.rule import Proof, Rule

# The fact of a model that names the features whose lower and upper ends were declared, as JSON.
DECLARED_RANGES = "declared_ranges"


def check_proofs(model: Planes, rules: RuleSet) -> RuleSet:
    """Decide for each rule that claims a proof whether the model gives its class everywhere in it."""
    if rules.space.names != model.space.names or not any(r.proof == "stated" for r in rules):
        return rules
    lower, upper = _declared(model.facts)
    names, surface = model.space.names, model.surface(model.space)
    domain = Domain(model.space, [n in lower for n in names], [n in upper for n in names])
    place = {label: k for k, label in enumerate(model.rules.classes)}
    checked, refuted = [], []
    for k, rule in enumerate(rules):
        proof: Proof | None = rule.proof
        region = rule.region
        is_asked = proof == "stated" and rule.label in place
        # A case without a value has no place beside a plane.
        if is_asked and isinstance(region, Box) and not region.missing:
            margins = surface.margins(place[rule.label])
            part = domain.tighten(region)
            proof = "proved"
            if not all(margin.is_positive(part) for margin in margins):
                # Within ranges that were not declared, a proof is only stated.
                part = domain.tighten(region, seen=True)
                within = all(margin.is_positive(part) for margin in margins)
                proof = "stated" if within else None
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


def _declared(facts: Mapping[str, Any] | None) -> tuple[set[str], set[str]]:
    """Return the features whose lower end was declared, and those whose upper end was."""
    try:
        ends = json.loads((facts or {}).get(DECLARED_RANGES, "{}"))
        return set(ends["lower"]), set(ends["upper"])
    except (KeyError, TypeError, ValueError):  # somebody else's fact of that name declares nothing
        return set(), set()


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
