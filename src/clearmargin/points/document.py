"""The JSON form of a scorecard: a model document that decides by a sum.

Published as `scorecard.schema.json` beside this file, which refers to the schema of rules. The features, classes and
rules are a document of rules, as `RuleSet.to_dict` writes it. Numbers have the shortest digits that read back as the
same float. Nothing that trains models is imported. Two older forms are read: "clearmargin-weighted-rules", and cards
with proof, which had no header.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError, FileTooNewError
from clearmargin.models.model_document import (
    NAME,
    VERSION,
    check_model_name,
    read_fact,
    read_rules,
)
from clearmargin.points.scorecard import LinearTerm, Proof, Scorecard
from clearmargin.rules import Box, Rule, RuleSet, rules_schema
from clearmargin.rules.document import Part, open_document, optional
from clearmargin.rules.file_writing import read_json
from clearmargin.rules.interval import Interval
from clearmargin.rules.space import FeatureSpace

OLD_NAME, DECIDES = "clearmargin-weighted-rules", "sum"
RULES_ADDRESS = "urn:clearmargin:rules:1"


def is_scorecard_document(data: object) -> bool:
    """Tell whether the plain data of JSON say of themselves that they are a scorecard."""
    if not isinstance(data, Mapping):
        return False
    return data.get("format") == OLD_NAME or (
        data.get("format") == NAME and data.get("decides") == DECIDES
    )


def scorecard_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form in which scorecards are written, for programs that are not in Python.

    Returns
    -------
    dict
        A schema in the dialect 2020-12, with the schema of rules in it. What it cannot say (as many weights as rules, a
        feature that is named must exist), `Scorecard.from_dict` checks.

    Examples
    --------
    >>> scorecard_schema()["title"]
    'clearmargin model that decides by a sum, version 3'
    """
    text = (
        resources.files("clearmargin.points").joinpath("scorecard.schema.json").read_text("utf-8")
    )
    schema: dict[str, Any] = json.loads(text)
    # As an embedded resource the rules keep their own definitions, to which they refer by their own root.
    schema["$defs"]["rules"] = {"$id": RULES_ADDRESS, **rules_schema()}
    return schema


def write_scorecard(card: Scorecard) -> dict[str, Any]:
    """Put a scorecard into plain data for JSON, exactly."""
    pairs = zip(
        np.atleast_1d(card.intercept).tolist(), np.atleast_2d(card.weights).tolist(), strict=True
    )
    names = card.space.names
    document: dict[str, Any] = {
        "format": NAME,
        "version": VERSION,
        "decides": DECIDES,
        "rules": card.rules.to_dict(),
        "scores": [{"intercept": start, "weights": weights} for start, weights in pairs],
        "linear": [
            {
                "feature": names[term.feature],
                "coefs": term.coef.reshape(term.n_outputs, -1).tolist(),
            }
            | ({} if term.fill is None else {"fill": term.fill})
            for term in card.linear
        ],
        "threshold": card.threshold,
    }
    if card.proof is not None:
        document["proof"] = {
            "at_least": card.proof.at_least.tolist(),
            "at_most": card.proof.at_most.tolist(),
            "limits": list(card.proof.limits),
            "unit": card.proof.unit,
            "about": card.proof.about,
        }
    return document


def read_scorecard(data: object) -> Scorecard:
    """Take a scorecard out of the plain data of JSON."""
    if isinstance(data, Mapping) and "format" not in data and "cells" in data:
        return _read_old_card(Part(data))
    if isinstance(data, Mapping) and data.get("format") == OLD_NAME:
        open_document(data, OLD_NAME, 1)
        data = {**data, "format": NAME, "version": VERSION, "decides": DECIDES}
    part = open_document(data, NAME, VERSION)
    document = part.record(
        "format version decides rules scores linear threshold", "proof training facts"
    )
    document["decides"].one_of((DECIDES,))
    rules = read_rules(document["rules"])
    if len(rules.classes) < 2:
        raise document["rules"].error(f"must have at least two classes, not {rules.classes}")
    for fact in optional(document, "facts", Part.entries, {}).values():
        read_fact(fact)
    outputs = 1 if len(rules.classes) == 2 else len(rules.classes)
    weights, intercepts = [], []
    for score in document["scores"].items("score", least=1):
        entry = score.record("intercept weights")
        intercepts.append(entry["intercept"].number())
        weights.append(_numbers(entry["weights"], "weight"))
        if len(weights[-1]) != len(rules):
            raise score.error(f"has {len(weights[-1])} weights for {len(rules)} rules")
    if len(weights) != outputs:
        raise document["scores"].error(
            f"must be {outputs} for {len(rules.classes)} classes, not {len(weights)}"
        )
    shape = () if outputs == 1 else (outputs,)
    terms = [_read_term(term, rules.space) for term in document["linear"].items("linear term")]
    with part.inside():
        return Scorecard(
            rules,
            np.array(weights, dtype=float).reshape(*shape, -1),
            np.array(intercepts, dtype=float).reshape(shape),
            terms,
            document["threshold"].number(),
            optional(document, "proof", _read_proof),
        )


def _read_proof(part: Part) -> Proof:
    entry = part.record("at_least at_most limits unit about")
    low, high = (_numbers(entry[name], "points") for name in ("at_least", "at_most"))
    limits = [int(limit) for limit in _numbers(entry["limits"], "limit")]
    with part.inside():
        about = entry["about"].text(may_be_empty=True)
        return Proof(low, high, limits, entry["unit"].number(), about)


def _read_old_card(part: Part) -> Scorecard:
    """Read a card with proof as it was written before it was a scorecard: the cells of each feature."""
    entry = part.record("features classes cells thresholds unit about")
    shell = read_rules(entry["features"])
    space, n = shell.space, len(shell.space)
    rules, low, high = [], list[float](), list[float]()
    with part.inside():
        for item in entry["cells"].items("feature"):
            own = item.record("feature at_least at_most", "cuts sets missing")
            j = space.index(own["feature"].text())
            least, most = (_numbers(own[key], "points") for key in ("at_least", "at_most"))
            boxes, names = list[Box](), space.categories[j]
            if names is not None:
                groups = [
                    [name.text() for name in group.items("name")]
                    for group in own["sets"].items("set")
                ]
                codes = [[names.index(name) for name in group] for group in groups]
                boxes = [Box.from_intervals({}, n, {j: group}) for group in codes]
            else:
                whole, cuts = bool(space.integer[j]), _numbers(own["cuts"], "cut")
                edges = [float(space.lower[j]), *cuts, float(space.upper[j])]
                for k in range(len(edges) - 1):
                    is_last = k == len(cuts)
                    end = edges[k + 1] - (whole and not is_last)
                    interval = Interval(edges[k], end, "both" if whole or is_last else "left")
                    boxes.append(Box.from_intervals({j: interval}, n))
            places = [*range(len(boxes))]
            if "missing" in own:
                boxes.append(Box.from_intervals({}, n, missing=[j]))
                places.append(own["missing"].whole())
            rules += [Rule(box, shell.classes[1]) for box in boxes]
            low += [least[k] for k in places]
            high += [most[k] for k in places]
        limits = [int(limit) for limit in _numbers(entry["thresholds"], "threshold")]
        about = entry["about"].text(may_be_empty=True)
        proof = Proof(low, high, limits, entry["unit"].number(), about)
        return Scorecard.of_proof(RuleSet(rules, space.with_fill(None), shell.classes), proof)


def _numbers(part: Part, title: str, least: int = 0) -> list[float]:
    return [number.number() for number in part.items(title, least)]


def _read_term(part: Part, space: FeatureSpace) -> LinearTerm:
    entry = part.record("feature coefs", "fill")
    name, fill = entry["feature"].text(), optional(entry, "fill", Part.number)
    rows = entry["coefs"].items("score", least=1)
    coefs = [_numbers(row, "coefficient", least=1) for row in rows]
    if len({len(row) for row in coefs}) > 1 or (fill is not None and len(coefs[0]) != 1):
        raise part.error("needs equally many coefficients in each score, one for a number")
    given = np.array(coefs, dtype=float)
    if fill is not None:
        given = given[:, 0]
    with part.inside():
        return LinearTerm(space.index(name), given[0] if len(given) == 1 else given, fill)


def load_scorecard(path: str | os.PathLike[str]) -> Scorecard:
    """Read the scorecard of a model file, and no more than that."""
    data = read_json(check_model_name(path))
    try:
        return read_scorecard(data)
    except (FileDamagedError, FileTooNewError) as error:
        raise type(error)(f"{path}: {error}") from error
