"""On pure noise every door that prints a figure on rows not seen finds chance; small tables, cheap settings."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.noise import BEST_SCORES, CHANCE, DOORS, make_noise, measure
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

from clearmargin import LPSVC, LPSVCCV

pytestmark = pytest.mark.filterwarnings("ignore:no plane")

# The others take seconds a table: `make noise` asks them, and tests/cli/test_unseen.py compares the choice of nu and
# features in folds with scikit-learn's.
_SLOW = {
    "rules, the default way",
    "demo",
    "report(RuleExtractor(LPSVCCV())): model",
    "LPSVCCV, nested",
}
_SAME = {
    "rules --nu 1",
    "rules --groups",
    "rules --time",
    "advise --refine translate",
    "RuleSVC with points, nested",
}


_ROWS = 40


def _least_error(tables):
    """The standard error of a mean share of independent rows; what is seen over so few tables may be less by chance."""
    return np.sqrt(0.25 / (_ROWS * len(tables)))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("noise") for _ in range(4)]
    return [make_noise(seed, _ROWS, 8, folder, folds=2) for seed, folder in enumerate(folders)]


@pytest.mark.parametrize("door", [name for name in DOORS if name not in _SLOW | _SAME])
def test_the_mean_over_tables_of_noise_is_within_three_standard_errors_of_chance(tables, door):
    mean, error, count = measure(DOORS[door], tables)
    assert count == len(tables)
    assert abs(mean - CHANCE) <= 3.0 * max(error, _least_error(tables))


def test_a_search_inside_each_fold_finds_chance_and_its_best_score_does_not(tables):
    search = LPSVCCV([0.03, 0.1, 0.3, 1.0, 3.0], cv=4)
    folds = StratifiedKFold(3)
    nested = [cross_val_score(search, noise.X, noise.y, cv=folds).mean() for noise in tables]
    assert abs(np.mean(nested) - CHANCE) <= 3.0 * _least_error(tables)
    best = [clone(search).fit(n.X, n.y).cv_results_["mean_test_score"].max() for n in tables]
    assert np.mean(best) > np.mean(nested)
    assert set(BEST_SCORES).isdisjoint(DOORS)


def test_training_accuracy_would_be_found_out(tables):
    # What a report called accuracy on cases not seen: that of the trained model itself, fold by fold.
    def door(noise):
        return LPSVC(1.0).fit(noise.X, noise.y).score(noise.X, noise.y)

    mean, error, _ = measure(door, tables)
    assert abs(mean - CHANCE) > 3.0 * max(error, _least_error(tables))
