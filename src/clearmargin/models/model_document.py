"""The JSON form of a model that decides by planes: versions 1 to 3.

Published as `model.schema.json` beside this file, which refers to the schema of rules. The features, classes and rules
are a document of rules, as `RuleSet.to_dict` writes it. Weights are named by feature and category; those that are zero
are left out. Version 2 had relations between features, which are refused; since version 3 a document says by what its
model decides: these by planes, scorecards (`points.document`) by a sum. Numbers have the shortest digits that read back
as the same float. Nothing that trains models is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError, FileTooNewError, InvalidValueError
from clearmargin.models.planes import Planes
from clearmargin.models.proofs import check_proofs
from clearmargin.rules import RuleSet, rules_schema
from clearmargin.rules.document import Part, open_document, optional
from clearmargin.rules.file_writing import read_json
from clearmargin.rules.space import FeatureSpace, nearest_name

NAME, VERSION = "clearmargin-model", 3
RULES_ADDRESS = "urn:clearmargin:rules:1"


def is_model_document(data: object) -> bool:
    """Tell whether the plain data of JSON say of themselves that they are a model of planes."""
    return (
        isinstance(data, Mapping)
        and data.get("format") == NAME
        and data.get("decides", "plane") == "plane"
    )


def model_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form in which models are written, for programs that are not in Python.

    Returns
    -------
    dict
        A schema in the dialect 2020-12, with the schema of rules in it. What it cannot say (a feature that is named
        must exist, as many planes as the classes need), `load_model` checks.

    Examples
    --------
    >>> model_schema()["title"]
    'clearmargin model that decides by planes, versions 1 to 3'
    """
    schema = _own_schema()
    # As an embedded resource the rules keep their own definitions, to which they refer by their own root.
    schema["$defs"]["rules"] = {"$id": RULES_ADDRESS, **rules_schema()}
    return schema


def _own_schema() -> dict[str, Any]:
    text = resources.files("clearmargin.models").joinpath("model.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def write_model(model: Planes) -> dict[str, Any]:
    """Put a model into plain data for JSON."""
    document: dict[str, Any] = {
        "format": NAME,
        "version": VERSION,
        "decides": "plane",
        "facts": dict(model.facts or {}),
        "rules": model.rules.to_dict(),
        "planes": [
            {"weights": _write_weights(model, coef), "intercept": float(intercept)}
            for coef, intercept in zip(model.coef_, model.intercept_, strict=True)
        ],
    }
    if model.advice is not None:
        given, refined = model.advice
        document["advice"] = {"given": given.to_dict(), "refined": refined.to_dict()}
    if model.fill is not None:
        document["fill"] = dict(model.fill)
    return document


def _write_weights(model: Planes, coef: Any) -> list[dict[str, Any]]:
    entries = []
    for k in np.flatnonzero(coef).tolist():
        feature, code = model.encoding_.sources[k]
        entry: dict[str, Any] = {"feature": model.space.names[feature]}
        categories = model.space.categories[feature]
        if code is not None and categories is not None:
            entry["category"] = categories[code]
        entries.append({**entry, "weight": float(coef[k])})
    return entries


def read_model(data: object) -> Planes:
    """Take a model out of the plain data of JSON."""
    part = open_document(data, NAME, VERSION)
    document = part.record("format version rules planes", "decides facts advice fill")
    optional(document, "decides", lambda decides: decides.one_of(("plane",)))
    rules = read_rules(document["rules"])
    if len(rules.classes) < 2:
        raise document["rules"].error(f"must have at least two classes, not {rules.classes}")
    planes, constants = [], []
    for plane in document["planes"].items("plane", least=1):
        entry = plane.record("weights intercept")
        planes.append(_read_weights(entry["weights"], rules.space))
        constants.append(entry["intercept"].number())
    facts = {
        key: read_fact(fact) for key, fact in optional(document, "facts", Part.entries, {}).items()
    }
    with part.inside():
        model = Planes(
            rules,
            planes,
            constants,
            advice=optional(document, "advice", _read_advice),
            fill=optional(document, "fill", lambda fill: _read_fill(fill, rules.space)),
            facts=facts,
        )
    model.rules = check_proofs(model, model.rules)
    if model.advice is not None:
        given, refined = model.advice
        model.advice = given, check_proofs(model, refined)
    return model


def read_rules(part: Part) -> RuleSet:
    """Read the rules in a document."""
    with part.inside():
        return RuleSet.from_dict(part.data)


def read_fact(part: Part) -> str | bool | int | float:
    """Read what a document tells people."""
    if isinstance(part.data, str | bool):
        return part.data
    part.number()
    number: int | float = part.data
    return number


def _read_advice(part: Part) -> tuple[RuleSet, RuleSet]:
    entry = part.record("given refined")
    return read_rules(entry["given"]), read_rules(entry["refined"])


def _read_fill(part: Part, space: FeatureSpace) -> dict[str, Any]:
    fill = {}
    for name, value in part.entries().items():
        if name not in space.names:
            raise value.error(f"is no feature{nearest_name(name, space.names)}")
        categories = space.categories[space.index(name)]
        if categories is None:
            value.number()
        else:
            value.one_of(categories)
        fill[name] = value.data
    return fill


def _read_weights(part: Part, space: FeatureSpace) -> list[float]:
    weights: dict[tuple[str, str | None], float | None] = {
        (name, category): None
        for name, categories in zip(space.names, space.categories, strict=True)
        for category in (categories or (None,))
    }
    for item in part.items("weight"):
        entry = item.record("feature weight", "category")
        name = entry["feature"].text()
        category = optional(entry, "category", lambda given: given.text(may_be_empty=True))
        if (name, category) not in weights:
            raise item.error(f"is for no column of the model{nearest_name(name, space.names)}")
        if weights[name, category] is not None:
            raise item.error("is a second one for this column")
        weights[name, category] = entry["weight"].number()
    return [weight or 0.0 for weight in weights.values()]


def load_planes(path: str | os.PathLike[str]) -> Planes:
    """Read the planes of a model file, and no more than that."""
    data = read_json(check_model_name(path))
    try:
        return read_model(data)
    except (FileDamagedError, FileTooNewError) as error:
        raise type(error)(f"{path}: {error}") from error


def check_model_name(path: str | os.PathLike[str]) -> Path:
    """Insist on the ending of a model file."""
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise InvalidValueError(f"{path}: the name of a model file ends in .json")
    return target
