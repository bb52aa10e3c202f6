"""Estimators given a table that may be larger than memory: fitted to a sample of it, and counted on all of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, has_fit_parameter

from clearmargin.exceptions import DataError
from clearmargin.rules import RuleSet
from clearmargin.rules.value import FloatArray
from clearmargin.tables.part_survey import TableParts, TableSurvey
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.table_part import TablePart

F = TypeVar("F", bound=Callable[..., Any])

# Rows of a sample at most, unless an estimator has a `_most_sampled_rows` of its own.
SAMPLE_ROWS = 100_000


def fits_a_sample(fit: F) -> F:
    """Decorate a `fit` that reads tables in memory, so that it takes a table in partitions, too.

    One sample is drawn over the whole table. Where `fit` takes weights, rare classes may take up to half of it, and its
    rows weigh as much as all rows of their class; else classes are drawn in proportion. `_count_on_all` then counts.
    """

    @wraps(fit)
    def fit_any(self: Any, X: Any, y: Any = None, *args: Any, **params: Any) -> Any:
        if not is_partitions(X):
            fit(self, X, y, *args, **params)
            self.n_rows_ = self.n_sampled_rows_ = int(_num_samples(X))
            return self
        for name, value in {"y": y, "sample_weight": args or None, **params}.items():
            if value is not None:
                raise DataError(
                    f"{name} must be left out where the table is given in partitions: what is known of its rows is in "
                    "the table, scan(path, target='y')"
                )
        survey = X.survey()
        survey.check_target()
        survey.check_weights()
        weighs = has_fit_parameter(self, "sample_weight")
        most = getattr(self, "_most_sampled_rows", SAMPLE_ROWS)
        sample = X.sample_with_ends(most, rare=0.5 if weighs else 0.0)
        is_whole = len(sample.rows) == survey.n_rows
        labels = sample.values(X.target)
        if survey.label_type is not None:
            labels = labels.astype(survey.label_type)
        takes = signature(fit).parameters.values()
        if X.weight is not None and not any(
            each.name == "sample_weight" or each.kind == each.VAR_KEYWORD for each in takes
        ):
            raise DataError(f"{type(self).__name__} has no use for sample_weight; leave it out")
        if X.weight is not None or (weighs and not is_whole):
            params["sample_weight"] = _weights(
                sample, X.weight, labels, None if is_whole else survey
            )
        fit(self, sample.table(X.names), labels, **params)
        self.n_rows_, self.n_sampled_rows_ = survey.n_rows, len(sample.rows)
        if not is_whole and hasattr(self, "_count_on_all"):
            self._drawn_rows = sample.rows
            self._count_on_all(X)
            del self._drawn_rows
        return self

    return cast("F", fit_any)


def _weights(
    sample: TablePart, column: str | None, labels: NDArray[Any], survey: TableSurvey | None
) -> FloatArray:
    """Give the weights of rows; with a survey, those of each class have the sum of all rows of the class."""
    weight = np.ones(len(labels)) if column is None else sample.numbers([column])[:, 0]
    for known in () if survey is None else zip(survey.labels, survey.class_weights, strict=True):
        weight[labels == known[0]] *= known[1] / (weight[labels == known[0]].sum() or 1.0)
    return weight


def counted_on_all(rules: RuleSet, parts: TableParts, model: Any = None) -> RuleSet:
    """Give rules with the counts of all rows of a table in partitions, block by block."""
    if not len(rules):
        return rules
    counts = rules.score(parts, model=model).rules
    known = [replace(rule, stats=stats) for rule, stats in zip(rules, counts, strict=True)]
    return RuleSet(known, rules.space, rules.classes)
