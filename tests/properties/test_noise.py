"""On tables of random numbers with random classes, figures on rows not seen in training are at chance."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from clearmargin import LPSVC, RankContrast, RuleSVC

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ROWS, TABLES = 40, 4
# The standard error of a mean share over all rows of all tables.
ERROR = np.sqrt(0.25 / (ROWS * TABLES))


def noise(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.permuted(np.tile(["no", "yes"], (ROWS // 2, 1)), axis=1)
    return rng.normal(size=(ROWS, 8)), pairs.ravel()


FIGURES = {
    "RuleSVC": lambda X, y: cross_val_score(RuleSVC(3), X, y, cv=StratifiedKFold(2)).mean(),
    "LPSVC": lambda X, y: cross_val_score(LPSVC("cv", cv=4), X, y, cv=3).mean(),
    "RankContrast": lambda X, y: RankContrast(top=9, bottom=9, max_size=1).fit(X, y).held_out_auc_,
}


@pytest.mark.parametrize("name", FIGURES)
def test_unseen_figures_of_noise_are_at_chance(name):
    found = np.array([FIGURES[name](*noise(seed)) for seed in range(TABLES)], dtype=float)
    found = found[np.isfinite(found)]
    error = max(ERROR, found.std(ddof=1) / np.sqrt(len(found)))
    assert abs(found.mean() - 0.5) <= 3 * error


def test_training_accuracy_of_noise_is_not_at_chance():
    found = [LPSVC(1.0).fit(*noise(seed)).score(*noise(seed)) for seed in range(TABLES)]
    assert np.mean(found) - 0.5 > 3 * ERROR
