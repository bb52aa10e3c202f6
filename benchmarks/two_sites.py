"""Two hospitals, one model: site A sends rules, site B trains on them, and no patient leaves site A.

Site A extracts rules from its own patients and saves them as text. Site B trains on the text alone, on a few patients
of its own alone, and on both. All are tested on the other patients of site B. Run it from a clone:

    python benchmarks/two_sites.py                     both sites are random halves of the Cleveland data
    python benchmarks/two_sites.py statlog_heart.csv   site B is a random half of that table

A table has the 13 columns of the Cleveland data and a column `target` of disease and no_disease, or presence and
absence. Rows of it that are also rows of the Cleveland data are counted, and site A does without those that site B has.

Rules of one plane cannot contradict each other, so that site B may ask for all of them to hold (`--mu inf`).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVCCV, AdviceSVC, RuleExtractor, RuleSet
from clearmargin.datasets import load_cleveland
from clearmargin.exceptions import ClearmarginWarning

# What the codes can be, by definition; rules need not say it again.
CODES = {"sex": (0, 1), "cp": (1, 4), "fbs": (0, 1), "restecg": (0, 2), "exang": (0, 1)}
CODES |= {"slope": (1, 3), "ca": (0, 3), "thal": (3, 7)}
CASES = (10, 20, 40)
DRAWS = 5


def read_site(path: Path, columns: pd.Index) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table with the columns of the Cleveland data."""
    table = pd.read_csv(path)
    names = {"presence": "disease", "absence": "no_disease"}
    return table[columns], table["target"].replace(names)


def is_known(rows: pd.DataFrame, others: pd.DataFrame) -> np.ndarray:
    """Tell which rows are also rows of another table."""
    known = set(map(tuple, others.to_numpy(float)))
    return np.array([tuple(row) in known for row in rows.to_numpy(float)])


def send_rules(X: pd.DataFrame, y: pd.Series, path: Path) -> tuple[Pipeline, RuleSet]:
    """Site A: train a sparse plane, turn it into rules, save them as text."""
    svm = make_pipeline(StandardScaler(), LPSVCCV(max_features=8)).fit(X, y)
    rules = (
        RuleExtractor(svm, criterion="coverage", min_coverage=2, max_rules=8, bounds=CODES)
        .fit(X, y)
        .rules_
    )
    rules.save(path, overwrite=True)
    return svm, rules


def compare(
    svm: Pipeline, path: Path, mu: float, X: pd.DataFrame, y: pd.Series, seed: int
) -> dict[tuple[str, int], float]:
    """Site B: share of right answers of each model on patients that it was not trained on."""
    alone = AdviceSVC(path, mu=mu).fit()
    scores: dict[tuple[str, int], list[float]] = {}
    for cases in CASES:
        draws = StratifiedShuffleSplit(DRAWS, train_size=cases, random_state=seed).split(X, y)
        for few, rest in draws:
            train, test = (X.iloc[few], y.iloc[few]), (X.iloc[rest], y.iloc[rest])
            models = {
                "rules alone": alone,
                "own patients alone": AdviceSVC().fit(*train),
                "both": AdviceSVC(path, mu=mu).fit(*train),
                "site A's model": svm,
            }
            for name, model in models.items():
                known = test[0][list(model.feature_names_in_)]
                scores.setdefault((name, cases), []).append(model.score(known, test[1]))
    return {key: float(np.mean(values)) for key, values in scores.items()}


def main() -> None:
    """Compare over several splits and print the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site_b", nargs="?", type=Path, help="a table for site B")
    parser.add_argument("--splits", type=int, default=10, help="number of random splits")
    parser.add_argument("--mu", type=float, default=np.inf, help="price of a rule's error")
    options = parser.parse_args()

    X, y = load_cleveland(target="disease", return_X_y=True)
    other = (X, y) if options.site_b is None else read_site(options.site_b, X.columns)
    if options.site_b is not None:
        shared = int(is_known(other[0], X).sum())
        print(f"{shared} of {len(other[0])} rows of {options.site_b.name} are rows of Cleveland")
    results, sizes = [], []
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # A few patients do not span the range of every rule; fit would say so each time.
        warnings.simplefilter("ignore", ClearmarginWarning)
        path = Path(folder) / "site_a.rules"
        for seed in range(options.splits):
            X_b, _, y_b, _ = train_test_split(
                *other, train_size=0.5, random_state=seed, stratify=other[1]
            )
            mine = ~is_known(X, X_b)
            svm, rules = send_rules(X[mine], y[mine], path)
            sizes.append((int(mine.sum()), len(X_b), len(rules)))
            results.append(compare(svm, path, options.mu, X_b, y_b, seed))
    a, b, r = np.mean(sizes, axis=0)
    print(f"mean of {options.splits} splits: {a:.0f} patients at A, {b:.0f} at B, {r:.1f} rules")
    table = pd.DataFrame(results)
    error = table.std() / np.sqrt(len(table))
    print("patients of B   " + "".join(f"{cases:>16}" for cases in CASES))
    for name in ("rules alone", "own patients alone", "both", "site A's model"):
        cells = (f"{table[name, c].mean():.3f} +- {error[name, c]:.3f}" for c in CASES)
        print(f"{name:18}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
