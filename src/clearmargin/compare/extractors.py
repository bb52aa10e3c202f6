"""What the rules of several extractors are worth on rows that neither they nor the model have seen.

`compare_extractors` measures them fold by fold; an `ExtractorComparison` has the figures, their means and standard
errors.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, check_random_state

from clearmargin.exceptions import ClearmarginError, InvalidValueError
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.kernel_rules.surrogate_rules import SurrogateRules
from clearmargin.models.fitted import is_fitted
from clearmargin.models.kernel_machine import read_machine
from clearmargin.models.surface import read_surface
from clearmargin.plane_rules.extractor import RuleExtractor
from clearmargin.progress import Progress, collect
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.rule_auc import class_shares, mean_auc
from clearmargin.rule_base.training import find_trained_part, read_labels
from clearmargin.rules import Box, Rule, RuleSet
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import make_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: What is measured on each fold, and what it means.
MEASURES: Mapping[str, str] = {
    "accuracy": "share of the held-out rows to which rules and fallback give their label",
    "auc": "area under the ROC curve of the rules, each scoring the held-out rows by its share of right training rows",
    "fidelity": "share of the held-out rows on which they predict what the model predicts; where the fallback asks it, "
    "with its most frequent class in its place",
    "coverage": "share of the held-out rows that a rule covers",
    "covered_accuracy": "accuracy on the covered rows alone",
    "covered_fidelity": "fidelity on the covered rows alone",
    "rules": "number of rules",
    "conditions": "mean number of bounds in a rule; low <= x <= high are two",
    "explanation": "mean number of bounds of the rule that decides, over covered rows",
    "overlap": "share of the held-out rows that rules of different classes cover",
    "proved": "share of the rules for which it was proved that the model predicts the same all over them",
    "seconds": "processor time of the extraction, without that of training",
}
_SHARES = frozenset(
    [
        "accuracy",
        "fidelity",
        "coverage",
        "covered_accuracy",
        "covered_fidelity",
        "overlap",
        "proved",
    ]
)
_SHOWN = tuple(
    measure for measure in MEASURES if measure not in ("covered_accuracy", "explanation")
)
_TITLES = {"covered_fidelity": "fid. covered", "conditions": "bounds/rule"}


@dataclass(frozen=True, slots=True, eq=False)
class ExtractorFigures:
    """The figures of one extractor, fold by fold."""

    name: str
    fallback: Any
    folds: FloatArray
    errors: tuple[str | None, ...]
    rows: FloatArray | None = None

    def values(self, measure: str) -> FloatArray:
        """Return a measure on the folds on which it exists."""
        if measure not in MEASURES:
            raise InvalidValueError(f"no measure {measure!r}; there are {', '.join(MEASURES)}")
        column = self.folds[:, list(MEASURES).index(measure)]
        return np.asarray(column[~np.isnan(column)])

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the folds; NaN where it exists on none."""
        return _mean(self.values(measure))

    def error(self, measure: str) -> float:
        """Return the standard error of the mean; NaN where there are fewer than two folds."""
        values = self.values(measure)
        if self.rows is None or measure not in _SHARES - {"proved"}:
            return _standard_error(values)
        column = self.folds[:, list(MEASURES).index(measure)]
        rows = self.rows
        if measure.startswith("covered"):
            rows = rows * self.folds[:, list(MEASURES).index("coverage")]
        return _standard_error(values, rows[~np.isnan(column)])

    @property
    def failure(self) -> str:
        """In how many folds it failed, and the most frequent reason; empty where it did not."""
        reasons = Counter(text for text in self.errors if text is not None)
        if not reasons:
            return ""
        return f"failed on {reasons.total()} of {len(self.errors)} folds: {reasons.most_common(1)[0][0]}"


@dataclass(frozen=True, slots=True, eq=False)
class ExtractorComparison:
    """Held-out figures of extractors that were given the same models.

    Parameters
    ----------
    extractors : tuple of ExtractorFigures
        One for each extractor.
    model_accuracies : ndarray of shape (k,)
        The accuracy of the model itself on each fold.
    how : str, optional
        How the folds were made.
    note : str, optional
        What has to be said of rows that occur in both parts of a fold.
    model_aucs : ndarray of shape (k,), optional
        The area under the ROC curve of the model itself on each fold; NaN where it has no scores.
    rows : ndarray of shape (k,), optional
        How many rows were held out in each fold.

    See Also
    --------
    compare_extractors : Makes it.

    Examples
    --------
    >>> figures = ExtractorFigures("mine", "nearest", np.full((2, len(MEASURES)), 0.5), (None, None))
    >>> comparison = ExtractorComparison((figures,), np.array([0.9, 0.8]))
    >>> round(comparison.model_accuracy, 3), round(comparison.model_accuracy_se, 3)
    (0.85, 0.087)
    """

    extractors: tuple[ExtractorFigures, ...]
    model_accuracies: FloatArray
    how: str = "folds"
    note: str = ""
    model_aucs: FloatArray | None = None
    rows: FloatArray | None = None

    @property
    def model_accuracy(self) -> float:
        """The mean accuracy of the model itself."""
        return _mean(self.model_accuracies)

    @property
    def model_accuracy_se(self) -> float:
        """Its standard error; NaN where there is but one fold."""
        return _standard_error(self.model_accuracies, self.rows)

    @property
    def model_auc(self) -> float:
        """The mean area under the ROC curve of the model itself; NaN where it has no scores."""
        return _mean(self._known_aucs)

    @property
    def model_auc_se(self) -> float:
        """Its standard error; NaN where there are fewer than two folds."""
        return _standard_error(self._known_aucs)

    @property
    def _known_aucs(self) -> FloatArray:
        aucs = np.empty(0) if self.model_aucs is None else self.model_aucs
        return np.asarray(aucs[~np.isnan(aucs)])

    def __getitem__(self, name: str) -> ExtractorFigures:
        for figures in self.extractors:
            if figures.name == name:
                return figures
        raise KeyError(
            f"no extractor {name!r}; there are {', '.join(repr(f.name) for f in self.extractors)}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Put the figures into a data frame, one row an extractor.

        Returns
        -------
        DataFrame
            For each measure of `MEASURES` its mean over folds and, in a column with the ending `_se`, the standard
            error of the mean; besides `fallback` and `failure`, what went wrong.
        """
        rows = []
        for figures in self.extractors:
            row: dict[str, Any] = {}
            for measure in MEASURES:
                row[measure], row[f"{measure}_se"] = figures.mean(measure), figures.error(measure)
            rows.append({**row, "fallback": figures.fallback, "failure": figures.failure})
        return _frame(rows, [f.name for f in self.extractors])

    def plot(self) -> list[Axes]:
        """Draw the figures side by side; see `clearmargin.plot.plot_extractors`."""
        from clearmargin.plot.extractors import plot_extractors

        return plot_extractors(self)

    def _summary(self) -> str:
        k = len(self.model_accuracies)
        return (
            f"Held out, means over {k} {self.how}, with standard errors; "
            f"the model itself has an accuracy of {_number(self.model_accuracy, self.model_accuracy_se, share=True)} %"
            + ("" if np.isnan(self.model_auc) else f" and an auc of {self._model_auc_text()}")
            + (f". {self.note}." if self.note else ".")
        )

    def _model_auc_text(self) -> str:
        return _number(self.model_auc, self.model_auc_se, share=False)

    def _cells(self) -> list[list[str]]:
        """Return the table that people read: a header, and a line for each extractor."""
        head = ["extractor"]
        head += [_TITLES.get(m, m) + (" %" if m in _SHARES else "") for m in _SHOWN]
        lines = [head]
        for figures in self.extractors:
            cells = [_number(figures.mean(m), figures.error(m), share=m in _SHARES) for m in _SHOWN]
            lines.append([figures.name, *cells])
        return lines

    def _failures(self) -> list[str]:
        return [f"{f.name} {f.failure}" for f in self.extractors if f.failure]

    def __str__(self) -> str:
        lines = self._cells()
        widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        rows = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
            for line in lines
        ]
        return "\n".join([self._summary(), *rows, *self._failures()])

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table, render_macro

        head, *body = self._cells()
        numbers = range(1, len(head))
        drawn = html_table(head, body, lines=[self._summary()], numbers=numbers, named=True)
        return drawn + render_macro("notebook.html", "lines", items=self._failures())


def _number(mean: float, error: float, *, share: bool) -> str:
    """Return a mean with its standard error; shares in percent."""
    if np.isnan(mean):
        return "-"
    mean, error = (100.0 * mean, 100.0 * error) if share else (mean, error)
    digits = 2 if not share and mean < 10 else 1
    return f"{mean:.{digits}f}" + ("" if np.isnan(error) else f" ±{error:.{digits}f}")


def _frame(rows: list[dict[str, Any]], names: list[str] | None = None) -> pd.DataFrame:
    return make_frame(rows, index=names).rename_axis(None if names is None else "extractor")


# What an extractor may say of a model or of data that it cannot use. Anything else is a fault, and is not hidden.
_REFUSALS = (ClearmarginError, ValueError, TypeError, ArithmeticError)
Split = tuple[IntArray, IntArray]
Measured = tuple[FloatArray, str | None]


def compare_extractors(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    groups: Any = None,
    times: Any = None,
    extractors: Mapping[str, Any] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress = "auto",
) -> ExtractorComparison:
    """Measure by cross-validation what the rules of several extractors are worth.

    On each fold the model is trained once, on the training rows, and handed to all extractors as it is. They see the
    training rows alone; all figures are of the held-out rows.

    Parameters
    ----------
    model : classifier
        The model. It is cloned and trained anew on each fold, also where it is fitted already: figures of a model
        that has seen the rows are not held out. A frozen model, or one read from a file, stays trained, alone or as a
        part of another; it is refused for that reason.
    X : data frame or array-like of shape (m, n)
        The table, as the model takes it.
    y : array-like of shape (m,)
        The classes.
    cv : int, splitter or iterable of (train, test), default 10
        As in scikit-learn; a number of folds is stratified and shuffled. With repeated folds the standard errors are
        too small, since folds of different repetitions share rows.
    groups : array-like of shape (m,), optional
        A value for each row, such as the patient; rows with the same value are never in both parts of a fold.
    times : array-like of shape (m,), optional
        A number, date or ISO text for each row; folds are tested on rows later than those they were trained on.
    extractors : mapping from name to extractor, optional
        What to compare: extractors with a parameter `estimator`, which is filled with the trained model. By default
        all that can read the model, each as it is by default.
    random_state : int, RandomState or None, default 0
        Shuffles the folds, and seeds the extractors that are chosen here and those whose `random_state` is None.
    n_jobs : int, optional
        Folds worked on at a time, as in joblib.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Returns
    -------
    ExtractorComparison
        It prints as a table, and gives itself as a data frame and as a figure. An extractor that refuses the model or
        the data of a fold has no figures there, and its reason is told.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 2))
    >>> rules = {"tree": SurrogateRules(), "support": SupportVectorRules()}
    >>> comparison = compare_extractors(SVC(), X, X[:, 0] > 0.5, cv=3, extractors=rules, random_state=0)
    >>> comparison["tree"].mean("fidelity") > 0.9, comparison["tree"].mean("coverage") > 0.9
    (True, True)
    """
    labels = read_labels(X, y)
    _check_model(model)
    seed = _seed(random_state)
    folds = Splitting(cv, groups, times, seed).folds(X, labels)
    splits = folds.pairs
    first = clone(model).fit(_safe_indexing(X, splits[0][0]), labels[splits[0][0]])
    chosen = _choose(extractors, first, _safe_indexing(X, splits[0][0]))
    prepared = {name: _seeded(extractor, seed) for name, extractor in chosen.items()}
    jobs = (
        delayed(_measure_fold)(first if k == 0 else clone(model), prepared, X, labels, split)
        for k, split in enumerate(splits)
    )
    of_model: list[tuple[float, float]] = []
    measured: dict[str, list[Measured]] = {name: [] for name in prepared}
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    for model_figures, figures in collect(parallel(jobs), "comparison", len(splits), show=progress):
        of_model.append(model_figures)
        for name, result in figures.items():
            measured[name].append(result)
    rows = np.array([len(test) for _, test in splits], dtype=np.float64)
    return ExtractorComparison(
        tuple(
            ExtractorFigures(
                name,
                prepared[name].get_params(deep=False).get("fallback"),
                np.array([values for values, _ in results]),
                tuple(error for _, error in results),
                rows,
            )
            for name, results in measured.items()
        ),
        np.array([accuracy for accuracy, _ in of_model]),
        folds.how,
        folds.note,
        np.array([auc for _, auc in of_model]),
        rows,
    )


def count_bounds(rule: Rule) -> int:
    r"""Count the conditions of a rule as they are read: ``low <= x <= high`` are two, a set of categories is one."""
    region = rule.region
    if isinstance(region, Box):
        return int(region.n_conditions) + len(region.sets) + len(region.missing) + len(region.known)
    return rule.n_conditions


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
        given = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InvalidValueError(f"model must be a classifier, not {given}; rules predict classes")
    part = find_trained_part(model)
    if part:
        raise InvalidValueError(
            f"{part} stays trained when the model is cloned, so that its figures would not be held out; "
            "pass a model that can be trained anew"
        )


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _choose(extractors: Any, fitted: Any, X: Any) -> dict[str, Any]:
    """Return the extractors to compare."""
    if extractors is None:
        readers = _fitting(fitted, X)
        for extractor in readers.values():
            if "random_state" in extractor.get_params(deep=False):
                extractor.set_params(random_state=None)
        return readers
    if not isinstance(extractors, Mapping) or not extractors:
        raise InvalidValueError(
            f"extractors must be a mapping from names to extractors, such as {{'tree': SurrogateRules()}}, "
            f"not {extractors!r}"
        )
    for name, extractor in extractors.items():
        usable = hasattr(extractor, "get_params") and not isinstance(extractor, type)
        if not usable or "estimator" not in extractor.get_params(deep=False):
            given = extractor.__name__ if isinstance(extractor, type) else type(extractor).__name__
            raise InvalidValueError(
                f"extractors[{name!r}] must be an extractor with a parameter 'estimator', such as SurrogateRules() "
                f"or RuleExtractor(), not {given}"
            )
        part = find_trained_part(_without_model(extractor))
        if part:
            raise InvalidValueError(
                f"extractors[{name!r}]: {part} stays trained when the extractor is cloned, so that its figures would "
                "not be held out; pass one that can be trained anew"
            )
    return dict(extractors)


def _without_model(extractor: Any) -> Any:
    """Return the same extractor without the model it was given, in whose place the trained one of each fold comes."""
    return type(extractor)(**{**extractor.get_params(deep=False), "estimator": None})


def _fitting(fitted: Any, X: Any) -> dict[str, Any]:
    """Return all extractors that can read a model."""
    chosen: dict[str, Any] = {}
    if _can_read(read_machine, fitted, X):
        chosen["support vectors"] = SupportVectorRules()
    chosen["tree"] = SurrogateRules()
    if _can_read(read_surface, fitted, X):
        chosen["linear"] = RuleExtractor()
    return chosen


def _can_read(reader: Any, fitted: Any, X: Any) -> bool:
    try:
        reader(fitted, X)
    except _REFUSALS:
        return False
    return True


def _seeded(extractor: Any, seed: int) -> Any:
    """Return a copy of an extractor, for any model, that gives the same each time."""
    copy = clone(_without_model(extractor))
    if copy.get_params(deep=False).get("random_state", 0) is None:
        copy.set_params(random_state=seed)
    return copy


def _measure_fold(
    model: Any, extractors: Mapping[str, Any], X: Any, labels: NDArray[Any], split: Split
) -> tuple[tuple[float, float], dict[str, Measured]]:
    """Train the model if need be, extract by all extractors, and measure on the other rows."""
    train, test = split
    seen, unseen = _safe_indexing(X, train), _safe_indexing(X, test)
    if not is_fitted(model):
        model.fit(seen, labels[train])
    predicted, true = np.asarray(model.predict(unseen)), labels[test]
    names, counts = np.unique(np.asarray(model.predict(seen)), return_counts=True)
    default = names[np.argmax(counts)]
    measured: dict[str, Measured] = {}
    for name, extractor in extractors.items():
        ready = clone(extractor).set_params(estimator=model)
        try:
            start = time.process_time()
            ready.fit(seen, labels[train])
            seconds = time.process_time() - start
            figures = _figures(ready, unseen, true, predicted, model.classes_, default)
        except _REFUSALS as error:
            measured[name] = np.full(len(MEASURES), np.nan), f"{type(error).__name__}: {error}"
        else:
            measured[name] = np.array([*figures, seconds]), None
    return (float(np.mean(predicted == true)), _model_auc(model, unseen, true)), measured


def _model_auc(model: Any, X: Any, true: NDArray[Any]) -> float:
    """Return the area under the ROC curve of a model's scores; NaN for one without scores."""
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            scores = np.asarray(getattr(model, name)(X), dtype=np.float64)
            break
    else:
        return float("nan")
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    return mean_auc(scores, _codes(true, model.classes_))


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Return the position of each label among the classes, -1 for one that a fold has not trained on."""
    is_class = labels[:, None] == classes
    return np.where(is_class.any(axis=1), is_class.argmax(axis=1), -1)


def _figures(
    extractor: Any,
    X: Any,
    true: NDArray[Any],
    predicted: NDArray[Any],
    classes: NDArray[Any],
    default: Any,
) -> list[float]:
    """Return all measures but the time, in the order of `MEASURES`."""
    rules: RuleSet = extractor.rules_
    answers = np.asarray(extractor.predict(X))
    right, same = np.asarray(answers == true), np.asarray(answers == predicted)
    which = extractor.which(X)
    covered = which >= 0
    if extractor.get_params(deep=False).get("fallback") == "estimator":
        # That the model agrees with itself is no finding.
        same = np.where(covered, same, default == predicted)
    bounds = np.array([count_bounds(rule) for rule in rules], dtype=np.float64)
    return [
        float(right.mean()),
        mean_auc(class_shares(rules, which, classes.tolist()), _codes(true, classes)),
        float(same.mean()),
        float(covered.mean()),
        _mean(right[covered]),
        _mean(same[covered]),
        float(len(rules)),
        _mean(bounds),
        _mean(bounds[which[covered]]),
        float(_is_contested(rules, extractor, X).mean()),
        _mean(np.array([rule.proof == "proved" for rule in rules])),
    ]


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _standard_error(values: FloatArray, rows: FloatArray | None = None) -> float:
    """Return the standard error of a mean over folds, as `clearmargin.tables.figures` does; shares have rows."""
    k = len(values)
    if k < 2:
        return float("nan")
    variance, least = float(values.var(ddof=1)), 0.0
    if rows is not None:
        variance = max(variance, float((values * (1 - values) / rows).mean()))
        pulled = (float(values @ rows) + 2) / (rows.sum() + 4)
        least = float(np.sqrt(pulled * (1 - pulled) / (rows.sum() + 4)))
    return max(float(np.sqrt(variance * (1 / k + 1 / (k - 1)))), least)


def _is_contested(rules: RuleSet, extractor: Any, X: Any) -> BoolArray:
    """Check whether rules of more than one class cover a row."""
    covers = _covers(rules, extractor, X).astype(np.intp)
    member = np.array([[rule.label == label for label in rules.classes] for rule in rules])
    by_class = covers @ member.reshape(len(rules), len(rules.classes)).astype(np.intp)
    return np.asarray((by_class > 0).sum(axis=1) > 1)


def _covers(rules: RuleSet, extractor: Any, X: Any) -> BoolArray:
    """Return which rules cover which rows, as the extractor reads them: categories as their codes."""
    return extractor.covers(X) if isinstance(extractor, RuleBasedClassifier) else rules.covers(X)
