"""From the rows of one chunk to its rules: train a sparse plane, extract boxes at its margins, count their evidence.

Rules as published (Fung, Sandilya and Rao, KDD 2005, section 7) have a corner on the plane itself. A machine that is
trained on them is asked for a margin of 1 at corners of both classes that meet, which no plane can give. So boxes are
extracted at the margins of the plane, f >= t for one class and f <= -t for the other, with t = 1 unless hardly a row is
beyond that (strong regularisation, 0/1 columns).

Everything depends on the values of the rows alone, not on their order.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from clearmargin.chunks.chunk_summary import ChunkRules
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.lp_svm.lpsvccv import LPSVCCV, MAX_FEATURES
from clearmargin.models.surface import Duel, Surface, read_surface
from clearmargin.plane_rules.extraction import ExtractionOptions, extract_rules
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rules import FeatureSpace, Hyperplane, Rule, RuleSet
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.rule import Label
from clearmargin.rules.space import seen_ranges
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Source
from clearmargin.tables.row_order import canonical_order

__all__ = ["ChunkOptions", "deal_rows", "find_margin", "held_out_rows", "summarize_rows"]


# Folds inside a chunk: chunks are small, and there are many of them.
_FOLDS = 5
# At least this share of the rows that the plane gets right is to be beyond the margin, in each class.
_BEYOND = 0.1
# Boxes then begin at this share of the score of such rows. A row with that very score, as many have where one 0/1
# column decides, has to be inside.
_BEFORE = 0.9


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How a chunk is summarised; the parameters of `ChunkedRuleSVC` of the same names.

    Parameters
    ----------
    machine : classifier or None
        What is trained on a chunk.
    criterion : str
        What makes a box good.
    max_rules : int or None
        Maximum number of rules per class.
    min_coverage : int
        Minimum number of rows that a rule covers.
    at_margin : bool
        Whether boxes are extracted at the margins of the plane, not at the plane itself.
    n_rows : int
        How many rows are sent.
    rows : str
        Which: "hard" or "random".
    validation : float
        Share of the rows that is held out.
    """

    machine: Any
    criterion: str
    max_rules: int | None
    min_coverage: int
    at_margin: bool
    n_rows: int
    rows: str
    validation: float


def deal_rows(X: FloatArray, codes: IntArray, n_chunks: int) -> IntArray:
    """Deal rows to chunks like cards, class by class, in an order of their values; give the chunk of each row.

    Examples
    --------
    >>> deal_rows(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1]), 2).tolist()
    [1, 0, 1, 0]
    """
    chunk = np.empty(len(X), dtype=np.intp)
    for code in (0, 1):
        rows = canonical_order(X, np.flatnonzero(codes == code))
        chunk[rows] = np.arange(len(rows)) % n_chunks
    return chunk


def held_out_rows(X: FloatArray, codes: IntArray, share: float) -> BoolArray:
    """Choose the rows of a chunk that are held out: the same share of each class, whatever the order of the rows.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    codes : ndarray of int of shape (m,)
        Their classes, 0 or 1.
    share : float
        Which share, rounded down to whole rows.

    Returns
    -------
    ndarray of bool of shape (m,)
        Which rows are held out.

    Examples
    --------
    >>> held_out_rows(np.arange(8.0)[:, None], np.repeat([0, 1], 4), 0.25).sum()
    np.int64(2)
    """
    chosen = np.zeros(len(X), dtype=np.bool_)
    for code in (0, 1):
        rows = np.flatnonzero(codes == code)
        count = int(share * len(rows))
        if count:
            chosen[canonical_order(X, rows, count)] = True
    return chosen


def summarize_rows(
    X: FloatArray,
    codes: IntArray,
    names: Sequence[str],
    classes: Sequence[Label],
    options: ChunkOptions,
    name: str | None = None,
) -> ChunkRules:
    """Summarise the rows of one chunk.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The rows.
    codes : ndarray of int of shape (m,)
        Their classes, as positions among `classes`.
    names : sequence of str
        The features.
    classes : sequence of labels
        One class or two; the second one is the positive one.
    options : ChunkOptions
        How.
    name : str, optional
        What the chunk is called.

    Returns
    -------
    ChunkRules
        Rules of the rows that are not held out, with their evidence. There are none where a class has fewer than two
        rows, or no plane but a constant one.

    Examples
    --------
    >>> X, codes = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    >>> options = ChunkOptions(None, "volume", 10, 5, True, 0, "hard", 0.25)
    >>> [str(rule) for rule in summarize_rows(X, codes, ["age"], ["young", "old"], options).rules]
    ['age <= 18 => young', 'age >= 23 => old']
    """
    kept = np.flatnonzero(~held_out_rows(X, codes, options.validation))
    labelled = np.column_stack([X, codes])
    kept = canonical_order(labelled, kept)
    X, codes = X[kept], codes[kept]
    low, high, integer = seen_ranges(list(X.T))
    space = FeatureSpace(names, low, high, integer)
    counts = np.bincount(codes, minlength=len(classes)).tolist()
    plane = _train(X, codes, options) if len(classes) == 2 and min(counts) >= 2 else None
    rules = [] if plane is None else _extract(plane, X, codes, space, classes, options)
    covers = RuleSet(rules, space, classes).covers(X)
    sent, stands_for = _choose_rows(X, codes, rules, covers, classes, options)
    return ChunkRules(
        RuleSet(rules, space, classes),
        np.array([_mean(X[rows]) for rows in covers.T]).reshape(-1, X.shape[1]),
        counts,
        name,
        X[sent],
        codes[sent].tolist(),
        stands_for,
    )


def _train(X: FloatArray, codes: IntArray, options: ChunkOptions) -> Hyperplane | None:
    """Train the machine of a chunk; None where its plane is constant."""
    machine = (
        LPSVCCV(
            cv=min(_FOLDS, int(np.bincount(codes).min())),
            max_features=MAX_FEATURES,
            scale=True,
            allow_constant=False,
            progress=False,
        )
        if options.machine is None
        else clone(options.machine)
    )
    with warnings.catch_warnings():
        # What a plane is worth is seen in what its rules are right on.
        warnings.simplefilter("ignore", ClearmarginWarning)
        plane = read_surface(machine.fit(X, codes), X).hyperplane
    return plane if plane.coef.any() else None


def _extract(
    plane: Hyperplane,
    X: FloatArray,
    codes: IntArray,
    space: FeatureSpace,
    classes: Sequence[Label],
    options: ChunkOptions,
) -> list[Rule]:
    """Extract the rules of both classes, those of each beyond its margin."""
    score = linear_scores(X, plane.coef, plane.intercept)
    margin = find_margin(score, codes) if options.at_margin else 0.0
    how = ExtractionOptions(
        options.criterion, 20, options.min_coverage, options.max_rules, True, None, True
    )
    undeclared = np.zeros((2, len(space)), dtype=np.bool_)
    sources = tuple(Source(j, None) for j in range(len(space)))
    rules: list[Rule] = []
    for code, sign in ((0, 1.0), (1, -1.0)):
        shifted = Hyperplane(plane.coef, plane.intercept + sign * margin)
        surface = Surface(space, sources, space, tuple(classes), (Duel(1, 0, shifted),), True)
        beyond = (linear_scores(X, shifted.coef, shifted.intercept) > 0) == (code == 1)
        # Rows that are not beyond the margin are to be covered by nothing here.
        data = LabelledPoints(X, codes, np.where(beyond, code, -1))
        found = extract_rules(surface, space, undeclared, data, how).rules
        rules += [rule for rule in found if rule.label == classes[code]]
    return rules


def find_margin(score: FloatArray, codes: IntArray) -> float:
    """Find the score at which boxes begin: 1, or less where hardly a row that is right has as much.

    Examples
    --------
    >>> find_margin(np.array([-3.0, -2.0, 0.4, 0.5, 0.5]), np.array([0, 0, 1, 1, 1]))
    0.45
    """
    found = [1.0]
    for code, sign in ((0, -1.0), (1, 1.0)):
        right = sign * score[(codes == code) & (sign * score > 0)]
        if len(right):
            found.append(_BEFORE * float(np.quantile(right, 1.0 - _BEYOND, method="lower")))
    return min(found)


def _choose_rows(
    X: FloatArray,
    codes: IntArray,
    rules: Sequence[Rule],
    covers: BoolArray,
    classes: Sequence[Label],
    options: ChunkOptions,
) -> tuple[IntArray, int]:
    """Choose the rows to be sent, and tell how many they stand for."""
    right = np.array([classes.index(rule.label) for rule in rules], dtype=np.intp)
    is_easy = (covers & (codes[:, None] == right)).any(axis=1)
    pool = np.flatnonzero(~is_easy) if options.rows == "hard" else np.arange(len(X))
    if not options.n_rows or not len(pool):
        return np.zeros(0, dtype=np.intp), 0
    return canonical_order(X, pool, options.n_rows), len(pool)


def _mean(rows: FloatArray) -> FloatArray:
    # The same to the bit for any order of the rows.
    return np.array([math.fsum(column) for column in rows.T]) / len(rows)
