"""Settings of SVM trees and of their rules, compared on draws that the tables do not use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.page import Section, Table
from benchmarks.reproduce.svm_tree_methods import machine_answer, polynomial_svm, tree_answers
from benchmarks.reproduce.svm_tree_synthetic import (
    BASELINE,
    SHARES,
    Measures,
    Runs,
    column,
    draw,
    lost,
    measure,
    spread,
)

__all__ = ["CANDIDATES", "choose", "settings_at", "settings_section"]

# Added to seeds, so that no draw is also reported: draws to choose settings on, and draws that had been looked at
# before the list of settings was final.
OTHER_DRAWS, SEEN_DRAWS = 1000, 0
_PRINTED: dict[str, dict[str, Any]] = {"DFS": {"order": "depth"}, "BFS": {}}
_CHANGED: dict[str, list[dict[str, Any]]] = {
    "DFS, all": [{}],
    "BFS, all": [
        {},
        {"tol": 0.1},
        {"C": 100.0},
        {"partition": "ecm"},
        {"min_leaf": 3},
        {"min_coverage": 4},
    ],
    "DFS, minority": [{}, {"min_coverage": 4}],
    "BFS, minority": [
        {},
        {"tol": 0.2},
        {"C": 100.0},
        {"partition": "ecm"},
        {"min_leaf": 2},
        {"min_leaf": 3},
        {"min_coverage": 2},
        {"min_coverage": 4},
        {"min_coverage": 6},
        {"C": 100.0, "min_coverage": 4},
    ],
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


# The printed settings with either loss, and what was changed in them.
CANDIDATES: dict[str, dict[str, Any]] = {
    ", ".join([start, *(f"{key} {_text(value)}" for key, value in changed.items())]): (
        _PRINTED[start[:3]] | {"loss": start[5:]} | changed
    )
    for start, changes in _CHANGED.items()
    for changed in changes
}


def settings_at(seed: int, names: Sequence[str], start: int = OTHER_DRAWS) -> dict[str, Measures]:
    """The machine, and trees of some settings with their simplified rules, on one draw."""
    X, y, X_test, y_test = draw(start + seed)
    rows = {BASELINE: machine_answer(polynomial_svm(), X, y, X_test)}
    for name in names:
        found = tree_answers(X, y, X_test, seed, published=False, **CANDIDATES[name])
        rows[name], rows[f"{name}: tree"] = found["simplified"], found["tree"]
    return {name: measure(answer, y_test) for name, answer in rows.items()}


def choose(runs: Runs, names: Sequence[str]) -> str:
    """Of the settings that lose at most a point, standard error included, the one that finds most of class 2."""
    allowed = [name for name in names if sum(lost(runs, name)) <= 1.0]
    return max(allowed or names, key=lambda name: float(column(runs, name, "class 2").mean()))


def settings_section(runs: Runs, names: Sequence[str], seen: Runs) -> Section:
    """Which settings find the rare class."""
    chosen, rows = choose(runs, names), []
    for name in names:
        points, se = lost(runs, name)
        rows.append(
            [
                f"**{name}**" if name == chosen else name,
                spread(column(runs, name, "rules")),
                *(spread(column(runs, name, what)) for what in SHARES),
                f"{points:+.2f} ± {se:.2f}",
                spread(column(runs, f"{name}: tree", "class 2")),
                "{:+.2f} ± {:.2f}".format(*lost(runs, f"{name}: tree")),
            ]
        )
    best = {
        loss: max(float(column(runs, n, "class 2").mean()) for n in names if f", {loss}" in n)
        for loss in ("all", "minority")
        if any(f", {loss}" in n for n in names)
    }
    told = " and ".join(f"{share:.1f} % with the loss *{loss}*" for loss, share in best.items())
    return Section(
        "Settings, on other draws",
        f"{len(runs)} draws that no other table uses; percent, mean ± standard deviation, of the simplified rules, and "
        "at the end of the tree itself. *Lost* are points of total accuracy against the polynomial SVM on the same "
        "draws, ± standard error. Where a name says nothing else, settings are the printed ones: K-means from 2 "
        "centres, tol 0.02, C 0.1, leaves and rules of any size.",
        Table(["settings", "rules", *SHARES, "lost", "tree: class 2", "tree: lost"], rows),
        f"In bold the setting chosen for the other tables, *{chosen}*: of those whose rules lose at most one point, "
        "standard error included, the one whose rules find most of class 2. Over all settings listed, rules find up to "
        f"{told}. The loss decides. The tolerance and the way to cut hardly matter; a larger C and larger leaves give "
        "up some of the rare class for total accuracy; leaving out rules of few points (min_coverage) gains total "
        "accuracy at little cost. To decide what to list, more values were looked at on some of these draws: tol from "
        "0 to 0.3, C from 1 to 1000, min_leaf from 4 to 12, min_coverage 3, and rules by labels."
        f"{_printed(runs, names)} {_again(seen, chosen)}",
    )


def _printed(runs: Runs, names: Sequence[str]) -> str:
    """What the printed settings lose once the loss is counted over the rare class."""
    found = [
        f"{lost(runs, name)[0]:.2f} points ({name})"
        for name in ("DFS, minority", "BFS, minority")
        if name in names
    ]
    return f" With nothing but the loss changed, rules lose {' and '.join(found)}." if found else ""


def _again(seen: Runs, chosen: str) -> str:
    points, se = lost(seen, chosen)
    return (
        f"On {len(seen)} further draws, reported nowhere else because they had been looked at before the list was "
        f"final, the chosen rules find {column(seen, chosen, 'class 2').mean():.1f} % of class 2 and lose "
        f"{points:.2f} ± {se:.2f} points."
    )
