"""The parameters of an extraction, checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.plane_rules.class_rules import CRITERIA, ExtractionOptions
from clearmargin.rules.space import nearest_name

__all__ = ["check_fallback", "check_number_of_classes", "read_options"]


def read_options(extractor: Any) -> ExtractionOptions:
    """Read and check the parameters of a `RuleExtractor`.

    Parameters
    ----------
    extractor : RuleExtractor
        The estimator.

    Returns
    -------
    ExtractionOptions
        Its parameters.
    """
    if extractor.criterion not in CRITERIA:
        hint = nearest_name(str(extractor.criterion), CRITERIA)
        raise InvalidValueError(f"unknown criterion {extractor.criterion!r}{hint}")
    for name, optional in (
        ("max_depth", False),
        ("min_coverage", False),
        ("max_rules", True),
        ("max_conditions", True),
    ):
        _check_count(name, getattr(extractor, name), optional=optional)
    return ExtractionOptions(
        extractor.criterion,
        extractor.max_depth,
        extractor.min_coverage,
        extractor.max_rules,
        bool(extractor.disjoint),
        extractor.max_conditions,
        bool(extractor.tighten),
    )


def check_number_of_classes(n_classes: int, options: ExtractionOptions) -> None:
    """Refuse what only a model of two classes can give, instead of passing over it.

    Parameters
    ----------
    n_classes : int
        Number of classes of the model.
    options : ExtractionOptions
        The parameters.
    """
    if n_classes > 2 and (options.max_conditions is not None or not options.disjoint):
        raise InvalidValueError(
            f"max_conditions and disjoint=False are for models of two classes, and this one has {n_classes}; "
            "leave them at their defaults"
        )


def check_fallback(fallback: Any, classes: Any) -> None:
    """Insist that there is something to say where no rule fires.

    Parameters
    ----------
    fallback : Any
        The parameter of `RuleExtractor`.
    classes : ndarray
        The classes of the model.
    """
    known = ["estimator", "abstain", *classes.tolist()]
    if fallback not in known:
        hint = nearest_name(str(fallback), map(str, known))
        raise InvalidValueError(
            f"fallback must be 'estimator', 'abstain' or a class, not {fallback!r}{hint}"
        )


def _check_count(name: str, value: Any, *, optional: bool) -> None:
    if value is None and optional:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        none = " or None" if optional else ""
        why = "; with no cut there is no rule" if name == "max_depth" and value == 0 else ""
        raise InvalidValueError(f"{name} must be a whole number from 1{none}, not {value!r}{why}")
