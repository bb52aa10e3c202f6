"""Planes, kernel machines and forests on the tables that come with the package: the figures of a page.

``python -m benchmarks.reproduce.which_method`` measures, and writes the table and what follows from it between two
marks of ``docs/explanation/which-method.md``. Nothing between the marks is typed by hand, and a second run changes
nothing.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.page import Table
from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc
from clearmargin.lp_svm import LPSVCCV

__all__ = ["compare", "fill", "main", "measure", "passage", "put"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "which-method.md"
BEGIN = "<!-- measured by: python -m benchmarks.reproduce.which_method -->\n"
END = "<!-- end of what was measured -->\n"

DATA: dict[str, Callable[..., Any]] = {
    "biopsies (`load_wbc`)": load_wbc,
    "diabetes (`load_pima`)": load_pima,
    "heart (`load_cleveland`)": load_cleveland,
    "radar (`load_ionosphere`)": load_ionosphere,
}
MODELS: dict[str, Callable[[], Any]] = {
    "sparse plane": lambda: LPSVCCV(rule="1se", max_features=8),
    "plane": LPSVCCV,
    "kernel machine": SVC,
    "random forest": lambda: RandomForestClassifier(random_state=0),
}
FOLDS, REPEATS = 5, 4
# Twice its standard error: how large a difference has to be to be called one.
ERRORS = 2.0

# Percent right: for each repetition of the folds a row, and a column for each fold.
Scores = dict[str, np.ndarray[Any, np.dtype[np.float64]]]


def measure(load: Callable[..., Any], repeats: int = REPEATS) -> Scores:
    """Percent right of each model on held-out folds of one table.

    Parameters
    ----------
    load : callable
        Gives the table.
    repeats : int, default 4
        How often the rows are shuffled and put into folds.

    Returns
    -------
    dict of str to array of shape (repeats, folds)
        By model.
    """
    X, y = load(return_X_y=True)
    shuffles = [StratifiedKFold(FOLDS, shuffle=True, random_state=seed) for seed in range(repeats)]
    return {
        name: np.array(
            [
                100.0 * cross_val_score(make_pipeline(StandardScaler(), make()), X, y, cv=folds)
                for folds in shuffles
            ]
        )
        for name, make in MODELS.items()
    }


def spread(scores: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Standard error of a mean over folds; repetitions share their rows, and count as one."""
    return float(scores.std(ddof=1) / np.sqrt(scores.shape[1]))


def compare(one: str, other: str, measured: dict[str, Scores]) -> str:
    """Say how much more often one model is right than another, on each table and fold by fold."""
    parts = []
    for data, scores in measured.items():
        ahead = scores[one] - scores[other]
        mean, error = float(ahead.mean()), spread(ahead)
        mark = "**" if abs(mean) > ERRORS * error else ""
        parts.append(f"{mark}{mean:+.1f} ± {error:.1f}{mark} on {data.split(' (')[0]}")
    return fill(f"- {one} against {other}: {', '.join(parts)}", "  ")


def fill(text: str, indent: str = "") -> str:
    """Break prose into the lines of a page."""
    return textwrap.fill(
        text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def passage(measured: dict[str, Scores]) -> str:
    """The table, how it was measured, and the differences."""
    rows = [
        [data, *(f"{s.mean():.1f} ± {spread(s):.1f}" for s in scores.values())]
        for data, scores in measured.items()
    ]
    repeats = len(next(iter(next(iter(measured.values())).values())))
    how = (
        f"Means over {FOLDS} held-out folds, `StratifiedKFold({FOLDS}, shuffle=True, random_state=seed)` with "
        f"{repeats} seeds from 0, and their standard errors. The sparse plane is `LPSVCCV(rule='1se', max_features=8)`,"
        " the plane `LPSVCCV()`, the kernel machine `SVC()` and the forest `RandomForestClassifier(random_state=0)`, "
        "each after a `StandardScaler`; nothing else was tuned. `python -m benchmarks.reproduce.which_method` measures "
        "all this and writes it here."
    )
    pairs = (("sparse plane", "plane"), ("kernel machine", "plane"), ("random forest", "plane"))
    differences = "\n".join(compare(one, other, measured) for one, other in pairs)
    return (
        f"{Table(['data', *MODELS], rows).to_markdown()}\n\n{fill(how)}\n\n"
        f"Differences on the same folds, in percentage points; bold beyond {ERRORS:g} standard errors:\n\n"
        f"{differences}\n"
    )


def put(text: str, page: str) -> str:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one shuffle, and no page")
    is_quick = parser.parse_args(arguments).quick
    measured = {name: measure(load, 1 if is_quick else REPEATS) for name, load in DATA.items()}
    text = passage(measured)
    print(text)
    if not is_quick:
        page = PAGE.read_text(encoding="utf-8")
        if BEGIN not in page or END not in page:
            raise SystemExit(f"{PAGE} has no marks between which to write")
        PAGE.write_text(put(text, page), encoding="utf-8")


if __name__ == "__main__":
    main()
