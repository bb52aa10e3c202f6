"""Algorithm 4.1 of Fung, Sandilya and Rao (KDD 2005), eqs. 5-7 and 13-18, in plain fractions."""

from fractions import Fraction

import numpy as np


def largest_corner(weights):
    """Eqs. 13-15 on the unit cube: the y* with the largest product and weights'y* = 1."""
    n = len(weights)
    clipped = {i for i in range(n) if weights[i] == 0}
    while len(clipped) < n:
        # In fractions from the start: 1 / 3 of whole numbers is a float.
        share = (Fraction(1) - sum(weights[i] for i in clipped)) / (n - len(clipped))
        beyond = {i for i in range(n) if i not in clipped and share / weights[i] > 1}
        if not beyond:
            return [Fraction(1) if i in clipped else share / weights[i] for i in range(n)]
        clipped |= beyond
    return [Fraction(1)] * n


class ByTheBook:
    """Algorithm 4.1 on the side a'z < g with a > 0; regions are lists of (near, far, far belongs to it).

    With `tighten` far faces are first moved in to the points, and the dearest feature cuts first.
    """

    def __init__(self, a, g, points, tighten, max_depth):
        self.a, self.g, self.tighten, self.max_depth = a, g, tighten, max_depth
        self.points = dict(enumerate(points))
        self.problems, self.rules = 0, []

    def run(self, region, depth=0):
        if depth == self.max_depth or not self.inside(region):
            return self
        self.problems += 1
        if self.tighten:
            held = [self.points[j] for j in self.inside(region)]
            ends = [max(z[i] for z in held) for i in range(len(region))]
            region = [
                (low, end, True) if end < high else (low, high, closed)
                for (low, high, closed), end in zip(region, ends, strict=True)
            ]
        near = [low for low, _, _ in region]
        width = [high - low for low, high, _ in region]
        slack = self.g - sum(w * z for w, z in zip(self.a, near, strict=True))
        costs = [w * d for w, d in zip(self.a, width, strict=True)]
        y = largest_corner([cost / slack for cost in costs])
        corner = [low + part * d for low, part, d in zip(near, y, width, strict=True)]
        rule = [
            (low, c, closed and part == 1)
            for (low, _, closed), c, part in zip(region, corner, y, strict=True)
        ]
        covered = self.inside(rule)
        if covered:
            self.rules.append(sorted(covered))
        for j in covered:
            del self.points[j]
        features = list(range(len(costs)))
        if self.tighten:
            features.sort(key=lambda i: -costs[i])
        for place, k in enumerate(features):
            before = features[:place]
            child = [rule[i] if i in before else region[i] for i in range(len(features))]
            child[k] = (corner[k], region[k][1], region[k][2])
            if y[k] < 1:
                self.run(child, depth + 1)
        return self

    def inside(self, region):
        return [
            j
            for j, point in self.points.items()
            if all(
                low <= z < high or (closed and z == high)
                for z, (low, high, closed) in zip(point, region, strict=True)
            )
        ]


def by_the_book(coef, intercept, sign, X, lower, upper, tighten, max_depth):
    """Number of problems, and the points of each rule, of the class on a side; within given ranges."""
    a = [Fraction(float(w)) * -sign for w in coef]
    g = Fraction(float(intercept)) * sign
    turn = [1 if w > 0 else -1 for w in a]
    points = [
        [t * Fraction(float(x)) for t, x in zip(turn, row, strict=True)] for row in np.asarray(X)
    ]
    region = []
    for t, low, high in zip(turn, lower, upper, strict=True):
        ends = sorted((t * Fraction(float(low)), t * Fraction(float(high))))
        region.append((*ends, True))
    found = ByTheBook([abs(w) for w in a], g, points, tighten, max_depth).run(region)
    return found.problems, sorted(found.rules)
