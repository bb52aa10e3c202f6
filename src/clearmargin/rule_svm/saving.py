"""A fitted `RuleSVC` as a file: its weighted rules, and beside them how they were found. Nothing in a file is run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from clearmargin.exceptions import FileDamagedError, InvalidValueError
from clearmargin.rule_svm.outcome import RulesOutcome
from clearmargin.rule_svm.reading import read_weighted_rules
from clearmargin.rule_svm.rule_svc import RuleSVC
from clearmargin.rule_svm.weighted_document import (
    read_weighted_document,
    write_weighted_document,
)
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules import RuleSet
from clearmargin.rules.json_schema import inside

__all__ = ["model_document", "read_rule_svc", "write_rule_svc"]

# Numbers that a fitted machine knows; those that are no number are left out.
_FIGURES = (
    "C_",
    "objective_",
    "gap_",
    "cap_cost_",
    "refit_C_",
    "cv_score_",
    "n_iter_",
    "vote_share_",
)


def write_rule_svc(model: RuleSVC, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Put a fitted machine into plain data for JSON.

    Parameters
    ----------
    model : RuleSVC
        Fitted.
    facts : mapping, optional
        Where it comes from, for people.

    Returns
    -------
    dict
        A document of weighted rules, with `training`.

    Examples
    --------
    >>> svm = RuleSVC(max_rules=1, cv=2, certify=False).fit([[1.0], [2.0], [5.0], [6.0]] * 3, ["a", "a", "b", "b"] * 3)
    >>> read_rule_svc(write_rule_svc(svm)).weighted_rules_ == svm.weighted_rules_
    True
    """
    numbers = {name.removesuffix("_"): float(getattr(model, name)) for name in _FIGURES}
    training: dict[str, Any] = {
        "trained_by": type(model).__name__,
        "parameters": {
            name: value
            for name, value in ((n, _plain(v)) for n, v in model.get_params(deep=False).items())
            if value is not _UNWRITTEN
        },
        "figures": {name: value for name, value in numbers.items() if math.isfinite(value)},
        "loss": str(model.loss_),
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
    """Put whatever decides by weighted rules into plain data for JSON.

    Parameters
    ----------
    model : RuleSVC, WeightedRules, or a threshold around a RuleSVC
        Fitted. A threshold is kept, and how the rules were found is not.

    Returns
    -------
    dict
        What `read_rule_svc` reads.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill", classes=["well", "ill"])
    >>> model_document(WeightedRules(rules, [2.0], -0.5))["threshold"]
    0.0
    """
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
    """Take a fitted machine out of the plain data of JSON.

    Parameters
    ----------
    data : mapping
        What `write_rule_svc` made, possibly by way of a file. Weighted rules without `training` make a machine that
        predicts, and has no probabilities.

    Returns
    -------
    RuleSVC
        Fitted. What cross-validation tried is not kept, and neither is a parameter that was no plain data.

    Examples
    --------
    >>> read_rule_svc({"format": "clearmargin-rules"})
    Traceback (most recent call last):
    clearmargin.exceptions.FileDamagedError: these are no clearmargin weighted rules: ...
    """
    weighted = read_weighted_document(data)
    assert isinstance(data, Mapping)
    training = data.get("training", {})
    with inside("'training'"):
        model = _made(training.get("parameters", {}))
        _fill(model, weighted, training)
    model.facts_ = dict(data.get("facts", {}))
    return model


def _made(parameters: Mapping[str, Any]) -> RuleSVC:
    known = RuleSVC().get_params(deep=False)
    for name in parameters:
        if name not in known:
            raise FileDamagedError(f"there is no parameter {name!r}")
    return RuleSVC(**parameters)


def _fill(model: RuleSVC, weighted: WeightedRules, training: Mapping[str, Any]) -> None:
    figures = training.get("figures", {})
    for name in _FIGURES:
        setattr(model, name, float(figures.get(name.removesuffix("_"), math.nan)))
    model.n_iter_ = int(figures.get("n_iter", 0))
    model.vote_share_ = float(figures.get("vote_share", 0.0))
    model.weighted_rules_ = weighted
    model.space_ = weighted.space
    model.classes_ = np.array(weighted.classes)
    model.n_features_in_ = len(weighted.space)
    if training.get("has_names", True):
        model.feature_names_in_ = np.array(weighted.space.names, dtype=object)
    model.loss_ = training.get("loss", "")
    model.cv_results_ = {}
    # Without a calibration a probability is not known: each class is as probable as another.
    model.calibration_ = _calibration(training, weighted.n_outputs)
    experts = training.get("experts")
    model.outcome_ = RulesOutcome(())
    if experts is not None:
        rules = RuleSet.from_dict(experts["rules"])
        if len(rules) != len(experts["points"]):
            raise FileDamagedError(
                f"{len(experts['points'])} points for {len(rules)} experts' rules"
            )
        model.outcome_ = RulesOutcome.of(rules, experts["points"], weighted.space)


def _calibration(training: Mapping[str, Any], outputs: int) -> Any:
    given = training.get("calibration", [[0.0, 0.0]] * outputs)
    if len(given) != outputs or any(len(pair) != 2 for pair in given):
        raise FileDamagedError(f"'calibration' needs {outputs} pairs of slope and offset")
    return np.array(given, dtype=float)
