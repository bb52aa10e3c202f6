"""The JSON form of a model: version 1.

Published as `model.schema.json` beside this file, which refers to the schema of rules. The features, classes and rules
are a document of rules, as `RuleSet.to_dict` writes it. Weights are named by feature and category; those that are zero
are left out. Numbers have the shortest digits that read back as the same float.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.exceptions import (
    ClearmarginError,
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.models.planes import Planes
from clearmargin.models.proofs import check_proofs
from clearmargin.rules import RuleSet, rules_schema
from clearmargin.rules.document import FORMAT as RULES_FORMAT
from clearmargin.rules.space import FeatureSpace, nearest_name

__all__ = ["FORMAT", "VERSION", "is_model_document", "model_schema", "read_model", "write_model"]

FORMAT = "clearmargin-model"
VERSION = 1

_REQUIRED = ("format", "version", "rules", "planes")
_OPTIONAL = ("advice", "fill", "facts")


def is_model_document(data: object) -> bool:
    """Tell whether the plain data of JSON say of themselves that they are a model.

    Examples
    --------
    >>> is_model_document({"format": "clearmargin-model"}), is_model_document([])
    (True, False)
    """
    return isinstance(data, Mapping) and data.get("format") == FORMAT


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
    'clearmargin model, version 1'
    """
    text = resources.files("clearmargin.models").joinpath("model.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    # As an embedded resource the rules keep their own definitions, to which they refer by their own root.
    schema["$defs"]["rules"] = {"$id": "urn:clearmargin:rules:1", **rules_schema()}
    return schema


def write_model(model: Planes) -> dict[str, Any]:
    """Put a model into plain data for JSON.

    Parameters
    ----------
    model : Planes
        The model.

    Returns
    -------
    dict
        What `read_model` reads.

    Examples
    --------
    >>> from clearmargin import FeatureSpace, RuleSet
    >>> model = Planes(RuleSet([], FeatureSpace(["age"]), ["young", "old"]), [[1.0]], [-40.0])
    >>> write_model(model)["planes"]
    [{'weights': [{'feature': 'age', 'weight': 1.0}], 'intercept': -40.0}]
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
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
        kinds = model.space.categories[feature]
        if code is not None and kinds is not None:
            entry["category"] = kinds[code]
        entries.append({**entry, "weight": float(coef[k])})
    return entries


def read_model(data: object) -> Planes:
    """Take a model out of the plain data of JSON.

    Parameters
    ----------
    data : mapping
        What `write_model` made, possibly by way of a file.

    Returns
    -------
    Planes
        The model.

    Examples
    --------
    >>> from clearmargin import FeatureSpace, RuleSet
    >>> model = Planes(RuleSet([], FeatureSpace(["age"]), ["young", "old"]), [[1.0]], [-40.0])
    >>> read_model(write_model(model)).predict([[50]]).tolist()
    ['old']
    """
    if not isinstance(data, Mapping) or not is_model_document(data):
        said = data.get("format") if isinstance(data, Mapping) else None
        hint = "; these are rules, which RuleSet.load reads" if said == RULES_FORMAT else ""
        raise FileDamagedError(f'this is no clearmargin model: "format" must be "{FORMAT}"{hint}')
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileDamagedError(
            f'"version" must be a whole number from 1, not {reprlib.repr(version)}'
        )
    if version > VERSION:
        raise FileTooNewError(
            f"this model is in version {version} of the format; this clearmargin reads up to version {VERSION}: "
            "update clearmargin"
        )
    _check_keys(data, _REQUIRED, _OPTIONAL)
    rules = _read_rules(data["rules"], "rules")
    planes = [_read_plane(entry, k, rules.space) for k, entry in enumerate(_as_list(data))]
    try:
        model = Planes(
            rules,
            [weights for weights, _ in planes],
            [intercept for _, intercept in planes],
            advice=_read_advice(data["advice"]) if "advice" in data else None,
            fill=_read_fill(data["fill"], rules.space) if "fill" in data else None,
            facts=_read_facts(data.get("facts", {})),
        )
    except (InvalidValueError, ValueError) as error:
        if isinstance(error, FileDamagedError | FileTooNewError):
            raise
        raise FileDamagedError(f"the planes are damaged: {error}") from error
    model.rules = check_proofs(model, model.rules)
    if model.advice is not None:
        given, refined = model.advice
        model.advice = given, check_proofs(model, refined)
    return model


def _read_rules(data: object, key: str) -> RuleSet:
    try:
        return RuleSet.from_dict(data)
    except FileTooNewError:
        raise
    except ClearmarginError as error:
        raise FileDamagedError(f"{key!r} is damaged: {error}") from error


def _read_advice(data: object) -> tuple[RuleSet, RuleSet]:
    advice = _as_mapping(data, "advice")
    _check_keys(advice, ("given", "refined"))
    return _read_rules(advice["given"], "given"), _read_rules(advice["refined"], "refined")


def _read_fill(data: object, space: FeatureSpace) -> dict[str, Any]:
    fill = _as_mapping(data, "fill")
    for name, value in fill.items():
        if name not in space.names:
            raise FileDamagedError(
                f"'fill' names {name!r}, which is no feature{nearest_name(str(name), space.names)}"
            )
        kinds = space.categories[space.index(name)]
        if (not _is_number(value)) if kinds is None else value not in kinds:
            raise FileDamagedError(f"'fill' cannot give {reprlib.repr(value)} to {name!r}")
    return dict(fill)


def _read_facts(data: object) -> Mapping[str, Any]:
    facts = _as_mapping(data, "facts")
    for name, value in facts.items():
        if not (isinstance(value, str | bool) or _is_number(value)):
            raise FileDamagedError(
                f"the fact {name!r} must be a text or a number, not {reprlib.repr(value)}"
            )
    return facts


def _read_plane(entry: object, k: int, space: FeatureSpace) -> tuple[list[float], float]:
    plane = _as_mapping(entry, f"plane {k + 1}")
    _check_keys(plane, ("weights", "intercept"), place=f"plane {k + 1}: ")
    place: dict[tuple[str, str | None], int] = {}
    for name, kinds in zip(space.names, space.categories, strict=True):
        for kind in (None,) if kinds is None else kinds:
            place[name, kind] = len(place)
    weights: list[float | None] = [None] * len(place)
    if not isinstance(plane["weights"], list):
        raise FileDamagedError(f"plane {k + 1}: 'weights' must be a list")
    for item in plane["weights"]:
        weight = _as_mapping(item, f"plane {k + 1}: a weight")
        _check_keys(weight, ("feature", "weight"), ("category",), place=f"plane {k + 1}: ")
        for part in ("feature", "category"):
            if part in weight and not isinstance(weight[part], str):
                raise FileDamagedError(
                    f"plane {k + 1}: the {part} of a weight must be a text, not {reprlib.repr(weight[part])}"
                )
        key = (weight["feature"], weight.get("category"))
        said = key[0] if key[1] is None else f"{key[0]} = {key[1]}"
        if key not in place:
            hint = nearest_name(str(key[0]), space.names)
            raise FileDamagedError(
                f"plane {k + 1}: a weight for {said!r}, which is no column{hint}"
            )
        if weights[place[key]] is not None:
            raise FileDamagedError(f"plane {k + 1}: a second weight for {said!r}")
        weights[place[key]] = _number(weight["weight"], f"plane {k + 1}: the weight of {key[0]!r}")
    return [weight or 0.0 for weight in weights], _number(
        plane["intercept"], f"plane {k + 1}: 'intercept'"
    )


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _number(value: object, what: str) -> float:
    if not _is_number(value):
        raise FileDamagedError(f"{what} must be a number, not {reprlib.repr(value)}")
    return float(value)  # type: ignore[arg-type]


def _as_list(data: Mapping[str, Any]) -> list[Any]:
    if not isinstance(data["planes"], list):
        raise FileDamagedError(f"'planes' must be a list, not {reprlib.repr(data['planes'])}")
    return list(data["planes"])


def _as_mapping(data: object, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise FileDamagedError(f"{what} must be an object, not {reprlib.repr(data)}")
    return data


def _check_keys(
    entry: Mapping[str, Any],
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
    place: str = "",
) -> None:
    for key in required:
        if key not in entry:
            raise FileDamagedError(f"{place}{key!r} is missing")
    for key in entry:
        if key not in (*required, *optional):
            hint = nearest_name(str(key), (*required, *optional))
            raise FileDamagedError(f"{place}unknown key {reprlib.repr(key)}{hint}")
