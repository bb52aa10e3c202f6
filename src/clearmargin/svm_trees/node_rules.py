"""The tree as interval rules (r-SVMT, algorithm 4 of Pang and Kasabov, IJCNN 2008), and how to predict by them.

`exact_rules` says what the tree says, in inequalities over several features. Here every condition is a bound on one
feature; the price is that rules and tree may differ. As published: the boxes of all leaves (`node_boxes`), less those
whose training points another box *of the same class* covers, too. Simplified, as is the default, the boxes are made
into few rules that are right about every training point (`simplified_boxes`).

Either way the rules are one list, ordered by Laplace precision on the training points. The first rule that covers a row
decides; where none does, the nearest box. (A default class would be the frequent one, which is wrong for just the
rows for whose sake the tree was grown.) If the tree was grown by its errors on the rarest class, points count in
inverse proportion to the size of their class, so that simplified rules of a small class come before those of a large
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.box_distance import nearest_box
from clearmargin.rule_base.box_selection import prune_subsets
from clearmargin.rule_base.rulemaking import make_rules
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, bool_array, float_array
from clearmargin.svm_trees.node_boxes import node_boxes
from clearmargin.svm_trees.simplified_boxes import SourcedBoxes, simplified_boxes
from clearmargin.tables.encoding import Decoding, column_encoding
from clearmargin.tables.validation import check_choice, check_whole

if TYPE_CHECKING:
    from clearmargin.svm_trees.classifier import SVMTreeClassifier

__all__ = ["IntervalRules", "interval_rules"]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class IntervalRules(Value):
    r"""Rules of intervals out of a tree, with the leaves they come from, evaluated with the nearest box as fallback.

    Parameters
    ----------
    rules : RuleSet
        The rules, all of them closed boxes; the first one that covers a row decides.
    leaves : iterable of iterables of int
        For each rule the leaves it comes from: positions in ``tree_.leaves``.
    from_machine : array-like of bool of shape (r,)
        For each rule whether it comes from support vectors alone.
    reach : array-like of shape (n,)
        The range of each feature, the unit in which distances are measured.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("size <= 2 => small\n6 <= size <= 9 => large")
    >>> reading = IntervalRules(rules, [[0], [1, 3]], [False, True], [9.0])
    >>> reading.predict([[1.0], [3.0], [5.0]])
    array(['small', 'small', 'large'], dtype='<U5')
    >>> reading.n_svm_rules, reading.n_tree_rules
    (1, 1)
    """

    rules: RuleSet
    leaves: tuple[tuple[int, ...], ...]
    from_machine: BoolArray
    reach: FloatArray

    def __init__(
        self,
        rules: RuleSet,
        leaves: Iterable[Iterable[int]],
        from_machine: ArrayLike,
        reach: ArrayLike,
    ):
        sources = tuple(tuple(int(leaf) for leaf in some) for some in leaves)
        for rule in rules:
            if not isinstance(rule.region, Box):
                raise InvalidValueError(
                    f"rules of intervals are boxes, but one has the premise {rule.region!r}"
                )
        if len(sources) != len(rules) or not len(rules):
            raise InvalidValueError(
                f"{len(rules)} rules, but leaves for {len(sources)}; there must be as many, and at least one"
            )
        self._set(
            rules=rules,
            leaves=sources,
            from_machine=bool_array(from_machine, "from_machine", shape=(len(rules),)),
            reach=float_array(reach, "the reach of the features", shape=(len(rules.space),)),
        )

    @property
    def n_svm_rules(self) -> int:
        """Number of rules that come from support vectors alone."""
        return int(np.count_nonzero(self.from_machine))

    @property
    def n_tree_rules(self) -> int:
        """Number of rules that come from the structure of the tree, at least in part."""
        return len(self.rules) - self.n_svm_rules

    def which(self, X: Any) -> IntArray:
        """Give for each row the rule that decides: the first that covers it, else the nearest.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; one that no rule covers has no missing value, since it goes to the nearest.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in `rules`.
        """
        points = self.rules.space.read(X)
        found = self.rules.which(points)
        bare = found < 0
        if bare.any():
            regions = [rule.region for rule in self.rules if isinstance(rule.region, Box)]
            boxes = Boxes.from_bounds(
                [box.lower for box in regions], [box.upper for box in regions]
            )
            found = found.copy()
            found[bare] = nearest_box(points[bare], boxes, self.reach)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; one that no rule covers has no missing value, since it goes to the nearest.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        labels = [rule.label for rule in self.rules]
        # Types that numpy would mix up stay what they are.
        answers = np.array(labels)
        return (answers if answers.tolist() == labels else np.array(labels, dtype=object))[
            self.which(X)
        ]

    def __repr__(self) -> str:
        return (
            f"<IntervalRules: {len(self.rules)} rules, {self.n_svm_rules} from support vectors, "
            f"{self.n_tree_rules} from the tree>"
        )


def interval_rules(
    model: SVMTreeClassifier,
    *,
    simplify: bool = True,
    by: Literal["tree", "labels"] = "tree",
    min_coverage: int = 1,
) -> IntervalRules:
    """Read a fitted tree as rules of intervals.

    Parameters
    ----------
    model : SVMTreeClassifier
        Fitted.
    simplify : bool, default True
        Whether boxes are cut free of points of other classes, merged, shortened and selected. Without, rules are as
        published: the boxes of the leaves, with bounds on all features.
    by : {"tree", "labels"}, default "tree"
        Whose word rules should match on the training points: what the tree says, or the labels.
    min_coverage : int, default 1
        Rules that cover fewer training points are left out. More than 1 makes fewer and more robust rules.

    Returns
    -------
    IntervalRules
        The rules, with what is needed to predict by them.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> from clearmargin.svm_trees import SVMTreeClassifier
    >>> X, y = load_wbc(return_X_y=True)
    >>> model = SVMTreeClassifier(random_state=0).fit(X, y)
    >>> reading = interval_rules(model)
    >>> bool((reading.predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    check_choice("by", by, ("tree", "labels"))
    least = check_whole("min_coverage", min_coverage, 1)
    points, true, membership = model._training
    task = _task(model, by)
    start = node_boxes(model.tree_, points, true, membership, model.C)
    if simplify:
        found = simplified_boxes(start, points, task.codes, membership)
        if not len(found.boxes):
            raise DataError(
                "every training point coincides with one of another class, so that no rule is right; take by='tree'"
            )
    else:
        covers = start.boxes.masks(points)
        kept = prune_subsets(covers, start.codes, start.boxes.n_conditions)
        found = SourcedBoxes.of(start.take(kept))
    weights = None
    if simplify and model.loss == "minority":
        sizes = np.bincount(true)
        weights = (sizes.max() / sizes)[true]
    made = make_rules(
        task, FoundBoxes.observed(found.boxes, found.codes), least, None, weights=weights
    )
    return IntervalRules(
        made.rules,
        [found.leaves[k] for k in made.places],
        found.from_machine[made.places],
        np.ptp(points, axis=0),
    )


def _task(model: SVMTreeClassifier, by: str) -> ExtractionTask:
    """The training points of a tree, as extractors of rules take them."""
    points, true, _ = model._training
    space = model.space_
    encoding = column_encoding(space)
    said = model.tree_.decide(points)
    return ExtractionTask(
        model,
        encoding,
        Decoding.of(points, encoding),
        model.tree_.classes,
        points,
        said if by == "tree" else true,
        said,
        true,
        np.random.RandomState(0),
    )
