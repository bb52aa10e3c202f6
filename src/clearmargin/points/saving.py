"""A fitted `RuleSVC` as a file: its scorecard, and beside it how it was found. Nothing in a file is run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.model_document import read_rules
from clearmargin.points.document import (
    read_scorecard,
    write_scorecard,
)
from clearmargin.points.outcome import RulesOutcome
from clearmargin.points.reading import scorecard_of
from clearmargin.points.rule_svc import RuleSVC
from clearmargin.rules import RuleSet
from clearmargin.rules.document import Part, optional

# Parameters that there were once, in documents that are still read.
_RETIRED = ("C", "max_bins")
# Numbers that a fitted machine knows, and what stands for those that are left out.
_FIGURES = {"C_": math.nan, "cv_score_": math.nan, "vote_share_": 0.0}


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
        weighted = model.scorecard_
        experts = RuleSet([o.rule for o in model.outcome_], weighted.space, weighted.classes)
        points = [float(o.points) for o in model.outcome_]
        training["experts"] = {"rules": experts.to_dict(), "points": points}
    document = {**write_scorecard(model.scorecard_), "training": training}
    told = facts if facts is not None else getattr(model, "facts_", None)
    return {**document, "facts": dict(told)} if told else document


def model_document(model: Any) -> dict[str, Any]:
    """Put whatever decides by a scorecard into plain data for JSON."""
    if isinstance(model, RuleSVC):
        return write_rule_svc(model)
    weighted = scorecard_of(model)
    if weighted is None:
        raise InvalidValueError(
            f"{type(model).__name__} changes the table before its rules with points, which a file cannot keep; save "
            "its last step by itself"
        )
    return write_scorecard(weighted)


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
    weighted = read_scorecard(data)
    document = Part(data).entries()
    entry = optional(document, "training", _read_training, {})
    model = RuleSVC(**optional(entry, "parameters", _read_parameters, {}))
    figures = {key: f.number() for key, f in optional(entry, "figures", Part.entries, {}).items()}
    for name, unknown in _FIGURES.items():
        setattr(model, name, figures.get(name.removesuffix("_"), unknown))
    model.scorecard_, model.space_ = weighted, weighted.space
    model.classes_, model.n_features_in_ = np.array(weighted.classes), len(weighted.space)
    if optional(entry, "has_names", Part.flag, True):
        model.feature_names_in_ = np.array(weighted.space.names, dtype=object)
    model.cv_results_ = {}
    # Without a calibration a probability is not known: each class is as probable as another.
    outputs = weighted.n_outputs
    calibration = optional(entry, "calibration", _read_calibration, [[0.0, 0.0]] * outputs)
    if len(calibration) != outputs:
        raise entry["calibration"].error(f"must be {outputs} pairs, not {len(calibration)}")
    model.calibration_ = np.array(calibration, dtype=float)
    rules, points = optional(entry, "experts", _read_experts, ((), []))
    model.outcome_ = RulesOutcome.of(rules, points, weighted.space)
    model.facts_ = {
        key: fact.data for key, fact in optional(document, "facts", Part.entries, {}).items()
    }
    return model


def _read_training(part: Part) -> dict[str, Part]:
    entry = part.record("trained_by parameters figures calibration", "has_names experts")
    entry["trained_by"].one_of(("RuleSVC",))
    return entry


def _read_parameters(part: Part) -> dict[str, Any]:
    known = RuleSVC().get_params(deep=False)
    for name, value in part.entries().items():
        if name not in known and name not in _RETIRED:
            raise value.error("is no parameter of RuleSVC")
    return {name: value for name, value in part.data.items() if name in known}


def _read_calibration(part: Part) -> list[list[float]]:
    pairs = []
    for pair in part.items("score", least=1):
        pairs.append([number.number() for number in pair.items("number")])
        if len(pairs[-1]) != 2 or pairs[-1][0] < 0.0:
            raise part.error("must have pairs of a slope that is not negative and an offset")
    return pairs


def _read_experts(part: Part) -> tuple[RuleSet, list[float]]:
    entry = part.record("rules points")
    rules = read_rules(entry["rules"])
    points = [number.number() for number in entry["points"].items("points")]
    if len(rules) != len(points):
        raise part.error(f"has {len(points)} points for {len(rules)} rules")
    return rules, points
