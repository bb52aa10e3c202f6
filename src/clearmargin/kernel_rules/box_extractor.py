"""The base of the extractors that search for boxes of any model: kernel machines and surrogates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import _safe_indexing, check_random_state

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.growth import grow_box, prove_around
from clearmargin.rule_base.base import ModelRules
from clearmargin.rule_base.box_distance import nearest_box
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, RuleBoxes, make_rules
from clearmargin.rule_base.explanation import (
    Explanation,
    case_values,
    imputed_values,
    weighted_confidence,
)
from clearmargin.rule_base.options import Choice, Option
from clearmargin.rule_base.simplify import to_encoded_bounds
from clearmargin.rule_base.training import decision_margins
from clearmargin.rules import Box, Rule
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Decoding, Encoding, column_encoding
from clearmargin.tables.table import Table, as_given, name_row, read_frame

__all__ = ["BoxExtractor"]

_KINDS = ("rule", "grown", "sufficient")


class BoxExtractor(ModelRules):
    """Base of the extractors that find boxes and put them in order: the first rule that covers a row decides.

    A subclass finds the boxes. Beside the parameters of `ModelRules` it has one more.

    Parameters
    ----------
    by : {"model", "labels"}
        Which classes rules should give the training rows: those that the model predicts, or the labels.
    """

    by: str

    _options: ClassVar[Mapping[str, Option]] = {
        "by": Choice("model", "labels"),
        **ModelRules._options,
    }
    _fallbacks: ClassVar[tuple[str, ...]] = ("nearest", *ModelRules._fallbacks)

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table, as the model takes it.
        y : array-like of shape (m,)
            The classes.
        **params : dict
            More arguments of the model's `fit`, where it is to be trained.

        Returns
        -------
        BoxExtractor
            The fitted extractor.
        """
        self._check_options()
        X = read_frame(X)
        labels = self._train(X, y, params)
        self._note_features(X)
        task = self._read_task(X, labels)
        found = self._find_boxes(task, X)
        self._keep(task, found)
        return self

    @abstractmethod
    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        """Find the boxes of all classes."""

    def _default_model(self) -> Any:
        return make_pipeline(StandardScaler(), SVC())

    def _read_encoding(self, X: Any) -> Encoding:
        return column_encoding(Table.read(X).space())

    def _read_task(self, X: Any, labels: NDArray[Any]) -> ExtractionTask:
        encoding = self._read_encoding(X)
        data = self._read_points(X, labels, encoding)
        return ExtractionTask(
            data.points,
            data.true,
            data.predicted,
            self.estimator_,
            encoding,
            Decoding.of(X, encoding),
            tuple(as_label(label) for label in self.classes_.tolist()),
            data.predicted if self.by == "model" else data.true,
            check_random_state(getattr(self, "random_state", None)),
        )

    def _keep(self, task: ExtractionTask, found: FoundBoxes) -> None:
        """Turn boxes into rules, and keep what is needed to predict and to explain."""
        made: RuleBoxes = make_rules(task, found, self.min_coverage, self.max_rules)
        self.rules_, self._dropped, self.budget_ = made.rules, made.dropped, made.budget
        self.space_ = task.encoding.space
        self._boxes, self._codes = made.boxes, made.codes
        self._reach = task.upper - task.lower
        self._reference = task.sample()

    def _decide(self, X: Any) -> tuple[IntArray, IntArray]:
        which, codes = self._deciders(X)
        points = self._encoding.encode(X)
        unusable = np.isinf(points).any(axis=1)
        if self.fallback in ("nearest", "estimator"):
            # These need all values, and raise for a row that lacks one, as scikit-learn asks of its estimators.
            unusable |= np.isnan(points).any(axis=1)
        which = np.where(unusable, -1, which)
        bare = which < 0
        if self.fallback == "nearest" and bare.any():
            which[bare] = self._nearest(X, points, bare)
        return which, codes

    def _deciders(self, X: Any) -> tuple[IntArray, IntArray]:
        """Tell which rule (or other decider) each row falls to, -1 for none, and the class of each decider."""
        return self.which(X), self._codes

    def _closest(self, points: FloatArray) -> IntArray:
        """Give the decider nearest to each point."""
        return nearest_box(points, self._boxes, self._reach)

    def _nearest(self, X: Any, points: FloatArray, bare: BoolArray) -> IntArray:
        """Give the rule nearest to each row that no rule covers; distances count in shares of the features' ranges."""
        unknown = ~np.isfinite(points) & bare[:, None]
        if unknown.any():
            row = int(np.argmax(unknown.any(axis=1)))
            column = int(np.argmax(unknown[row]))
            raise DataError(
                f"{name_row(row, X)} has a missing value (NaN) or infinity in column "
                f"{self._encoding.columns.names[column]!r}, and no rule is nearest to it; fill it, or take "
                "fallback='abstain'"
            )
        return self._closest(points[bare])

    def explain_many(
        self, X: Any, kind: str = "rule", *, weights: Mapping[str, float] | None = None
    ) -> Sequence[Explanation]:
        """Explain the class of each row by a rule.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.
        kind : {"rule", "grown", "sufficient"}, default "rule"
            "rule": the first rule that covers the case; where none does, the nearest one with `fallback="nearest"`,
            else as for "grown". "grown": a box around the case in which a kernel machine is proved to predict the
            same class everywhere (see `grow_box`). "sufficient": few conditions under which it is proved to do so for
            every case within the ranges, as `clearmargin.explain` gives them.
        weights : mapping from part to float, optional
            How much the parts of the confidence, "coverage" and "purity", count; one that is not named has weight 1.

        Returns
        -------
        list of Explanation
            One a row.
        """
        if kind not in _KINDS:
            raise InvalidValueError(
                f"kind must be one of {', '.join(map(repr, _KINDS))}, not {kind!r}; the boxes of a plane, such as "
                "'largest', are those of RuleExtractor"
            )
        X = read_frame(X)
        which = self.which(X)
        cases = self._read_cases(X)
        kinds = np.where(which >= 0, "rule", "nearest" if self.fallback == "nearest" else "grown")
        if kind != "rule":
            kinds = np.full(len(which), kind)
        else:
            self._check_explained_by_rules()
            near = kinds == "nearest"
            which[near] = self._closest(cases[near])
        rules = [
            self._proved_rule(_safe_indexing(as_given(X), [k]), how)
            if how in ("grown", "sufficient")
            else self.rules_[which[k]]
            for k, how in enumerate(kinds.tolist())
        ]
        return self._explanations(X, cases, kinds.tolist(), rules, weights)

    def _check_explained_by_rules(self) -> None:
        """Raise if something else than `rules_` decides."""

    def _proved_rule(self, row: Any, kind: str) -> Rule:
        """Make a rule of a proved box around a case: a large one, or one of few conditions."""
        try:
            if kind == "grown":
                box = grow_box(self.estimator_, row, space=self.space_)
            else:
                box = prove_around(self.estimator_, row, self.space_, few=True).conditions
        except InvalidValueError as error:
            if kind == "sufficient":
                raise InvalidValueError(
                    f"nothing can be proved of the case: {error}. clearmargin.explain measures what goes with a class"
                ) from None
            raise InvalidValueError(
                f"no rule covers the case, and no box can be grown around it: {error}. fallback='nearest' explains "
                "by the nearest rule"
            ) from None
        (label,) = np.asarray(self.estimator_.predict(row)).tolist()
        return Rule(box, as_label(label), origin="extracted", proof="proved")

    def _explanations(
        self,
        X: Any,
        cases: FloatArray,
        kinds: Sequence[str],
        rules: Sequence[Rule],
        weights: Mapping[str, float] | None,
    ) -> list[Explanation]:
        place = {as_label(label): k for k, label in enumerate(self.classes_.tolist())}
        codes = np.array([place[rule.label] for rule in rules], dtype=np.intp)
        boxes = [rule.region for rule in rules if isinstance(rule.region, Box)]
        bounds = [to_encoded_bounds(box, self._encoding) for box in boxes]
        seen = self._reference.points
        inside = np.array([((seen >= low) & (seen <= high)).all(axis=1) for low, high in bounds])
        coverage, purity = self._reference.measure(inside.reshape(len(rules), len(seen)), codes)
        confidence = weighted_confidence({"coverage": coverage, "purity": purity}, weights)
        margins, missing = decision_margins(self.estimator_, X), self._encoding.is_missing(X)
        return [
            Explanation(
                kinds[k],
                rule,
                rule.label,
                float(margins[k]),
                float(confidence[k]),
                {"coverage": float(coverage[k]), "purity": float(purity[k])},
                self.space_,
                imputed_values(self.space_, missing[k]),
                case_values(self._encoding, cases[k]),
                dict(weights or {}),
                # Where features could not be freed, no proof was found; that one is impossible was not shown.
                is_fewest=not len(rule.region.bounded) if kinds[k] == "sufficient" else None,
            )
            for k, rule in enumerate(rules)
        ]
