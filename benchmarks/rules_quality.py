"""Rules, cards and what they cost in accuracy, on tables that had no part in tuning, beside peers of the same size."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.page import Section, Table
from benchmarks.peers.environment import Absent, version_of
from benchmarks.peers.run import Outcome
from benchmarks.peers.run import learn as ask_to_learn
from benchmarks.records import N_FOLDS, Record, Records
from benchmarks.tables import (
    FloatArray,
    Part,
    PublicTable,
    credit_table,
    encoder_of,
    judging_tables,
    packaged_tables,
    parts_of,
)
from clearmargin import Box, RuleExtractor, RuleSVC, Scorecard, ScoreRules

RULES, FIDELITY, PROOFS, DEFAULT_WAY = "rules", "fidelity", "proof", "default way"
ACCURACY, BALANCED_ACCURACY = "accuracy", "balanced accuracy"
FREE, BALANCED = "RuleSVC, plane and 15 rules", "RuleSVC, 15 rules, balanced"
# These see the table as it is, with categories and missing values.
OURS: dict[str, Callable[[], Any]] = {
    "RuleSVC, 15 rules": lambda: RuleSVC(15, random_state=0),
    "RuleSVC, 30 rules": lambda: RuleSVC(30, random_state=0),
    FREE: lambda: RuleSVC(15, linear="free", random_state=0),
    BALANCED: lambda: RuleSVC(15, class_weight="balanced", random_state=0),
}
FEW, MANY = tuple(OURS)[:2]


def _stumps(count: int) -> Any:
    return AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1, random_state=0), n_estimators=count, random_state=0
    )


def _linear(weights: str | None = None) -> Any:
    machine = LinearSVC(class_weight=weights, random_state=0, max_iter=20_000)
    return make_pipeline(StandardScaler(), machine)


# These see numbers.
PLAIN: dict[str, Callable[[], Any]] = {
    "tree, 15 leaves": lambda: DecisionTreeClassifier(max_leaf_nodes=15, random_state=0),
    "tree, 30 leaves": lambda: DecisionTreeClassifier(max_leaf_nodes=30, random_state=0),
    "boosted stumps, 15": lambda: _stumps(15),
    "boosted stumps, 30": lambda: _stumps(30),
    "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
    "LinearSVC": _linear,
    "SVC": lambda: make_pipeline(StandardScaler(), SVC()),
    "LinearSVC, balanced": lambda: _linear("balanced"),
    "SVC, balanced": lambda: make_pipeline(StandardScaler(), SVC(class_weight="balanced")),
}
# By name: the peer, its method, how many rules it may have (None for as many as it likes), and folds of each table.
PEERS: dict[str, tuple[str, str, int | None, int]] = {
    "ruleopt RUG, 15 rules": ("ruleopt", "RUG, 15 rules", 15, N_FOLDS),
    "ruleopt RUG, 30 rules": ("ruleopt", "RUG, 30 rules", 30, N_FOLDS),
    "imodels FIGS, 12 splits": ("imodels", "FIGS", 15, N_FOLDS),
    "imodels BoostedRules": ("imodels", "BoostedRules", 15, N_FOLDS),
    "wittgenstein RIPPER": ("wittgenstein", "RIPPER", None, 2),
    "FasterRisk, 15 cuts": ("fasterrisk", "FasterRisk, 15 cuts", 15, 1),
    "EBM": ("interpret", "EBM", None, 1),
}
MACHINES: dict[str, Callable[[], Any]] = {
    "linear": lambda: LinearSVC(random_state=0, max_iter=20_000),
    "RBF": SVC,
}
CARD = "ScoreRules, 15 cuts"
# Who learns what a machine predicts, of the training rows, and of the drawn rows as well.
ASKERS = ("tree, 15 leaves", "boosted stumps, 15")
PEER_ASKERS = ("ruleopt RUG, 15 rules", "imodels FIGS, 12 splits")
# As many as ScoreRules draws by default.
DRAWN, SPREAD = 2_000, 0.5
CUTS = (10, 20, 50, 100)
# Lines of a printed page of A4.
PAGE = 66
LIMIT = 300.0
TARGET = "class"


@dataclass(frozen=True)
class Plan:
    """How much is measured: tables, folds of each, points for contradictions, and seconds of a peer for a fold."""

    tables: Sequence[PublicTable]
    credit: PublicTable
    folds: int = N_FOLDS
    points: int = 12_000
    cuts: Sequence[int] = CUTS
    seconds: float = 60.0

    @classmethod
    def of(cls, quick: bool) -> Plan:
        """Everything, or one fold of the tables in the package."""
        if not quick:
            return cls(judging_tables(), credit_table())
        tables = packaged_tables()
        return cls(tables[1:], tables[1], 1, 2_000, (10, 20), 10.0)


# Learning the classes


def score(y: Any, predicted: Any, scores: Any, **more: float) -> dict[str, float]:
    """Judge predictions; `scores` order the rows, where there is such a thing."""
    return {
        ACCURACY: float(accuracy_score(y, predicted)),
        BALANCED_ACCURACY: float(balanced_accuracy_score(y, predicted)),
        "AUC": float("nan") if scores is None else float(roc_auc_score(y, scores)),
        **more,
    }


def _ranks(model: Any, X: Any) -> Any:
    """What a model orders rows by."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def _size(model: Any) -> dict[str, float]:
    """Rules and conditions."""
    if isinstance(model, RuleSVC):
        conditions = [rule.n_conditions for rule in model.rules_]
        return {"rules": float(len(conditions)), "conditions": float(sum(conditions))}
    if isinstance(model, DecisionTreeClassifier):
        return {"rules": float(model.get_n_leaves())}
    if isinstance(model, AdaBoostClassifier):
        return {"rules": float(len(model.estimators_))}
    return {}


def learn(part: Part) -> list[Record]:
    """Train ours and those of scikit-learn on one fold, and judge them on its held-out rows."""
    found = []
    for name, make in (OURS | PLAIN).items():
        is_ours = name in OURS
        train = part.X_train if is_ours else part.numbers_train
        test = part.X_test if is_ours else part.numbers_test
        model = make()
        start = time.process_time()
        model.fit(train, part.y_train)
        seconds = time.process_time() - start
        figures = score(
            part.y_test, model.predict(test), _ranks(model, test), seconds=seconds, **_size(model)
        )
        found.append(Record(RULES, part.table, part.number, name, figures))
    return found


def write_problem(part: Part, X: FloatArray, y: Any, path: Path, **more: Any) -> Path:
    """Write what a peer may see of a fold."""
    names = np.array(part.names)
    np.savez(path, X_train=X, y_train=y, X_test=part.numbers_test, names=names, seed=part.seed, **more)  # fmt: skip
    return path


def _judged(part: Part, topic: str, name: str, truth: Any, outcome: Outcome | Absent) -> Record:
    if isinstance(outcome, Absent):
        return Record(topic, part.table, part.number, name, reason=outcome.reason)
    sizes = {"rules": float(outcome.n_rules), "conditions": float(outcome.n_conditions)}
    figures = score(part.y_test, outcome.predicted, outcome.score, seconds=outcome.seconds, **sizes)
    figures["fidelity"] = float(np.mean(outcome.predicted == truth))
    return Record(topic, part.table, part.number, name, figures)


def learn_by_peers(parts: Sequence[Part], folder: Path, seconds: float) -> list[Record]:
    """Let peers learn the classes of the folds, each in its environment."""
    problems = [
        write_problem(part, part.numbers_train, part.y_train, folder / f"classes-{k}.npz")
        for k, part in enumerate(parts)
    ]
    found = []
    for name, (peer, method, _, folds) in PEERS.items():
        chosen = [k for k, part in enumerate(parts) if part.number < folds]
        outcomes = ask_to_learn(peer, method, [problems[k] for k in chosen], folder, seconds)
        found += [
            _judged(parts[k], RULES, name, parts[k].y_test, outcome)
            for k, outcome in zip(chosen, outcomes, strict=True)
        ]
    return found


# Imitating a machine


def machine_of(part: Part, kind: str) -> Any:
    """Train the machine that is to be imitated or explained, on numbers."""
    return make_pipeline(StandardScaler(), MACHINES[kind]()).fit(part.numbers_train, part.y_train)


def draw_around(X: FloatArray, count: int, seed: int) -> FloatArray:
    """Draw rows around training rows, as `ScoreRules` does: moved by half a standard deviation, within the ranges."""
    rng = np.random.default_rng(seed)
    start = rng.integers(len(X), size=count)
    moves = rng.normal(size=(count, X.shape[1])) * X.std(axis=0) * SPREAD
    rows = np.clip(X[start] + moves, X.min(axis=0), X.max(axis=0))
    is_whole = (np.rint(X) == X).all(axis=0)
    return np.asarray(np.where(is_whole, np.rint(rows), rows), dtype=np.float64)


def _lessons(part: Part, machine: Any) -> dict[str, tuple[FloatArray, Any]]:
    """What is learned from: what the machine says of the training rows, and of drawn rows as well."""
    drawn = np.vstack([part.numbers_train, draw_around(part.numbers_train, DRAWN, part.seed)])
    return {
        "": (part.numbers_train, machine.predict(part.numbers_train)),
        ", drawn rows": (drawn, machine.predict(drawn)),
    }


def imitate(parts: Sequence[Part], folder: Path, seconds: float) -> list[Record]:
    """Measure how faithful few rules are to a machine, where peers may ask it about drawn rows as ours may."""
    found: list[Record] = []
    problems: list[Path] = []
    places: list[tuple[Part, str, Any]] = []
    for part in parts:
        for kind in MACHINES:
            machine = machine_of(part, kind)
            truth = machine.predict(part.numbers_test)
            lessons = _lessons(part, machine)
            if len(np.unique(lessons[""][1])) < 2:
                continue  # nothing to imitate
            models: dict[str, tuple[Any, str]] = {
                CARD: (ScoreRules(machine, max_rules=15, random_state=0), "")
            }
            models["RuleSVC, 15 rules, drawn rows"] = (OURS[FEW](), ", drawn rows")
            models |= {f"{n}{how}": (PLAIN[n](), how) for n in ASKERS for how in lessons}
            for name, (model, how) in models.items():
                start = time.process_time()
                model.fit(*lessons[how])
                spent = time.process_time() - start
                said = model.predict(part.numbers_test)
                figures = {"fidelity": float(np.mean(said == truth)), "seconds": spent}
                figures[ACCURACY] = float(np.mean(said == part.y_test))
                found.append(Record(FIDELITY, part.table, part.number, f"{name} ({kind})", figures))
            for how, (X, y) in lessons.items():
                path = folder / f"imitate-{len(problems)}.npz"
                problems.append(write_problem(part, X, y, path))
                places.append((part, f"{how} ({kind})", truth))
    for name in PEER_ASKERS:
        outcomes = ask_to_learn(*PEERS[name][:2], problems, folder, seconds)
        found += [
            _judged(part, FIDELITY, f"{name}{how}", truth, outcome)
            for (part, how, truth), outcome in zip(places, outcomes, strict=True)
        ]
    return found


# Cards with proof


def dense_machine(part: Part, machine: Any = None) -> Any:
    """Train a machine of all features, a linear SVM by default, on the table as it is."""
    whole = pd.concat([part.X_train, part.X_test])
    chosen = MACHINES["linear"]() if machine is None else machine
    return make_pipeline(encoder_of(whole, scale=True), chosen).fit(part.X_train, part.y_train)


def draw_rows(X: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """Draw rows within the ranges of a table: half evenly, half by mixing its own values column by column.

    Numbers of whole columns are whole; nothing is missing.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    even = np.arange(count) < count // 2
    for name in X.columns:
        known = X[name].dropna()
        mixed = known.to_numpy()[rng.integers(len(known), size=count)]
        if known.dtype.kind in "iuf":
            low, high = float(known.min()), float(known.max())
            drawn = low + (high - low) * rng.random(count)
            is_whole = bool((known == known.round()).all())
            drawn = np.rint(drawn) if is_whole else drawn
            kind = np.int64 if known.dtype.kind in "iu" else np.float64
            columns[str(name)] = np.where(even, drawn, mixed).astype(kind)
        else:
            values = np.unique(known.to_numpy(dtype=str))
            drawn = values[rng.integers(len(values), size=count)].astype(object)
            columns[str(name)] = np.where(even, drawn, mixed)
    return pd.DataFrame(columns)


def points_in_cells(card: Scorecard, X: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Draw a point within the cells of each row: anywhere, at the ends of cells, and a digit beside them.

    Categories and missing values stay.
    """
    rng, moved = np.random.default_rng(seed), X.reset_index(drop=True).copy()
    held = card.rules.covers(X)
    for r, rule in enumerate(card.rules):
        (j,), box, own = rule.region.bounded, rule.region, np.flatnonzero(held[:, r])
        if not isinstance(box, Box) or not box.has_bounds(j):
            continue
        ends, share = box.interval(j), rng.random(len(own))
        # An end that does not belong to the cell is the float before it.
        low, high = ends.low, ends.high if ends.high_closed else np.nextafter(ends.high, -np.inf)
        drawn = np.clip(low + rng.random(len(own)) * (high - low), low, high)
        drawn = np.where(share < 0.3, low, np.where(share < 0.6, high, drawn))
        near = np.where(share < 0.3, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
        is_near = (share < 0.6) & (rng.random(len(own)) < 0.3)
        drawn = np.where(is_near, np.clip(near, low, high), drawn)
        if card.space.integer[j]:
            drawn = np.clip(np.rint(drawn), low, high)
        name = card.space.names[j]
        values = moved[name].to_numpy(dtype=np.float64, copy=True)
        values[own] = drawn
        moved[name] = values
    return moved


def _contradictions(card: Scorecard, machine: Any, part: Part, points: int) -> dict[str, float]:
    """Put points inside proved cells to the machine: drawn within the ranges, and at the ends of the cells of rows."""
    rows = draw_rows(part.X_train, points, part.seed)
    codes = card.prove_codes(rows)
    parts = [(rows[codes >= 0], codes[codes >= 0])]
    own = card.prove_codes(part.X_train)
    if (own >= 0).any():
        rng = np.random.default_rng(part.seed)
        chosen = rng.choice(np.flatnonzero(own >= 0), size=points // 2)
        moved = points_in_cells(card, part.X_train.iloc[chosen], part.seed)
        # Who stays in the cells of a row has its proof.
        assert (card.prove_codes(moved) == own[chosen]).all()
        parts.append((moved, own[chosen]))
    named = np.array(card.classes)
    wrong = [(machine.predict(X) != named[known]).sum() for X, known in parts if len(X)]
    return {
        "points": float(sum(len(X) for X, _ in parts)),
        "contradictions": float(sum(wrong)),
    }


def prove(part: Part, cuts: Sequence[int], points: int) -> list[Record]:
    """Measure how many held-out rows cards with proof and boxes with proof decide as a dense plane does."""
    machine, found = dense_machine(part), []
    start = time.process_time()
    extractor = RuleExtractor(machine, max_rules=max(cuts), min_coverage=1)
    extractor.fit(part.X_train, part.y_train)
    seconds = time.process_time() - start
    covers = extractor.rules_.covers(part.X_test)
    order = np.argsort(-extractor.rules_.covers(part.X_train).sum(axis=0), kind="stable")
    for size in cuts:
        start = time.process_time()
        rules = ScoreRules(machine, max_rules=size, certify=True).fit(part.X_train, part.y_train)
        card = rules.scorecard_
        figures = {"seconds": time.process_time() - start}
        said = card.prove(part.X_test)
        proved = np.array([one is not None for one in said])
        wrong = said[proved] != machine.predict(part.X_test)[proved]
        figures |= {"proved": float(proved.mean()), "wrong rows": float(wrong.sum())}
        if size == max(cuts):
            figures |= _contradictions(card, machine, part, points)
        found.append(Record(PROOFS, part.table, part.number, f"card, {size} cuts", figures))
        share = float(covers[:, order[:size]].any(axis=1).mean())
        boxes = {"proved": share, "seconds": seconds}
        found.append(Record(PROOFS, part.table, part.number, f"boxes, {size} rules", boxes))
    return found


# The default way


def run_command(*words: str) -> str:
    """What the command line prints, with one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-m", "clearmargin", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | threads,
    )
    if done.returncode != 0:
        raise RuntimeError(f"clearmargin {words[0]}: {done.stderr.strip()}")
    return done.stdout


def take_default_way(part: Part, folder: Path) -> list[Record]:
    """Make rules of a fold's training rows by `clearmargin rules` with no option, and predict its held-out rows."""
    names = np.array(part.classes)
    files = ("train.csv", "test.csv", "model.json", "said.csv")
    train, test, model, said = (folder / f"{part.number}-{name}" for name in files)
    part.X_train.assign(**{TARGET: names[part.y_train]}).to_csv(train, index=False)
    part.X_test.to_csv(test, index=False)
    missing = ["--missing", "impute"] if bool(part.X_train.isna().any(axis=None)) else []
    start = time.perf_counter()
    words = ("rules", str(train), "--target", TARGET, "--save-model", str(model), *missing)
    printed = run_command(*words)
    seconds = time.perf_counter() - start
    run_command("predict", str(test), "--model", str(model), "--out", str(said))
    answers = pd.read_csv(said, dtype=str, keep_default_na=False)["class"].to_numpy(dtype=str)
    figures = {
        ACCURACY: float(accuracy_score(names[part.y_test], answers)),
        "answered": float(np.isin(answers, names).mean()),
        "lines": float(len(printed.rstrip().splitlines())),
        "seconds": seconds,
    }
    found = [Record(DEFAULT_WAY, part.table, part.number, "clearmargin rules", figures)]
    for name, machine in (("LinearSVC, all columns", None), ("SVC, all columns", SVC())):
        model_ = dense_machine(part, machine)
        figures = {ACCURACY: float(accuracy_score(part.y_test, model_.predict(part.X_test)))}
        found.append(Record(DEFAULT_WAY, part.table, part.number, name, figures))
    return found


# Measuring, and sections


def measure(plan: Plan) -> Records:
    """Measure everything that a plan asks for; a fold that fails is a record with the reason."""
    found: list[Record] = []
    parts = [part for table in plan.tables for part in parts_of(table, plan.folds)]
    first = [part for part in parts if part.number == 0]
    credit = parts_of(plan.credit, plan.folds)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        works: list[tuple[str, Callable[[], list[Record]]]] = [
            *((RULES, lambda part=part: learn(part)) for part in parts),
            *((PROOFS, lambda part=part: prove(part, plan.cuts, plan.points)) for part in parts),
            *((DEFAULT_WAY, lambda part=part: take_default_way(part, folder)) for part in credit),
            (RULES, lambda: learn_by_peers(parts, folder, plan.seconds)),
            (FIDELITY, lambda: imitate(first, folder, plan.seconds)),
        ]
        for k, (topic, work) in enumerate(works):
            try:
                found += work()
            except Exception as error:
                # An hour of other measurements is not to be lost by one that fails.
                found.append(Record(topic, f"step {k}", 0, "failed", reason=repr(error)))
    return Records(found)


def of_size(records: Records, most: int) -> list[str]:
    """Name the peers that were measured with at most so many rules, and trees and stumps of that size."""
    named = {f"tree, {most} leaves", f"boosted stumps, {most}"}
    named |= {name for name, (_, _, size, _) in PEERS.items() if size == most}
    return [name for name in records.methods(RULES) if name in named]


def percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f}"


def absent(records: Records, topic: str) -> str:
    """Who gave no answer, how often and why."""
    reasons: dict[str, list[str]] = {}
    for name, found in records.reasons(topic).items():
        reasons.setdefault(found[0], []).append(f"{name} ({len(found)})")
    told = "".join(f" {why}: {', '.join(names)}." for why, names in reasons.items())
    return f" No answer, and on how many folds:{told}" if told else ""


def learner_section(records: Records) -> Section:
    """Who is right how often, at which size, and by how much `RuleSVC` differs from each."""
    names = records.methods(RULES)
    header = ["method", "tables", "right %", "balanced %", "AUC %", "rules", "conditions"]
    table = Table([*header, "s a fold", f"{FEW} less this", f"{MANY} less this"])
    right = (ACCURACY, BALANCED_ACCURACY, "AUC")
    for name in names:
        sizes = [records.mean(RULES, name, m) for m in ("rules", "conditions")]
        leads = [
            "-" if name == own else records.difference(RULES, own, name, ACCURACY).in_words()
            for own in (FEW, MANY)
        ]
        table.rows.append(
            [
                name,
                str(len(records.by_table(RULES, name, ACCURACY))),
                *(percent(records.mean(RULES, name, m)) for m in right),
                *("-" if np.isnan(size) else f"{size:.1f}" for size in sizes),
                f"{records.mean(RULES, name, 'seconds'):.2f}",
                *leads,
            ]
        )
    compared = [
        records.difference(RULES, own, name, ACCURACY)
        for own in (FEW, MANY)
        for name in names
        if name != own
    ]
    beyond = sum(abs(found.mean) > 2 * found.error for found in compared)
    best = records.nearest(RULES, FEW, of_size(records, 15), ACCURACY)
    finding = (
        f"15 rules of `RuleSVC` are right on {records.mean(RULES, FEW, ACCURACY):.1%} of held-out rows of "
        f"{len(records.tables(RULES))} tables, {records.difference(RULES, FEW, best, ACCURACY).in_points()} points "
        f"beside the nearest peer of that size ({best}); 30 rules "
        f"{records.difference(RULES, MANY, 'gradient boosting', ACCURACY).in_points()} beside gradient boosting."
    )
    question = (
        "Shares of held-out rows, means over tables of the means over folds. `RuleSVC` sees the table as it is, with "
        "categories and missing values; everybody else numbers: categories as 0/1 columns, missing values as the "
        "median or most frequent category of the training rows. Peers run as they come, but for the number of rules; a "
        "rule of `RuleSVC` has at most two conditions. *Plane and 15 rules* adds a linear term for each column, which "
        "are not counted as rules. Behind the mean difference in points stands its standard error over tables, in "
        "brackets on how many tables ours is ahead and behind, and on how many *surely*, by a paired t test over the "
        "folds of the table that counts their shared rows; slow peers have fewer folds, and are compared on these."
    )
    verdict = (
        f"{len(compared)} comparisons, of which {beyond} differ by more than twice their standard error over tables; "
        f"by chance alone about {0.05 * len(compared):.0f} would.{absent(records, RULES)}"
    )
    return Section("Learning rules", question, table, verdict, finding)


def choice_section(records: Records) -> Section:
    """For some needs the learner that is most often right, ours or not."""
    header = ["need", "choose", "right %", "best of the other side", "right % there", "difference"]
    table = Table([*header, "tables"])
    measured = records.methods(RULES)
    anything = [name for name in measured if "balanced" not in name]
    fair = [name for name in measured if "balanced" in name]
    needs: list[tuple[str, list[str], Iterable[str], str]] = [
        ("at most 15 rules, most often right", [FEW], of_size(records, 15), ACCURACY),
        ("at most 30 rules, most often right", [MANY], of_size(records, 30), ACCURACY),
        ("most often right, in whatever form", anything, anything, ACCURACY),
        ("both classes matter alike", fair, fair, BALANCED_ACCURACY),
    ]
    peers = 0
    for need, ours, others, measure_ in needs:
        own = [name for name in ours if name in OURS]
        rest = [name for name in others if name not in OURS]
        # Of ours the one that is furthest ahead of its nearest rival.
        pairs = [(one, records.nearest(RULES, one, rest, measure_)) for one in own]
        best = max(pairs, key=lambda p: records.difference(RULES, p[0], p[1], measure_).mean)
        lead = records.difference(RULES, best[0], best[1], measure_)
        first, second = best if lead.mean >= 0 else best[::-1]
        peers += first not in OURS
        right, there = records.means(RULES, first, second, measure_)
        gap = records.difference(RULES, first, second, measure_).in_points()
        table.rows.append([need, first, percent(right), second, percent(there), gap, str(lead.tables)])  # fmt: skip
    question = (
        f"Computed on {len(records.tables(RULES))} tables. *Difference* is that of the two, its mean over tables and "
        "the standard error of that: below twice the error, take whichever you like. The best of many is flattered a "
        "little by being chosen on the rows it is judged by."
    )
    verdict = f"A peer is the better choice for {peers} of {len(table.rows)} needs."
    top = table.rows[0]
    finding = (
        f"{top[0]}: {top[1]} ({top[5]} points beside {top[3]}); {verdict[0].lower()}{verdict[1:]}"
    )
    return Section("What to choose for a table of one's own", question, table, verdict, finding)


def proof_section(records: Records) -> Section:
    """How many held-out rows a card decides with a proof, by the number of cuts, beside boxes."""
    cuts = [int(n.split()[1]) for n in records.methods(PROOFS) if n.startswith("card")]
    table = Table(["proved by", *(f"{n} %" for n in cuts), "less than 10 %", "more than 90 %"])
    most = max(cuts)
    for kind in ("card, {} cuts", "boxes, {} rules"):
        shares = [records.mean(PROOFS, kind.format(n), "proved") for n in cuts]
        last = np.array(list(records.by_table(PROOFS, kind.format(most), "proved").values()))
        counts = (f"{(last < 0.1).sum()} tables", f"{(last > 0.9).sum()} tables")
        table.rows.append([kind.format("n"), *map(percent, shares), *counts])
    card, boxes = f"card, {most} cuts", f"boxes, {most} rules"
    gain = records.difference(PROOFS, card, boxes, "proved")
    points, wrong = (records.total(PROOFS, name) for name in ("points", "contradictions"))
    wrong += records.total(PROOFS, "wrong rows")
    question = (
        "Share of held-out rows whose class is proved to be what a dense plane predicts (a linear SVM on all columns, "
        "with categories as 0/1 columns and imputed missing values), by a card with at least and at most points, or by "
        "boxes of `RuleExtractor`, those that cover most first, however few rows a box has (by default it needs more "
        "evidence). Points are drawn within the ranges of the training rows, evenly or by mixing values of "
        "different rows; a third of them in the cells of proved rows, at the ends of cells and a digit beside them. "
        f"The last columns count tables by what {most} cuts or rules prove."
    )
    verdict = (
        f"{most} cuts prove {gain.in_words()} points more than {most} boxes. Of {points:,.0f} drawn points inside "
        f"proved cells the machine contradicts {wrong:,.0f}.{absent(records, PROOFS)}"
    )
    finding = (
        f"a card of {most} cuts proves what a dense plane predicts on {records.mean(PROOFS, card, 'proved'):.0%} of "
        f"held-out rows, where {most} boxes prove {records.mean(PROOFS, boxes, 'proved'):.0%}; {wrong:,.0f} of "
        f"{points:,.0f} points inside proved cells contradict it."
    )
    return Section("Cards with proof", question, table, verdict, finding)


def fidelity_section(records: Records) -> Section:
    """How faithful few rules are, where everybody may ask the machine about drawn rows."""
    table = Table(["method", "machine", "faithful %", "right %", "s", f"{CARD} less this"])
    for name in records.methods(FIDELITY):
        method, _, kind = name.rpartition(" (")
        lead = records.difference(FIDELITY, f"{CARD} ({kind}", name, "fidelity").in_words()
        values = [percent(records.mean(FIDELITY, name, m)) for m in ("fidelity", ACCURACY)]
        seconds = f"{records.mean(FIDELITY, name, 'seconds'):.2f}"
        table.rows.append([method, kind[:-1], *values, seconds, "-" if method == CARD else lead])
    parts = []
    for kind in MACHINES:
        rivals = [n for n in records.methods(FIDELITY) if n.endswith(f"drawn rows ({kind})")]
        rivals = [n for n in rivals if not n.startswith("RuleSVC")]
        best = records.nearest(FIDELITY, f"{CARD} ({kind})", rivals, "fidelity")
        lead = records.difference(FIDELITY, f"{CARD} ({kind})", best, "fidelity").in_points()
        parts.append(f"{lead} points beside {best}")
    question = (
        f"*Drawn rows* are {DRAWN:,} rows around the training rows, drawn as `ScoreRules` draws its own, with what the "
        "machine says of them: peers may ask the machine here as ours may. Faithful is the share of held-out rows on "
        "which a method says what the machine says."
    )
    told = f"a card of 15 cuts is {' and '.join(parts)}."
    verdict = f"{told[0].upper()}{told[1:]}{absent(records, FIDELITY)}"
    return Section("Imitating a machine that all may ask", question, table, verdict, told)


def default_section(records: Records) -> Section:
    """What a table of applicants for credit gives with no option set."""
    table = Table(["who", "right %", "lines printed", "rows with a class %", "s by the clock"])
    names = records.methods(DEFAULT_WAY)
    for name in names:
        found = [r.figures for r in records if (r.topic, r.method) == (DEFAULT_WAY, name)]
        cells = [percent(records.mean(DEFAULT_WAY, name, ACCURACY))]
        if "lines" in found[0]:
            cells += [f"at most {max(f['lines'] for f in found):.0f}"]
            cells += [percent(records.mean(DEFAULT_WAY, name, "answered"))]
            cells += [f"at most {max(f['seconds'] for f in found):.1f}"]
        table.rows.append([name, *cells, *["-"] * (4 - len(cells))])
    lead = records.difference(DEFAULT_WAY, names[0], names[1], ACCURACY).mean
    where = ", ".join(records.tables(DEFAULT_WAY))
    finding = f"{table.rows[0][2]} lines, {100 * lead:+.1f} points beside a linear SVM of all columns on {where}."
    question = (
        f"`clearmargin rules DATA --target class` with no option, folds of one table ({where}; of 1,000 applicants for "
        f"credit 20 columns, 13 of them categorical). A printed page has {PAGE} lines."
    )
    return Section(
        "The default way", question, table, absent(records, DEFAULT_WAY).strip(), finding
    )


def sections(quick: bool) -> list[Section]:
    """Measure and write."""
    return to_sections(measure(Plan.of(quick)))


def to_sections(records: Records) -> list[Section]:
    """All sections that there are records for."""
    made: Mapping[str, Sequence[Callable[[Records], Section]]] = {
        RULES: (choice_section, learner_section),
        PROOFS: (proof_section,),
        FIDELITY: (fidelity_section,),
        DEFAULT_WAY: (default_section,),
    }
    found = [make(records) for t, makes in made.items() if records.methods(t) for make in makes]
    peers = dict.fromkeys(peer for peer, *_ in PEERS.values())
    versions = ", ".join(f"{peer} {version_of(peer)}" for peer in peers)
    found[0].question += f" Peers: {versions}."
    return found
