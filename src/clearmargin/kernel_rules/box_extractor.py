"""The base of the extractors that search for boxes of any model: kernel machines and surrogates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.growth import prove_around
from clearmargin.models.affine_steps import imputed_space
from clearmargin.progress import all_or_nothing
from clearmargin.rule_base.base import ModelRules
from clearmargin.rule_base.box_choice import nearest_box
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, RuleBoxes, make_rules
from clearmargin.rule_base.training import default_kernel_machine
from clearmargin.rules import Rule
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Decoding, Encoding, column_encoding
from clearmargin.tables.sampled_fit import fits_a_sample
from clearmargin.tables.table import as_given, name_row, read_frame


class BoxExtractor(ModelRules):
    """Base of the extractors that find boxes and put them in order: the first rule that covers a row decides."""

    _most_sampled_rows = 10_000
    _fallbacks: ClassVar[tuple[str, ...]] = ("nearest", *ModelRules._fallbacks)

    @all_or_nothing
    @fits_a_sample
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table, as the model takes it, or what `clearmargin.scan` gives, with its classes: of more than 10,000
            rows a sample is taken (`n_sampled_rows_`), and the rules are counted on all rows.
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
        return default_kernel_machine()

    def _read_encoding(self, X: Any) -> Encoding:
        return column_encoding(imputed_space(self.estimator_, X))

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
            data.predicted,
            check_random_state(getattr(self, "random_state", None)),
        )

    def _keep(self, task: ExtractionTask, found: FoundBoxes) -> None:
        """Turn boxes into rules, and keep what is needed to predict and to explain."""
        made: RuleBoxes = make_rules(task, found, self.min_coverage, self.max_rules)
        self.rules_, self.budget_ = made.rules, made.budget
        self.space_ = task.encoding.space
        self._boxes, self._codes = made.boxes, made.codes
        self._reach = task.upper - task.lower

    def _decide(self, X: Any) -> tuple[IntArray, IntArray]:
        which, codes = self.which(X), self._codes
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
        return nearest_box(points[bare], self._boxes, self._reach)

    def _explain_uncovered(
        self, X: Any, cases: FloatArray, rows: IntArray
    ) -> Iterator[tuple[str, Rule, bool | None]]:
        if self.fallback == "nearest":
            for k in nearest_box(cases[rows], self._boxes, self._reach).tolist():
                yield "nearest", self.rules_[k], None
            return
        for row in rows.tolist():
            case = _safe_indexing(as_given(X), [row])
            try:
                box = prove_around(self.estimator_, case, self.space_, few=True).conditions
            except InvalidValueError as error:
                raise InvalidValueError(
                    f"no rule covers the case, and nothing can be proved of it: {error}. clearmargin.explain measures "
                    "what goes with a class, and fallback='nearest' explains by the nearest rule"
                ) from None
            (label,) = np.asarray(self.estimator_.predict(case)).tolist()
            # Where features could not be freed, no proof was found; that one is impossible was not shown.
            rule = Rule(box, as_label(label), origin="extracted", proof="proved")
            yield "sufficient", rule, not box.bounded
