"""The classifier: a tree of support vector machines, grown layer by layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.progress import all_or_nothing
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.box_choice import nearest_box
from clearmargin.rule_base.box_rules import RuleBoxes
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage, RuleBudget
from clearmargin.rule_base.explanation import Explanation
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
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.svm_trees.choice import (
    choose_layers,
    choose_machine,
    relative_costs,
)
from clearmargin.svm_trees.grow import Growth, LocalSVM, Partition, grow
from clearmargin.svm_trees.node_rules import read_rules
from clearmargin.svm_trees.svm_tree import SVMTree, TrainingRange
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.row_order import canonical_order, sample_classes
from clearmargin.tables.sampled_fit import counted_on_all, fits_a_sample
from clearmargin.tables.table import as_header, read_frame
from clearmargin.tables.table_part import over_parts
from clearmargin.tables.validation import (
    check_extremes,
    class_factors,
    read_points,
)

# Rows that a tree is grown from: the time grows with the square of this number.
_MOST_ROWS = 10_000
# Rows by which cost, kernel and number of layers are chosen: five folds of a machine each, for each of them.
_CHOICE_ROWS = 2_000


class _Rows(NamedTuple):
    """Distinct rows with their classes, what they weigh, and how many rows of the table each stands for."""

    points: FloatArray
    codes: IntArray
    weights: FloatArray
    copies: IntArray

    def sample(self, n_rows: int) -> _Rows:
        """Draw about so many by their values; all of them where there are no more."""
        drawn = sample_classes(self.points, self.codes, n_rows)
        points, codes, weights, copies = self
        return _Rows(points[drawn], codes[drawn], weights[drawn], copies[drawn])


class SVMTreeClassifier(RuleBasedClassifier):
    """Tree of support vector machines for classes of unequal size (Pang and Kasabov, IJCNN 2008).

    The data are cut into cells around centres. A cell of one class becomes a leaf that predicts this class; a cell
    whose support vector machine errs on at most a share `tol` of its points becomes a leaf with this machine. All
    other points are pooled and cut again, finer whenever a cut gave no leaf. A new row goes to its nearest centre,
    layer by layer, until that is a leaf. Features are brought to [0, 1] inside; everything that comes out is in the
    user's units. Of more than 10,000 rows the tree is grown, and `rules_` are made, from so many, drawn by their
    values, of each class its share and at least 100; what rules cover is counted on all.

    Parameters
    ----------
    order : {"breadth", "depth"}, default "breadth"
        Whether all good cells of a cut become leaves, or only the largest one. Depth makes more layers and takes
        longer; neither is more accurate.
    partition : {"kmeans", "ecm"}, default "kmeans"
        How cells are cut: K-means, or the evolving clustering method, which takes the points one after the other, in
        an order that depends on their values alone.
    tol : float, default 0.02
        Largest loss of a leaf with a machine, from 0 up to, but not including, 1.
    C : float or "auto", default "auto"
        Cost of an error in the machines, on data scaled to [0, 1]; with "auto" chosen by cross-validation of one
        machine for all the data. The paper's is 0.1.
    class_weight : mapping from class to weight, "balanced" or None, default None
        What an error on each class counts, in the machines and in the loss of a cell. "balanced" lets all classes
        weigh the same, in the whole of the training data: take it for a rare class. On twelve tables with one the tree
        was then 0.7 points of balanced accuracy behind the better of a balanced `LinearSVC` and `SVC`; with the paper's
        `C` and `max_layers`, 7.
    loss : {"all", "minority"}, default "all"
        What the loss of a cell is: the share of errors among all its points, or among those of the rarest class of
        the training data. "minority" finds more of the rare class at the price of errors on the others. A cell
        without points of the rarest class is judged by all its points. It does not go with `class_weight`: machines
        that favour the rare class would be judged by nothing else.
    min_leaf : int, default 1
        Minimum number of points of a leaf. With strongly mixed classes small leaves learn noise.
    max_layers : int, "auto" or None, default "auto"
        Maximum number of layers; what is left then becomes one leaf. With "auto" it is chosen by cross-validation,
        and is 1, one machine and no tree, unless cutting helps on rows that the tree was not grown from. None is no
        maximum, as in the paper. What is "auto" is chosen by up to 2,000 rows, of more by a sample drawn by their
        values.
    simplify : bool, default True
        Whether `rules_` are boxes that were cut free of other classes, merged, shortened and selected. With False they
        are those of algorithms 2 and 3 of the paper, less those whose points another box of the class covers too
        (algorithm 4, set S), all of them with ``min_coverage=1, max_rules=None``: leaves of one class then have a
        one-class SVM (RBF with sigma 3.5, nu 0.1) and the box of its support vectors. With
        ``simplify=False, C=0.1, max_layers=None`` tree and rules are as published, but that the number of centres of
        K-means grows by half instead of by one. Where the paper contradicts itself, they follow the readings listed in
        :mod:`clearmargin.svm_trees.grow`.
    min_coverage : int or "auto", default "auto"
        Rules of `rules_` that cover fewer training points are left out; with "auto" those whose share of their class
        cannot be told from that among all rows, by an exact test at 5 %.
    max_rules : int or None, default 15
        Maximum number of rules in `rules_`, in all classes together: one page. Those that cover most rows that no other
        one covers come first, and each class that has a rule gets one. The tree and `predict` stay as they are. None
        gives all; `budget_` says what they would add.
    random_state : int, RandomState or None, default 0
        Source of random numbers for K-means: the same tree in each run by default, another one with None.

    Attributes
    ----------
    tree_ : SVMTree
        Layers, cells and leaves; ``print(tree_)`` draws them.
    rules_ : RuleSet
        The tree as few rules of intervals, which come close to it; `predict_by_rules` predicts by them, and by the tree
        where none covers a row.
    budget_ : RuleBudget
        What `rules_` cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
    best_params_ : dict
        `C` and `max_layers` of the tree: as given, or as chosen where they are "auto".
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_leaves_ : int
        Number of leaves.
    n_support_vectors_ : int
        Number of support vectors in all leaves.
    space_ : FeatureSpace
        Names and ranges of the features.
    n_rows_, n_sampled_rows_ : int
        How many rows the table has, and how many of them were taken: all, or of a table in files a sample. Rules have
        the counts of all rows.
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
        "simplify": Choice(True, False),
        "tol": Share(),
        "C": OrAuto(PositiveNumber()),
        "loss": Choice("all", "minority"),
        "min_leaf": WholeNumber(1),
        "max_layers": OrAuto(WholeNumber(1, optional=True)),
        "min_coverage": OrAuto(WholeNumber(1)),
        "max_rules": WholeNumber(1, optional=True),
    }

    tree_: SVMTree
    best_params_: dict[str, Any]
    classes_: NDArray[Any]
    space_: FeatureSpace
    _svm: LocalSVM
    _training: tuple[FloatArray, IntArray, IntArray]
    _counted: tuple[FloatArray, IntArray]
    _made: RuleBoxes | None

    def __init__(
        self,
        *,
        order: Literal["breadth", "depth"] = "breadth",
        partition: Literal["kmeans", "ecm"] = "kmeans",
        tol: float = 0.02,
        C: float | Literal["auto"] = "auto",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        loss: Literal["all", "minority"] = "all",
        min_leaf: int = 1,
        max_layers: int | Literal["auto"] | None = "auto",
        simplify: bool = True,
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
        random_state: Any = 0,
    ):
        self.order = order
        self.partition = partition
        self.tol = tol
        self.C = C
        self.class_weight = class_weight
        self.loss = loss
        self.min_leaf = min_leaf
        self.max_layers = max_layers
        self.simplify = simplify
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.random_state = random_state

    @all_or_nothing
    @fits_a_sample
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The points. A table in files has its classes with it; of more than 100,000 rows a sample is taken
            (`n_sampled_rows_`), and the rules are counted on all rows.
        y : array-like of shape (m,)
            Their classes, two or more.
        sample_weight : array-like of shape (m,), optional
            What each point counts: a weight of 2 is as two equal rows, and one of 0 as none.

        Returns
        -------
        SVMTreeClassifier
            The fitted classifier.
        """
        check_options(self, self._options)
        if self.loss == "minority" and self.class_weight is not None:
            raise InvalidValueError(
                "loss='minority' does not go with class_weight: machines that favour the rare class would be judged by "
                "nothing else; take loss='all', which counts errors by the weights of their classes"
            )
        X = read_frame(X)
        labels = read_labels(X, y)
        validate_data(self, as_header(X), skip_check_array=True)
        points = read_points(self, X)
        weights = np.ones(len(points))
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X=points, dtype=np.float64, ensure_non_negative=True
            )
            counted = weights > 0
            points, labels, weights = points[counted], labels[counted], weights[counted]
            if not len(points):
                raise DataError(
                    "sample_weight is zero for all rows; there is nothing to learn from"
                )
        check_extremes(points, self, X)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) == 1:
            raise DataError(
                f"y holds only one class, {self.classes_.tolist()[0]!r}; a classifier needs two classes to tell apart"
            )
        self.space_ = _space(points, getattr(self, "feature_names_in_", None))
        # What rules cover is counted on all rows, also where the tree is grown from some of them.
        self._counted = (points, codes)
        rows, home = self._merge(points, codes, weights)
        rng = check_random_state(self.random_state)
        growth = self._choose(rows)
        self._svm = growth.svm
        self.best_params_ = {
            "C": growth.svm.C,
            "max_layers": growth.max_layers,
        }
        layers, membership, frame = grow(
            rows.points, rows.codes, growth, rng, rows.weights, rows.copies
        )
        self.tree_ = SVMTree(layers, frame.low, frame.width, self.space_.names, self.classes_)
        # Points, classes and leaves of the rows that the tree is grown from, for readings of the tree that describe
        # leaves by their points.
        seen = home >= 0
        self._training = (points[seen], codes[seen], membership[home[seen]])
        self._made = None
        return self

    @over_parts
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

    @over_parts
    def decision_function(self, X: Any) -> FloatArray:
        """Give how clearly the leaf of each row decides, for example to calibrate the tree.

        Distances from planes count where each feature ranges from 0 to 1; a leaf of one class has 1. Scores of
        different leaves are comparable in sign, and only roughly in size.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Of two classes positive for the second; of more a column for each, the highest that of the class predicted.
        """
        check_is_fitted(self)
        scores = self.tree_.scores(read_points(self, X))
        return scores if len(self.classes_) > 2 else scores[:, 1]

    def _read_table(self, X: Any) -> tuple[FloatArray, None]:
        check_is_fitted(self)
        return read_points(self, X), None

    def explain_many(self, X: Any) -> list[Explanation]:
        """Explain the class of each row by a rule.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.

        Returns
        -------
        list of Explanation
            One a row: by the first rule of `rules_` that covers the case, where it gives the class that the tree
            predicts; else by the least box that holds the case and the training points of its leaf that are predicted
            to be of its class.
        """
        points, _ = self._read_table(X)
        codes = self.tree_.decide(points)
        which = self.rules_.which(points)
        labels = self.tree_.classes
        fits = [
            k >= 0 and self.rules_[k].label == labels[code]
            for k, code in zip(which.tolist(), codes.tolist(), strict=True)
        ]
        others = np.flatnonzero(~np.array(fits, dtype=np.bool_))
        by_leaf = iter(self._leaf_rules(points[others], codes[others]))
        rules = [self.rules_[which[k]] if fit else next(by_leaf) for k, fit in enumerate(fits)]
        return [
            Explanation(
                "rule" if fits[k] else "leaf",
                rule,
                rule.label,
                math.nan,
                self.space_,
                case=tuple(points[k].tolist()),
            )
            for k, rule in enumerate(rules)
        ]

    def _leaf_rules(self, points: FloatArray, codes: IntArray) -> list[Rule]:
        """Give for each point a rule of its leaf."""
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
        rules, points = self.rules_, read_points(self, X)
        codes = np.array([self.tree_.classes.index(rule.label) for rule in rules])
        which = rules.which(points)
        predicted = np.where(which < 0, self.tree_.decide(points), codes[which])
        bare = which < 0
        if self.max_rules is None and bare.any():
            boxes = [rule.region for rule in rules if isinstance(rule.region, Box)]
            limits = Box.stack(boxes, points.shape[1])
            reach = np.ptp(self._counted[0], axis=0)
            predicted[bare] = codes[nearest_box(points[bare], limits, reach)]
        return np.asarray(self.classes_[predicted])

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
    def rules_(self) -> RuleSet:
        """The tree as few rules of intervals, made when first asked for."""
        return self._read_rules().rules

    def _read_rules(self) -> RuleBoxes:
        check_is_fitted(self)
        if self._made is None:
            self._made = read_rules(self)
        return self._made

    def _count_on_all(self, parts: TableParts) -> None:
        """Count the rules of a tree that was grown from a sample of a table in partitions on all of its rows."""
        made = self._read_rules()
        self._made = made._replace(rules=counted_on_all(made.rules, parts, self))

    @property
    def budget_(self) -> RuleBudget:
        """What `rules_` cover, and what all rules that were found would."""
        return self._read_rules().budget

    def _merge(
        self, points: FloatArray, codes: IntArray, weights: FloatArray
    ) -> tuple[_Rows, IntArray]:
        """Take equal rows of a class together, put them in an order of their values, and draw a sample of very many."""
        table, first, place, copies = np.unique(
            np.column_stack([points + 0.0, codes]),
            axis=0,
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        # The order does not depend on units.
        table[:, :-1] = TrainingRange.from_points(points).scale(table[:, :-1])
        order = canonical_order(table, np.arange(len(table)))
        drawn = first[order]
        order = order[sample_classes(points[drawn], codes[drawn], _MOST_ROWS)]
        position = np.full(len(table), -1)
        position[order] = np.arange(len(order))
        rows = _Rows(
            points[first[order]],
            codes[first[order]],
            np.bincount(place.ravel(), weights=weights).astype(np.float64)[order],
            copies[order],
        )
        return rows, position[place.ravel()]

    def _choose(self, rows: _Rows) -> Growth:
        """Say how the tree is to grow: cost and number of layers by cross-validation where they are "auto"."""
        weights = None
        if self.class_weight is not None:
            sums = np.bincount(rows.codes, weights=rows.weights).astype(np.float64)
            weights = tuple(class_factors(self.class_weight, self.classes_, sums).tolist())
        costs = relative_costs(rows.points) if self.C == "auto" else (float(self.C),)
        machines = [LocalSVM(C, weights) for C in costs]
        growth = Growth(
            Partition(self.partition),
            self.order,
            float(self.tol),
            machines[0],
            self.loss,
            int(self.min_leaf),
        )
        points, codes, sampled_weights, _ = rows.sample(_CHOICE_ROWS)
        svm = choose_machine(points, codes, growth, machines, sampled_weights)
        growth = replace(growth, svm=svm)
        layers = self.max_layers
        if layers == "auto":
            layers = choose_layers(points, codes, growth, sampled_weights)
        return replace(growth, max_layers=None if layers is None else int(layers))


def _space(points: FloatArray, names: NDArray[Any] | None) -> FeatureSpace:
    called = [f"x{j}" for j in range(points.shape[1])] if names is None else names.tolist()
    whole = (points == np.floor(points)).all(axis=0)
    return FeatureSpace(called, points.min(axis=0), points.max(axis=0), whole)
