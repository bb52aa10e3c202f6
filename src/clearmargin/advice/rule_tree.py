"""The rules of a fitted model for those who look at them afterwards: as rows, and as small decision trees.

`FittedAdvice` has the premises before and after as rows over the columns; figures are drawn from it.

**A decision tree** comes close to a rule with linear conditions, for people who read trees. A premise is sampled in
three ways, a third each: all over the domain of the model, in and around the smallest box that holds the premise, and
in the premise itself; the rows of the data come on top. Conditions on one feature become the first questions of the
tree, as they are. Below them, a tree of scikit-learn learns which points satisfy the conditions on several features,
and its thresholds are rounded. How well the finished tree agrees with the premise is then measured on sampled points
that it has not seen, and on the rows of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from clearmargin.advice.advice_reading import Columns, Premise, encode_rule
from clearmargin.advice.outcome import AdviceOutcome, Verdict
from clearmargin.advice.train import Frame
from clearmargin.advice.verdict import tight_intervals
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import format_label, format_number
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.validation import read_points

__all__ = [
    "FittedAdvice",
    "Node",
    "RuleTree",
    "RuleTrees",
    "TreeLeaf",
    "TreeTest",
    "fit_tree",
    "rule_trees",
]


@dataclass(frozen=True, slots=True)
class FittedAdvice:
    """What a fitted model knows of its advice, over its columns and in the user's units.

    Parameters
    ----------
    names : tuple of str
        The columns.
    columns : Columns
        The columns of each feature of the advice.
    outcome : AdviceOutcome
        What became of each rule.
    before, after : tuple of Premise
        The premises as they were given and as they count now.
    points : ndarray of shape (m, n) or None
        The rows of the table that was given.

    Examples
    --------
    >>> from clearmargin.advice import AdviceSVC
    >>> model = AdviceSVC("x0 >= 1 => yes", lam=10).fit([[0.0], [2.0]], ["no", "yes"])
    >>> FittedAdvice.of(model).before[0].D.tolist()
    [[-1.0]]
    """

    names: tuple[str, ...]
    columns: Columns
    outcome: AdviceOutcome
    before: tuple[Premise, ...]
    after: tuple[Premise, ...]
    points: FloatArray | None

    @classmethod
    def of(cls, model: Any, X: Any = None) -> FittedAdvice:
        """Read a fitted model.

        Parameters
        ----------
        model : AdviceSVC
            Fitted.
        X : data frame or array-like of shape (m, n), optional
            Rows, as the model takes them.

        Returns
        -------
        FittedAdvice
            Its advice.
        """
        if not hasattr(model, "fit") or not hasattr(model, "advice"):
            raise InvalidValueError(
                f"a fitted AdviceSVC is needed, not {type(model).__name__}: only it has advice before and after"
            )
        check_is_fitted(model)
        points = None if X is None else np.asarray(read_points(model, X))
        given = getattr(model, "feature_names_in_", None)
        # As training does: rules read an array by position where they have as many features.
        by_position = (
            given is None
            and isinstance(model.advice, RuleSet)
            and len(model.advice_.space) == model.n_features_in_
        )
        if by_position:
            names = list(model.advice_.space.names)
        elif given is None:
            names = [f"x{j}" for j in range(model.n_features_in_)]
        else:
            names = [str(name) for name in given]
        binary = None if points is None else ((points == 0) | (points == 1)).all(axis=0)
        columns = Columns.match(model.advice_.space, names, binary, by_position)
        refined = Columns.match(model.refined_.space, names, binary, by_position)
        return cls(
            names=tuple(names),
            columns=columns,
            outcome=model.outcome_,
            before=tuple(encode_rule(rule.before, columns) for rule in model.outcome_),
            after=tuple(encode_rule(rule.after, refined) for rule in model.outcome_),
            points=points,
        )

    def name_of(self, k: int) -> str:
        """Return what a rule is called; without a name by its number, counted from 1."""
        return self.outcome[k].before.name or f"rule {k + 1}"

    def find(self, rule: object) -> int:
        """Find a rule by its name, or by its position in the outcome.

        Parameters
        ----------
        rule : str or int
            Its name; or its position, as in ``outcome_[position]``.

        Returns
        -------
        int
            Its position.
        """
        count = len(self.outcome)
        if not count:
            raise InvalidValueError("the model was fitted without advice; there is no rule to show")
        if isinstance(rule, int | np.integer) and not isinstance(rule, bool):
            if not -count <= rule < count:
                raise InvalidValueError(
                    f"rule must be a name or a position from 0 to {count - 1}, not {rule}"
                )
            return int(rule) % count
        names = [self.name_of(k) for k in range(count)]
        if not isinstance(rule, str):
            raise InvalidValueError(f"rule must be a name or a position, not {rule!r}")
        if rule not in names:
            raise InvalidValueError(f"unknown rule {rule!r}{nearest_name(rule, names)}")
        return names.index(rule)

    def column(self, name: str) -> int:
        """Find the position of a column; an unknown name is an error that suggests the nearest one."""
        if name not in self.names:
            raise DataError(f"unknown feature {name!r}{nearest_name(str(name), self.names)}")
        return self.names.index(name)

    def typical(self) -> FloatArray | None:
        """Return a typical row: medians, and of each category the most frequent one; None where no table was given."""
        if self.points is None or not len(self.points):
            return None
        row: FloatArray = np.median(self.points, axis=0)
        for group in self.columns.groups.values():
            members = list(group.values())
            most = members[int(self.points[:, members].sum(axis=0).argmax())]
            row[members] = 0.0
            row[most] = 1.0
        return row


# Of the width of the box around a premise, sampled on either side of it as well.
_AROUND = 0.25
# A premise may fill so little of its box that points in it are rare; this often we try again.
_MAX_TRIES = 40


@dataclass(frozen=True, slots=True)
class RuleTrees:
    """A rule before and after training, each as a small decision tree.

    Parameters
    ----------
    name : str
        What the rule is called.
    label : str, int, float or bool
        Its class.
    verdict : str
        What became of it.
    before, after : RuleTree
        The trees. Of a rejected rule, `after` is the last form in which it still had points.
    text_before, text_after : str
        The rule itself in the rule language.

    Examples
    --------
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0], [35.0], [50.0], [60.0]]
    >>> model = AdviceSVC("x0 >= 31 => ill", lam=10.0).fit(X, ["well", "ill", "ill", "ill"])
    >>> trees = rule_trees(model, X=X)
    >>> trees.verdict, trees.before.root == trees.after.root
    ('kept', True)
    """

    name: str
    label: Label
    verdict: Verdict
    before: RuleTree
    after: RuleTree
    text_before: str
    text_after: str

    def __str__(self) -> str:
        return "\n".join(
            [
                f"before  {self.text_before}",
                str(self.before),
                f"after   {self.text_after}  ({self.verdict})",
                str(self.after),
            ]
        )


def rule_trees(
    model: Any,
    rule: str | int = 0,
    X: Any = None,
    *,
    max_depth: int = 3,
    n_samples: int = 3000,
    random_state: int | None = 0,
) -> RuleTrees:
    """Say a rule, as it was given and as it was refined, as two small decision trees.

    Parameters
    ----------
    model : AdviceSVC
        Fitted.
    rule : str or int, default 0
        Name of the rule, or its position in `outcome_`.
    X : data frame or array-like of shape (m, n)
        The rows that the model was trained with; their ranges say where cases live.
    max_depth : int, default 3
        Most questions one after the other that stand for conditions on several features. Conditions on one feature
        are asked before those, exactly as they are.
    n_samples : int, default 3000
        Number of points to learn a tree from, besides the rows of X; as many measure how well it agrees.
    random_state : int or None, default 0
        Seed of the samples; with None each call has its own.

    Returns
    -------
    RuleTrees
        Both trees; print them. Each says how well it agrees with its rule.

    Examples
    --------
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0, 0.1], [35.0, 0.7], [50.0, 0.4], [60.0, 0.9]]
    >>> model = AdviceSVC("x0 >= 31 and x1 >= 0.5 => ill").fit(X, ["well", "ill", "well", "ill"])
    >>> print(rule_trees(model, X=X).after)
    x0 >= 31?
      yes: x1 >= 0.5?
        yes: ill
        no: silent
      no: silent
    agrees with the rule on 100 % of the points in it and 100 % of those outside
    """
    for what, count, least in (("max_depth", max_depth, 1), ("n_samples", n_samples, 30)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise InvalidValueError(f"{what} must be a whole number from {least}, not {count!r}")
    if X is None:
        raise InvalidValueError(
            "rule_trees needs X, the rows the model was trained with: their ranges say where to look"
        )
    advice = FittedAdvice.of(model, X)
    k = advice.find(rule)
    frame = Frame.around(advice.columns, advice.before, advice.points, scale="range", bounds="data")
    outcome = advice.outcome[k]
    trees = [
        _tree_of(premise, advice, frame, outcome.after.label, max_depth, n_samples, random_state)
        for premise in (advice.before[k], advice.after[k])
    ]
    return RuleTrees(
        name=advice.name_of(k),
        label=outcome.after.label,
        verdict=outcome.verdict,
        before=trees[0],
        after=trees[1],
        text_before=outcome.text_before,
        text_after=outcome.text_after,
    )


def _tree_of(
    premise: Premise,
    advice: FittedAdvice,
    frame: Frame,
    label: Label,
    max_depth: int,
    n_samples: int,
    random_state: int | None,
) -> RuleTree:
    rng = np.random.default_rng(random_state)
    assert advice.points is not None
    learned, unseen = (
        np.concatenate([_sample(premise, frame, n_samples, rng), advice.points]) for _ in range(2)
    )
    return fit_tree(premise, advice.names, label, learned, unseen, max_depth)


def _sample(premise: Premise, frame: Frame, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw points all over the domain, around the premise, and in it, as far as any are found."""
    third = count // 3
    low, high = _box_around(premise, frame)
    width = _AROUND * (high - low)
    inner, outer = np.maximum(low - width, frame.lower), np.minimum(high + width, frame.upper)
    found = np.empty((0, len(low)))
    for _ in range(_MAX_TRIES):
        tried = _uniform(low, high, frame, count, rng)
        found = np.concatenate([found, tried[premise.covers(tried)]])
        if len(found) >= third:
            break
    return np.concatenate(
        [
            _uniform(frame.lower, frame.upper, frame, count - 2 * third, rng),
            _uniform(inner, outer, frame, third, rng),
            found[:third],
        ]
    )


def _box_around(premise: Premise, frame: Frame) -> tuple[FloatArray, FloatArray]:
    """Return the smallest box in the domain that holds the premise; the domain, where it misses that."""
    used = np.flatnonzero((premise.D != 0).any(axis=0))
    low, high = frame.lower.copy(), frame.upper.copy()
    tight = tight_intervals(premise, frame, used)
    inside = np.clip(tight, frame.lower[used], frame.upper[used])
    # Solvers are right to 1e-7 or so of the range; a little wider is no less true.
    slack = 1e-6 * frame.unit[used]
    if (inside[0] <= inside[1] + slack).all():
        low[used] = np.maximum(inside[0] - slack, low[used])
        high[used] = np.minimum(inside[1] + slack, high[used])
    return low, high


def _uniform(
    low: FloatArray, high: FloatArray, frame: Frame, count: int, rng: np.random.Generator
) -> FloatArray:
    """Draw uniform points of a box; of the columns of a category exactly one is 1."""
    points: FloatArray = rng.uniform(low, high, (count, len(low)))
    for group in frame.groups:
        chosen = rng.integers(len(group), size=count)
        points[:, list(group)] = np.arange(len(group)) == chosen[:, None]
    return points


# Thresholds that are learned have decimal steps of at most the range of their feature in the premise divided by this.
_STEPS = 30
# Decimals of a threshold on a feature that has one value in the premise.
_DIGITS = 3
# Leaves of fewer points would be accidents of the sample.
_SMALLEST_LEAF = 5


@dataclass(frozen=True, slots=True)
class TreeLeaf:
    """An end of a tree.

    Parameters
    ----------
    label : str, int, float, bool or None
        The class that the rule gives here; None where the rule is silent.

    Examples
    --------
    >>> TreeLeaf("ill").text, TreeLeaf(None).text
    ('ill', 'silent')
    """

    label: Label | None

    @property
    def text(self) -> str:
        """The class, or that the rule is silent."""
        return "silent" if self.label is None else format_label(self.label)


@dataclass(frozen=True, slots=True)
class TreeTest:
    """A question on one feature.

    Parameters
    ----------
    feature : str
        The feature.
    operator : {"<", "<=", ">", ">="}
        How it is compared.
    threshold : float
        With what, in the unit of the feature.
    yes, no : TreeTest or TreeLeaf
        Where to go.

    Examples
    --------
    >>> TreeTest("age", ">=", 31.0, TreeLeaf("ill"), TreeLeaf(None)).text
    'age >= 31'
    """

    feature: str
    operator: str
    threshold: float
    yes: TreeTest | TreeLeaf
    no: TreeTest | TreeLeaf

    @property
    def text(self) -> str:
        """The question."""
        return f"{self.feature} {self.operator} {format_number(self.threshold)}"

    def holds(self, values: FloatArray) -> BoolArray:
        """Tell for each value of the feature whether the answer is yes."""
        compare = {
            "<": np.less,
            "<=": np.less_equal,
            ">": np.greater,
            ">=": np.greater_equal,
        }[self.operator]
        return np.asarray(compare(values, self.threshold))


Node = TreeTest | TreeLeaf


@dataclass(frozen=True, slots=True)
class RuleTree:
    """A small decision tree that comes close to a rule.

    Parameters
    ----------
    root : TreeTest or TreeLeaf
        Its first question.
    fidelity : float
        Share of points on which tree and rule agree, whether in the premise or not: sampled ones that the tree was
        not learned from, and the rows of the data.
    fidelity_inside, fidelity_outside : float
        The same share of the points in the premise and of those outside; NaN where there were none.

    Examples
    --------
    >>> print(RuleTree(TreeTest("age", ">=", 31.0, TreeLeaf("ill"), TreeLeaf(None)), 0.97, 0.98, 0.96))
    age >= 31?
      yes: ill
      no: silent
    agrees with the rule on 98 % of the points in it and 96 % of those outside
    """

    root: Node
    fidelity: float
    fidelity_inside: float
    fidelity_outside: float

    @property
    def depth(self) -> int:
        """Most questions one after the other."""
        return _depth(self.root)

    @property
    def agreement(self) -> str:
        """How well the tree agrees with the rule, in words."""
        inside = "none of the points tried is in it"
        if not math.isnan(self.fidelity_inside):
            inside = f"{_percent(self.fidelity_inside)} of the points in it"
        outside = "no point outside was tried"
        if not math.isnan(self.fidelity_outside):
            outside = f"{_percent(self.fidelity_outside)} of those outside"
        if math.isnan(self.fidelity_inside):
            return inside
        return f"agrees with the rule on {inside} and {outside}"

    def covers(self, X: Any) -> BoolArray:
        """Tell for each row of a data frame, or mapping from name to column, whether the tree gives it a class."""
        values = {name: np.asarray(column, dtype=np.float64) for name, column in X.items()}
        rows = len(next(iter(values.values())))
        return _covers(self.root, values, np.arange(rows), rows)

    def __str__(self) -> str:
        return "\n".join([*_lines(self.root, "", ""), self.agreement])


def _percent(share: float) -> str:
    """Write a share in percent: only all is 100 %, and only nothing 0 %."""
    tenths = round(1000 * share)
    if 0 < share < 1:
        tenths = min(max(tenths, 1), 999)
    return f"{format_number(tenths / 10)} %"


def _depth(node: Node) -> int:
    return 0 if isinstance(node, TreeLeaf) else 1 + max(_depth(node.yes), _depth(node.no))


def _lines(node: Node, indent: str, answer: str) -> Iterator[str]:
    if isinstance(node, TreeLeaf):
        yield f"{indent}{answer}{node.text}"
        return
    yield f"{indent}{answer}{node.text}?"
    yield from _lines(node.yes, indent + "  ", "yes: ")
    yield from _lines(node.no, indent + "  ", "no: ")


def _covers(
    node: Node, values: dict[str, FloatArray], rows: NDArray[np.intp], count: int
) -> BoolArray:
    inside = np.zeros(count, dtype=np.bool_)
    if isinstance(node, TreeLeaf):
        inside[rows] = node.label is not None
        return inside
    holds = node.holds(values[node.feature][rows])
    inside |= _covers(node.yes, values, rows[holds], count)
    return inside | _covers(node.no, values, rows[~holds], count)


def fit_tree(
    premise: Premise,
    names: tuple[str, ...],
    label: Label,
    points: FloatArray,
    unseen: FloatArray,
    max_depth: int,
) -> RuleTree:
    """Learn which points are in a premise.

    Parameters
    ----------
    premise : Premise
        The premise.
    names : tuple of str
        The columns.
    label : str, int, float or bool
        The class of the rule.
    points, unseen : ndarray of shape (m, n)
        Points to learn from, and points to judge by.
    max_depth : int
        Most questions one after the other that stand for conditions on several features.

    Returns
    -------
    RuleTree
        The tree, judged by the unseen points. Conditions on one feature are asked first, exactly as they are.
    """
    wide = np.count_nonzero(premise.D, axis=1) > 1
    plain = np.flatnonzero(~wide)
    left = points[_part(premise, ~wide).covers(points)]
    root: Node = TreeLeaf(label)
    if wide.any():
        root = _grow(_part(premise, wide), names, label, left, max_depth)
    if root != TreeLeaf(None):
        for r in reversed(plain.tolist()):
            j = int(np.flatnonzero(premise.D[r])[0])
            operator = (">" if premise.D[r, j] < 0 else "<") + ("" if premise.strict[r] else "=")
            bound = float(premise.d[r] / premise.D[r, j]) + 0.0  # no -0
            root = TreeTest(names[j], operator, bound, root, TreeLeaf(None))
    true = premise.covers(unseen)
    predicted = _covers(
        root, dict(zip(names, unseen.T, strict=True)), np.arange(len(true)), len(true)
    )
    agreed = predicted == true
    return RuleTree(
        root,
        float(agreed.mean()),
        float(agreed[true].mean()) if true.any() else math.nan,
        float(agreed[~true].mean()) if not true.all() else math.nan,
    )


def _part(premise: Premise, rows: BoolArray) -> Premise:
    return Premise(
        premise.D[rows], premise.d[rows], premise.numeric_rows[rows], premise.strict[rows]
    )


def _grow(
    premise: Premise, names: tuple[str, ...], label: Label, points: FloatArray, max_depth: int
) -> Node:
    """Learn conditions on several features as questions on one each."""
    from sklearn.tree import DecisionTreeClassifier

    inside = premise.covers(points)
    if inside.all() or not inside.any():
        return TreeLeaf(label if inside.any() else None)
    used = np.flatnonzero((premise.D != 0).any(axis=0))
    learner = DecisionTreeClassifier(
        max_depth=max_depth,
        min_samples_leaf=_SMALLEST_LEAF,
        random_state=0,  # of features that do equally well, the choice must not change
    )
    fitted = learner.fit(points[:, used], inside).tree_
    spread = np.ptp(points[inside][:, used], axis=0)
    digits = [-math.floor(math.log10(width / _STEPS)) if width else _DIGITS for width in spread]

    def read(node: int) -> Node:
        left, right = int(fitted.children_left[node]), int(fitted.children_right[node])
        if left < 0:
            return TreeLeaf(label if fitted.value[node, 0].argmax() else None)
        low, high = read(left), read(right)
        if isinstance(low, TreeLeaf) and low == high:
            return low
        k = int(fitted.feature[node])
        threshold = round(float(fitted.threshold[node]), digits[k]) + 0.0
        # Asked so that the answer yes leads towards the rule.
        if fitted.value[right, 0, 1] >= fitted.value[left, 0, 1]:
            return TreeTest(names[used[k]], ">=", threshold, high, low)
        return TreeTest(names[used[k]], "<=", threshold, low, high)

    return read(0)
