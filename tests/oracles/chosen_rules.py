"""How `RuleSVC` chooses and weighs rules, written a second time: loops over all rules, and scikit-learn's fits."""

from itertools import combinations

import numpy as np
from sklearn.linear_model import LogisticRegression

SHARES, COSTS, STEP = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15), (0.25, 1.0, 0.0625), 0.1


def conditions(table, sets):
    """Where each condition holds, with its feature: x <= t and x > t in each gap, each category, missing."""
    found = []
    for j, column in enumerate(table.T):
        known = np.unique(column[~np.isnan(column)])
        if j in sets:
            found += [(j, column == code) for code in known]
        else:
            found += [(j, column <= low) for low in known[:-1]]
            found += [(j, column > low) for low in known[:-1]]
        found.append((j, np.isnan(column)))
    return found


def rules(table, sets, most):
    """The rows of each rule of at most so many conditions, and its number of conditions."""
    singles = [mask for _, mask in conditions(table, sets)]
    found = [(1, mask) for mask in singles]
    if most > 1:
        found += [(2, a & b) for a, b in combinations(singles, 2)]
    return found


def fit(held, y, weight, C):
    """The intercept and the weights of the logistic loss with a ridge."""
    if not held.shape[1]:
        share = weight[y > 0].sum() / weight.sum()
        return np.array([np.log(share / (1.0 - share))])
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=500)
    model.fit(held, y > 0, sample_weight=weight)
    return np.r_[model.intercept_, model.coef_[0]]


class AmbiguousError(Exception):
    """Two rules cover complementary training rows, but not complementary rows: rounding decides between them."""


def choose(found, signs, weight, rows, most):
    """The rules that enter one by one, by their positions: those with the largest gain by the quadratic model."""
    w, Y, m = weight[rows], signs[:, rows], len(rows)
    chosen, taken = [], set()
    least = min(3, max(1, m // 10))
    masks = [(k, i, mask[rows]) for i, (k, mask) in enumerate(found)]
    masks = [(k, i, h) for k, i, h in masks if least <= h.sum() <= m - least]
    while len(chosen) < most:
        held = np.column_stack([np.ones((m, 0)), *(found[i][1][rows] for i in chosen)])
        residuals = []
        for y in Y:
            b = fit(held, y, w, STEP)
            residuals.append(w * y / (1.0 + np.exp(y * (b[0] + held @ b[1:]))))
        best = (0.0, -1)
        for k, i, h in masks:
            if h.tobytes() in taken:
                continue
            inside = w[h].sum()
            spread = np.sqrt(inside * (1.0 - inside / w.sum()))
            gain = max(abs(g[h].sum()) for g in residuals) / spread * 0.95 ** (k - 1)
            if gain > best[0] * (1.0 + 1e-6):
                best = gain, i
        if best[1] < 0:
            break
        chosen.append(best[1])
        length, whole = found[best[1]]
        mask = whole[rows]
        for k, i, h in masks:
            if k == length and (h == ~mask).all() and (found[i][1] == whole).any():
                raise AmbiguousError
        taken |= {mask.tobytes(), (~mask).tobytes()}
    return chosen


def settings(most, max_conditions):
    numbers = sorted({max(1, round(most * share)) for share in SHARES} | {1}, reverse=True)
    return [(n, C, k) for k in range(max_conditions, 0, -1) for n in numbers if n <= most for C in COSTS]  # fmt: skip


def right(scores, signs):
    if len(signs) == 1:
        return (scores[0] > 0) == (signs[0] > 0)
    return scores.argmax(axis=0) == signs.argmax(axis=0)


def machine(table, sets, signs, weight, folds, most, max_conditions):
    """What cross-validation scores, the best setting, and its rules with their weights."""
    weight = weight / weight.mean()
    tried = settings(most, max_conditions)
    scores = np.full((len(tried), *signs.shape), np.nan)
    accuracy = np.zeros((len(tried), len(folds)))
    by_size = {k: rules(table, sets, k) for k in range(1, max_conditions + 1)}
    for f, (train, test) in enumerate(folds):
        chosen = {k: choose(found, signs, weight, train, most) for k, found in by_size.items()}
        for s, (n, C, k) in enumerate(tried):
            held = np.column_stack([np.ones((len(table), 0)), *(by_size[k][i][1] for i in chosen[k][:n])])  # fmt: skip
            for o, y in enumerate(signs):
                b = fit(held[train], y[train], weight[train], C)
                scores[s, o, test] = b[0] + held[test] @ b[1:]
            good = right(scores[s][:, test], signs[:, test])
            accuracy[s, f] = weight[test][good].sum() / weight[test].sum()
    merits = []
    for each in scores:
        losses = [np.average(np.logaddexp(0.0, -factor * signs * each).sum(axis=0), weights=weight)
                  for factor in (0.25, 0.5, 1.0, 2.0, 4.0)]  # fmt: skip
        merits.append(np.average(right(each, signs), weights=weight) - min(losses))
    best = int(np.argmax(np.array(merits) >= max(merits) - 1e-9))
    n, C, k = tried[best]
    found = by_size[k]
    chosen = choose(found, signs, weight, np.arange(len(table)), n)
    held = np.column_stack([np.ones((len(table), 0)), *(found[i][1] for i in chosen)])
    weights = np.array([fit(held, y, weight, C) for y in signs])
    return tried, np.array(merits), accuracy, best, held.astype(bool), weights
