"""Saving and loading models."""

from __future__ import annotations

import json
import os
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from clearmargin.exceptions import (
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
    NotLinearError,
)
from clearmargin.models.fitted import innermost, is_fitted, wrapped_layers
from clearmargin.models.model_document import check_model_name, load_planes, write_model
from clearmargin.models.plane import PlaneClassifier
from clearmargin.models.plane_model import PlaneModel
from clearmargin.models.planes import Planes
from clearmargin.models.proofs import DECLARED_RANGES
from clearmargin.models.threshold import find_threshold
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.file_writing import json_text, read_json, write_text_atomically
from clearmargin.rules.rule import as_label


def save_model(
    model: Any, path: str | os.PathLike[str], *, X: Any = None, overwrite: bool = False
) -> Path:
    """Write a trained model, linear or over rules, to a JSON file.

    Parameters
    ----------
    model : PlaneModel, LPSVC, AdviceSVC, RuleExtractor, RuleSVC or other linear classifier
        Fitted. An extractor is saved with its model and its rules, an `AdviceSVC` with its advice before and after, a
        `RuleSVC` with its rules and their weights.
    path : path
        The file; its name ends in .json.
    X : data frame or array-like of shape (m, n), optional
        The table that the model was trained on, for the ranges and categories of its features. A classifier at the end
        of a pipeline cannot be saved without it.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The file written, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from clearmargin import LPSVC
    >>> svm = LPSVC().fit([[1.0], [2.0], [5.0], [6.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_model(save_model(svm, f"{folder}/svm.json")).predict([[1.5], [7.0]]).tolist()
    ['low', 'high']
    """
    target = check_model_name(path)
    if _decides_by_points(model):
        # Upwards: whoever saves such a model has loaded the room that it comes from.
        from clearmargin.points.saving import model_document

        return write_text_atomically(target, json_text(model_document(model)), overwrite=overwrite)
    plain = model if X is None or isinstance(model, PlaneModel) else _with_table(model, X)
    text = json_text(write_model(_as_plane_model(plain)))
    return write_text_atomically(target, text, overwrite=overwrite)


def _decides_by_points(model: Any) -> bool:
    """Check whether a model, or what is inside a threshold around it, decides by a scorecard."""
    inside = list(wrapped_layers(model))[-1]
    return hasattr(inside, "scorecard_") or hasattr(inside, "with_threshold")


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model from a JSON file. Nothing in it is run.

    Parameters
    ----------
    path : path
        What `save_model` wrote.

    Returns
    -------
    PlaneModel or RuleSVC
        A classifier that predicts; from a `PlaneModel`, `RuleExtractor` extracts rules.

    Examples
    --------
    >>> load_model("no-such-model.json")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    data = read_json(check_model_name(path))
    # The second format is that of scorecards before there was one for all models.
    is_old = isinstance(data, dict) and data.get("format") == "clearmargin-weighted-rules"
    if is_old or (isinstance(data, dict) and data.get("decides") == "sum"):
        from clearmargin.points.saving import read_rule_svc

        try:
            return read_rule_svc(data)
        except (FileDamagedError, FileTooNewError) as error:
            raise type(error)(f"{path}: {error}") from error
    return PlaneModel.of_planes(load_planes(path))


def _with_table(model: Any, X: Any) -> PlaneModel:
    if hasattr(model, "surface_"):
        return _as_plane_model(model)
    last = model[-1] if hasattr(model, "steps") else model
    try:
        return PlaneModel.from_estimator(
            model,
            X,
            advice=_advice_of(last),
            facts={"trained_by": type(innermost(model)).__name__, **_threshold_fact(model)},
        )
    except NotLinearError as error:
        raise InvalidValueError(
            f"{error.problem}; a model file holds planes, so that only linear models can be saved. joblib.dump keeps "
            "others, and the rules of any can be saved with rules_.save"
        ) from None


def _threshold_fact(model: Any) -> dict[str, str]:
    threshold = find_threshold(model)
    return {} if threshold is None else {"threshold": str(threshold)}


def _advice_of(model: Any) -> tuple[RuleSet, RuleSet] | None:
    """Return the advice of a model before and after, if it was trained with any."""
    return (model.advice_, model.refined_) if hasattr(model, "refined_") else None


@singledispatch
def _as_plane_model(model: Any) -> PlaneModel:
    _check_fitted(model)
    # An extractor of rules keeps the surface that it read from its model.
    if hasattr(model, "surface_"):
        return _with_rules(model)
    raise InvalidValueError(
        f"{type(model).__name__} cannot be saved by itself; pass the table it was trained on: "
        "save_model(model, path, X=X)"
    )


@_as_plane_model.register(Planes)
def _(model: Planes) -> PlaneModel:
    return model if isinstance(model, PlaneModel) else PlaneModel.of_planes(model)


@_as_plane_model.register(PlaneClassifier)
def _(model: PlaneClassifier) -> PlaneModel:
    _check_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    count = model.n_features_in_
    space = FeatureSpace([f"x{j}" for j in range(count)] if names is None else map(str, names))
    if hasattr(model, "encoding_"):
        read = model.encoding_.space
        space = FeatureSpace(read.names, categories=read.categories).with_fill(read.fill)
    return PlaneModel(
        RuleSet([], space, [as_label(label) for label in model.classes_]),
        model.coef_,
        model.intercept_,
        advice=_advice_of(model),
        facts={"trained_by": type(model).__name__},
    )


def _with_rules(model: Any) -> PlaneModel:
    inner = model.estimator_
    facts: dict[str, Any] = {"trained_by": type(inner).__name__, **_threshold_fact(inner)}
    declared = {
        end: [model.space_.names[j] for j in np.flatnonzero(is_declared)]
        for end, is_declared in zip(("lower", "upper"), model._declared, strict=True)
    }
    extraction = {
        "criterion": str(model.criterion),
        DECLARED_RANGES: json.dumps(declared, ensure_ascii=False),
    }
    facts.update(extraction)
    more: dict[str, Any] = {"facts": facts}
    if isinstance(inner, PlaneModel):
        facts.update({**(inner.facts or {}), **extraction})
        more.update(advice=inner.advice, fill=inner.fill)
    # The rules may be those of a plane that stands in for the model; what is saved is the model.
    return PlaneModel._of_surface(model._model_surface, model.rules_, None, more)


def _check_fitted(model: Any) -> None:
    if not is_fitted(model):
        raise InvalidValueError(f"{type(model).__name__} is not fitted; train it before saving it")
