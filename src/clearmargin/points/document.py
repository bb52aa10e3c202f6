"""The JSON form of weighted rules, version 1.

Published as `scorecard.schema.json` beside this file, which refers to the schema of rules. The features, classes
and rules are a document of rules, as `RuleSet.to_dict` writes it. Numbers have the shortest digits that read back as
the same float. Nothing that trains models is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError, FileTooNewError
from clearmargin.models.model_document import check_model_name, read_fact, read_rules
from clearmargin.points.scorecard import LinearTerm, Scorecard
from clearmargin.rules import rules_schema
from clearmargin.rules.document import Part, open_document, optional
from clearmargin.rules.file_writing import read_json
from clearmargin.rules.space import FeatureSpace

NAME, VERSION = "clearmargin-weighted-rules", 1
RULES_ADDRESS = "urn:clearmargin:rules:1"


def is_scorecard_document(data: object) -> bool:
    """Tell whether the plain data of JSON say of themselves that they are weighted rules."""
    return isinstance(data, Mapping) and data.get("format") == NAME


def scorecard_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form in which weighted rules are written, for programs that are not in Python.

    Returns
    -------
    dict
        A schema in the dialect 2020-12, with the schema of rules in it. What it cannot say (as many weights as rules, a
        feature that is named must exist), `Scorecard.from_dict` checks.

    Examples
    --------
    >>> scorecard_schema()["title"]
    'clearmargin weighted rules, version 1'
    """
    schema = _own_schema()
    # As an embedded resource the rules keep their own definitions, to which they refer by their own root.
    schema["$defs"]["rules"] = {"$id": RULES_ADDRESS, **rules_schema()}
    return schema


def _own_schema() -> dict[str, Any]:
    folder = resources.files("clearmargin.points")
    text = folder.joinpath("scorecard.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def write_scorecard(weighted: Scorecard) -> dict[str, Any]:
    """Put weighted rules into plain data for JSON, exactly."""
    pairs = zip(
        np.atleast_1d(weighted.intercept).tolist(),
        np.atleast_2d(weighted.weights).tolist(),
        strict=True,
    )
    names = weighted.space.names
    return {
        "format": NAME,
        "version": VERSION,
        "rules": weighted.rules.to_dict(),
        "scores": [{"intercept": start, "weights": weights} for start, weights in pairs],
        "linear": [
            {
                "feature": names[term.feature],
                "coefs": term.coef.reshape(term.n_outputs, -1).tolist(),
            }
            | ({} if term.fill is None else {"fill": term.fill})
            for term in weighted.linear
        ],
        "threshold": weighted.threshold,
    }


def read_scorecard(data: object) -> Scorecard:
    """Take weighted rules out of the plain data of JSON."""
    part = open_document(data, NAME, VERSION)
    document = part.record("format version rules scores linear threshold", "training facts")
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
        )


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
    """Read the weighted rules of a model file, and no more than that."""
    data = read_json(check_model_name(path))
    try:
        return read_scorecard(data)
    except (FileDamagedError, FileTooNewError) as error:
        raise type(error)(f"{path}: {error}") from error
