"""Explain why a model gives a case its class, by a few conditions that are proved or measured.

*Proved*: under the conditions the model predicts the class for every case within the ranges of X. For linear machines
these are the fewest features that force the class (`plane_rules/sufficient_reasons.py`), for kernel machines as few as
a fixed amount of work proves (`kernel_rules/growth.py`).

*Measured*: under the conditions the model predicts the class for at least the requested share of the rows that were
searched, with the fewest conditions; then counted on rows that had no part in the search (`measured.py`).

``guarantee="auto"`` gives the proof where it has at most `max_conditions` conditions, or 3 where that is None, and
measures otherwise: nobody reads a proof of twenty conditions, nor waits for one: the work for the proof of a kernel
machine is limited. Of a linear machine it gives a longer proof, too, where what is measured takes as many conditions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from clearmargin.cases.measured import MeasuredRows
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.kernel_machine import KernelMachine, read_machine
from clearmargin.models.planes import Planes
from clearmargin.models.surface import Surface, read_surface
from clearmargin.plane_rules.sufficient_reasons import Reasons, ReasonSearch
from clearmargin.points.reading import scorecard_of
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.explanation import Explanation, imputed_values
from clearmargin.rule_base.options import Choice, Share, WholeNumber
from clearmargin.rule_base.training import decision_margins, taken_by
from clearmargin.rules import Box, FeatureSpace, Rule, RuleStats
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding, has_unknown_category
from clearmargin.tables.row_order import value_keys
from clearmargin.tables.table import ModelTable, Table, case_table, name_row

# A proof that is read; beyond, conditions are measured where the user leaves the choice.
_FEW_CONDITIONS = 3
# How much work the proof of a kernel machine may take, as `BoxGrowth` counts it: about a second where measuring is as
# good, a minute and a half where a proof is asked for.
_WORK = {"auto": 3e7, "proved": 3e9}
# Rows on which the coverage of a proof is counted at most, so that many cases stay quick.
_MOST_COUNTED = 500


def explain(
    model: Any,
    case: Any,
    X: Any,
    *,
    precision: float = 0.95,
    max_conditions: int | None = None,
    guarantee: str = "auto",
) -> Explanation:
    """Explain why a model gives a case its class, by a few conditions that are proved or measured.

    Parameters
    ----------
    model : fitted classifier
        Any with `predict`. Proofs need a linear or a kernel support vector machine, bare or at the end of a pipeline,
        or another linear classifier.
    case : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
        The case, for example ``X.iloc[0]``; by name in any order.
    X : data frame or array-like of shape (m, n)
        Rows as the model takes them, such as those that it was trained on: proofs are about cases within their ranges
        (of a saved model also within those that it was trained on), measured explanations are found on three quarters
        of them and counted on the others.
    precision : float, default 0.95
        For measured explanations: the share of the rows of the search under the conditions that have to get the class.
    max_conditions : int, optional
        The most features with a condition.
    guarantee : {"auto", "proved", "measured"}, default "auto"
        "auto": proved where the proof has at most `max_conditions` conditions (3 where that is None), else measured,
        unless that takes as many conditions as the proof of a linear machine. For a proof of a kernel machine about a
        second of work is done, with "proved" a hundred times as much.

    Returns
    -------
    Explanation
        It reads as sentences that say which of the two it is. `rule`, `guarantee`, `precision`, `precision_bound`,
        `coverage` and `is_fewest` are its parts; the last tells whether no fewer conditions are enough for sure. They
        are for two classes, and mostly for more; not where classes win by votes of pairs, nor of kernel machines. Of a
        model that adds up points, such as `RuleSVC`, `points` has all that adds up to the score.

    See Also
    --------
    explain_many : Explains many cases at once, in a fraction of the time for each.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from clearmargin import explain
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> why = explain(forest, X.iloc[0], X)
    >>> why.label, why.guarantee, why.n_conditions
    ('benign', 'measured', 2)
    """
    return _explained(model, case, X, (precision, max_conditions, guarantee), is_one=True)[0]


def explain_many(
    model: Any,
    cases: Any,
    X: Any,
    *,
    precision: float = 0.95,
    max_conditions: int | None = None,
    guarantee: str = "auto",
) -> list[Explanation]:
    """Explain why a model gives each of many cases its class; what all have in common is computed once.

    Parameters
    ----------
    model, X, precision, max_conditions, guarantee
        As for `explain`.
    cases : data frame or array-like of shape (k, n)
        The cases.

    Returns
    -------
    list of Explanation
        In the order of the cases.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from clearmargin import explain_many
    >>> from clearmargin.datasets import load_pima
    >>> X, y = load_pima(return_X_y=True)
    >>> X = X.fillna(X.mean())
    >>> model = LinearSVC(random_state=0).fit(X, y)
    >>> [each.guarantee for each in explain_many(model, X.iloc[:3], X, max_conditions=2)]
    ['measured', 'measured', 'measured']
    """
    return _explained(model, cases, X, (precision, max_conditions, guarantee), is_one=False)


def _explained(
    model: Any, cases: Any, X: Any, options: tuple[Any, Any, Any], *, is_one: bool
) -> list[Explanation]:
    """Read model, cases and rows, and explain the cases by proofs where there are some."""
    precision, max_conditions, guarantee = options
    if not hasattr(model, "predict"):
        raise InvalidValueError(
            f"{type(model).__name__} has no predict; pass a fitted classifier to be explained"
        )
    # What only has predict says nothing about itself.
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        raise InvalidValueError(
            f"{type(model).__name__} predicts numbers; pass a classifier, an explanation is of a class"
        )
    Share().check("precision", precision)
    if precision < 0.5:
        raise InvalidValueError(
            f"precision must be a number from 0.5 and below 1, such as 0.95, not {precision!r}; "
            "guarantee='proved' is for what holds always"
        )
    WholeNumber(optional=True).check("max_conditions", max_conditions)
    Choice("auto", "proved", "measured").check("guarantee", guarantee)
    model = _model_inside(model)
    rows = Table.read(X)
    if not len(rows):
        raise DataError(
            "X has no rows; pass the rows that the model was trained on, or others like them"
        )
    table = ModelTable.read(model, rows).table
    if is_one:
        categorical = [name for name in table.names if not table.column(name).has_number_type]
        cases = case_table(cases, table.names, many="explain_many", categorical=categorical)
    asked = ModelTable.read(model, Table.read(cases)).table
    explainer = _CaseExplainer(model, table, asked, precision, max_conditions, guarantee)
    machine = None if guarantee == "measured" else explainer.read_machine()
    if isinstance(machine, Surface):
        return explainer.by_planes(machine)
    if machine is not None:
        return [explainer.by_kernel(machine, k) for k in range(len(asked))]
    told = [explainer.measured(k) for k in range(len(asked))]
    card = scorecard_of(model)
    if card is None:
        return told
    cases_given = [asked.take(np.array([k])).given for k in range(len(asked))]
    explained = zip(told, cases_given, strict=True)
    return [replace(each, points=card.explain(given)) for each, given in explained]


def _model_inside(model: Any) -> Any:
    """Return the model that decides: that behind rules or a card which agree with it wherever they speak."""
    if isinstance(model, RuleBasedClassifier) and getattr(model, "fallback", None) == "estimator":
        proved = all(rule.proof == "proved" for rule in model.rules_)
        return model.estimator_ if proved else model
    # A card with proof asks its machine where nothing is proved; that of a distilled plane may contradict it.
    is_proof = getattr(model, "certify", False) and hasattr(model, "scorecard_")
    return model.estimator_ if is_proof and model.distillation_ is None else model


class _CaseExplainer:
    """What is common to the explanations of many cases of one model."""

    def __init__(
        self,
        model: Any,
        table: Table,
        cases: Table,
        precision: float,
        max_conditions: int | None,
        guarantee: str,
    ):
        self.model, self.table, self.cases = model, table, cases
        self.precision, self.max_conditions, self.guarantee = precision, max_conditions, guarantee
        # The most conditions that a proof may have; None for any number.
        self.most = max_conditions
        if guarantee == "auto" and max_conditions is None:
            self.most = _FEW_CONDITIONS
        answers = np.asarray(model.predict(taken_by(model, cases)))
        if answers.ndim != 1:
            raise DataError(
                f"{type(model).__name__} predicts {answers.shape[1]} labels a row; an explanation is of one class a row"
            )
        predicted = answers.tolist()
        if None in predicted:
            raise DataError(
                f"{name_row(predicted.index(None), cases)}: the model predicts no class for it, so that there is "
                "nothing to explain; `why` of the extractor tells why no rule covers it"
            )
        self.predicted = [as_label(label) for label in predicted]

    def read_machine(self) -> Surface | KernelMachine | None:
        """Read a machine that can be proved something about; None for another model where that is no error."""
        what: Exception = InvalidValueError(f"{type(self.model).__name__} is no estimator")
        # What only has predict cannot be read.
        for read in (read_surface, read_machine) if hasattr(self.model, "fit") else ():
            try:
                return read(self.model, self.table)
            except InvalidValueError as error:
                what = error
        if self.guarantee == "auto":
            return None
        raise InvalidValueError(
            f"guarantee='proved' needs a linear or a kernel support vector machine: {what}; guarantee='measured' "
            "explains any model"
        )

    @cached_property
    def _rows(self) -> MeasuredRows:
        return MeasuredRows.of(self.model, self.table)

    @cached_property
    def _points(self) -> FloatArray:
        """The cases as numbers and codes of categories, as the rows of the search have them."""
        return self.cases.points(self._rows.space)

    @cached_property
    def _margins(self) -> FloatArray:
        return decision_margins(self.model, self.cases)

    def measured(self, k: int, note: str = "") -> Explanation:
        """Find conditions for a case on some rows, and count them on others."""
        rows, case = self._rows, self._points[k]
        rule, found = rows.explain(case, self.predicted[k], self.precision, self.max_conditions)
        notes = [note] if note else []
        if not found.is_enough:
            seen = found.agreed + found.others
            notes.insert(
                0,
                f"The requested precision of {100 * self.precision:g} % was not reached: the model predicts it for "
                f"{found.agreed} of the {seen} rows of the search that it covers.",
            )
        return Explanation(
            "measured",
            rule,
            self.predicted[k],
            float(self._margins[k]),
            rows.space,
            case=_numbers_of(rows.space, case),
            notes=tuple(notes),
            # Where nothing was enough, nothing is said of how few conditions are.
            is_fewest=found.is_exact if found.is_enough else None,
        )

    def by_planes(self, surface: Surface) -> list[Explanation]:
        """Explain all cases by the fewest features that force their class, where these are few."""
        values = surface.read(self.cases)
        missing = surface.is_missing(self.cases)
        usable = np.isfinite(values[:, surface.needed_features()]).all(axis=1)
        usable &= ~has_unknown_category(surface, values)
        codes = np.array([surface.classes.index(label) for label in self.predicted], dtype=np.intp)
        ranges = surface.space
        if isinstance(self.model, Planes):
            ranges = _with_ranges_of(self.model.space, ranges)
        # Where a case is not usable its answer is not used.
        named = [j for j, known in enumerate(ranges.categories) if known is not None]
        filled = np.where(np.isnan(values), np.clip(0.0, ranges.lower, ranges.upper), values)
        filled[:, named] = np.maximum(filled[:, named], 0.0)
        reasons = ReasonSearch(surface, ranges).find(filled, codes)
        proved, sizes = reasons.is_proved & usable, reasons.n_conditions
        chosen = proved if self.most is None else proved & (sizes <= self.most)
        if self.guarantee == "proved" and not chosen.all():
            k = int(np.argmin(chosen))
            most = self.max_conditions
            why = f"needs {int(sizes[k])} conditions for a proof, and max_conditions={most}; raise it, or"
            if not usable[k]:
                why = (
                    "has a missing value that the model does not impute, or a category that it does not know, so that "
                    "nothing can be proved; correct it, or"
                )
            elif not proved[k]:
                why = "lies on the decision surface, or its class does not win all duels there: no proof is possible;"
            who = name_row(k, self.cases) if len(chosen) > 1 else "the case"
            raise DataError(f"{who} {why} use guarantee='measured'")
        counted = _counted_rows(surface, self.table)
        made = []
        for k in range(len(codes)):
            told = None if chosen[k] else self._measured_unless(k, reasons, bool(proved[k]))
            if told is None:
                box = reasons.box(k)
                told = self._sufficient(k, box, surface, values[k], missing[k], counted)
                told = replace(told, is_fewest=bool(reasons.is_fewest[k]))
            made.append(told)
        return made

    def _measured_unless(self, k: int, reasons: Reasons, is_proved: bool) -> Explanation | None:
        """Measure, and say what a proof would have taken; None where that is better."""
        if not is_proved:
            return self.measured(k)
        count = int(reasons.n_conditions[k])
        unless = ", unless fewer are enough, which was not ruled out"
        note = f"A proof takes {count} conditions{'' if reasons.is_fewest[k] else unless}."
        try:
            told = self.measured(k, note)
        except DataError:  # no row of X gets this class: a long proof is better than nothing
            return None
        # Who has to read as many conditions rather reads what holds always.
        return None if told.n_conditions >= count else told

    def by_kernel(self, machine: KernelMachine, k: int) -> Explanation:
        """Explain a case by few conditions that are proved with a fixed amount of work, else by measured ones."""
        from clearmargin.kernel_rules.growth import FEW_CONDITIONS_BUDGET, prove_few_conditions

        encoding, rows = machine.encoding, self.cases.take(np.array([k]))
        values = encoding.read(rows)[0]
        point = encoding.spread(values[None])[0]
        columns = encoding.columns
        ranges = np.minimum(columns.lower, point), np.maximum(columns.upper, point)
        proof = None
        why = "it has a missing value that the model does not impute, or an unknown category"
        if not np.isfinite([columns.lower, columns.upper]).all():
            why = "X has a column without any value, and so without a range to prove it for"
        elif np.isfinite(point).all() and not has_unknown_category(encoding, values[None])[0]:
            why = "it needs more conditions for a proof than are allowed, or more work than is done for one"
            work, budget = _WORK[self.guarantee], FEW_CONDITIONS_BUDGET
            try:
                proof = prove_few_conditions(
                    machine, point, ranges, encoding.space, most=self.most, budget=budget, work=work
                )
            except DataError as error:
                why = str(error)
        if proof is not None:
            missing, counted = encoding.is_missing(rows)[0], _counted_rows(encoding, self.table)
            made = self._sufficient(k, proof.conditions, encoding, values, missing, counted)
            # Where features could not be freed, no proof was found; that one is impossible was not shown.
            return replace(made, is_fewest=not made.n_conditions)
        if self.guarantee == "proved":
            raise DataError(
                f"{name_row(k, self.cases)}: no proof was found: {why}; raise max_conditions, or use "
                "guarantee='measured'"
            )
        return self.measured(k)

    def _sufficient(
        self,
        k: int,
        box: Box,
        encoding: Encoding,
        values: FloatArray,
        missing: BoolArray,
        counted: FloatArray,
    ) -> Explanation:
        """Put a proved box into words, with how many of some rows of X it covers."""
        label: Label = self.predicted[k]
        covered = int(box.contains(counted).sum())
        stats = RuleStats(len(counted), covered, agreed=covered)
        return Explanation(
            "sufficient",
            Rule(box, label, origin="extracted", proof="proved", stats=stats),
            label,
            float(self._margins[k]),
            encoding.space,
            imputed_values(encoding.space, missing) if missing.any() else (),
            _numbers_of(encoding.space, values),
        )


def _with_ranges_of(known: FeatureSpace, seen: FeatureSpace) -> FeatureSpace:
    """Give features with the ranges of rows, and of those that a saved model was trained on."""
    lower, upper, integer = seen.lower.copy(), seen.upper.copy(), seen.integer.copy()
    for j, name in enumerate(seen.names):
        if seen.categories[j] is None and name in known.names:
            k = known.index(name)
            # A model that was made by hand may know no ranges.
            if np.isfinite([known.lower[k], known.upper[k]]).all():
                lower[j], upper[j] = min(lower[j], known.lower[k]), max(upper[j], known.upper[k])
                integer[j] &= known.integer[k]
    return FeatureSpace(seen.names, lower, upper, integer, seen.categories)


def _counted_rows(encoding: Encoding, table: Table) -> FloatArray:
    """Give the rows that the coverage of a proof is counted on: all, or of many rows some, chosen by their keys."""
    values = encoding.read(table)
    if len(values) <= _MOST_COUNTED:
        return values
    keys = value_keys(encoding.space, values)
    return np.asarray(values[np.argsort(keys, kind="stable")[:_MOST_COUNTED]])


def _numbers_of(space: FeatureSpace, case: FloatArray) -> tuple[float, ...]:
    """Give the numbers of a case, NaN for categories: what the text may not round beyond."""
    named = [categories is not None for categories in space.categories]
    return tuple(np.where(named, np.nan, case).tolist())
