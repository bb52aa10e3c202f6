"""A fitted `RuleSVC` as a file: its weighted rules, and beside them how they were found. Nothing in a file is run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError, InvalidValueError
from clearmargin.points.outcome import RulesOutcome
from clearmargin.points.reading import read_weighted_rules
from clearmargin.points.rule_svc import RuleSVC
from clearmargin.points.weighted_document import (
    read_weighted_document,
    write_weighted_document,
)
from clearmargin.rules import RuleSet
from clearmargin.rules.json_schema import inside

# Numbers that a fitted machine knows; those that are no number are left out.
_FIGURES = ("C_", "cv_score_", "vote_share_")


def write_rule_svc(model: RuleSVC, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Put a fitted machine into plain data for JSON."""
    numbers = {name.removesuffix("_"): float(getattr(model, name)) for name in _FIGURES}
    training: dict[str, Any] = {
        "trained_by": type(model).__name__,
        "parameters": {
            name: value
            for name, value in ((n, _plain(v)) for n, v in model.get_params(deep=False).items())
            if value is not _UNWRITTEN
        },
        "figures": {name: value for name, value in numbers.items() if math.isfinite(value)},
        "calibration": model.calibration_.tolist(),
        "has_names": hasattr(model, "feature_names_in_"),
    }
    if len(model.outcome_):
        weighted = model.weighted_rules_
        experts = RuleSet([o.rule for o in model.outcome_], weighted.space, weighted.classes)
        points = [float(o.points) for o in model.outcome_]
        training["experts"] = {"rules": experts.to_dict(), "points": points}
    document = {**write_weighted_document(model.weighted_rules_), "training": training}
    told = facts if facts is not None else getattr(model, "facts_", None)
    return {**document, "facts": dict(told)} if told else document


def model_document(model: Any) -> dict[str, Any]:
    """Put whatever decides by weighted rules into plain data for JSON."""
    if isinstance(model, RuleSVC):
        return write_rule_svc(model)
    weighted = read_weighted_rules(model)
    if weighted is None:
        raise InvalidValueError(
            f"{type(model).__name__} changes the table before its rules with points, which a file cannot keep; save "
            "its last step by itself"
        )
    return write_weighted_document(weighted)


# Stands for a parameter that is no plain data, such as a splitter.
_UNWRITTEN = object()


def _plain(value: Any) -> Any:
    """Return a parameter as plain data for JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return _UNWRITTEN
    if value is None or isinstance(value, bool | int | str | float):
        return value
    if isinstance(value, RuleSet):
        return value.to_text()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        plain = {name: _plain(entry) for name, entry in value.items()}
        return _UNWRITTEN if any(entry is _UNWRITTEN for entry in plain.values()) else plain
    return _UNWRITTEN


def read_rule_svc(data: object) -> RuleSVC:
    """Take a fitted machine out of the plain data of JSON."""
    weighted = read_weighted_document(data)
    assert isinstance(data, Mapping)
    training = data.get("training", {})
    with inside("'training'"):
        parameters, known = training.get("parameters", {}), RuleSVC().get_params(deep=False)
        for name in parameters:
            if name not in known:
                raise FileDamagedError(f"there is no parameter {name!r}")
        model = RuleSVC(**parameters)
        figures = {"vote_share": 0.0, **training.get("figures", {})}
        for name in _FIGURES:
            setattr(model, name, float(figures.get(name.removesuffix("_"), math.nan)))
        model.weighted_rules_, model.space_ = weighted, weighted.space
        model.classes_, model.n_features_in_ = np.array(weighted.classes), len(weighted.space)
        if training.get("has_names", True):
            model.feature_names_in_ = np.array(weighted.space.names, dtype=object)
        model.cv_results_ = {}
        # Without a calibration a probability is not known: each class is as probable as another.
        outputs = weighted.n_outputs
        given = training.get("calibration", [[0.0, 0.0]] * outputs)
        if len(given) != outputs or any(len(pair) != 2 or pair[0] < 0.0 for pair in given):
            raise FileDamagedError(
                f"'calibration' needs {outputs} pairs of a slope that is not negative and an offset"
            )
        model.calibration_ = np.array(given, dtype=float)
        experts = training.get("experts", {"rules": None, "points": []})
        rules = RuleSet.from_dict(experts["rules"]) if experts["rules"] is not None else ()
        if len(rules) != len(experts["points"]):
            raise FileDamagedError(
                f"{len(experts['points'])} points for {len(rules)} experts' rules"
            )
        model.outcome_ = RulesOutcome.of(rules, experts["points"], weighted.space)
    model.facts_ = dict(data.get("facts", {}))
    return model
