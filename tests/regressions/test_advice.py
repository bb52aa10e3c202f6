"""What went wrong with advice once, by public names."""

from time import process_time

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from clearmargin import AdviceSVC, RuleSet, check_advice
from clearmargin.datasets import load_pima
from clearmargin.exceptions import ClearmarginWarning, DataError

pytestmark = pytest.mark.filterwarnings("ignore:the advice deserves a look")

POSTER = """
R1: glucose <= 126 => tested_negative
R2: 126 <= glucose <= 140 and bmi <= 30 => tested_negative
R3: 126 <= glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""


def patients(draw, n_rows=40):
    X, y = load_pima(return_X_y=True)
    rows = np.random.default_rng(draw).permutation(len(X))[:n_rows]
    return X.iloc[rows], y.iloc[rows]


def one_hot(n_rows, n_columns=68):
    rng = np.random.default_rng(0)
    names = [f"c{k}_{j}" for k in range(n_columns // 8) for j in range(8)]
    codes = rng.integers(8, size=(n_rows, len(names) // 8, 1))
    table = (codes == np.arange(8)).reshape(n_rows, -1).astype(float)
    X = pd.DataFrame(table, columns=names).assign(age=rng.integers(20, 80, n_rows))
    return X, np.where(X["age"] + 20 * X["c0_0"] + rng.normal(0, 20, n_rows) > 50, "yes", "no")


@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")
@pytest.mark.parametrize("refine", [None, "translate", "slp", "sqp"])
def test_weights_are_repetitions_in_refined_advice_too(refine):
    advice = "x15 >= 0.42 and x19 >= 0.79 => 0\nx18 >= 0.40 => 1"
    model = AdviceSVC(advice, refine=refine, max_iter=5)
    check_sample_weight_equivalence_on_dense_data("AdviceSVC", model)


@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")
def test_few_cases_of_a_table_with_many_columns_are_learned_from_at_once():
    X, y = one_hot(80)
    start = process_time()
    for where in ("cases", "everywhere"):
        AdviceSVC("age >= 60 => yes\nage <= 30 => no", refine="translate", where=where).fit(X, y)
    assert process_time() - start < 4.0


def test_a_constant_plane_is_said_first_and_proves_nothing():
    with pytest.warns(ClearmarginWarning, match="constant"):
        model = AdviceSVC(POSTER, mu=10.0, where="everywhere").fit(*patients(draw=1))
    assert "constant" in str(model.outcome_).splitlines()[0]
    assert not any(rule.proved for rule in model.outcome_)
    for draw in range(8):
        assert AdviceSVC(POSTER).fit(*patients(draw)).coef_.any()


def test_a_rule_refined_to_no_whole_number_stays_as_written():
    outcomes = AdviceSVC(POSTER, refine="sqp").fit(*patients(draw=0)).outcome_
    assert all(
        rule.verdict == "refined" or rule.text_after == rule.text_before for rule in outcomes
    )
    assert len(outcomes) == 6


def test_what_a_rule_is_said_to_hold_for_is_what_the_model_predicts():
    X, y = patients(draw=2, n_rows=300)
    model = AdviceSVC(POSTER).fit(X, y)
    for rule, rows in zip(model.outcome_, model.advice_.covers(X).T, strict=True):
        said, true = (values == rule.after.label for values in (model.predict(X[rows]), y[rows]))
        assert (rule.after.stats.agreed, rule.after.stats.correct) == (said.sum(), true.sum())


def test_what_must_hold_beyond_the_ranges_of_the_data_holds_there():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 10, size=(60, 2)), columns=["a", "b"])
    rules = "a >= 12 and b <= 3 => p\na >= 8 and b >= 20 => n"
    with pytest.warns(ClearmarginWarning):
        model = AdviceSVC(rules, mu=np.inf, where="everywhere").fit(
            X, np.where(X["a"] > 5, "n", "p")
        )
    far = pd.DataFrame(rng.uniform(-100, 100, size=(1_000, 2)), columns=["a", "b"])
    for rule, rows in zip(model.advice_, model.advice_.covers(far).T, strict=True):
        assert set(model.predict(far[rows])) == {rule.label}


@pytest.mark.parametrize(
    "form", ["{a} >= {s:.2f} and {b} <= {t:.2f}", "{s:.2f} * {a} + {b} >= {t:.2f}"]
)
def test_a_check_of_very_many_rules_lists_the_worst_and_counts_the_rest(form):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(200, 4)), columns=list("abcd"))
    pairs = [(*rng.choice(list("abcd"), 2, replace=False), *rng.random(2)) for _ in range(150)]
    lines = [form.format(a=a, b=b, s=s, t=t) + f" => {'np'[int(t > s)]}" for a, b, s, t in pairs]
    start = process_time()
    report = check_advice("\n".join(lines), X, np.where(X["a"] > 0.5, "p", "n"))
    assert process_time() - start < 5.0
    assert 500 <= len(report.findings) < 1_500
    assert f"{report.more:,}" in str(report)
    rows = [finding.rows for finding in report.errors if finding.kind == "overlap"]
    assert rows == sorted(rows, reverse=True)


def test_more_columns_than_can_be_taken_are_refused_at_once():
    X = np.random.default_rng(0).normal(size=(50, 20_000))
    start = process_time()
    with pytest.raises(DataError, match="20000 columns"):
        AdviceSVC("x0 >= 1 => 1", where="everywhere").fit(X, X[:, 0] > 0)
    assert process_time() - start < 10


def test_a_table_of_thousands_of_columns_takes_advice_in_seconds():
    X = np.random.default_rng(0).normal(size=(200, 4_000))
    y, start = X[:, 0] + X[:, 1] > 0, process_time()
    model = AdviceSVC("x0 > 1 => True").fit(X, y)
    assert process_time() - start < 15
    assert set(np.argsort(-np.abs(model.coef_[0]))[:2]) == {0, 1}


def test_rules_refined_on_many_cases_are_right_more_often_on_other_cases():
    (others, truth), gains = load_pima(return_X_y=True), []
    for draw in (0, 1, 3):
        X, y = patients(draw, n_rows=400)
        model = AdviceSVC(POSTER, refine="translate", nu=0.1).fit(X, y)
        rest = ~others.index.isin(X.index)
        for row in (row for row in model.outcome_ if row.verdict == "refined"):
            pair = RuleSet([row.before, row.after], model.advice_.space, model.classes_)
            right = [
                (truth[rest][k] == row.after.label).mean() for k in pair.covers(others[rest]).T
            ]
            gains.append(right[1] - right[0])
    assert len(gains) > 4
    assert np.mean(gains) > 0.02
