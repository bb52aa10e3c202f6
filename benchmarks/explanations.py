"""Explanations of single cases: measured ones beside anchors, proved ones, and attempts to refute what is proved."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.page import Section, Table
from benchmarks.peers.environment import Absent, version_of
from benchmarks.peers.run import explain as ask_to_explain
from benchmarks.records import Record, Records
from benchmarks.rules_quality import MACHINES, absent, machine_of, percent, write_problem
from benchmarks.tables import (
    FloatArray,
    Part,
    PublicTable,
    judging_tables,
    packaged_tables,
    parts_of,
)
from clearmargin import Box, FeatureSpace, certify, explain_many

CASES, PROVED = "explain", "explain, proved"
ANCHORS, MEASURED = "alibi anchors", "explain, measured"


@dataclass(frozen=True)
class Plan:
    """Tables to explain and cases of each; tables to prove, cases of their machines, and points in each box."""

    tables: Sequence[PublicTable]
    cases: int = 10
    linear_cases: int = 200
    proofs: Sequence[PublicTable] = ()
    proved_cases: int = 100
    points: int = 10_000
    seconds: float = 60.0

    @classmethod
    def of(cls, quick: bool) -> Plan:
        """Everything, or a few cases of the tables in the package."""
        packaged = packaged_tables()
        if quick:
            return cls(packaged[1:3], 3, 20, packaged, 4, 1_000, 10.0)
        return cls(judging_tables(), proofs=packaged)


# Measured explanations beside anchors


@dataclass(frozen=True, eq=False)
class Explained:
    """A closed box around a row: who is in it is said to get this class. Infinite ends are no conditions."""

    row: int
    lower: FloatArray
    upper: FloatArray
    label: int
    seconds: float


def chosen_rows(part: Part, count: int) -> list[int]:
    """Some held-out rows, drawn once for all methods."""
    rng = np.random.default_rng(part.seed)
    size = min(count, len(part.y_test))
    return sorted(int(row) for row in rng.choice(len(part.y_test), size=size, replace=False))


def _record(part: Part, name: str, machine: Any, explained: Sequence[Explained]) -> Record:
    """Means over cases; what is covered, and what of it is right, on held-out rows other than the case."""
    conditions, shares, right, covered = [], [], 0, 0
    X, said = part.numbers_test, machine.predict(part.numbers_test)
    for one in explained:
        inside: NDArray[np.bool_] = np.asarray(((one.lower <= X) & (one.upper >= X)).all(axis=1))
        inside[one.row] = False
        right += int((said[inside] == one.label).sum())
        covered += int(inside.sum())
        shares.append(inside.sum() / (len(inside) - 1))
        conditions.append(np.count_nonzero(np.isfinite(one.lower) | np.isfinite(one.upper)))
    figures = {
        "conditions": float(np.mean(conditions)),
        "coverage": float(np.mean(shares)),
        "precision": right / covered if covered else float("nan"),
        "seconds": float(np.mean([one.seconds for one in explained])),
        "cases": float(len(explained)),
    }
    return Record(CASES, part.table, part.number, name, figures)


def explain_cases(part: Part, kind: str, count: int) -> Record:
    """Explain held-out rows by the fewest conditions of the requested precision."""
    machine, rows = machine_of(part, kind), chosen_rows(part, count)
    # What all cases have in common is shared by them; of anchors it is not counted at all.
    start = time.process_time()
    many = list(
        explain_many(machine, part.numbers_test[rows], part.numbers_train, guarantee="measured")
    )
    seconds = (time.process_time() - start) / len(rows)
    found = []
    for row, said in zip(rows, many, strict=True):
        box = said.rule.region
        assert isinstance(box, Box)
        # An open end does not belong to the box, as with anchors.
        lower = np.where(box.lower_closed, box.lower, np.nextafter(box.lower, np.inf))
        upper = np.where(box.upper_closed, box.upper, np.nextafter(box.upper, -np.inf))
        lower = np.where(np.isfinite(box.lower), lower, -np.inf)
        upper = np.where(np.isfinite(box.upper), upper, np.inf)
        found.append(Explained(row, lower, upper, int(said.label), seconds))
    return _record(part, f"{MEASURED} ({kind})", machine, found)


def machine_fields(kind: str, model: Any) -> dict[str, Any]:
    """The machine as plain numbers: a plane in the units of the table, or an expansion in scaled units."""
    scaler, machine = model[0], model[-1]
    if kind == "linear":
        w = machine.coef_[0] / scaler.scale_
        return {"w": w, "b": float(machine.intercept_[0] - w @ scaler.mean_)}
    return {
        "sv": machine.support_vectors_,
        "dual": machine.dual_coef_[0],
        "b": float(machine.intercept_[0]),
        # What gamma="scale" has become.
        "gamma": float(machine._gamma),
        "mean": scaler.mean_,
        "scale": scaler.scale_,
    }


def anchor_cases(parts: Sequence[Part], count: int, seconds: float) -> list[Record]:
    """Explain the same rows by anchors of alibi; what was found within so many seconds of CPU a fold counts."""
    asked = [(part, kind, machine_of(part, kind)) for part in parts for kind in MACHINES]
    found = []
    with tempfile.TemporaryDirectory() as name:
        problems = [
            write_problem(
                part,
                part.numbers_train,
                machine.predict(part.numbers_train),
                Path(name) / f"anchors-{k}.npz",
                rows=np.array(chosen_rows(part, count)),
                **machine_fields(kind, machine),
            )
            for k, (part, kind, machine) in enumerate(asked)
        ]
        answers = ask_to_explain(problems, Path(name), seconds)
    for (part, kind, machine), answer in zip(asked, answers, strict=True):
        key = f"{ANCHORS} ({kind})"
        if isinstance(answer, Absent):
            found.append(Record(CASES, part.table, part.number, key, reason=answer.reason))
            continue
        # An anchor is open below.
        boxes = [
            Explained(
                a.row,
                np.where(np.isfinite(a.lower), np.nextafter(a.lower, np.inf), a.lower),
                a.upper,
                a.predicted,
                a.seconds,
            )
            for a in answer
        ]
        found.append(_record(part, key, machine, boxes))
    return found


# Proved explanations of planes


def fewest_by_sorting(
    w: FloatArray, b: float, lower: FloatArray, upper: FloatArray, X: FloatArray
) -> NDArray[np.int64]:
    """Count the features that must be fixed to force the class of each row over a box of ranges.

    Freed first are those whose worst value loses least; a class of no score needs all.
    """
    scores = X @ w + b
    side = np.where(scores > 0, 1.0, -1.0)[:, None]
    worst = np.where(side * w > 0, lower, upper)
    losses = np.sort(np.maximum(side * w * (X - worst), 0.0), axis=1)
    kept = (np.cumsum(losses, axis=1) < np.abs(scores)[:, None]).sum(axis=1)
    return np.asarray(X.shape[1] - kept, dtype=np.int64)


def prove_cases(part: Part, count: int) -> Record:
    """Explain held-out rows with a proof, and compare the number of conditions with what sorting needs."""
    machine = machine_of(part, "linear")
    lower, upper = part.numbers_train.min(axis=0), part.numbers_train.max(axis=0)
    inside = ((part.numbers_test >= lower) & (part.numbers_test <= upper)).all(axis=1)
    rows = part.numbers_test[inside][:count]
    plane = machine_fields("linear", machine)
    said = explain_many(machine, rows, part.numbers_train, guarantee="proved")
    conditions = np.array([one.rule.n_conditions for one in said])
    needed = fewest_by_sorting(plane["w"], plane["b"], lower, upper, rows)
    figures = {
        "conditions": float(conditions.mean()),
        "more than sorting": float((conditions > needed).sum()),
        "features": float(np.count_nonzero(plane["w"])),
        "cases": float(len(rows)),
    }
    return Record(PROVED, part.table, part.number, "explain, proved", figures)


def measure(plan: Plan) -> Records:
    """Explain cases of all tables, ours and by anchors."""
    parts = [part for table in plan.tables for part in parts_of(table, 1)]
    found = [explain_cases(part, kind, plan.cases) for part in parts for kind in MACHINES]
    found += [prove_cases(part, plan.linear_cases) for part in parts]
    return Records([*found, *anchor_cases(parts, plan.cases, plan.seconds)])


def case_section(records: Records) -> Section:
    """Explanations of the same cases, ours and anchors, and those with a proof."""
    table = Table(["method", "cases", "conditions", "coverage %", "precision %", "ms a case"])
    for name in records.methods(CASES):
        count = sum(
            r.figures.get("cases", 0) for r in records if (r.topic, r.method) == (CASES, name)
        )
        table.rows.append(
            [
                name,
                f"{count:.0f}",
                f"{records.mean(CASES, name, 'conditions'):.2f}",
                percent(records.mean(CASES, name, "coverage")),
                percent(records.mean(CASES, name, "precision")),
                f"{1000 * records.mean(CASES, name, 'seconds'):.1f}",
            ]
        )
    parts = []
    for kind in MACHINES:
        ours, anchors = (f"{one} ({kind})" for one in (MEASURED, ANCHORS))
        lead = {m: records.difference(CASES, ours, anchors, m) for m in ("coverage", "precision")}
        fewer = records.difference(CASES, ours, anchors, "conditions")
        if fewer.tables:
            parts.append(
                f"{kind}: {fewer.mean:+.2f} ± {fewer.error:.2f} conditions, coverage {lead['coverage'].in_points()} "
                f"and precision {lead['precision'].in_points()} points beside anchors"
            )
    question = (
        "Around each case conditions under which the machine is said to predict the same class; ours by an exact "
        "search for the fewest conditions of 95 % precision on training rows, anchors by alibi "
        f"{version_of('alibi')}. *Coverage* is the share of other held-out rows under the conditions, *precision* the "
        "share of these, over all cases of a table, that the machine gives the same class; means over tables."
    )
    count, more = (records.total(PROVED, name) for name in ("cases", "more than sorting"))
    conditions, features = (
        records.mean(PROVED, "explain, proved", m) for m in ("conditions", "features")
    )
    proved = (
        f"with a proof, {conditions:.1f} of {features:.1f} features of a plane, for {more:.0f} of {count:,.0f} cases "
        "more than sorting by what each loses needs"
    )
    told = "; ".join([*parts, proved]) + "."
    verdict = f"{told[0].upper()}{told[1:]}{absent(records, CASES)}"
    return Section("Explaining cases", question, table, verdict, told)


# Proofs, and attempts to refute them

KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf"},
    "polynomial, degree 2": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "polynomial, degree 3": {"kernel": "poly", "degree": 3, "coef0": 1.0},
}
# A training part larger than this is cut: support vectors, and with them time, grow with it.
MOST_TRAINED = 1000
# Nodes of one proof, and how often the share of the ranges is halved: the smallest box tried has 1/64 of them.
BUDGET, HALVINGS = 64, 6
# Values of the decision function are of the order of 1; what lies this little below zero is rounding, since corners of
# rules lie on the plane itself.
_ROUNDING = 1e-9
_MOST_CORNERS = 1024
_STARTS, _STEPS = 16, 20


@dataclass(frozen=True)
class Problem:
    """A table of numbers in a training and a held-out part, 30 % of its complete rows."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]
    X_held: pd.DataFrame
    y_held: NDArray[Any]

    @classmethod
    def of(cls, table: PublicTable) -> Problem:
        """Split a table."""
        X, y = table.load()
        whole = X.notna().all(axis=1).to_numpy()
        X, X_held, y, y_held = train_test_split(
            X[whole], y[whole], test_size=0.3, random_state=0, stratify=y[whole]
        )
        return cls(table.name, X[:MOST_TRAINED], y[:MOST_TRAINED], X_held, y_held)


@dataclass
class Case:
    """What became of one case."""

    seconds: float
    nodes: int = 0
    box: Box | None = None
    covers: float = 0.0
    tried: int = 0
    contradictions: int = 0


@dataclass
class Row:
    """All cases of one machine."""

    data: str
    kernel: str
    right: float
    cases: list[Case] = field(default_factory=list)

    def texts(self) -> list[str]:
        """The row of the table."""
        proved = [case for case in self.cases if case.box is not None]
        covers = f"{100 * np.mean([case.covers for case in proved]):.1f}" if proved else "-"
        return [
            self.data,
            self.kernel,
            percent(self.right),
            str(len(self.cases)),
            f"{100 * len(proved) / len(self.cases):.0f}",
            covers,
            f"{np.median([case.nodes for case in self.cases]):.0f}",
            f"{np.median([case.seconds for case in self.cases]):.3f}",
            f"{sum(case.tried for case in self.cases):,}",
            str(sum(case.contradictions for case in self.cases)),
        ]


def prove_linear(problem: Problem, plan: Plan) -> Row:
    """Cases explained with a proof for a linear machine."""
    model = make_pipeline(StandardScaler(), LinearSVC(random_state=0, max_iter=20_000))
    model.fit(problem.X, problem.y)
    row = Row(problem.name, "linear", float(model.score(problem.X_held, problem.y_held)))
    space = FeatureSpace.from_data(problem.X)
    ranges = Box(space.lower, space.upper)
    rows = problem.X_held.iloc[: plan.proved_cases]
    start = time.process_time()
    many = list(explain_many(model, rows, problem.X, guarantee="proved"))
    seconds = (time.process_time() - start) / len(rows)
    for said in many:
        case = Case(seconds)
        if said.rule.proof == "proved" and isinstance(said.rule.region, Box):
            # The proof is about cases within the ranges of the rows that it was given.
            case.box = said.rule.region.intersect(ranges)
        if case.box is not None and case.box.is_empty:
            case.box = None
        if case.box is not None:
            _attack(case, problem, model, space, said.label, plan)
        row.cases.append(case)
    return row


def prove_kernel(problem: Problem, kernel: str, plan: Plan) -> Row:
    """Cases explained by boxes that are proved."""
    model = make_pipeline(StandardScaler(), SVC(C=1.0, gamma="scale", **KERNELS[kernel]))
    model.fit(problem.X, problem.y)
    space = FeatureSpace.from_data(problem.X)
    said = model.predict(problem.X_held)
    row = Row(problem.name, kernel, float(np.mean(said == problem.y_held)))
    points = space.read(problem.X_held)
    # `certify` cuts a box at the ends of its space, and a case may lie outside what training has seen.
    reach = FeatureSpace.from_data(pd.concat([problem.X, problem.X_held]))
    for i in range(min(plan.proved_cases, len(points))):
        start = time.process_time()
        box, nodes = _largest_proved(model, points[i], said[i], space, reach)
        case = Case(time.process_time() - start, nodes, box)
        if box is not None:
            _attack(case, problem, model, space, said[i], plan)
        row.cases.append(case)
    return row


def _largest_proved(
    model: Any, point: FloatArray, label: Any, space: FeatureSpace, reach: FeatureSpace
) -> tuple[Box | None, int]:
    """The largest proved box that reaches one share of the range of each number, by bisection."""
    span = space.upper - space.lower
    best, nodes, small, large = None, 0, 0.0, 1.0
    for _ in range(HALVINGS):
        share = (small + large) / 2.0
        low = np.maximum(point - share * span, np.minimum(point, space.lower))
        high = np.minimum(point + share * span, np.maximum(point, space.upper))
        certificate = certify(model, Box(low, high), label, space=reach, budget=BUDGET)
        nodes += certificate.nodes
        if certificate.is_proved:
            best, small = Box(low, high), share
        else:
            large = share
    return best, nodes


def _attack(
    case: Case, problem: Problem, model: Any, space: FeatureSpace, label: Any, plan: Plan
) -> None:
    """Measure a proved box, and try to refute it."""
    assert case.box is not None
    case.covers = float(np.mean(case.box.contains(space.read(problem.X_held))))
    sign = 1 if label == model.classes_[1] else -1
    rng = np.random.default_rng(0)
    case.tried, case.contradictions = contradictions(
        Scores(model), case.box, space, sign, rng, plan.points
    )


def proof_section(plan: Plan) -> Section:
    """For which share of held-out cases there is a proof, what it costs, and whether it can be refuted."""
    rows = []
    for problem in map(Problem.of, plan.proofs):
        rows.append(prove_linear(problem, plan))
        rows += [prove_kernel(problem, kernel, plan) for kernel in KERNELS]
    cases = [case for row in rows for case in row.cases]
    boxes = [case for case in cases if case.box is not None]
    wrong, tried = sum(c.contradictions for c in boxes), sum(c.tried for c in boxes)
    finding = (
        f"{100 * len(boxes) / len(cases):.0f} % of {len(cases):,} held-out cases have an explanation with a proof; "
        f"{wrong} of {tried:,} points tried in {len(boxes):,} proved boxes contradict it."
    )
    header = ["data", "machine", "right %", "cases", "proved %", "held-out rows covered %"]
    header += ["nodes, median", "s a case, median", "points tried", "contradictions"]
    question = (
        "For which share of held-out cases is there a box around the case in which the machine provably says the same? "
        "Linear: `explain` with a proof. Kernels: the largest box that `certify` proves and that reaches one share of "
        f"the range of every number to both sides, cut at the range, by {HALVINGS} bisections of at most {BUDGET} "
        f"nodes each; a case without one of 1/{2**HALVINGS} of the ranges counts as not explained. Every proved box "
        "is attacked by random points, corners and descent, with the decision function written out anew. Machines "
        f"(C=1, gamma='scale', numbers to unit variance) learn 70 % of the rows, at most {MOST_TRAINED:,}."
    )
    verdict = "A proof says what the machine does, not that it is right."
    table = Table(header, [row.texts() for row in rows])
    return Section("Explanations with a proof", question, table, verdict, finding)


@dataclass(frozen=True)
class Scores:
    """The decision function of a fitted pipeline, written out by what scikit-learn keeps of the machine.

    Positive for the second class. Nothing of the package takes part but, for a linear machine, its weights.
    """

    pipeline: Any

    @property
    def machine(self) -> Any:
        """The last step."""
        return self.pipeline[-1]

    def encode(self, table: FloatArray) -> FloatArray:
        """Rows as the machine takes them."""
        return np.asarray(self.pipeline[:-1].transform(table), dtype=np.float64)

    def values(self, rows: FloatArray) -> FloatArray:
        """The function at encoded rows."""
        return self._values_and_slopes(rows, False)[0]

    def slopes(self, rows: FloatArray) -> FloatArray:
        """Its gradients there."""
        return self._values_and_slopes(rows, True)[1]

    def _values_and_slopes(self, Z: FloatArray, slopes: bool) -> tuple[FloatArray, FloatArray]:
        svm, none = self.machine, np.empty(0)
        if not hasattr(svm, "support_vectors_"):
            weights = np.asarray(svm.coef_, dtype=np.float64).ravel()
            return Z @ weights + float(np.ravel(svm.intercept_)[0]), np.tile(weights, (len(Z), 1))
        S, a = svm.support_vectors_, svm.dual_coef_.ravel()
        gamma, start = svm._gamma, float(svm.intercept_[0])
        inner = gamma * (Z @ S.T)
        if svm.kernel == "rbf":
            squares = gamma * ((Z * Z).sum(axis=1)[:, None] + (S * S).sum(axis=1))
            kernel = np.exp(np.minimum(2.0 * inner - squares, 0.0))
            values = kernel @ a
            change = 2.0 * gamma * ((kernel * a) @ S - values[:, None] * Z) if slopes else none
            return values + start, change
        inner += svm.coef0
        # Repeated products: a general power costs many times as much.
        power = np.ones_like(inner)
        for _ in range(svm.degree - 1):
            power *= inner
        derivative, kernel = svm.degree * power, power * inner
        return kernel @ a + start, gamma * ((derivative * a) @ S) if slopes else none


def contradictions(
    scores: Scores, box: Box, space: FeatureSpace, sign: int, rng: np.random.Generator, points: int
) -> tuple[int, int]:
    """Points of a box that were tried, and those at which the decision function has another sign than was proved.

    Tried are random points, corners (all of them in few dimensions, some otherwise), and points reached by descent
    from the lowest of these.
    """
    table = np.vstack([random_rows(box, space, rng, points), corner_rows(box, space, rng)])
    rows = scores.encode(table)
    values = sign * scores.values(rows)
    found = int(np.count_nonzero(values < -_ROUNDING))
    ends = np.vstack(_ends(box, space))
    # Whole numbers, which proofs are about where the space has them, stay as they are in a descent.
    ends[1, space.integer] = ends[0, space.integer]
    low, high = scores.encode(ends)
    starts = rows[np.argsort(values, kind="stable")[:_STARTS]]
    more, wrong = _descend(scores, starts, low, high, sign)
    return len(rows) + more, found + wrong


def _descend(
    scores: Scores, starts: FloatArray, low: FloatArray, high: FloatArray, sign: int
) -> tuple[int, int]:
    """Steepest descent within the box, with the longest of some steps that goes down."""
    free = low < high
    width = np.where(free, high - low, 0.0)
    at, best = starts, sign * scores.values(starts)
    tries = found = 0
    for _ in range(_STEPS):
        slope = sign * scores.slopes(at) * width
        slope /= np.maximum(np.abs(slope).max(axis=1, keepdims=True), 1e-300)
        tried = np.stack([at - length * slope * width for length in (1e9, 1.0, 0.25, 0.05, 0.01)])
        tried = np.where(free, np.clip(tried, low, high), at)
        values = sign * scores.values(tried.reshape(-1, at.shape[1])).reshape(len(tried), -1)
        tries += values.size
        found += int(np.count_nonzero(values < -_ROUNDING))
        choice, column = values.argmin(axis=0), np.arange(len(at))
        better = values[choice, column] < best
        if not better.any():
            break
        at = np.where(better[:, None], tried[choice, column], at)
        best = np.minimum(best, values[choice, column])
    return tries, found


def random_rows(box: Box, space: FeatureSpace, rng: np.random.Generator, points: int) -> FloatArray:
    """Points spread evenly over a box."""
    low, high = _ends(box, space)
    rows = np.clip(low + rng.uniform(size=(points, len(space))) * (high - low), low, high)
    return np.asarray(np.where(space.integer, np.rint(rows), rows))


def corner_rows(box: Box, space: FeatureSpace, rng: np.random.Generator) -> FloatArray:
    """All corners of a box, or some of them if they are too many."""
    low, high = _ends(box, space)
    free = np.flatnonzero(low < high)
    if 2 ** min(len(free), 60) <= _MOST_CORNERS:
        at_top = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1 == 1
    else:
        at_top = rng.uniform(size=(_MOST_CORNERS, len(free))) < 0.5
    rows = np.tile(low, (len(at_top), 1))
    rows[:, free] = np.where(at_top, high[free], low[free])
    return rows


def _ends(box: Box, space: FeatureSpace) -> tuple[FloatArray, FloatArray]:
    """The first and the last row of a box, which has ends on all sides."""
    low = np.where(box.lower_closed, box.lower, np.nextafter(box.lower, np.inf))
    high = np.where(box.upper_closed, box.upper, np.nextafter(box.upper, -np.inf))
    whole = space.integer
    return np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)


def sections(quick: bool) -> list[Section]:
    """Measure and write."""
    plan = Plan.of(quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case_section(measure(plan)), proof_section(plan)]
