"""The classifier: a tree of support vector machines, grown layer by layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage, RuleBudget
from clearmargin.rule_base.explanation import Explanation, weighted_confidence
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.options import (
    Choice,
    Option,
    OrAuto,
    PositiveNumber,
    Share,
    WholeNumber,
    check_options,
)
from clearmargin.rule_base.training import read_labels
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.rules.value import FloatArray, IntArray, number
from clearmargin.svm_trees.choice import (
    KERNELS,
    choose_layers,
    choose_machine,
    relative_costs,
)
from clearmargin.svm_trees.grow import (
    EcmPartition,
    Growth,
    KMeansPartition,
    LocalSVM,
    Partition,
    grow,
)
from clearmargin.svm_trees.leaf_rules import exact_rules
from clearmargin.svm_trees.node_rules import IntervalRules, interval_rules
from clearmargin.svm_trees.svm_tree import SVMTree, TrainingRange
from clearmargin.tables.row_order import sample_classes
from clearmargin.tables.table import as_header, read_frame
from clearmargin.tables.validation import (
    check_choice,
    check_positive,
    check_whole,
    class_factors,
    read_points,
)

__all__ = ["SVMTreeClassifier", "class_bias_ratio"]


class SVMTreeClassifier(RuleBasedClassifier):
    """Tree of support vector machines for classes of unequal size (Pang and Kasabov, IJCNN 2008).

    The data are cut into cells around centres. A cell of one class becomes a leaf that predicts this class; a cell
    whose support vector machine errs on at most a share `tol` of its points becomes a leaf with this machine. All
    other points are pooled and cut again, finer whenever a cut gave no leaf. A new row goes to its nearest centre,
    layer by layer, until that is a leaf. Features are brought to [0, 1] inside; everything that comes out is in the
    user's units.

    Parameters
    ----------
    order : {"breadth", "depth"}, default "breadth"
        Whether all good cells of a cut become leaves, or only the largest one. Depth makes more layers and takes
        longer; neither is more accurate.
    partition : {"kmeans", "ecm"}, default "kmeans"
        How cells are cut: K-means, or the evolving clustering method, which takes the points in their order.
    scale : int or float, optional
        How coarse the first cut is: the number of centres (2 by default) for K-means; for ECM the largest radius of
        a cluster (0.9 by default) where each feature ranges from 0 to 1.
    tol : float, default 0.02
        Largest loss of a leaf with a machine, from 0 up to, but not including, 1.
    C : float or "auto", default 0.1
        Cost of an error in the machines, on data scaled to [0, 1]; with "auto" chosen by cross-validation of one
        machine for all the data.
    kernel : {"linear", "poly", "rbf", "sigmoid"} or "auto", default "linear"
        Kernel of the machines. Only linear ones have `exact_rules_`. With "auto" linear or RBF, chosen by
        cross-validation.
    gamma : {"scale", "auto"} or float, default "scale"
        Constant of the other kernels, as of `sklearn.svm.SVC`, on data scaled to [0, 1]; the same in all cells.
    coef0, degree : float, default 1.0, and int, default 2
        Constants of polynomial and sigmoid kernels.
    class_weight : mapping from class to weight, "balanced" or None, default None
        What an error on each class counts, in the machines and in the loss of a cell. "balanced" lets all classes
        weigh the same, in the whole of the training data. For a rare class take it with ``C="auto"`` and
        ``max_layers="auto"``: on twelve tables with one the tree was then 0.5 points of balanced accuracy behind the
        better of a balanced `LinearSVC` and `SVC`, with weights alone 7, and by default 11.
    loss : {"all", "minority"}, default "all"
        What the loss of a cell is: the share of errors among all its points, or among those of the rarest class of
        the training data. "minority" finds more of the rare class at the price of errors on the others. A cell
        without points of the rarest class is judged by all its points. It does not go with `class_weight`: machines
        that favour the rare class would be judged by nothing else.
    min_leaf : int, default 1
        Minimum number of points of a leaf. With strongly mixed classes small leaves learn noise.
    max_layers : int, "auto" or None, default None
        Maximum number of layers; what is left then becomes one leaf. With "auto" it is chosen by cross-validation,
        and is 1, one machine and no tree, unless cutting helps on rows that the tree was not grown from.
    one_class_leaves : {"simplified", "strict"} or None, default None
        Whether leaves of one class have a one-class SVM (RBF with sigma 3.5, nu 0.1, as in the paper). With "strict"
        they predict the other class at its outliers (of more than two classes the largest other one); with
        "simplified" their class everywhere, and the machine serves `boxes` alone. None is no such machine; with
        `published` it means "simplified", which the paper uses in practice.
    boxes : {"points", "support", "pairs"} or None, default None
        What a box of `rules_` holds in a leaf of one class: its points, all support vectors of its one-class SVM
        (algorithm 3), or each pair of them, which makes very many. None means "points", and "support" with
        `published`.
    published : bool, default False
        Whether tree and rules are as published. By default they differ from the paper in four points: leaves of one
        class have no one-class SVM; the number of centres of K-means grows by half instead of by one; boxes of support
        vectors are cut to the points of their leaf; and `rules_` are boxes that were cut free of other classes,
        merged, shortened and selected. With True `rules_` are the boxes of algorithms 2 and 3, less those whose
        points another box of the class covers too (algorithm 4, set S), all of them with ``min_coverage=1`` and
        ``max_rules=None``, and `exact_rules_` the rules of the paths (set
        C). Where the paper contradicts itself, both follow the readings listed in :mod:`clearmargin.svm_trees.grow`.
    min_coverage : int or "auto", default "auto"
        Rules of `rules_` that cover fewer training points are left out; with "auto" those whose share of their class
        cannot be told from that among all rows, by an exact test at 5 %.
    max_rules : int or None, default 15
        Maximum number of rules in `rules_`, in all classes together: one page. Those that cover most rows that no other
        one covers come first, and each class that has a rule gets one. The tree itself, `predict` and `exact_rules_`
        stay as they are. None gives all; `budget_` says what they would add.
    max_samples : int or None, default 10000
        Maximum number of rows that the tree is grown from, and that `rules_` are made from; of more rows so many are
        drawn by their values, of each class its share and at least 100. What rules cover is counted on all rows. The
        time grows with the square of this number; None takes all rows.
    random_state : int, RandomState or None, default 0
        Source of random numbers for K-means: the same tree in each run by default, another one with None.

    Attributes
    ----------
    tree_ : SVMTree
        Layers, cells and leaves; ``print(tree_)`` draws them.
    exact_rules_ : RuleSet
        The tree as an ordered list of rules: the first rule that covers a row gives what `predict` gives. Only of
        trees whose leaves decide by planes.
    rules_ : RuleSet
        The tree as few rules of intervals, which come close to it; `predict_by_rules` predicts by them, and by the tree
        where none covers a row.
    budget_ : RuleBudget
        What `rules_` cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
    interval_rules_ : IntervalRules
        The same rules with the leaves they come from.
    best_params_ : dict
        `C`, `kernel` and `max_layers` of the tree: as given, or as chosen where they are "auto".
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_leaves_ : int
        Number of leaves.
    n_support_vectors_ : int
        Number of support vectors in all leaves, without those of one-class SVMs.
    space_ : FeatureSpace
        Names and ranges of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    Examples
    --------
    >>> X = [[1.0, 2.0], [1.5, 1.0], [2.0, 2.5], [7.0, 8.0], [8.0, 6.0]]
    >>> model = SVMTreeClassifier(random_state=0).fit(X, ["low", "low", "low", "high", "high"])
    >>> model.predict([[2.0, 2.0], [9.0, 9.0]])
    array(['low', 'high'], dtype='<U4')
    >>> [rule.n_conditions for rule in model.rules_], model.predict_by_rules([[2.0, 2.0]])
    ([1, 1], array(['low'], dtype='<U4'))
    """

    _options: ClassVar[Mapping[str, Option]] = {
        "order": Choice("breadth", "depth"),
        "partition": Choice("kmeans", "ecm"),
        "tol": Share(),
        "C": OrAuto(PositiveNumber()),
        "kernel": OrAuto(Choice("linear", "poly", "rbf", "sigmoid")),
        "degree": WholeNumber(1),
        "loss": Choice("all", "minority"),
        "min_leaf": WholeNumber(1),
        "max_layers": OrAuto(WholeNumber(1, optional=True)),
        "min_coverage": OrAuto(WholeNumber(1)),
        "max_rules": WholeNumber(1, optional=True),
        "max_samples": WholeNumber(1, optional=True),
    }
    # Whether cells are refused without fitting where their loss is known; the tree is the same without.
    _prefilter = True

    tree_: SVMTree
    best_params_: dict[str, Any]
    classes_: NDArray[Any]
    space_: FeatureSpace
    _svm: LocalSVM
    _training: tuple[FloatArray, IntArray, IntArray]
    _counted: tuple[FloatArray, IntArray]
    _exact_rules: RuleSet | None
    _interval_rules: IntervalRules | None

    def __init__(
        self,
        *,
        order: Literal["breadth", "depth"] = "breadth",
        partition: Literal["kmeans", "ecm"] = "kmeans",
        scale: float | None = None,
        tol: float = 0.02,
        C: float | Literal["auto"] = 0.1,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "auto"] = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 1.0,
        degree: int = 2,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        loss: Literal["all", "minority"] = "all",
        min_leaf: int = 1,
        max_layers: int | Literal["auto"] | None = None,
        one_class_leaves: Literal["simplified", "strict"] | None = None,
        boxes: Literal["points", "support", "pairs"] | None = None,
        published: bool = False,
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
        max_samples: int | None = 10_000,
        random_state: Any = 0,
    ):
        self.order = order
        self.partition = partition
        self.scale = scale
        self.tol = tol
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.class_weight = class_weight
        self.loss = loss
        self.min_leaf = min_leaf
        self.max_layers = max_layers
        self.one_class_leaves = one_class_leaves
        self.boxes = boxes
        self.published = published
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.max_samples = max_samples
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The points.
        y : array-like of shape (m,)
            Their classes, two or more.

        Returns
        -------
        SVMTreeClassifier
            The fitted classifier.
        """
        check_options(self, self._options)
        self._check_leaves()
        partition = self._partition()
        X = read_frame(X)
        labels = read_labels(X, y)
        validate_data(self, as_header(X), skip_check_array=True)
        points = read_points(self, X)
        _check_ranges(points)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) == 1:
            raise DataError(
                f"y holds only one class, {self.classes_.tolist()[0]!r}; a classifier needs two classes to tell apart"
            )
        self.space_ = _space(points, getattr(self, "feature_names_in_", None))
        # What rules cover is counted on all rows, also where the tree is grown from some of them.
        self._counted = (points, codes)
        if self.max_samples is not None:
            rows = sample_classes(points, codes, self.max_samples)
            points, codes = points[rows], codes[rows]
        rng = check_random_state(self.random_state)
        growth = self._choose(points, codes, partition)
        self._svm = growth.svm
        self.best_params_ = {
            "C": growth.svm.C,
            "kernel": growth.svm.kind,
            "max_layers": growth.max_layers,
        }
        layers, membership, frame = grow(points, codes, partition, growth, rng)
        self.tree_ = SVMTree(layers, frame.low, frame.width, self.space_.names, self.classes_)
        # Points, classes and leaves of the rows that the tree is grown from, for readings of the tree that describe
        # leaves by their points.
        self._training = (points, codes, membership)
        self._exact_rules = None
        self._interval_rules = None
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        check_is_fitted(self)
        return self.classes_[self.tree_.decide(read_points(self, X))]

    def _read_table(self, X: Any) -> tuple[FloatArray, None]:
        check_is_fitted(self)
        return read_points(self, X), None

    def explain_many(
        self, X: Any, kind: str = "rule", *, weights: Mapping[str, float] | None = None
    ) -> list[Explanation]:
        """Explain the class of each row by a rule.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.
        kind : {"rule", "leaf"}, default "rule"
            "rule": the first rule of `rules_` that covers the case, where it gives the class that the tree predicts;
            else as for "leaf". "leaf": the rule of `exact_rules_` that decides the case; where leaves decide by kernel
            functions, the least box that holds the case and the training points of its leaf that are predicted to be
            of its class.
        weights : mapping from part to float, optional
            How much the parts of the confidence, "coverage" and "purity", count; one that is not named has weight 1.

        Returns
        -------
        list of Explanation
            One a row.
        """
        Choice("rule", "leaf").check("kind", kind)
        points, _ = self._read_table(X)
        codes = self.tree_.decide(points)
        which = self.rules_.which(points)
        labels = self.tree_.classes
        fits = [
            kind == "rule" and k >= 0 and self.rules_[k].label == labels[code]
            for k, code in zip(which.tolist(), codes.tolist(), strict=True)
        ]
        others = np.flatnonzero(~np.array(fits, dtype=np.bool_))
        by_leaf = iter(self._leaf_rules(points[others], codes[others]))
        rules = [self.rules_[which[k]] if fit else next(by_leaf) for k, fit in enumerate(fits)]
        training, true, _ = self._training
        seen = LabelledPoints(training, true, self.tree_.decide(training)).sample()
        inside = np.array([rule.region.contains(seen.points) for rule in rules])
        coverage, purity = seen.measure(inside.reshape(len(rules), len(seen.points)), codes)
        confidence = weighted_confidence({"coverage": coverage, "purity": purity}, weights)
        return [
            Explanation(
                "rule" if fits[k] else "leaf",
                rule,
                rule.label,
                math.nan,
                float(confidence[k]),
                {"coverage": float(coverage[k]), "purity": float(purity[k])},
                self.space_,
                case=tuple(points[k].tolist()),
                weights=dict(weights or {}),
            )
            for k, rule in enumerate(rules)
        ]

    def _leaf_rules(self, points: FloatArray, codes: IntArray) -> list[Rule]:
        """Give for each point a rule of its leaf."""
        if not len(points):
            return []  # and no exact rules have to be made
        if all(leaf.is_linear for leaf in self.tree_.leaves):
            return [self.exact_rules_[k] for k in self.exact_rules_.which(points)]
        training, _, membership = self._training
        predicted, leaves = self.tree_.decide(training), self.tree_.apply(points)
        rules = []
        for point, code, leaf in zip(points, codes, leaves, strict=True):
            own = np.vstack([training[(membership == leaf) & (predicted == code)], point])
            region = Box(own.min(axis=0), own.max(axis=0))
            label = self.tree_.classes[code]
            rules.append(
                Rule(region, label, origin="extracted", proof="observed", name=f"leaf_{leaf}")
            )
        return rules

    def predict_by_rules(self, X: Any) -> NDArray[Any]:
        """Give the class of each row by `rules_` instead of the tree.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            The class of the first rule that covers a row. Where none does, what the tree predicts; with
            ``max_rules=None``, the class of the nearest rule.
        """
        reading, points = self.interval_rules_, read_points(self, X)
        codes = np.array([self.tree_.classes.index(rule.label) for rule in reading.rules])
        if self.max_rules is None:
            return np.asarray(self.classes_[codes[reading.which(points)]])
        which = reading.rules.which(points)
        decided = self.tree_.decide(points)
        return np.asarray(self.classes_[np.where(which < 0, decided, codes[which])])

    def apply(self, X: Any) -> IntArray:
        """Give the leaf to which each row comes.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in ``tree_.leaves``.
        """
        check_is_fitted(self)
        return self.tree_.apply(read_points(self, X))

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def n_support_vectors_(self) -> int:
        """Number of support vectors in all leaves."""
        check_is_fitted(self)
        return self.tree_.n_support_vectors

    @property
    def exact_rules_(self) -> RuleSet:
        """The tree as an ordered list of rules, made when first asked for; see `exact_rules`."""
        check_is_fitted(self)
        if self._exact_rules is None:
            self._exact_rules = exact_rules(self.tree_, self.space_, data=self._counted)
        return self._exact_rules

    @property
    def rules_(self) -> RuleSet:
        """The tree as few rules of intervals, made when first asked for; see `interval_rules`."""
        return self.interval_rules_.rules

    @property
    def interval_rules_(self) -> IntervalRules:
        """The rules of intervals with the leaves they come from; see `interval_rules` for other ways to make them."""
        check_is_fitted(self)
        if self._interval_rules is None:
            self._interval_rules = interval_rules(
                self, min_coverage=self.min_coverage, max_rules=self.max_rules
            )
        return self._interval_rules

    @property
    def budget_(self) -> RuleBudget:
        """What `rules_` cover, and what all rules that were found would."""
        budget = self.interval_rules_.budget
        assert budget is not None  # of rules that were read from a tree
        return budget

    def _choose(self, points: FloatArray, codes: IntArray, partition: Partition) -> Growth:
        """Say how the tree is to grow, after what is "auto" was chosen."""
        machines = self._machines(points, codes)
        growth = self._growth(machines[0])
        growth = replace(growth, svm=choose_machine(points, codes, partition, growth, machines))
        if self.max_layers == "auto":
            layers = choose_layers(points, codes, partition, growth)
            return replace(growth, max_layers=layers)
        return replace(growth, max_layers=None if self.max_layers is None else int(self.max_layers))

    def _growth(self, svm: LocalSVM) -> Growth:
        return Growth(
            order=self.order,
            tol=float(self.tol),
            svm=svm,
            loss=self.loss,
            min_leaf=int(self.min_leaf),
            prefilter=self._prefilter,
            one_class=self.one_class_leaves or ("simplified" if self.published else None),
        )

    def _machines(self, points: FloatArray, codes: IntArray) -> list[LocalSVM]:
        """Give the machines to choose from: one, unless cost or kernel are "auto"."""
        weights = None
        if self.class_weight is not None:
            sums = np.bincount(codes).astype(np.float64)
            weights = tuple(class_factors(self.class_weight, self.classes_, sums).tolist())
        gamma = self.gamma
        if isinstance(gamma, str):
            scaled = TrainingRange.from_points(points).scale(points)
            spread = float(scaled.var()) if gamma == "scale" else 1.0
            gamma = 1.0 / (points.shape[1] * (spread or 1.0))
        constants = (float(gamma), float(self.coef0), int(self.degree))
        costs = relative_costs(points) if self.C == "auto" else (float(self.C),)
        kernels = KERNELS if self.kernel == "auto" else (self.kernel,)
        return [LocalSVM(C, weights, kind, *constants) for kind in kernels for C in costs]

    def _check_leaves(self) -> None:
        """Raise if options do not go with each other."""
        check_choice("one_class_leaves", self.one_class_leaves, ("simplified", "strict", None))
        check_choice("boxes", self.boxes, ("points", "support", "pairs", None))
        if not (isinstance(self.gamma, str) and self.gamma in ("scale", "auto")):
            check_positive("gamma, unless it is 'scale' or 'auto',", self.gamma)
        number(self.coef0, "coef0")
        has_machines = self.one_class_leaves is not None or self.published
        if self.boxes in ("support", "pairs") and not has_machines:
            raise InvalidValueError(
                f"boxes={self.boxes!r} are those of one-class SVMs, and leaves have none; "
                "add one_class_leaves='simplified'"
            )
        if self.loss == "minority" and self.class_weight is not None:
            raise InvalidValueError(
                "loss='minority' does not go with class_weight: machines that favour the rare class would be judged by "
                "nothing else; take loss='all', which counts errors by the weights of their classes"
            )

    def _partition(self) -> Partition:
        if self.partition == "ecm":
            return EcmPartition(0.9 if self.scale is None else check_positive("scale", self.scale))
        if self.scale is not None and not isinstance(self.scale, Integral):
            raise InvalidValueError(
                f"scale is the number of centres for partition='kmeans', a whole number, not {self.scale!r}; "
                "a distance threshold goes with partition='ecm'"
            )
        start = 2 if self.scale is None else check_whole("scale", self.scale, 1)
        return KMeansPartition(start, self.published)


def _check_ranges(points: FloatArray) -> None:
    with np.errstate(over="ignore"):
        wide = np.flatnonzero(np.isinf(np.ptp(points, axis=0)))
    if len(wide):
        raise DataError(
            f"column 'x{wide[0]}' of X ranges from {points[:, wide[0]].min():.3g} to {points[:, wide[0]].max():.3g}, "
            "more than a floating-point number can hold; use a larger unit"
        )


def _space(points: FloatArray, names: NDArray[Any] | None) -> FeatureSpace:
    called = [f"x{j}" for j in range(points.shape[1])] if names is None else names.tolist()
    whole = (points == np.floor(points)).all(axis=0)
    return FeatureSpace(called, points.min(axis=0), points.max(axis=0), whole)


def class_bias_ratio(y_true: Any, y_pred: Any) -> float:
    """Measure how much better one class is recognised than another: 1 - min / max of the classes' accuracies.

    The accuracy of a class is the share of its rows that get the right label. The ratio is 0 when all classes are
    recognised equally well and 1 when some class is never recognised while another one is (Pang and Kasabov, 2008).
    Where *no* row gets the right label all classes are treated alike, and it is 0.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        The true classes, at least two different ones. Only they count: a predicted label that is none of them is an
        error like any other.
    y_pred : array-like of shape (m,)
        The predicted classes.

    Returns
    -------
    float
        Between 0 (even) and 1 (one-sided).

    Examples
    --------
    >>> class_bias_ratio(["ill", "ill", "well", "well"], ["ill", "well", "well", "well"])
    0.5
    """
    truth, predicted = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    if len(truth) != len(predicted):
        raise DataError(
            f"y_true has {len(truth)} labels but y_pred has {len(predicted)}; each row needs one of both"
        )
    if not len(truth):
        raise DataError("y_true is empty: there is nothing to measure")
    classes, codes = np.unique(truth, return_inverse=True)
    if len(classes) == 1:
        raise DataError(
            f"y_true holds only one class, {classes.tolist()[0]!r}; the class bias ratio compares classes"
        )
    right = np.array(truth.tolist(), dtype=object) == np.array(predicted.tolist(), dtype=object)
    accuracy = np.bincount(codes, weights=right) / np.bincount(codes)
    best = float(accuracy.max())
    return 1.0 - float(accuracy.min()) / best if best else 0.0


def _labels(y: Any, what: str) -> np.ndarray[tuple[int], np.dtype[Any]]:
    try:
        labels: np.ndarray[tuple[int], np.dtype[Any]] = column_or_1d(y)
        if len(labels):
            check_classification_targets(labels)
    except ValueError as error:
        raise DataError(f"{what} must hold one class a row: {error}") from None
    return labels
