"""Rules that fit on a page: which of many are kept, how many rows one needs, and what the others would add.

**The budget.** `max_rules` is the number of rules in all classes together. Rules are taken one after the other, each
time the one that rightly covers most rows that no rule taken before covers; of equal ones the one with fewer
conditions, then the earlier one. Each class that has a rule gets one, as long as there is room for all of them. What is
not taken is counted, so that whoever reads a page knows what is not on it.

**Evidence.** With ``min_coverage="auto"`` a rule needs as many rows as it takes to tell it from chance: were its rows
drawn at random from all rows, so many of its class among them would be seen in at most one of twenty draws (the exact
binomial test, one-sided). So a rule for half of all rows needs at least 5 rows, one for nine of ten 29 rows, and more
where some of them are of other classes. A class all of whose rules lack that evidence keeps the one that is right on
most rows: it has been found, and the counts beside it say what it is worth. The test is made for each rule by itself,
after a search; it keeps out rules of a handful of rows and is no statement about the rules that stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.language.words import counted, share_text
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# What fits on a page.
DEFAULT_MAX_RULES = 15
# How seldom rows drawn at random may look like the rows of a rule.
_LEVEL = 0.05

MinCoverage = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class RuleBudget:
    """What the rules that were kept cover, and what all that were found would.

    Parameters
    ----------
    max_rules : int or None
        Maximum number of rules in all classes together; None for all.
    rows : int
        Training rows.
    kept, covered : int
        Rules that were kept, and rows that they cover.
    found, covered_by_all : int
        Rules that were found, and rows that all of them cover: what ``max_rules=None`` gives.
    is_complete : bool, default True
        Whether the search came to its end; if not, there may be more rules.

    Examples
    --------
    >>> print(RuleBudget(15, 1000, 14, 712, 114, 805))
    14 rules cover 71.2 % of the training rows; 100 more would cover 80.5 % (max_rules=None)
    >>> print(RuleBudget(15, 1000, 3, 712, 3, 712))
    3 rules cover 71.2 % of the training rows
    """

    max_rules: int | None
    rows: int
    kept: int
    covered: int
    found: int
    covered_by_all: int
    is_complete: bool = True

    @property
    def is_all(self) -> bool:
        """Whether the rules are all that there are."""
        return self.is_complete and not self.more

    @property
    def more(self) -> int:
        """Number of rules that were found and not kept."""
        return self.found - self.kept

    def __str__(self) -> str:
        text = (
            f"{counted(self.kept, 'rule')} {'covers' if self.kept == 1 else 'cover'} "
            f"{share_text(self.covered, self.rows)} of the training rows"
        )
        least = "" if self.is_complete else "at least "
        if not self.more:
            return (
                text
                if self.is_complete
                else f"{text}; the search ended before all rules were found"
            )
        return (
            f"{text}; {least}{self.more:,} more would cover {least}{share_text(self.covered_by_all, self.rows)} "
            "(max_rules=None)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the counts as plain data.

        Returns
        -------
        dict
            The parameters, `more`, and `text`, what a page says.
        """
        return {
            "text": str(self),
            "max_rules": self.max_rules,
            "rows": self.rows,
            "kept": self.kept,
            "covered": self.covered,
            "found": self.found,
            "more": self.more,
            "covered_by_all": self.covered_by_all,
            "is_complete": self.is_complete,
        }


def choose_rules(
    rows: Sequence[IntArray],
    codes: IntArray,
    max_rules: int | None,
    *,
    weights: FloatArray | None = None,
    lengths: ArrayLike | None = None,
) -> IntArray:
    """Choose the rules that cover most, in all classes together; each class that has a rule gets one."""
    r = len(rows)
    if max_rules is None or r <= max_rules:
        return np.arange(r)
    sizes = np.array([len(members) for members in rows], dtype=np.intp)
    flat = np.concatenate(rows) if sizes.sum() else np.empty(0, dtype=np.intp)
    owner = np.repeat(np.arange(r), sizes)
    worth = np.ones(int(flat.max(initial=-1)) + 1) if weights is None else weights.copy()
    length = np.zeros(r) if lengths is None else np.asarray(lengths, dtype=np.float64)
    chosen = np.zeros(r, dtype=np.bool_)
    for left in range(max_rules, 0, -1):
        waiting = np.setdiff1d(codes, codes[chosen])
        usable = ~chosen
        if len(waiting) >= left:
            # Only as many rules are left as classes have none yet.
            usable &= np.isin(codes, waiting)
        # Weights are whole numbers, so that sums do not depend on their order.
        gains = np.bincount(owner, weights=worth[flat], minlength=r)
        best = np.lexsort((np.arange(r), length, -gains, ~usable))[0]
        chosen[best] = True
        worth[rows[best]] = 0.0
    return np.flatnonzero(chosen)


def least_rows(share: float) -> int:
    """Give the minimum number of rows, all of a class, that tell a rule from chance."""
    if not 0.0 < share < 1.0:
        return 1
    # Rounding may make one twentieth to the power of one a little more than that.
    return max(1, math.ceil(math.log(_LEVEL) / math.log(share) - 1e-9))


def have_evidence(
    covered: IntArray,
    right: IntArray,
    codes: IntArray,
    shares: FloatArray,
    min_coverage: MinCoverage,
) -> BoolArray:
    """Tell which rules cover enough rows."""
    if min_coverage != "auto":
        return np.asarray(covered >= min_coverage)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(covered.max(initial=0)) + 1)))])
    enough = np.array(
        [
            _tail(int(n), int(k), float(shares[code]), logs) <= _LEVEL * (1.0 + 1e-9)
            for n, k, code in zip(covered, right, codes, strict=True)
        ],
        dtype=np.bool_,
    )
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        best = members[np.argmax(right[members])]
        if not enough[members].any() and right[best]:
            enough[best] = True
    return enough


def _tail(n: int, k: int, share: float, logs: FloatArray) -> float:
    """Give the chance that at least k of n rows are of a class with this share; `logs` are those of factorials."""
    if not 0.0 < share < 1.0:
        return 0.0 if k else 1.0
    j = np.arange(k, n + 1)
    terms = logs[n] - logs[j] - logs[n - j] + j * math.log(share) + (n - j) * math.log1p(-share)
    return float(np.exp(terms).sum())
