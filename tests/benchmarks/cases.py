"""What the tests of the benchmarks share: small data, folds, figures and sections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.page import Section, Table
from benchmarks.quality.data import DataSet
from benchmarks.quality.folds import folds
from benchmarks.quality.judge import Figures
from benchmarks.quality.measure import Panel, Row
from benchmarks.quality.single import SingleFigures

from clearmargin import parse_rules
from clearmargin.rules import FeatureSpace


def section(title="Speed", finding="", **ratios):
    table = Table(["what", "s"], [["a", "1"]])
    return Section(title, "How fast?", table, "Fast.", finding, ratios)


def small(m=90, seed=0, **limits):
    """Two features, a class above a line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=m) > 0).astype(np.int64)
    return DataSet("small", X, y, ("a", "b"), ("no", "yes"), **limits)


def fold_of(kind="linear"):
    return next(folds(small(), kind, 1))


def stated(text):
    return parse_rules(text, space=FeatureSpace(["a", "b"]), classes=[0, 1])


def figures(fidelity, size=3.0, **others):
    base = dict.fromkeys(Figures.__dataclass_fields__, 0.5)
    return Figures(**{**base, "fidelity": fidelity, "size": size, "rules": size - 1, **others})


def single(precision, coverage, proved):
    return SingleFigures(0.1, coverage, precision, 1.0, proved, 2.0)


def panel():
    peer = Row("peer", False, [figures(0.9), figures(0.901), None], reasons=["too slow"])
    peer.rivals = [figures(0.8), figures(0.801), None]
    peer.cards = [figures(0.9), figures(0.89), None]
    worse = Row("other", False, [figures(0.7), figures(0.72), figures(0.7)], is_weighted=True)
    worse.rivals = [figures(0.8), figures(0.81), figures(0.83)]
    worse.cards = [figures(0.9), figures(0.92), figures(0.9)]
    mute = Row("mute", False, [figures(0.5, one_class=1.0)] * 3)
    mute.rivals = mute.cards = [figures(0.8)] * 3
    silent = figures(0.9, proved=0.0, coverage=0.0)
    proved = Row("exact", True, [figures(0.9, proved=0.5, coverage=0.5)] * 2 + [silent])
    absent = Row("gone", False, [None] * 3, reasons=["no environment"])
    rungs = [{1: figures(0.6, 1.0), 2: figures(0.8, 2.0)}] * 3
    return Panel("D", "linear", [figures(1.0)] * 3, [proved, peer, worse, mute, absent], rungs)


def problem(folder: Path, deed: str, stem: str | None = None) -> Path:
    path = folder / f"{stem or deed}.npz"
    X = np.array([[-1.0, 0.0], [0.7, 0.0], [2.0, 0.0], [2.0, 3.0]])
    np.savez(path, X_train=X, y_train=[0, 1, 1, 1], X_test=X, names=np.array([deed, "b"]), seed=7)
    return path
