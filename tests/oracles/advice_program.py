"""The programs of Kunapuli, Maclin and Shavlik (2011), stated again in CVXPY as they are printed, with b for their -b.

Eq. (1) is the knowledge-based support vector machine of Fung, Mangasarian and Shavlik; eq. (2) refines its premises.
`Frame` has the scale and the domain of `AdviceSVC`, and the premises as rows in that scale.
"""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
from scipy.optimize import linprog

from clearmargin import Box, Polyhedron


def flat(region):
    return Polyhedron.from_box(region) if isinstance(region, Box) else region


def premise_rows(rule, space, names):
    """The premise of a rule as D x <= d over named columns; other categories of a feature are columns held at zero."""
    rows = flat(rule.region)
    D = np.zeros((len(rows.b), len(names)))
    for j, name in enumerate(space.names):
        if name in names:
            D[:, names.index(name)] = rows.A[:, j]
    barred = []
    for j in rule.region.sets:
        asked = {f"{space.names[j]}_{space.categories[j][k]}" for k in rule.region.sets[j]}
        group = [name for name in names if name.startswith(f"{space.names[j]}_")]
        barred += [np.eye(len(names))[names.index(name)] for name in group if name not in asked]
    D = np.vstack([D, *barred])
    return D, np.r_[rows.b, np.zeros(len(barred))], len(rows.b)


def has_point(D, d):
    return linprog(np.zeros(D.shape[1]), D, d + 1e-9, bounds=(None, None)).status != 2


class Frame:
    """Scale and domain of a table and the advice of a fitted model; `rules` are (D, d, z, cost, rows that may move)."""

    def __init__(self, model, X, y, *, bounds="data", mu=1.0, lam=1.0):
        groups = [name for name in X if X[name].dtype.kind not in "biuf"]
        X = pd.get_dummies(X).astype(float)
        names, space = list(X), model.advice_.space
        premises = [premise_rows(rule, space, names) for rule in model.advice_]
        given = np.array([each in names for each in space.names])
        declared = np.full((2, len(names)), np.nan)
        columns = [names.index(each) for each in np.array(space.names)[given]]
        declared[:, columns] = space.lower[given], space.upper[given]
        in_group = [any(name.startswith(f"{group}_") for group in groups) for name in names]
        declared[:, in_group] = [[0.0], [1.0]]
        ends = [*declared, X.min().to_numpy(float), X.max().to_numpy(float)]
        seen = _hull(ends[2:])
        for D, d, own in premises:
            for row, limit in zip(D[:own], d[:own], strict=True):
                if np.count_nonzero(row) == 1:
                    ends.append(np.where(row == 0, np.nan, limit / np.where(row == 0, 1, row)))
        low, high = _hull([*ends, *declared])
        self.centre, self.unit = (low + high) / 2, np.where(high == low, 1.0, (high - low) / 2)
        around = _box_rows(low, high, names, groups, bounded=bounds is not None)
        within = _box_rows(*seen, names, groups, bounded=bounds is not None)
        self.rules = []
        for rule, (D, d, own) in zip(model.advice_, premises, strict=True):
            if not has_point(D, d):
                continue
            E, e = around
            if np.isinf(mu) and not has_point(*_stacked((D, d), within)):
                # What must hold beyond the data holds as far as it reaches.
                unnamed = (E != 0)[:, ~D[:own].any(axis=0)].any(axis=1)
                E, e = E[unnamed], e[unnamed]
            rows = _stacked((D, d), (E, e))
            rows = rows if has_point(*rows) else (D, d)
            inner = rows[0] * self.unit
            size = np.linalg.norm(inner, axis=1)
            sign = 1.0 if rule.label == model.classes_[1] else -1.0
            limits = (rows[1] - rows[0] @ self.centre) / size
            moves = np.arange(len(rows[1])) < own
            self.rules.append((inner / size[:, None], limits, sign, mu * rule.weight, moves))
        signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
        points = (X.to_numpy(float) - self.centre) / self.unit
        self.data = points, signs, lam * np.ones(len(y))

    def plane(self, model):
        """The plane of a model for scaled points."""
        w, b = model.coef_[0], float(model.intercept_[0])
        return w * self.unit, b + w @ self.centre


def _hull(ends):
    table = np.array([np.where(np.isinf(end), np.nan, end) for end in ends])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is known of a column
        return np.nanmin(table, axis=0), np.nanmax(table, axis=0)


def _stacked(*parts):
    return np.vstack([D for D, _ in parts]), np.concatenate([d for _, d in parts])


def _box_rows(low, high, names, groups, *, bounded):
    """The rows of a domain: ends of columns, and one category of each feature."""
    eye = np.eye(len(names))
    known = [np.isfinite(end) & bounded for end in (high, low)]
    one = [[float(name.startswith(f"{group}_")) for name in names] for group in groups]
    one = np.array(one).reshape(-1, len(names))
    ends = np.r_[high[known[0]], -low[known[1]], np.ones(len(one)), -np.ones(len(one))]
    return np.vstack([eye[known[0]], -eye[known[1]], one, -one]), ends


class Statement:
    """Weights, intercept and the losses of points; errors are unknowns of their own, bounded from below."""

    def __init__(self, X, y, cost):
        self.w, self.b = cp.Variable(X.shape[1]), cp.Variable()
        xi = cp.Variable(len(y), nonneg=True)
        self.value, self.limits = cp.norm1(self.w) + cost @ xi, []
        self.limits.append(cp.multiply(y, X @ self.w + self.b) + xi >= 1)

    def pay(self, mu, pull, beyond):
        """Charge the errors ``|pull|`` and ``max(beyond, 0)`` of a premise, or forbid them."""
        if np.isinf(mu):
            self.limits += [pull == 0, beyond <= 0]
            return
        eta, zeta = cp.Variable(pull.shape[0]), cp.Variable(nonneg=True)
        self.limits += [pull <= eta, -pull <= eta, beyond <= zeta]
        self.value += mu * (cp.sum(eta) + zeta)

    def solve(self, solver):
        return float(cp.Problem(cp.Minimize(self.value), self.limits).solve(solver=solver))


def optimum(X, y, cost, rules):
    """Eq. (1): its least value; infinite where hard advice contradicts itself."""
    found = Statement(X, y, cost)
    for D, d, z, mu, *_ in rules:
        u = cp.Variable(len(d), nonneg=True)
        found.pay(mu, D.T @ u + z * found.w, 1 + d @ u - z * found.b)
    return found.solve(cp.HIGHS)


def worth(X, y, cost, rules, w, b, u):
    """The value of eq. (1) at a plane and multipliers of each rule, point by point."""
    value = np.abs(w).sum() + cost @ np.maximum(0, 1 - y * (X @ w + b))
    for (D, d, z, mu, _), v in zip(rules, u, strict=True):
        value += mu * (np.abs(D.T @ v + z * w).sum() + max(0.0, 1 + d @ v - z * b))
    return value


def least_error(rule, w, b):
    """The least error of one rule at a plane, over its multipliers: a linear program in u, eta and zeta."""
    D, d, z, *_ = rule
    (k, n), eye = D.shape, np.eye(D.shape[1])
    rows = np.block([[D.T, -eye, np.zeros((n, 1))], [-D.T, -eye, np.zeros((n, 1))]])
    rows = np.vstack([rows, np.r_[d, np.zeros(n), -1.0]])
    limits = np.r_[-z * w, z * w, z * b - 1.0]
    found = linprog(np.r_[np.zeros(k), np.ones(n + 1)], rows, limits)
    return float(found.fun)


class Change:
    """F and f of a premise: what may move, columns of categories never, its price, and the limits that we add."""

    def __init__(self, rule, nu, still, turns=True, anchor=None, orthogonal=True):
        D, d, _, mu, moves = rule
        self.free = moves & np.isfinite(nu)
        self.F, self.f = cp.Variable(D.shape), cp.Variable(len(d))
        self.price = (
            mu * nu * (cp.sum(cp.abs(self.F)) + cp.norm1(self.f)) if np.isfinite(nu) else 0.0
        )
        self.limits = [] if turns else [self.F == 0]
        self.limits += [self.F[:, np.flatnonzero(still)] == 0] if any(still) else []
        self.limits += (
            [self.F[~self.free] == 0, self.f[~self.free] == 0] if not self.free.all() else []
        )
        self.limits += [cp.sum(cp.multiply(self.F, D), axis=1) == 0] if orthogonal else []
        if anchor is not None and self.free.any():
            self.limits.append(
                ((D - self.F) @ anchor)[self.free] <= (d - self.f)[self.free] + 1e-12
            )


def refined_once(X, y, cost, rules, u, changes):
    """Eq. (2) with its multipliers fixed at u: the value after one step of refinement."""
    found = Statement(X, y, cost)
    for (D, d, z, mu, _), v, moved in zip(rules, u, changes, strict=True):
        found.pay(mu, (D - moved.F).T @ v + z * found.w, 1 + (d - moved.f) @ v - z * found.b)
        found.value += moved.price
        found.limits += moved.limits
    return found.solve(cp.HIGHS)


def convexified_once(X, y, cost, rules, u, changes):
    """Eqs. (10) to (12), around the multipliers u and no change: what the first step of arkSVM-SQP promises."""
    found = Statement(X, y, cost)
    for (D, d, z, mu, _), v, moved in zip(rules, u, changes, strict=True):
        t, eta = cp.Variable(len(d), nonneg=True), cp.Variable(D.shape[1])
        rows, zeta = np.flatnonzero(moved.free), cp.Variable(nonneg=True)

        def above(change, way, t=t, v=v, rows=rows):
            """A bound of -way * change * t from above, a sum over the rows that may move."""
            tangent = (v[rows] @ v[rows]) / 4 + way / 2 * v[rows] @ (change + way * (t - v))[rows]
            return cp.sum_squares(change[rows] - way * t[rows]) / 4 - tangent

        for way in (1.0, -1.0):
            pull = way * (D.T @ t + z * found.w)
            found.limits += [
                pull[j] + above(moved.F[:, j], way) <= eta[j] for j in range(D.shape[1])
            ]
        found.limits += [1 + d @ t - z * found.b + above(moved.f, 1.0) <= zeta, *moved.limits]
        found.value += mu * (cp.sum(eta) + zeta) + moved.price
    return found.solve(cp.CLARABEL)


def random_advice(seed, *, n=(1, 3), linear=True):
    """A table of numbers, of every third seed with categories k too, labels, and rules right and wrong about them."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(n[0], n[1] + 1)), int(rng.integers(12, 40))
    unit = 10.0 ** rng.integers(-1, 3, n)
    X = pd.DataFrame((rng.normal(size=(m, n)) * unit).round(3), columns=list("abc")[:n])
    y = np.where(
        (X / unit).sum(axis=1) + 0.4 * rng.normal(size=m) > 0.3 * rng.normal(), "yes", "no"
    )
    y[:2] = "yes", "no"
    if seed % 3 == 0:
        kind = np.resize(rng.permutation(3), m)
        X = X.assign(k=np.array([*"xyz"])[kind])
    lines = []
    for _ in range(int(rng.integers(1, 5))):
        label = str(rng.choice(["yes", "no"]))
        parts = []
        for j in rng.permutation(n)[: int(rng.integers(1, n + 1))]:
            name, (low, high) = "abc"[j], np.sort(rng.choice(X.iloc[:, j], 2, replace=False))
            upper, lower = f"{name} {rng.choice(['<', '<='])} {high}", f"{name} > {low}"
            inside = f"{low} <= {name} <= {high}"
            parts.append(rng.choice([upper, lower, inside, lower if label == "yes" else upper]))
        if n > 1 and linear and rng.random() < 0.4:
            one, other = (rng.choice([-2.0, -0.5, 1.0, 3.0], 2) / unit[:2]).round(3)
            parts.append(f"{one}*a + {other}*b <= {round(rng.normal(), 2)}")
        if seed % 3 == 0 and rng.random() < 0.6:
            parts.append(rng.choice(["k = x", "k in {y, z}"]))
        lines.append(f"{' and '.join(parts)} => {label} [weight {rng.choice([0.5, 1.0, 3.0])}]")
    return X, y, "\n".join(lines)
