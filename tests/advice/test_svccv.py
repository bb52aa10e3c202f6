"""AdviceSVCCV: the costs by cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin import AdviceSVC, AdviceSVCCV
from clearmargin.advice.advice_svm import AdvicePath, scaled_costs, solve_advice
from clearmargin.exceptions import DataError, InvalidValueError

pytestmark = [
    pytest.mark.filterwarnings("ignore:the advice deserves a look"),
    pytest.mark.filterwarnings("ignore:the plane is constant"),
]


@parametrize_with_checks([AdviceSVCCV(lams=[0.1, 1.0], cv=3)])
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def test_the_folds_score_what_a_grid_search_scores(diabetes, pima):
    X, y, _, _ = pima
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    lams, mus = [0.1, 1.0, 10.0], [0.1, 1.0]
    model = AdviceSVCCV(diabetes, lams=lams, mus=mus, cv=cv).fit(X, y)
    search = GridSearchCV(AdviceSVC(diabetes), {"lam": lams, "mu": mus}, cv=cv).fit(X, y)
    found = {
        (lam, mu): score
        for lam, mu, score in zip(
            model.cv_results_["lam"],
            model.cv_results_["mu"],
            model.cv_results_["mean_test_score"],
            strict=True,
        )
    }
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        # Where several planes are optimal, a point or two may fall on either side.
        assert found[parameters["lam"], parameters["mu"]] == pytest.approx(score, abs=0.021)
    best = max(found.values())
    assert found[model.lam_, model.mu_] == best
    same = AdviceSVC(diabetes, lam=model.lam_, mu=model.mu_).fit(X, y)
    assert model.coef_ == pytest.approx(same.coef_)
    assert model.outcome_.verdicts == same.outcome_.verdicts


def test_of_equal_scores_the_one_with_more_advice_is_taken():
    X = pd.DataFrame({"a": np.arange(20.0)})
    y = np.where(X["a"] > 9.5, "p", "n")
    model = AdviceSVCCV("a >= 12 => p\na <= 8 => n", lams=[1.0, 10.0], mus=[0.1, 1.0, 10.0]).fit(
        X, y
    )
    scores = model.cv_results_["mean_test_score"]
    ties = scores == scores.max()
    assert model.mu_ == model.cv_results_["mu"][ties].max()


def test_refinement_is_chosen_too(diabetes, pima):
    X, y, _, _ = pima
    model = AdviceSVCCV(
        diabetes, refine="translate", lams=[1.0], mus=[1.0, 3.0], nus=[0.1, 10.0], cv=3
    ).fit(X[:60], y[:60])
    assert set(model.cv_results_["nu"]) == {0.1, 10.0}
    assert len(model.cv_results_["mean_test_score"]) == 4
    assert model.model_.refine == "translate"
    assert model.refined_ == model.model_.refined_


@pytest.mark.parametrize("seed", range(10))
def test_a_path_gives_what_fresh_solutions_give(seed, advice_problem):
    problem = advice_problem(seed)
    path = AdvicePath(problem)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        lam, mu = 10.0 ** rng.uniform(-2, 2, 2)
        there = path.solve(lam, mu).objective
        afresh = solve_advice(scaled_costs(problem, lam, mu)).objective
        assert there == pytest.approx(afresh, rel=1e-7, abs=1e-9)
    path.close()


@pytest.fixture
def advice_problem():
    from clearmargin.advice.advice_svm import AdviceProblem, BoxPremises, Premises

    def make(seed):
        rng = np.random.default_rng(seed)
        n, m = 3, 20
        rows = [(rng.normal(size=(2, n)), rng.normal(size=2) + 1) for _ in range(2)]
        premises = Premises.stack(rows, [1.0, -1.0], rng.uniform(0.5, 2, 2))
        low = rng.uniform(-1, 0.5, (2, n))
        high = rng.uniform(low, 1)
        boxes = BoxPremises((low + high) / 2, (high - low) / 2, np.array([1.0, -1.0]), np.ones(2))
        X = rng.normal(size=(m, n))
        y = np.where(X[:, 0] + rng.normal(size=m) > 0, 1.0, -1.0)
        return AdviceProblem(X, y, np.ones(m), premises, boxes)

    return make


def test_bad_grids_and_too_few_points_are_named():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    with pytest.raises(InvalidValueError, match="lams must be positive numbers"):
        AdviceSVCCV("a >= 2 => p", lams=[0.0, 1.0]).fit(X, ["n", "n", "p", "p"])
    with pytest.raises(InvalidValueError, match="mus must be positive numbers"):
        AdviceSVCCV("a >= 2 => p", mus=[]).fit(X, ["n", "n", "p", "p"])
    with pytest.raises(
        DataError, match="at least 2 points of each class, and the rarer class has 1"
    ):
        AdviceSVCCV("a >= 2 => p").fit(X, ["n", "n", "n", "p"])
    with pytest.raises(DataError, match="cross-validation needs data"):
        AdviceSVCCV("a >= 2 => p").fit(None, None)
    with pytest.raises(InvalidValueError, match="refine must be one of"):
        AdviceSVCCV("a >= 2 => p", refine="so").fit(X, ["n", "n", "p", "p"])
