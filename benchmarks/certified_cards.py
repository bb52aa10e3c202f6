"""What cards with proof prove of dense linear machines: ``python -m benchmarks.certified_cards [points]``.

A dense `LinearSVC` is trained on four fifths of a table, and `ScoreRules(certify=True)` makes its card from the same
rows; counted is the share of the other fifth whose class the card proves, beside the share that the boxes of
`RuleExtractor` cover. Then points are drawn within the cells of proved rows, many of them at the ends of the cells, and
the machine is asked: each answer other than the proved class is a contradiction. Run as a program it goes over the
tables for tuning; `measure_cards` takes any table.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.public_tables import tuning_tables
from clearmargin import CertifiedScorecard, RuleExtractor, ScoreRules
from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc

__all__ = ["CUTS", "CardFigures", "dense_machine", "measure_cards", "points_in_cells", "time_card"]

CUTS = (10, 20, 30, 50, 100)
BOXES = 100


@dataclass(frozen=True, slots=True)
class CardFigures:
    """What was counted on one table.

    Parameters
    ----------
    proved : dict from int to float
        By number of cuts, the share of the held-out rows that the card proves.
    boxes : float or None
        The share that at most 100 boxes of `RuleExtractor` cover; None where they were not asked for.
    points, contradictions : int
        Points drawn within proved cells, and those of them for which the machine predicts another class.
    seconds : float
        CPU time of the card with most cuts, the mean of all folds.
    """

    proved: dict[int, float]
    boxes: float | None
    points: int
    contradictions: int
    seconds: float


def dense_machine(X: pd.DataFrame) -> Any:
    """Make a linear support vector machine over all columns: numbers imputed and scaled, categories as 0/1 columns."""
    numbers = list(X.select_dtypes(include="number").columns)
    names = [name for name in X.columns if name not in numbers]
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
            ),
            names,
        ),
    )
    return make_pipeline(steps, LinearSVC(random_state=0, max_iter=20_000))


def measure_cards(
    X: pd.DataFrame,
    y: Any,
    *,
    cuts: Sequence[int] = CUTS,
    folds: int = 5,
    points: int = 0,
    boxes: bool = False,
    machine: Any = None,
    max_features: int | None = None,
) -> CardFigures:
    """Measure cards with proof on one table.

    Parameters
    ----------
    X : DataFrame
        Numbers, and texts that are categories; values may be missing.
    y : array-like
        Two classes.
    cuts : sequence of int
        Numbers of cuts.
    folds : int
        Of five folds, so many are measured.
    points : int
        How many points are drawn within proved cells of each card with most cuts.
    boxes : bool
        Whether `RuleExtractor` is asked, too.
    machine : classifier, optional
        The machine to train; by default the dense one.
    max_features : int, optional
        Cards of planes distilled to so many features.

    Returns
    -------
    CardFigures
        Means over the folds.
    """
    X, labels = X.reset_index(drop=True), np.asarray(y)
    shares: dict[int, list[float]] = {n: [] for n in cuts}
    covered, seconds, drawn, wrong = [], [], 0, 0
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, labels)
    for fold, (train, test) in enumerate(splits):
        if fold >= folds:
            break
        model = (dense_machine(X) if machine is None else machine).fit(X.iloc[train], labels[train])
        for n in cuts:
            start = process_time()
            made = ScoreRules(model, certify=True, max_rules=n, max_features=max_features)
            card = made.fit(X.iloc[train], labels[train]).scorecard_
            spent = process_time() - start
            shares[n].append(float((card.prove_codes(X.iloc[test]) >= 0).mean()))
        seconds.append(spent)
        if boxes:
            rules = RuleExtractor(model, max_rules=BOXES).fit(X.iloc[train], labels[train])
            covered.append(float((rules.which(X.iloc[test]) >= 0).mean()))
        if points and made.distillation_ is None:
            many, other = _contradictions(card, model, X, points, fold)
            drawn, wrong = drawn + many, wrong + other
    return CardFigures(
        {n: float(np.mean(found)) for n, found in shares.items()},
        float(np.mean(covered)) if covered else None,
        drawn,
        wrong,
        float(np.mean(seconds)),
    )


def _contradictions(
    card: CertifiedScorecard, model: Any, X: pd.DataFrame, points: int, seed: int
) -> tuple[int, int]:
    """Count the points drawn within proved cells, and those for which the model predicts another class."""
    codes = card.prove_codes(X)
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        return 0, 0
    chosen = np.random.default_rng(seed).choice(rows, size=points)
    inside = points_in_cells(card, X.iloc[chosen], seed)
    assert (card.prove_codes(inside) == codes[chosen]).all()
    return points, int((model.predict(inside) != np.array(card.classes)[codes[chosen]]).sum())


def points_in_cells(card: CertifiedScorecard, X: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Draw a point within the cells of each row: anywhere, at the ends of cells, and a digit beside them.

    Parameters
    ----------
    card : CertifiedScorecard
        The card.
    X : DataFrame
        Rows that the card speaks of.
    seed : int
        Where points come from.

    Returns
    -------
    DataFrame
        As many rows, each in the same cells; categories and missing values stay.
    """
    rng, moved = np.random.default_rng(seed), X.reset_index(drop=True).copy()
    for part in card.features:
        name = card.space.names[part.feature]
        if part.cuts is None:
            continue
        values = moved[name].to_numpy(dtype=np.float64, copy=True)
        known = ~np.isnan(values)
        ends = np.array([cell[:2] for cell in part.ends(card.space)])
        closed = np.array([cell[2] for cell in part.ends(card.space)])
        place = part.place(values, card.space)[known]
        low, high = ends[place].T
        # An end that does not belong to the cell is the float before it.
        high = np.where(closed[place], high, np.nextafter(high, -np.inf))
        share = rng.random(len(low))
        drawn = np.clip(low + rng.random(len(low)) * (high - low), low, high)
        drawn = np.where(share < 0.3, low, np.where(share < 0.6, high, drawn))
        near = np.where(share < 0.3, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
        drawn = np.where(
            (share < 0.6) & (rng.random(len(low)) < 0.3), np.clip(near, low, high), drawn
        )
        if card.space.integer[part.feature]:
            drawn = np.clip(np.rint(drawn), low, high)
        values[known] = drawn
        moved[name] = values
    return moved


def time_card(rows: int = 1_000, columns: int = 60, cuts: int = 100) -> float:
    """Give the CPU seconds that a card takes for a machine that is trained already."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = X @ rng.normal(size=columns) + rng.normal(size=rows) > 0
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    start = process_time()
    ScoreRules(machine, certify=True, max_rules=cuts).fit(X, y)
    return process_time() - start


def _tables() -> Iterator[tuple[str, pd.DataFrame, Any]]:
    for load in (load_wbc, load_pima, load_ionosphere, load_cleveland):
        X, y = load(return_X_y=True)
        yield load.__name__.removeprefix("load_"), pd.DataFrame(X), np.asarray(y)
    for table in tuning_tables():
        yield table.name, *table.load()


def main() -> None:
    """Print the share of held-out rows that cards prove on the tables for tuning, and the contradictions."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    warnings.filterwarnings("ignore")
    means, drawn, wrong = [], 0, 0
    print("proved of held-out rows, by cuts:", *CUTS, "| boxes of RuleExtractor | s at most cuts")
    for name, X, y in _tables():
        found = measure_cards(X, y, folds=2, points=points, boxes=True)
        assert found.boxes is not None
        shares = [*found.proved.values(), found.boxes]
        means.append(shares)
        drawn, wrong = drawn + found.points, wrong + found.contradictions
        print(name.ljust(22), *(f"{100 * share:5.1f}" for share in shares), f"{found.seconds:.2f}")
    print("mean".ljust(22), *(f"{100 * share:5.1f}" for share in np.mean(means, axis=0)))
    print(f"{wrong} contradictions in {drawn} points within proved cells")
    print(f"1,000 x 60 with 100 cuts: {time_card():.2f} s CPU")


if __name__ == "__main__":
    main()
