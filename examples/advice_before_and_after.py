"""An expert's rule that goes too far, before and after training on forty women.

python examples/advice_before_and_after.py               prints
python examples/advice_before_and_after.py advice.png    also draws
"""

# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import sys

from clearmargin import AdviceSVC
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_advice

ADVICE = """
high: glucose >= 110 and bmi >= 28 => tested_positive
low: glucose <= 100 and bmi <= 30 => tested_negative
"""


def main(path: str | None = None) -> None:
    """Train on cases and rules, say what became of the first rule, and draw both."""
    women, test = load_pima(return_X_y=True)
    known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a value that is missing
    X, y = women.loc[known, ["glucose", "bmi"]][:40], test[known][:40]
    # A rule counts a hundred times a case here, but its bounds may move where cases contradict it.
    model = AdviceSVC(ADVICE, lam=0.1, mu=10, refine="translate", nu=0.1).fit(X, y)

    print(model.outcome_[0])
    if path is not None:
        plot_advice(model, X, y).figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
