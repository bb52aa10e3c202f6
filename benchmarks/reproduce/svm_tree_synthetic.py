"""Table I of Pang and Kasabov (IJCNN 2008): a rare class in the plane, by a machine, by trees and by their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.page import Section, Table
from benchmarks.reproduce.advice_cases import mean_and_se
from benchmarks.reproduce.svm_tree_methods import (
    Answer,
    machine_answer,
    machine_answers,
    polynomial_svm,
    tree_answers,
)
from clearmargin.datasets import make_imbalanced
from clearmargin.svm_trees import class_bias_ratio

__all__ = [
    "BASELINE",
    "PUBLISHED",
    "Measures",
    "column",
    "draw",
    "lost",
    "measure",
    "price_section",
    "spread",
    "table_at",
    "table_section",
]

# Rules (of support vectors + of the tree), support vectors, accuracies in percent, CBR, as printed in Table I.
PUBLISHED: dict[str, tuple[str, str, float, float, float, float]] = {
    "SVM-Rule": ("58", "32", 91.3, 100.0, 0.0, 1.0),
    "DFS-SVMT": ("-", "16", 92.7, 94.8, 70.5, 0.25),
    "DFS r-SVMT": ("23 (8 + 15)", "16", 92.4, 94.9, 66.3, 0.30),
    "BFS-SVMT": ("-", "18", 90.1, 92.0, 79.0, 0.14),
    "BFS r-SVMT": ("33 (9 + 24)", "18", 90.0, 91.2, 76.9, 0.16),
}
BASELINE = "polynomial SVM"
READINGS = {
    "tree": "tree = exact rules",
    "published tree": "tree as published",
    "strict": "tree as published, strict",
    "rbf": "tree with RBF machines",
    "published": "rules as published",
    "pairs": "rules as published, pairs",
    "simplified": "rules, simplified",
}
ORDERS = {"depth": "DFS", "breadth": "BFS"}
LOSSES = ("all", "minority")
SHARES = ("accuracy", "class 1", "class 2")
# 168 + 16 rows are what makes a constant answer 91.3 % right; ten times as many test it.
IMBALANCE, TEST_ROWS, TEST_SEED = 10.5, 1840, 10**6
# Added to the seeds of the draws that are reported: settings were chosen on others (`svm_tree_settings`).
REPORTED_DRAWS = 2000

Measures = dict[str, float]
Runs = Sequence[Mapping[str, Measures]]


def draw(seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Training rows (168 and 16) with their classes, and test rows (1680 and 160) with theirs."""
    X, y = make_imbalanced(imbalance=IMBALANCE, random_state=seed)
    X_test, y_test = make_imbalanced(TEST_ROWS, imbalance=IMBALANCE, random_state=TEST_SEED + seed)
    return X, y, X_test, y_test


def measure(answer: Answer, y: NDArray[Any]) -> Measures:
    """The measures of Table I; accuracies in percent."""
    right = answer.labels == y
    found = {
        "vectors": float(answer.vectors),
        "accuracy": 100 * float(right.mean()),
        "class 1": 100 * float(right[y == "class_1"].mean()),
        "class 2": 100 * float(right[y == "class_2"].mean()),
        "CBR": class_bias_ratio(y, answer.labels),
    }
    if answer.rules is not None:
        found["rules"] = float(answer.rules)
    if answer.parts is not None:
        found["of machines"], found["of the tree"] = map(float, answer.parts)
    return found


def table_at(seed: int, chosen: Mapping[str, Any]) -> dict[str, Measures]:
    """All rows of the table on one draw, and how often exact rules say what their tree says."""
    X, y, X_test, y_test = draw(REPORTED_DRAWS + seed)
    machine = machine_answers(polynomial_svm(), X, y, X_test)
    rows = {
        BASELINE: machine["machine"],
        "polynomial SVM, C 100": machine_answer(polynomial_svm(100.0), X, y, X_test),
        "polynomial SVM, balanced": machine_answer(
            polynomial_svm(weights="balanced"), X, y, X_test
        ),
        "SVM-Rule, to the letter": machine["letter"],
        "SVM-Rule, tuned": machine["tuned"],
    }
    settings: dict[str, Mapping[str, Any]] = {
        f"{name}, {loss}": {"order": order, "loss": loss}
        for order, name in ORDERS.items()
        for loss in LOSSES
    }
    same = []
    for name, setting in (settings | {"chosen": chosen}).items():
        found = tree_answers(X, y, X_test, seed, published=name != "chosen", **setting)
        rows |= {f"{name}: {text}": found[key] for key, text in READINGS.items() if key in found}
        same.append(np.mean(found["tree"].labels == found["exact"].labels))
    measured = {name: measure(answer, y_test) for name, answer in rows.items()}
    measured["exact rules"] = {"agree": 100 * float(np.mean(same))}
    return measured


def column(runs: Runs, name: str, what: str) -> NDArray[np.float64]:
    """One measure of one method, draw by draw."""
    return np.array([run[name][what] for run in runs])


def spread(values: NDArray[np.float64], digits: int = 1) -> str:
    """Mean and standard deviation, as text."""
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return f"{values.mean():.{digits}f} ± {deviation:.{digits}f}"


def lost(runs: Runs, name: str) -> tuple[float, float]:
    """How many points of accuracy a method loses to the polynomial SVM on the same draws, and its standard error."""
    return mean_and_se(column(runs, BASELINE, "accuracy") - column(runs, name, "accuracy"))


def _mean(runs: Runs, name: str, what: str) -> float:
    return float(column(runs, name, what).mean())


def table_section(runs: Runs, chosen: str) -> Section:
    """Table I, ours with standard deviations and the published rows beside."""
    rows = []
    for name in (name for name in runs[0] if name != "exact rules"):
        rows.append([name, *_cells(runs, name)])
        for theirs in _beside(name):
            rules, vectors, *shares, ratio = PUBLISHED[theirs]
            numbers = [f"{share:.1f}" for share in shares]
            rows.append([f"*published {theirs}*", rules, vectors, *numbers, f"{ratio:.2f}"])
    return Section(
        "Table I: a rare class in the plane",
        f"Mean ± standard deviation of {len(runs)} draws, accuracies in percent. Rules are (those of support vectors + "
        "those of the tree); for a tree in brackets (leaves with a machine + leaves of one class). *To the letter* is "
        "Algorithm 2 of the paper with subset pruning alone; *tuned* adds the other phases of RulExSVM. *All* and "
        "*minority* say over which points the loss of a cell is counted; everything else is as printed. *As published* "
        "is `SVMTreeClassifier(published=True)`: one-class SVMs in leaves of one class, one centre more at a time, the "
        "boxes of Algorithms 2 and 3 with the pruning of Algorithm 4 within a class; *strict* takes outliers of "
        "one-class SVMs for the other class (equation 4 to the letter), *pairs* has a box for each pair of their "
        "support vectors (equations 22 and 23). *Simplified* is what `rules_` gives by default. *Chosen* is "
        f"*{chosen}*, chosen on other draws (see *Settings*){_same_tree(chosen)}.",
        Table(["method", "rules", "SVs", *SHARES, "CBR"], rows),
        _table_verdict(runs),
    )


def _same_tree(chosen: str) -> str:
    return "; min_coverage concerns rules, not the tree" if "min_coverage" in chosen else ""


def _beside(name: str) -> list[str]:
    """The published rows that stand after one of ours."""
    if name == "SVM-Rule, tuned":
        return ["SVM-Rule"]
    return [
        f"{short}{kind}"
        for short in ORDERS.values()
        for kind in ("-SVMT", " r-SVMT")
        if name == f"{short}, minority: {READINGS['simplified']}"
    ]


def _cells(runs: Runs, name: str) -> list[str]:
    known, rules = runs[0][name], ""
    if "rules" in known:
        rules = spread(column(runs, name, "rules"))
    if "of machines" in known:
        parts = (f"{_mean(runs, name, what):.1f}" for what in ("of machines", "of the tree"))
        rules += f" ({' + '.join(parts)})"
    shares = [spread(column(runs, name, what)) for what in ("vectors", *SHARES)]
    return [rules, *shares, spread(column(runs, name, "CBR"), 2)]


def _table_verdict(runs: Runs) -> str:
    def mean(name: str, what: str = "class 2") -> float:
        return _mean(runs, name, what)

    tree, rules = READINGS["tree"], READINGS["simplified"]
    gap, se = mean_and_se(
        column(runs, f"BFS, minority: {tree}", "class 2")
        - column(runs, f"DFS, minority: {tree}", "class 2")
    )
    apart = max(
        abs(mean(f"{order}, {loss}: {rules}") - mean(f"{order}, {loss}: {tree}"))
        for order in ORDERS.values()
        for loss in LOSSES
    )
    return (
        "What the table has in common with the published one: the polynomial SVM at C 0.1 finds "
        f"{mean(BASELINE):.1f} % of class 2 (published 0.0), and trees of machines with the same penalty find about "
        f"half of it or more at nearly the same accuracy. Simplified rules and their tree differ by at most "
        f"{apart:.1f} points of class 2. Exact rules said what their tree says on "
        f"{mean('exact rules', 'agree'):.1f} % of the test rows.\n\nWhat differs. "
        "(1) With the loss over all points, as the paper defines it, trees find "
        f"{mean(f'DFS, all: {tree}'):.1f} % (DFS) and {mean(f'BFS, all: {tree}'):.1f} % (BFS) of class 2 instead of "
        "70.5 and 79.0; with the loss over the rare class "
        f"{mean(f'DFS, minority: {tree}'):.1f} and {mean(f'BFS, minority: {tree}'):.1f}. The paper does not give its "
        "means and variances, so the level of the accuracies is no evidence either way. "
        f"(2) BFS is better than DFS in the paper by 8.5 points of class 2; here by {gap:+.1f} ± {se:.1f} (standard "
        f"error, loss *minority*). One draw has 16 points of class 2 and a standard deviation of "
        f"{column(runs, f'BFS, minority: {tree}', 'class 2').std(ddof=1):.0f} points, so one draw could not have told. "
        "(3) That SVM-Rule never finds class 2 is due to C 0.1: with C 100 the same machine finds "
        f"{mean('polynomial SVM, C 100'):.1f} % at {mean('polynomial SVM, C 100', 'accuracy'):.1f} % accuracy, and "
        f"with balanced weights {mean('polynomial SVM, balanced'):.1f} % at "
        f"{mean('polynomial SVM, balanced', 'accuracy'):.1f} %. "
        f"(4) A machine that always says class 1 has few rules after pruning, {mean('SVM-Rule, tuned', 'rules'):.1f} "
        "here; the paper does not say how it comes to 58 from 32 support vectors. "
        f"(5) Our simplified rules are fewer: {mean(f'DFS, minority: {rules}', 'rules'):.1f} (DFS) and "
        f"{mean(f'BFS, minority: {rules}', 'rules'):.1f} (BFS) against 23 and 33. "
        f"{_published_verdict(runs)}"
    )


def _published_verdict(runs: Runs) -> str:
    """What the parts of the published system do to it."""

    def gap(what: str, one: str, other: str, loss: str) -> str:
        gaps = [
            column(runs, f"{order}, {loss}: {READINGS[one]}", what)
            - column(runs, f"{order}, {loss}: {READINGS[other]}", what)
            for order in ORDERS.values()
        ]
        return "{:+.1f} ± {:.1f}".format(*mean_and_se(np.mean(gaps, axis=0)))

    boxes, pairs = READINGS["published"], READINGS["pairs"]
    return (
        "(6) As published, trees differ from ours by the step of K-means alone: "
        f"{gap('class 2', 'published tree', 'tree', 'all')} points of class 2 (loss *all*, both orders, ± standard "
        f"error). Read strictly, one-class leaves cost {gap('class 1', 'strict', 'published tree', 'all')} points of "
        f"class 1 and {gap('class 2', 'strict', 'published tree', 'all')} of class 2, so that the printed numbers can "
        "only come from the simplified reading. The published boxes, not cut to their leaves, are "
        f"{gap('class 1', 'published', 'published tree', 'all')} and "
        f"{gap('class 2', 'published', 'published tree', 'all')} points from their tree (class 1, class 2; loss *all*) "
        f"and {gap('class 1', 'published', 'published tree', 'minority')} and "
        f"{gap('class 2', 'published', 'published tree', 'minority')} (loss *minority*); pairs instead of all support "
        f"vectors change accuracy by {gap('accuracy', 'pairs', 'published', 'all')} points at "
        f"{_mean(runs, f'BFS, all: {pairs}', 'rules'):.0f} rules instead of "
        f"{_mean(runs, f'BFS, all: {boxes}', 'rules'):.0f} (BFS, all)."
    )


def price_section(runs: Runs) -> Section:
    """What the rare class gains and what that costs, against the polynomial SVM, on the reported draws."""
    names = [name for name in runs[0] if name.startswith((*ORDERS.values(), "chosen"))]
    rows = []
    for name in names:
        points, se = lost(runs, name)
        beyond = column(runs, BASELINE, "accuracy") - column(runs, name, "accuracy") > 1
        gain, gain_se = mean_and_se(
            column(runs, name, "class 2") - column(runs, BASELINE, "class 2")
        )
        rows.append(
            [
                name,
                f"{gain:+.1f} ± {gain_se:.1f}",
                f"{points:+.2f} ± {se:.2f}",
                f"{np.count_nonzero(beyond)} of {len(runs)}",
                "yes" if points <= 1 else "**no**",
            ]
        )
    return Section(
        "What the rare class costs",
        f"Against the polynomial SVM on the same {len(runs)} draws as Table I, ± standard error: points of class 2 "
        "gained, points of total accuracy lost (negative: gained as well), and draws that lose more than one point.",
        Table(["method", "class 2", "lost", "lose > 1", "at most 1 on average"], rows),
        _price_verdict(runs, names),
    )


def _price_verdict(runs: Runs, names: Sequence[str]) -> str:
    dear = [
        f"{name} ({lost(runs, name)[0] - 1:.2f} too many)"
        for name in names
        if lost(runs, name)[0] > 1
    ]
    chosen = f"chosen: {READINGS['simplified']}"
    points, se = lost(runs, chosen)
    single = column(runs, BASELINE, "accuracy") - column(runs, chosen, "accuracy") > 1
    return (
        f"The rules of the chosen settings find {_mean(runs, chosen, 'class 2'):.1f} % of class 2 where the polynomial "
        f"SVM finds {_mean(runs, BASELINE, 'class 2'):.1f} %, and lose {points:.2f} ± {se:.2f} points of total "
        "accuracy: "
        f"{'at most one point, as wanted' if points <= 1 else f'{points - 1:.2f} more than wanted'}, on average; of "
        f"single draws {np.count_nonzero(single)} of {len(runs)} lose more. More than one point on average is lost by "
        f"{', '.join(dear) or 'none of them'}. With the loss as the paper defines it, *all*, no more than "
        f"{max(_mean(runs, name, 'class 2') for name in names if ', all' in name):.1f} % of class 2 are found."
    )
