"""A support vector machine of rows that are never together: chunks send rules, and one machine is trained on these."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from clearmargin.advice.advice_reading import read_case
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.advice.svc import AdviceSVC
from clearmargin.advice.train import judge_plane
from clearmargin.advice.verdict import judge
from clearmargin.chunks.chunk_rules import ChunkOptions, deal_rows, held_out_rows, summarize_rows
from clearmargin.chunks.chunk_summary import ChunkSummary
from clearmargin.chunks.knowledge import Knowledge, LocalRows
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.models.plane import PlaneClassifier
from clearmargin.plane_rules.extraction import CRITERIA
from clearmargin.progress import Progress, all_or_nothing, collect
from clearmargin.rule_base.options import Choice, Option, Share, WholeNumber, check_options
from clearmargin.rules import RuleSet
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.table import read_frame
from clearmargin.tables.validation import check_positive, plain_labels, read_points, read_training

__all__ = ["ChunkedRuleSVC"]


# Costs that validation chooses from, the middle one where there is none; features are scaled to [-1, 1], and costs are
# those of all rows together.
_MUS = (100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)
_DEFAULT_MU = 3_000.0
# Rows of the rarer class that a chunk should have at least where rows are dealt to chunks.
_FEWEST = 10


class ChunkedRuleSVC(PlaneClassifier):
    """Linear support vector machine of rules of chunks: sites that may not share rows, or files too large to be held.

    On each chunk of the rows a sparse 1-norm SVM is trained and turned into interval rules. A knowledge-based SVM is
    then trained on the rules of all chunks, as Fung, Sandilya and Rao propose (KDD 2005, section 7) to "compress"
    massive data. One pass over the rows, chunks in any order; the answer depends on neither, to the bit. What a chunk
    tells is a value, `ChunkSummary`, that merges with others and travels as JSON.

    **What it is good for**: sites that may send rules, which people can read, question and take out, but no rows and no
    machine; above all a site that trains on its own rows and the rules of the others (`fit_summary` with X and y),
    which helps most where sites differ. **What it is not good for**: large tables. `LPSVC` finds the exact plane of a
    million rows in seconds. Where sites are alike, the rules of all of them without any rows give a machine that is
    behind that of one site; and where sites may send their planes, the mean of these is better.
    ``benchmarks/CHUNKS.md`` has the figures.

    Parameters
    ----------
    n_chunks : int, default 10
        Number of chunks that `fit` deals rows to, like cards, where it is not told the chunk of each row; fewer where
        the rarer class has fewer than ten rows for each.
    estimator : classifier, optional
        What is trained on a chunk: any linear classifier of numbers. By default
        ``LPSVCCV(cv=5, max_features=8, scale=True, allow_constant=False)``.
    criterion : str, default "volume"
        What makes a box good, as for `RuleExtractor`.
    max_rules : int, optional, default 10
        Maximum number of rules per chunk and class.
    min_coverage : int, default 2
        Minimum number of rows that a rule covers. Means over these rows are sent, so that sites may want more of them.
    n_rows : int, default 0
        How many rows each chunk sends beside its rules; none by default.
    rows : {"hard", "random"}, default "random"
        Which: a sample of those that no rule of their class covers, or of all.
    mu : float, optional
        Cost of the errors of all rules and rows together, against the 1-norm of the weights over features scaled to
        [-1, 1]. By default chosen on the rows that chunks hold out, and 3,000 where these are not at hand.
    validation : float, default 0.25
        Share of the rows of each chunk that no rule is made from, to choose `mu` on. With a given `mu` nothing is held
        out.
    published : bool, default False
        Whether rules and machine are those of the paper to the letter: boxes up to the plane instead of up to its
        margin; boxes as wide as all chunks in the features that a rule does not mention, instead of at the mean of the
        rows that it covers; the same weight for each rule, instead of the number of rows that it is right on minus
        those that it is wrong on.
    n_jobs : int, optional
        Number of chunks to work on at the same time.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights, in the units of the data.
    intercept_ : ndarray of shape (1,)
        Intercept.
    mu_ : float
        The cost, given or chosen.
    validation_ : dict of ndarrays
        `mu`, and `errors` on held-out rows at each, where it was chosen; empty otherwise.
    summary_ : ChunkSummary
        What the chunks told.
    rules_ : RuleSet
        The rules of all chunks, with what they cover and are right on in their chunk.
    outcome_ : AdviceOutcome
        What became of each rule in the machine of all, found when it is first looked at: whether it gives the class of
        the rule everywhere in its premise, within the ranges of all chunks.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    AdviceSVC : Trains on rules of experts.
    LPSVC : The exact plane of all rows.

    Notes
    -----
    A summary holds, for each chunk: the range of each feature, which are values of single rows; the number of rows of
    each class; each rule, with the numbers of rows that it covers and is right on and the means of the features over
    these rows; with `n_rows`, single rows. To choose `mu`, sites also have to exchange planes and counts: `candidates`
    and `count_errors`. Nothing of this is private in the sense of differential privacy.

    A chunk with rows of one class has no plane and no rules, and counts for nothing but the size of the classes.
    Categories stand in X as 0/1 columns, and no value is missing: impute and encode before, with the same encoder at
    all sites.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = ChunkedRuleSVC(n_chunks=4).fit(X, y)
    >>> len(svm.summary_), round(svm.score(X, y), 2)
    (4, 0.96)

    Three sites, of which each sends a file:

    >>> sites = [ChunkedRuleSVC().summarize(X[k::3], y[k::3], name=f"site {k}") for k in range(3)]
    >>> print(sites[0].rules[0])
    clump_thickness <= 2 and uniformity_of_cell_size <= 1 and ... => benign
    >>> others = sites[1].merge(sites[2])
    >>> own = ChunkedRuleSVC().fit_summary(others, X[::3], y[::3])  # own rows, rules of the others
    """

    summary_: ChunkSummary

    _options: ClassVar[dict[str, Option]] = {
        "n_chunks": WholeNumber(1),
        "criterion": Choice(*CRITERIA),
        "max_rules": WholeNumber(1, optional=True),
        "min_coverage": WholeNumber(1),
        "n_rows": WholeNumber(0),
        "rows": Choice("hard", "random"),
        "validation": Share(),
    }

    def __init__(
        self,
        n_chunks: int = 10,
        *,
        estimator: Any = None,
        criterion: str = "volume",
        max_rules: int | None = 10,
        min_coverage: int = 2,
        n_rows: int = 0,
        rows: str = "random",
        mu: float | None = None,
        validation: float = 0.25,
        published: bool = False,
        n_jobs: int | None = None,
        progress: Progress = "auto",
    ):
        self.n_chunks = n_chunks
        self.estimator = estimator
        self.criterion = criterion
        self.max_rules = max_rules
        self.min_coverage = min_coverage
        self.n_rows = n_rows
        self.rows = rows
        self.mu = mu
        self.validation = validation
        self.published = published
        self.n_jobs = n_jobs
        self.progress = progress

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, chunks: Any = None) -> Self:
        """Summarise all chunks, and train on what they tell.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows of all chunks.
        y : array-like of shape (m,)
            Labels of two classes.
        chunks : array-like of shape (m,), optional
            The chunk of each row, such as the name of a site.

        Returns
        -------
        ChunkedRuleSVC
            The fitted classifier.
        """
        self._check_parameters()
        points, labels = read_training(self, read_frame(X), y)
        codes = labels.codes.astype(np.intp)
        number, names = self._chunk_of_each(points, codes, chunks)
        parts = [(points[number == k], codes[number == k]) for k in range(len(names))]
        classes = [as_label(label) for label in labels.classes.tolist()]
        jobs = (
            delayed(_summarize)(*part, self._names(), classes, self._chunk_options(), name)
            for part, name in zip(parts, names, strict=True)
        )
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        found = collect(parallel(jobs), "chunks", len(parts), show=self.progress)
        errors = None
        self.summary_ = found[0].merge(*found[1:])
        self.classes_ = labels.classes
        if self.mu is None:
            planes = self._planes(self._knowledge(self.summary_))
            errors = np.sum([self._errors(planes, *part) for part in parts], axis=0)
        self._train(self._knowledge(self.summary_), errors)
        return self

    def summarize(self, X: Any, y: Any, *, name: str | None = None) -> ChunkSummary:
        """Summarise one chunk; nothing of the estimator changes.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            Its rows, all columns in the order that all sites agreed on.
        y : array-like of shape (m,)
            Labels of one class or two.
        name : str, optional
            What the chunk is called; a summary holds each name once.

        Returns
        -------
        ChunkSummary
            All that leaves the chunk; `save` writes it to a file.
        """
        site = ChunkedRuleSVC(**self.get_params(deep=False))
        site._check_parameters()
        points, labels = site._read_rows(X, y, reset=True)
        return site._summary(points, labels, name)

    def candidates(self, summary: ChunkSummary) -> FloatArray:
        """Train at all costs that validation chooses from, to be tried on the rows that chunks hold out.

        Parameters
        ----------
        summary : ChunkSummary
            What all chunks told.

        Returns
        -------
        ndarray of shape (g, n_features + 1)
            Planes for the costs in increasing order: weights and, last, the intercept, positive for the second class.
        """
        self._check_parameters()
        site = ChunkedRuleSVC(**self.get_params(deep=False))
        site.classes_ = _two_classes(summary.classes)
        return site._planes(site._knowledge(summary))

    def count_errors(self, planes: Any, X: Any, y: Any) -> IntArray:
        """Count the errors of planes on the rows that a chunk held out.

        Parameters
        ----------
        planes : array-like of shape (g, n_features + 1)
            What `candidates` gave.
        X : data frame or array-like of shape (m, n)
            All rows of the chunk, as `summarize` had them; those held out are found again.
        y : array-like of shape (m,)
            Their labels, of both classes.

        Returns
        -------
        ndarray of int of shape (g,)
            Numbers of errors, to be added up over chunks for `fit_summary`.
        """
        self._check_parameters()
        site = ChunkedRuleSVC(**self.get_params(deep=False))
        points, labels = read_training(site, read_frame(X), y)
        given = np.asarray(planes, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != points.shape[1] + 1:
            raise InvalidValueError(
                f"planes must have a weight for each of the {points.shape[1]} features and an intercept, not the shape "
                f"{given.shape}"
            )
        return self._errors(given, points, labels.codes.astype(np.intp))

    @all_or_nothing
    def fit_summary(
        self, summary: ChunkSummary, X: Any = None, y: Any = None, *, errors: Any = None
    ) -> Self:
        """Train on what chunks told and, where there are any, on rows at hand as they are.

        Parameters
        ----------
        summary : ChunkSummary
            What the chunks told.
        X : data frame or array-like of shape (m, n), optional
            Rows at hand, that are in none of the chunks: those of the site that trains.
        y : array-like of shape (m,), optional
            Their labels.
        errors : array-like of shape (g,), optional
            Errors of `candidates` on rows that chunks held out, added up over chunks. Without them `mu` is chosen on
            rows held out of X, if these are of both classes; and is 3,000 without these.

        Returns
        -------
        ChunkedRuleSVC
            The fitted classifier.
        """
        self._check_parameters()
        if not isinstance(summary, ChunkSummary):
            raise InvalidValueError(
                f"summary must be a ChunkSummary, as summarize gives it, not {type(summary).__name__}"
            )
        self.summary_ = summary
        self._note_features(summary)
        local = None
        known: list[Any] = list(summary.classes)
        if X is not None:
            points, labels = self._read_rows(X, y, reset=False)
            known += labels.tolist()
        self.classes_ = _two_classes(known)
        counted = None if errors is None else _read_errors(errors)
        if X is not None:
            local = LocalRows(points, np.searchsorted(self.classes_, labels).astype(np.intp))
            if counted is None and self.mu is None:
                counted = self._local_errors(local)
        self._train(self._knowledge(summary, local), counted)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, name: str | None = None) -> Self:
        """Add one chunk, and train on all chunks so far.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows of the chunk. They are not kept, so that nothing is held out and `mu` is 3,000 unless it is given.
        y : array-like of shape (m,)
            Their labels, of one class or two.
        classes : array-like of shape (2,), optional
            Both classes, where the chunks so far have only one.
        name : str, optional
            What the chunk is called.

        Returns
        -------
        ChunkedRuleSVC
            The fitted classifier; the same for any order of the chunks.
        """
        self._check_parameters()
        before: ChunkSummary | None = getattr(self, "summary_", None)
        points, labels = self._read_rows(X, y, reset=before is None)
        summary = self._summary(points, labels, name, validation=0.0)
        self.summary_ = summary if before is None else before.merge(summary)
        named = [] if classes is None else np.asarray(classes).tolist()
        known = [] if before is None else self.classes_.tolist()
        self.classes_ = _two_classes([*self.summary_.classes, *named, *known])
        self._train(self._knowledge(self.summary_), None)
        return self

    # What chunks are made of

    def _check_parameters(self) -> None:
        check_options(self, self._options)
        if self.mu is not None:
            check_positive("mu", self.mu)

    def _chunk_options(self, validation: float | None = None) -> ChunkOptions:
        share = self._held_out() if validation is None else validation
        return ChunkOptions(
            self.estimator,
            self.criterion,
            self.max_rules,
            self.min_coverage,
            not self.published,
            self.n_rows,
            self.rows,
            share,
        )

    def _held_out(self) -> float:
        return self.validation if self.mu is None else 0.0

    def _names(self) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        count = self.n_features_in_
        return [f"x{j}" for j in range(count)] if given is None else [str(name) for name in given]

    def _chunk_of_each(
        self, points: FloatArray, codes: IntArray, chunks: Any
    ) -> tuple[IntArray, list[str | None]]:
        """Number the chunk of each row; a name for each chunk where they were given."""
        if chunks is None:
            rarer = int(np.bincount(codes, minlength=2).min())
            count = max(1, min(self.n_chunks, rarer // _FEWEST))
            return deal_rows(points, codes, count), [None] * count
        given = column_or_1d(chunks)
        if len(given) != len(points):
            raise DataError(f"chunks has {len(given)} values for {len(points)} rows")
        names, number = np.unique(given.astype(str), return_inverse=True)
        return number.astype(np.intp), [str(name) for name in names]

    def _read_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[FloatArray, NDArray[Any]]:
        """Read rows whose labels may all be of one class."""
        if y is None:
            raise DataError("labels are needed: y is None (requires y to be passed)")
        labels = column_or_1d(plain_labels(y, X), warn=True)
        if reset and len(np.unique(labels)) > 1:
            points, two = read_training(self, read_frame(X), labels)
            return points, two.classes[two.codes]
        check_classification_targets(labels)
        if reset:
            _note_table(self, X)
        points = read_points(self, read_frame(X))
        if len(points) != len(labels):
            raise DataError(
                f"X has {len(points)} rows but y has {len(labels)} labels (inconsistent numbers of samples)"
            )
        return points, labels

    def _summary(
        self,
        points: FloatArray,
        labels: NDArray[Any],
        name: str | None,
        validation: float | None = None,
    ) -> ChunkSummary:
        found, codes = np.unique(labels, return_inverse=True)
        classes = [as_label(label) for label in _at_most_two(found.tolist())]
        options = self._chunk_options(validation)
        return _summarize(points, codes.astype(np.intp), self._names(), classes, options, name)

    def _note_features(self, summary: ChunkSummary) -> None:
        names = summary.space.names
        self.n_features_in_ = len(names)
        if names == tuple(f"x{j}" for j in range(len(names))):
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(names, dtype=object)

    # What is trained on them

    def _knowledge(self, summary: ChunkSummary, local: LocalRows | None = None) -> Knowledge:
        positive = as_label(self.classes_[1])
        return Knowledge.of(summary, positive, local, published=self.published)

    def _planes(self, knowledge: Knowledge) -> FloatArray:
        return np.array([knowledge.plane(mu) for mu in _MUS])

    def _errors(self, planes: FloatArray, X: FloatArray, codes: IntArray) -> IntArray:
        tested = held_out_rows(X, codes, self._held_out())
        positive = codes[tested] == 1
        predicted = [linear_scores(X[tested], plane[:-1], float(plane[-1])) > 0 for plane in planes]
        return np.array([np.count_nonzero(row != positive) for row in predicted], dtype=np.intp)

    def _local_errors(self, local: LocalRows) -> IntArray | None:
        """Count errors on rows held out of those at hand; None where these are not of both classes."""
        tested = held_out_rows(local.X, local.codes, self._held_out())
        if len(np.unique(local.codes[tested])) < 2:
            return None
        rest = LocalRows(local.X[~tested], local.codes[~tested])
        return self._errors(
            self._planes(self._knowledge(self.summary_, rest)), local.X, local.codes
        )

    def _train(self, knowledge: Knowledge, errors: IntArray | None) -> None:
        """Train at the given cost, or at the one with fewest errors; of equal ones the nearest to the default."""
        self.validation_: dict[str, NDArray[Any]] = {}
        self.mu_ = _DEFAULT_MU if self.mu is None else float(self.mu)
        if errors is not None and self.mu is None:
            self.validation_ = {"mu": np.array(_MUS), "errors": errors}
            self.mu_ = min(
                _MUS, key=lambda mu: (errors[_MUS.index(mu)], abs(np.log(mu / _DEFAULT_MU)))
            )
        plane = knowledge.plane(self.mu_)
        self._set_plane(plane[:-1], float(plane[-1]), self.classes_)
        self._judged: tuple[AdviceOutcome, RuleSet] | None = None
        if not plane[:-1].any():
            predicted = as_label(self.classes_[int(plane[-1] > 0)])
            warnings.warn(
                f"the plane is constant: every case gets {predicted!r}. The chunks have rules for fewer than two "
                "classes, or their rules contradict each other; let them send rows (n_rows), or raise mu",
                ClearmarginWarning,
                stacklevel=4,
            )

    # What is asked of a fitted machine

    @property
    def rules_(self) -> RuleSet:
        """The rules of all chunks."""
        check_is_fitted(self)
        return self.summary_.rules

    @property
    def advice_(self) -> RuleSet:
        """The rules of all chunks, as `AdviceSVC` calls what it was given."""
        return self.rules_

    @property
    def outcome_(self) -> AdviceOutcome:
        """What became of each rule in the machine of all."""
        return self._judge()[0]

    @property
    def refined_(self) -> RuleSet:
        """The rules of all chunks; those whose class the machine of all gives everywhere are marked as proved."""
        return self._judge()[1]

    def _judge(self) -> tuple[AdviceOutcome, RuleSet]:
        rules = self.rules_
        if self._judged is None:
            case = read_case(AdviceSVC(rules), None, None)
            self._judged = judge(case, judge_plane(case, *self._signed_plane(case.classes)))
        return self._judged

    def _signed_plane(self, classes: NDArray[Any]) -> tuple[FloatArray, float]:
        """Return weights and intercept for classes in the order of the rules."""
        sign = 1.0 if as_label(classes[1]) == as_label(self.classes_[1]) else -1.0
        return sign * self.coef_[0], sign * float(self.intercept_[0])


def _summarize(
    X: FloatArray,
    codes: IntArray,
    names: Sequence[str],
    classes: Sequence[Label],
    options: ChunkOptions,
    name: str | None,
) -> ChunkSummary:
    """Summarise one chunk; classes that it has no row of are left out."""
    present = np.unique(codes).tolist()
    found = [classes[code] for code in present]
    return ChunkSummary(
        [summarize_rows(X, np.searchsorted(present, codes), names, found, options, name)]
    )


def _note_table(estimator: ChunkedRuleSVC, X: Any) -> None:
    from sklearn.utils.validation import validate_data

    from clearmargin.tables.table import as_given

    validate_data(estimator, as_given(read_frame(X)), skip_check_array=True)


def _at_most_two(labels: list[Any]) -> list[Any]:
    if len(labels) > 2:
        shown = ", ".join(repr(label) for label in labels[:5])
        raise DataError(
            f"Only binary classification is supported, and y has {len(labels)} classes ({shown})"
        )
    return labels


def _two_classes(labels: Sequence[Any]) -> NDArray[Any]:
    found = np.unique(np.array(labels))
    if len(found) < 2:
        raise DataError(
            f"all rows are of one class, {found.tolist()[0]!r}; a classifier needs two classes to tell apart. Merge "
            "chunks of both, or name both in partial_fit(X, y, classes=...)"
        )
    return np.array(_at_most_two(found.tolist()), dtype=found.dtype)


def _read_errors(errors: Any) -> IntArray:
    counted = np.asarray(errors)
    if counted.shape != (len(_MUS),) or counted.dtype.kind not in "iu" or counted.min() < 0:
        raise InvalidValueError(
            f"errors must be {len(_MUS)} numbers of errors, one for each plane of candidates, not {errors!r}"
        )
    return counted.astype(np.intp)
