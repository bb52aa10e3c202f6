"""The fewest conditions under which a recorded model mostly predicts a class, by trying all of them."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np


class Recorder:
    """A model of a table of whole numbers, which keeps the rows that it is asked about."""

    def __init__(self, table, flipped):
        self.table, self.flipped, self.asked = table, flipped, []

    def predict(self, X):
        points = np.asarray(X, dtype=float)
        self.asked.append(points)
        is_yes = (np.nan_to_num(points, nan=-1.0) >= self.table).all(axis=1)
        turned = (np.nan_to_num(points) @ [3, 5, 7][: points.shape[1]]) % 11 < self.flipped
        return np.where(is_yes ^ turned, "yes", "no")


def enough(inside, same, precision):
    """Whether rows of the class are a share of at least so much of the rows and one more, and how many there are."""
    t, whole = int((inside & same).sum()), int(inside.sum())
    return Fraction(t, whole + 1) >= Fraction(str(precision)), (whole, t)


def bins(column, known, most=6):
    """The bin of each value: rare values share one, as cuts lie in the gaps nearest to each sixth of the rows."""
    distinct, counts = np.unique(known[~np.isnan(known)], return_counts=True)
    below = np.cumsum(counts)[:-1]
    shares = [Fraction(k * int(counts.sum()), most) for k in range(1, most)] if len(below) else []
    cuts = {int(np.argmin([abs(int(b) - share) for b in below])) for share in shares}
    return np.where(
        np.isnan(column),
        np.nan,
        sum((column > distinct[k] for k in cuts), np.zeros(np.shape(column))),
    )


def best_conditions(rows, n_searched, case, same, precision):
    """The fewest conditions that are enough, and the most rows that so few conditions leave."""
    runs = []
    for own, values in zip(case, rows.T, strict=True):
        column, value = (bins(v, values[:n_searched]) for v in (values, own))
        known = np.unique(column[~np.isnan(column)])
        if np.isnan(value):
            runs.append([np.isnan(column)])
        else:
            pairs = [(a, z) for a in known for z in known if a <= value <= z]
            runs.append([(a <= column) & (column <= z) for a, z in pairs])
    for size in range(len(case) + 1):
        found = []
        for features in combinations(range(len(case)), size):
            for masks in product(*(runs[j] for j in features)):
                inside = np.logical_and.reduce([np.ones(len(rows), dtype=bool), *masks])
                is_enough, counts = enough(inside, same, precision)
                found += [counts] * is_enough
        if found:
            return size, max(found)
    return None
