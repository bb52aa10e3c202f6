"""The JSON form of a model: versions 1 and 2.

Published as `model.schema.json` beside this file, which refers to the schema of rules. The features, classes and rules
are a document of rules, as `RuleSet.to_dict` writes it. Weights are named by feature and category; those that are zero
are left out. Version 2 had relations between features, which are refused; models are
written as version 1. Numbers have the shortest digits that read back as the same float. Nothing that
trains models is imported.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError, FileTooNewError, InvalidValueError
from clearmargin.models.planes import Planes
from clearmargin.models.proofs import check_proofs
from clearmargin.rules import RuleSet, rules_schema
from clearmargin.rules.file_writing import read_json
from clearmargin.rules.json_schema import Format, compile_schema, inside
from clearmargin.rules.rules_document import FORMAT as RULES_FORMAT
from clearmargin.rules.space import FeatureSpace, nearest_name

FORMAT = Format(
    "clearmargin-model",
    2,
    "this is no clearmargin model",
    "this model is",
    {
        RULES_FORMAT.name: "; these are rules, which RuleSet.load reads",
        "clearmargin-weighted-rules": "; these are rules with points, which load_model reads",
    },
)
RULES_ADDRESS = "urn:clearmargin:rules:1"


def is_model_document(data: object) -> bool:
    """Tell whether the plain data of JSON say of themselves that they are a model."""
    return isinstance(data, Mapping) and data.get("format") == FORMAT.name


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
    'clearmargin model, versions 1 and 2'
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
        "format": FORMAT.name,
        "version": 1,
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
    document = FORMAT.check_header(data)
    _checker()(document)
    rules = _read_rules(document["rules"], "'rules'")
    _check_fill(document.get("fill", {}), rules.space)
    advice = _read_advice(document["advice"]) if "advice" in document else None
    planes = []
    for k, entry in enumerate(document["planes"]):
        with inside(f"plane {k + 1}"):
            planes.append(_read_weights(entry["weights"], rules.space))
    with inside("the planes are damaged"):
        try:
            model = Planes(
                rules,
                planes,
                [float(entry["intercept"]) for entry in document["planes"]],
                advice=advice,
                fill=document.get("fill"),
                facts=document.get("facts", {}),
            )
        except ValueError as error:
            raise FileDamagedError(str(error)) from error
    model.rules = check_proofs(model, model.rules)
    if model.advice is not None:
        given, refined = model.advice
        model.advice = given, check_proofs(model, refined)
    return model


@cache
def _checker() -> Callable[[Any], None]:
    # Rules are checked where they are read.
    return compile_schema(_own_schema(), {RULES_ADDRESS: lambda data: None})


def _read_rules(data: object, place: str) -> RuleSet:
    with inside(f"{place} is damaged"):
        return RuleSet.from_dict(data)


def _read_advice(advice: Mapping[str, Any]) -> tuple[RuleSet, RuleSet]:
    with inside("'advice'"):
        return _read_rules(advice["given"], "'given'"), _read_rules(advice["refined"], "'refined'")


def _check_fill(fill: Mapping[str, Any], space: FeatureSpace) -> None:
    for name, value in fill.items():
        if name not in space.names:
            raise FileDamagedError(
                f"'fill' names {name!r}, which is no feature{nearest_name(name, space.names)}"
            )
        categories = space.categories[space.index(name)]
        if isinstance(value, str) if categories is None else value not in categories:
            raise FileDamagedError(f"'fill' cannot give {reprlib.repr(value)} to {name!r}")


def _read_weights(entries: list[Mapping[str, Any]], space: FeatureSpace) -> list[float]:
    place: dict[tuple[str, str | None], int] = {}
    for name, categories in zip(space.names, space.categories, strict=True):
        for category in (None,) if categories is None else categories:
            place[name, category] = len(place)
    weights: list[float | None] = [None] * len(place)
    for entry in entries:
        key = (entry["feature"], entry.get("category"))
        column = key[0] if key[1] is None else f"{key[0]} = {key[1]}"
        if key not in place:
            hint = nearest_name(key[0], space.names)
            raise FileDamagedError(f"a weight for {column!r}, which is no column{hint}")
        if weights[place[key]] is not None:
            raise FileDamagedError(f"a second weight for {column!r}")
        weights[place[key]] = float(entry["weight"])
    return [weight or 0.0 for weight in weights]


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
