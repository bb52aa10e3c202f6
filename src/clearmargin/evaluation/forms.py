"""The forms in which a table can be learned: rules, rules with points, a scorecard, a tree; beside them a plain SVM.

A form is made of a task and has two methods: ``predict`` and ``scores``, a column for each class of the task. Nothing
else is known of it in cross-validation and in comparisons.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import PlaneOptions, encoder, train_plane
from clearmargin.recipes.unseen import inner_folds
from clearmargin.rules import RuleSet, RuleStats
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    from clearmargin.progress import Progress
    from clearmargin.tables.table import Table

# Rules on a page; features of the SVM that they describe, and so conditions of a rule; lines of a scorecard.
MAX_RULES, MAX_FEATURES, MAX_LINES, MAX_CONDITIONS = 15, 3, 20, 2
# Rules that cover a single row say nothing about others. To test them against chance as well would cost rules with a
# default class 1 to 2 points of accuracy: they describe the SVM, not the labels.
MIN_COVERAGE = 2
INNER_FOLDS = 5

FORMS = {
    "rules": "rules of a sparse linear SVM",
    "points": "rules with points",
    "scorecard": "a scorecard",
    "tree": "rules of a tree of SVMs",
}


class Form(Protocol):
    """What decides on rows."""

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `scores`."""

    def predict(self, X: Table, /) -> NDArray[Any]:
        """Predict the classes of rows that may have missing values."""

    def scores(self, X: Table, /) -> FloatArray:
        """Give a score for each row and class, or for the second of two classes."""


@dataclass(frozen=True, slots=True)
class FormOptions:
    """How forms are made."""

    max_rules: int | Literal["all"] | None = None
    max_conditions: int | None = None
    max_features: int | None = None
    disjoint: bool = True
    balanced: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """A fitted classifier, with what it needs in the place of missing values."""

    model: Any
    fill: Mapping[str, Any] | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """The classes that the classifier knows."""
        return np.asarray(self.model.classes_)

    def _taken(self, X: Table) -> Any:
        return (X if self.fill is None else X.filled(self.fill)).taken_by(self.model)

    def predict(self, X: Table) -> NDArray[Any]:
        """Ask the classifier."""
        return np.asarray(self.model.predict(self._taken(X)))

    def scores(self, X: Table) -> FloatArray:
        """Ask the classifier."""
        return np.asarray(self.model.decision_function(self._taken(X)), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Majority:
    """The most frequent class, for every row."""

    classes: NDArray[Any]
    label: Label

    @classmethod
    def of(cls, task: Task) -> Majority:
        """Count the classes."""
        labels, counts = np.unique(task.y, return_counts=True)
        return cls(labels, labels.tolist()[int(counts.argmax())])

    def predict(self, X: Table) -> NDArray[Any]:
        """Say the same of each row."""
        return np.full(len(X), self.label, dtype=self.classes.dtype)

    def scores(self, X: Table) -> FloatArray:
        """Rank no row before another."""
        return np.tile((self.classes == self.label).astype(np.float64), (len(X), 1))


@dataclass(slots=True, eq=False)
class RuleList:
    """Rules, and a default class for the rows that none of them covers.

    `reference` is what the rules describe, as a form: an SVM, or a tree of SVMs; `source` is what is saved.
    """

    rules: RuleSet
    default: Label
    shares: FloatArray
    classes: NDArray[Any]
    reference: Form
    source: Any
    read: Callable[[Table], Any] = field(default=lambda X: X)

    @classmethod
    def of(
        cls,
        task: Task,
        rules: RuleSet,
        reference: Form,
        source: Any,
        read: Callable[[Table], Any] = lambda X: X,
    ) -> RuleList:
        """Take the most frequent class among the rows outside of all rules as the default, and count each class.

        The shares of the classes where a rule decides, and outside, are the scores; a row of the overall shares is
        added to each, so that few rows do not count as certain.
        """
        labels, codes = np.unique(task.y, return_inverse=True)
        which = rules.which(read(rows_of(task))) if len(rules) else np.full(len(codes), -1)
        counts = np.zeros((len(rules) + 1, len(labels)))
        np.add.at(counts, (which + 1, codes.ravel()), 1)
        outside = counts[0] if counts[0].any() else counts.sum(axis=0)
        overall = counts.sum(axis=0) / len(codes)
        shares = (counts + overall) / (counts.sum(axis=1, keepdims=True) + 1)
        default = labels.tolist()[int(outside.argmax())]
        return cls(rules, default, shares, labels, reference, source, read)

    def count(self, counts: IntArray) -> None:
        """Keep with each rule what was counted on all rows of a table: rows, right ones, and those agreed on."""
        total = int(counts[:, 0].sum())
        known = [
            replace(rule, stats=RuleStats(total, *map(int, found)))
            for rule, found in zip(self.rules, counts, strict=False)
        ]
        self.rules = RuleSet(known, self.rules.space, self.rules.classes)
        if self.source is not None:
            self.source.rules_ = self.rules

    def which(self, X: Table) -> NDArray[Any]:
        """Give the number of the first rule that covers each row, -1 where none does."""
        number: NDArray[Any] = np.full(len(X), -1)
        return self.rules.which(self.read(X)) if len(self.rules) else number

    def predict(self, X: Table) -> NDArray[Any]:
        """Give each row the class of its rule, or the default class."""
        labels = [*(rule.label for rule in self.rules), self.default]
        predicted: NDArray[Any] = np.array(labels, dtype=self.classes.dtype)[self.which(X)]
        return predicted

    def scores(self, X: Table) -> FloatArray:
        """Give each row the shares of the classes among training rows of its rule."""
        scores: FloatArray = self.shares[self.which(X) + 1]
        return scores


def rows_of(task: Task) -> Table:
    """Give the rows of a task with their missing values."""
    return task.X if task.given is None else task.given


class Forms:
    """The forms of one task; what several of them need is trained once."""

    def __init__(
        self, task: Task, options: FormOptions | None = None, progress: Progress = False
    ) -> None:
        self.task, self.options, self.progress = task, options or FormOptions(), progress
        self._svm: Form | None = None

    def make(self, name: str) -> Form:
        """Make a form by its name: one of `FORMS`, "svm" or "majority"."""
        makers: dict[str, Callable[[], Form]] = {
            "rules": self._rules,
            "points": lambda: self._rules_with_points(MAX_RULES, None),
            "scorecard": lambda: self._rules_with_points(MAX_LINES, 1),
            "tree": self._tree,
            "svm": lambda: self.svm,
            "majority": lambda: Majority.of(self.task),
        }
        return makers[name]()

    @property
    def _weight(self) -> Literal["balanced"] | None:
        return "balanced" if self.options.balanced else None

    @property
    def svm(self) -> Form:
        """A sparse linear SVM; the majority class where every such SVM is constant."""
        if self._svm is None:
            features = min(MAX_FEATURES, self.options.max_conditions or MAX_FEATURES)
            plane = PlaneOptions(
                max_features=features, balanced=self.options.balanced, folds=INNER_FOLDS
            )
            try:
                trained = train_plane(self.task, plane)
                self._svm = Estimated(trained.model, self.task.fill)
            except DataError:
                self._svm = Majority.of(self.task)
        return self._svm

    def _rules(self) -> RuleList:
        svm, task = self.svm, self.task
        if isinstance(svm, Majority):
            empty = RuleSet([], rows_of(task).space(), np.unique(task.y).tolist())
            return RuleList.of(task, empty, svm, None)
        assert isinstance(svm, Estimated)
        return extracted_rules(task, svm, self.options, self.progress)

    def _most(self, otherwise: int) -> int:
        most = self.options.max_rules
        if most == "all":
            raise DataError("max_rules='all' is for rules of an SVM; give a number")
        return most or otherwise

    def _rules_with_points(self, max_rules: int, max_conditions: int | None) -> Estimated:
        from clearmargin.points import RuleSVC

        task = self.task
        model = RuleSVC(
            self._most(max_rules),
            points=True,
            class_weight=self._weight,
            cv=inner_folds(task, max(2, min(INNER_FOLDS, *task.counts.values()))),
            max_conditions=max_conditions or self.options.max_conditions or MAX_CONDITIONS,
            progress=self.progress,
        )
        return Estimated(model.fit(rows_of(task).taken_by(model), task.y))

    def _tree(self) -> RuleList:
        from clearmargin.svm_trees import SVMTreeClassifier

        task = self.task
        step = encoder(task, as_table=True).fit(task.X)
        fill = task.fill

        def read(X: Table) -> Any:
            return step.transform(X if fill is None else X.filled(fill))

        tree = SVMTreeClassifier(
            class_weight=self._weight, max_rules=self._most(MAX_RULES), random_state=0
        ).fit(step.transform(task.X), task.y)
        return RuleList.of(task, tree.rules_, Encoded(tree, read), tree, read)


def extracted_rules(
    task: Task, svm: Estimated, options: FormOptions, progress: Progress = False
) -> RuleList:
    """Extract proved rules of a linear SVM, class by class, the class of interest first."""
    from clearmargin.plane_rules import RuleExtractor

    most = (
        MAX_RULES if options.max_rules is None or options.max_rules == "all" else options.max_rules
    )
    extractor = RuleExtractor(
        svm.model,
        criterion="coverage",
        max_rules=None if options.max_rules == "all" or options.balanced else most,
        min_coverage=MIN_COVERAGE,
        max_features=options.max_features,
        disjoint=options.disjoint,
        progress=progress,
    ).fit(task.X, task.y)
    # Boxes on different sides of the SVM never meet, so that rules can stand class by class.
    found, order = extractor.rules_, list(task.counts)
    rules = list(found)
    if options.balanced and options.max_rules != "all":
        # A rule of a rare class covers few rows: what counts is its share of those that are predicted so.
        predicted = svm.predict(rows_of(task))
        reach = {label: max(int((predicted == label).sum()), 1) for label in order}
        rules.sort(key=lambda rule: -rule.stats.covered / reach[rule.label] if rule.stats else 0.0)
        rules = rules[:most]
    ordered = sorted(rules, key=lambda rule: order.index(rule.label))
    extractor.rules_ = RuleSet(ordered, found.space, found.classes)
    return RuleList.of(task, extractor.rules_, svm, extractor)


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A classifier of encoded rows."""

    model: Any
    read: Callable[[Table], Any]

    @property
    def classes(self) -> NDArray[Any]:
        """The classes that the classifier knows."""
        return np.asarray(self.model.classes_)

    def predict(self, X: Table) -> NDArray[Any]:
        """Ask the classifier."""
        return np.asarray(self.model.predict(self.read(X)))

    def scores(self, X: Table) -> FloatArray:
        """Ask the classifier."""
        return np.asarray(self.model.decision_function(self.read(X)), dtype=np.float64)


def make_quietly(forms: Forms, name: str) -> Form:
    """Make a form in a fold: what is doubtful is told of the model of all rows, and a failure is the majority class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return forms.make(name)
        except ClearmarginError:
            return Majority.of(forms.task)
