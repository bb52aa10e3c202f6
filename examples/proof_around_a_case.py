"""A kernel machine, and a box around one case in which its answer is proved.

python examples/proof_around_a_case.py              prints
python examples/proof_around_a_case.py proof.png    also draws
"""

# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clearmargin import FeatureSpace, Rule, RuleSet, certify, grow_box
from clearmargin.datasets import load_pima
from clearmargin.plot import RegionsDisplay, plot_regions


def draw_machine(display: RegionsDisplay, machine: Pipeline, X: pd.DataFrame) -> None:
    """Draw where the machine changes its mind."""
    left, right, low, high = display.extent
    along, up = np.meshgrid(np.linspace(left, right, 200), np.linspace(low, high, 200))
    grid = pd.DataFrame(np.column_stack([along.ravel(), up.ravel()]), columns=X.columns)
    score = machine.decision_function(grid).reshape(along.shape)
    lines = display.ax_.contour(along, up, score, levels=[0.0], colors="black", linewidths=1.5)
    display.ax_.clabel(lines, fmt={0.0: "machine"})


def main(path: str | None = None) -> None:
    """Grow a box around a woman, prove it, and draw it beside the machine's surface."""
    women, test = load_pima(return_X_y=True)
    known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a value that is missing
    X, y = women.loc[known, ["glucose", "bmi"]], test[known]
    machine = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    case = X.iloc[[0]]
    said = machine.predict(case)[0]
    space = FeatureSpace.from_data(X)
    box = grow_box(machine, case, space=space)

    rules = RuleSet([Rule(box, said)], space, machine.classes_.tolist())
    print(rules.describe())
    print(f"{certify(machine, box, said).status}; holds {box.contains(X.to_numpy()).sum()} women")
    if path is not None:
        display = plot_regions(rules, X, y, show_numbers=False)
        draw_machine(display, machine, X)
        display.ax_.plot(*case.to_numpy()[0], "*", color="black", markersize=14)
        middle = (display.rectangles[0, 0] + display.rectangles[0, 1]) / 2
        display.ax_.text(middle, 63, "tested_positive, proved", ha="center", weight="bold", size=9)
        display.figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
