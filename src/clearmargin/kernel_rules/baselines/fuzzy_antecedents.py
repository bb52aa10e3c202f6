"""Fuzzy rules as numbers: degrees, fuzzy accuracy and coverage, conditions that can go.

Source: da Costa Chaves, Vellasco and Tanscheit, "Fuzzy rule extraction from support vector machines", HIS 2005. A
rule i names one fuzzy set in some of the columns. It holds of x to the degree mu_i(x), the product (or the least) of
the memberships. For class k,

    fuzzy accuracy  sum_{x of class k} mu_i(x) / sum_x mu_i(x)
    fuzzy coverage  sum_{x of class k} mu_i(x) / (number of points of class k)

A product over many columns gets smaller than any float, so degrees are kept as logarithms.

Beyond the paper: a rule of as many conditions as there are columns is hard to read and covers little. Conditions are
dropped one by one, always the one without which the fuzzy accuracy is highest, while it does not fall. Then rules go
without which no more points are decided wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["FREE", "FuzzyEvidence", "log_memberships", "needed_rules"]

# A column of which a rule says nothing.
FREE = -1
# Logarithm of a membership of 0: finite, so that a condition can be taken out of a sum again.
_NEVER = -1e6
# Degrees below are 0: some condition does not hold at all. Products of ten thousand
# positive memberships stay above: none is below 1e-17.
_ZERO = -5e5
# What rounding may take from an accuracy.
_DUST = 1e-12


def log_memberships(memberships: FloatArray) -> FloatArray:
    """Give logarithms of memberships that can be added and subtracted.

    Parameters
    ----------
    memberships : ndarray
        From 0 to 1.

    Returns
    -------
    ndarray
        Logarithms; a large negative number for 0.

    Examples
    --------
    >>> log_memberships(np.array([0.0, 1.0]))
    array([-1000000.,        0.])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(memberships), _NEVER))


@dataclass(frozen=True, slots=True, eq=False)
class FuzzyEvidence:
    """What speaks for fuzzy rules on points of known classes.

    Parameters
    ----------
    logs : ndarray of shape (n, n_sets, m)
        Logarithms of memberships, `log_memberships`.
    codes : ndarray of int of shape (m,)
        The class of each point.
    conjunction : {"product", "min"}
        How memberships become a degree.

    Examples
    --------
    >>> logs = log_memberships(np.array([[[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]]))
    >>> evidence = FuzzyEvidence(logs, np.array([0, 0, 1]), "product")
    >>> evidence.accuracy(evidence.degrees(np.array([[1]])), np.array([1]))
    array([0.66666667])
    """

    logs: FloatArray
    codes: IntArray
    conjunction: str

    def degrees(self, antecedents: IntArray) -> FloatArray:
        """Logarithms of the degree to which each rule holds of each point.

        Parameters
        ----------
        antecedents : ndarray of int of shape (r, n)
            The set of each column, -1 where a rule says nothing.

        Returns
        -------
        ndarray of shape (r, m)
            Logarithms, -inf where a rule does not hold at all.
        """
        total = np.zeros((len(antecedents), self.logs.shape[2]))
        for j, table in enumerate(self.logs):
            some = np.flatnonzero(antecedents[:, j] != FREE)
            chosen = table[antecedents[some, j]]
            if self.conjunction == "product":
                total[some] += chosen
            else:
                total[some] = np.minimum(total[some], chosen)
        return _clean(total)

    def accuracy(self, degrees: FloatArray, codes: IntArray) -> FloatArray:
        """Fuzzy accuracy of rules for the class of each.

        Parameters
        ----------
        degrees : ndarray of shape (r, m)
            Logarithms of degrees.
        codes : ndarray of int of shape (r,)
            The class of each rule.

        Returns
        -------
        ndarray of shape (r,)
            From 0 to 1; 0 for a rule that holds nowhere.
        """
        return self._ratio(degrees, self.codes == codes[:, None])

    def coverage(self, degrees: FloatArray, codes: IntArray) -> FloatArray:
        """Fuzzy coverage of rules: the mean degree on points of the class; parameters as for `accuracy`."""
        own = self.codes == codes[:, None]
        total = np.where(own, np.exp(degrees), 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(own.sum(axis=1), 1))

    def _ratio(self, degrees: FloatArray, own: BoolArray) -> FloatArray:
        top = degrees.max(axis=1, keepdims=True)
        weights = np.exp(degrees - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1)
        return np.asarray((weights * own).sum(axis=1) / np.where(total > 0, total, 1.0))

    def shortened(
        self, antecedent: IntArray, code: int, most: int | None, *, free: bool = True
    ) -> IntArray:
        """Drop conditions of a rule that its fuzzy accuracy does not need.

        Parameters
        ----------
        antecedent : ndarray of int of shape (n,)
            The set of each column.
        code : int
            The class.
        most : int or None
            If more conditions are left, those go, too, that cost the least accuracy.
        free : bool, default True
            Whether conditions that cost nothing go; otherwise only those beyond `most` do.

        Returns
        -------
        ndarray of int of shape (n,)
            The antecedent with -1 in place of what went.
        """
        short = antecedent.copy()
        used = np.flatnonzero(short != FREE)
        table = self.logs[used, short[used]]
        own = self.codes == code
        best = float(self._ratio(_clean(self._joined(table))[None], own[None])[0])
        while len(used):
            without = self._ratio(_clean(self._without_each(table)), own[None])
            j = int(np.argmax(without))
            needless = free and without[j] >= best - _DUST
            if not needless and (most is None or len(used) <= most):
                break
            best = float(without[j])
            short[used[j]] = FREE
            used, table = np.delete(used, j), np.delete(table, j, axis=0)
        return short

    def _joined(self, table: FloatArray) -> FloatArray:
        if self.conjunction == "product":
            return np.asarray(table.sum(axis=0))
        return np.asarray(table.min(axis=0, initial=0.0))

    def _without_each(self, table: FloatArray) -> FloatArray:
        """The degree of a rule without its first condition, without its second, ..."""
        if self.conjunction == "product":
            return np.asarray(table.sum(axis=0) - table)
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])
        least, second = np.partition(padded, 1, axis=0)[:2]
        without = np.repeat(least[None], len(table), axis=0)
        at = table.argmin(axis=0)
        without[at, np.arange(table.shape[1])] = second
        return without


def needed_rules(scores: FloatArray, rule_codes: IntArray, codes: IntArray) -> IntArray:
    """Choose rules without which points would be decided worse; of points the rule of the highest score decides.

    The rules are looked at from the last to the first. One goes when no more of the points that it decides are
    wrong, or decided by nobody, without it.

    Parameters
    ----------
    scores : ndarray of shape (r, m)
        Scores, -inf where a rule does not hold.
    rule_codes : ndarray of int of shape (r,)
        The class of each rule.
    codes : ndarray of int of shape (m,)
        The class of each point.

    Returns
    -------
    ndarray of int
        The rules that stay, in ascending order; at least one.

    Examples
    --------
    >>> scores = np.array([[0.0, -1.0, -2.0], [-1.0, -2.0, 0.0], [-2.0, 0.0, -1.0]])
    >>> needed_rules(scores, np.array([0, 1, 1]), np.array([0, 0, 1])).tolist()
    [0, 1]
    """
    columns = np.arange(scores.shape[1])
    left = np.ones(len(scores), dtype=np.bool_)
    winner = scores.argmax(axis=0)
    right = (rule_codes[winner] == codes) & (scores[winner, columns] > -np.inf)
    for r in range(len(scores) - 1, -1, -1):
        won = np.flatnonzero(winner == r)
        left[r] = False
        others = np.flatnonzero(left)
        if not len(others):
            left[r] = True
            break
        heir = others[scores[np.ix_(others, won)].argmax(axis=0)]
        right_then = (rule_codes[heir] == codes[won]) & (scores[heir, won] > -np.inf)
        if right_then.sum() < right[won].sum():
            left[r] = True
        else:
            winner[won], right[won] = heir, right_then
    return np.flatnonzero(left)


def _clean(logs: FloatArray) -> FloatArray:
    return np.where(logs < _ZERO, -np.inf, logs)
