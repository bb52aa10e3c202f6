"""The JSON form of weighted rules, version 1.

Published as `weighted_rules.schema.json` beside this file, which refers to the schema of rules. The features, classes
and rules are a document of rules, as `RuleSet.to_dict` writes it. Numbers have the shortest digits that read back as
the same float. Nothing that trains models is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.models.model_document import check_model_name
from clearmargin.points.weighted_rules import LinearTerm, WeightedRules
from clearmargin.rules import RuleSet, rules_schema
from clearmargin.rules.file_writing import read_json
from clearmargin.rules.json_schema import Format, compile_schema, inside
from clearmargin.rules.rules_document import FORMAT as RULES_FORMAT
from clearmargin.rules.space import FeatureSpace

FORMAT = Format(
    "clearmargin-weighted-rules",
    1,
    "these are no clearmargin weighted rules",
    "these weighted rules are",
    {
        RULES_FORMAT.name: "; these are rules, which RuleSet.load reads",
        "clearmargin-model": "; this is a model of planes, which load_model reads",
    },
)
RULES_ADDRESS = "urn:clearmargin:rules:1"


def is_weighted_document(data: object) -> bool:
    """Tell whether the plain data of JSON say of themselves that they are weighted rules."""
    return isinstance(data, Mapping) and data.get("format") == FORMAT.name


def weighted_rules_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form in which weighted rules are written, for programs that are not in Python.

    Returns
    -------
    dict
        A schema in the dialect 2020-12, with the schema of rules in it. What it cannot say (as many weights as rules, a
        feature that is named must exist), `WeightedRules.from_dict` checks.

    Examples
    --------
    >>> weighted_rules_schema()["title"]
    'clearmargin weighted rules, version 1'
    """
    schema = _own_schema()
    # As an embedded resource the rules keep their own definitions, to which they refer by their own root.
    schema["$defs"]["rules"] = {"$id": RULES_ADDRESS, **rules_schema()}
    return schema


def _own_schema() -> dict[str, Any]:
    folder = resources.files("clearmargin.points")
    text = folder.joinpath("weighted_rules.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def write_weighted_document(weighted: WeightedRules) -> dict[str, Any]:
    """Put weighted rules into plain data for JSON, exactly."""
    pairs = zip(
        np.atleast_1d(weighted.intercept).tolist(),
        np.atleast_2d(weighted.weights).tolist(),
        strict=True,
    )
    names = weighted.space.names
    return {
        "format": FORMAT.name,
        "version": FORMAT.version,
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


def read_weighted_document(data: object) -> WeightedRules:
    """Take weighted rules out of the plain data of JSON."""
    document = FORMAT.check_header(data)
    _checker()(document)
    with inside("'rules' is damaged"):
        rules = RuleSet.from_dict(document["rules"])
    outputs = 1 if len(rules.classes) == 2 else len(rules.classes)
    scores = document["scores"]
    if len(scores) != outputs:
        raise FileDamagedError(
            f"{len(rules.classes)} classes need {outputs} of 'scores', and there are {len(scores)}"
        )
    for k, score in enumerate(scores):
        if len(score["weights"]) != len(rules):
            raise FileDamagedError(
                f"score {k + 1}: {len(score['weights'])} weights for {len(rules)} rules"
            )
    shape = () if outputs == 1 else (outputs,)
    try:
        return WeightedRules(
            rules,
            np.array([score["weights"] for score in scores], dtype=float).reshape(*shape, -1),
            np.array([score["intercept"] for score in scores], dtype=float).reshape(shape),
            [_read_term(entry, rules.space) for entry in document["linear"]],
            float(document["threshold"]),
        )
    except (InvalidValueError, DataError) as error:
        raise FileDamagedError(str(error)) from error


@cache
def _checker() -> Callable[[Any], None]:
    # Rules are checked where they are read.
    return compile_schema(_own_schema(), {RULES_ADDRESS: lambda data: None})


def _read_term(entry: Mapping[str, Any], space: FeatureSpace) -> LinearTerm:
    feature = space.index(entry["feature"])
    coefs, fill = entry["coefs"], entry.get("fill")
    if len({len(row) for row in coefs}) > 1 or (fill is not None and len(coefs[0]) != 1):
        raise FileDamagedError(
            f"the linear term of {entry['feature']!r} needs equally many coefficients in each score, one for a number"
        )
    given = np.array(coefs, dtype=float)
    if fill is not None:
        given = given[:, 0]
    return LinearTerm(feature, given[0] if len(given) == 1 else given, fill)


def load_weighted_rules(path: str | os.PathLike[str]) -> WeightedRules:
    """Read the weighted rules of a model file, and no more than that."""
    data = read_json(check_model_name(path))
    try:
        return read_weighted_document(data)
    except (FileDamagedError, FileTooNewError) as error:
        raise type(error)(f"{path}: {error}") from error
