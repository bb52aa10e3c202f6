"""The toy example of Kunapuli, Maclin and Shavlik (2011): two rules about points on both sides of x1 + x2 = 2."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from benchmarks.page import Section, Table
from clearmargin.advice import AdviceSVC

__all__ = ["ADVICE", "section", "toy"]

ADVICE = "S1: x1 >= 0 and x2 >= 0 => plus\nS2: x1 <= 0 and x2 <= 0 => minus"
METHODS = {None: "KBSVM", "translate": "RRSVM", "slp": "arkSVM-slp", "sqp": "arkSVM-sqp"}


def toy() -> tuple[pd.DataFrame, np.ndarray[tuple[int], np.dtype[np.str_]]]:
    """200 points of a square, labelled by the line of the poster; its own points are not published."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(-4, 6, (200, 2)), columns=["x1", "x2"])
    return X, np.where(X["x1"] + X["x2"] > 2, "plus", "minus")


def section() -> Section:
    """What becomes of the two rules."""
    X, y = toy()
    table = Table(["method", "S1 after", "S2 after", "S1 is", "S2 is", "points right %"])
    verdicts = []
    for refine, name in METHODS.items():
        with warnings.catch_warnings():
            # S1 contradicts the data on purpose.
            warnings.simplefilter("ignore")
            model = AdviceSVC(ADVICE, refine=refine, nu=0.1, tol=1e-3, published=True).fit(X, y)
        texts = model.refined_.to_text().splitlines()
        after = [next((t for t in texts if t.startswith(f"{s}:")), "-") for s in ("S1", "S2")]
        told = list(model.outcome_.verdicts)
        table.rows.append([name, *after, *told, f"{100 * model.score(X, y):.1f}"])
        if refine is not None:
            verdicts.append(told)
    cut = sum(first == "refined" for first, _ in verdicts)
    kept = sum(second == "kept" for _, second in verdicts)
    return Section(
        "Toy example of the poster",
        "The poster shows its refined rules as a picture and prints no numbers. S1 reaches across the line, S2 is on "
        "its side, far from it. All are the published programs (`published=True`).",
        table,
        f"{cut} of {len(verdicts)} refinements cut S1 back, as the poster says of advice across the margin. It also "
        f"says that far advice is extended: {kept} of {len(verdicts)} leave S2 as it is, the others turn it a little "
        "on the way. Nothing in the objective pays for extending it.",
    )
