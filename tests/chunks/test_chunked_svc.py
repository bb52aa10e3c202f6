"""ChunkedRuleSVC: rules of chunks, one machine of all, whatever the order; sites that send files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin import (
    LPSVC,
    ChunkedRuleSVC,
    ChunkSummary,
    RuleExtractor,
    load_model,
    report,
    save_model,
)
from clearmargin.chunks.chunk_rules import find_margin, held_out_rows
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError

# One plane a chunk instead of a search makes the tests quick.
QUICK = LPSVC(0.05)


def quick(**options) -> ChunkedRuleSVC:
    return ChunkedRuleSVC(**{"estimator": QUICK, "progress": False, **options})


def plane(model: ChunkedRuleSVC) -> bytes:
    return model.coef_.tobytes() + model.intercept_.tobytes()


@pytest.fixture(scope="module")
def biopsies():
    X, y = load_wbc(return_X_y=True)
    sites = np.array(["south", "north", "east"])[np.arange(len(y)) % 3]
    return X.iloc[:330, :5], y[:330], sites[:330], X.iloc[330:, :5], y[330:]


@pytest.mark.filterwarnings("ignore:the plane is constant")
@parametrize_with_checks([ChunkedRuleSVC(2, estimator=LPSVC(), mu=100.0, n_rows=5)])
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


@pytest.mark.parametrize("options", [{}, {"n_rows": 5, "rows": "hard"}])
def test_the_order_of_chunks_and_rows_makes_no_difference_to_the_bit(biopsies, options):
    X, y, sites, X_new, y_new = biopsies
    model = quick(**options).fit(X, y, chunks=sites)
    assert model.score(X_new, y_new) > 0.93
    order = np.random.default_rng(0).permutation(len(y))
    renamed = pd.Series(sites).map({"south": "a", "north": "b", "east": "c"}).to_numpy()
    for rows, names in ((order, sites[order]), (order[::-1], renamed[order[::-1]])):
        other = quick(**options).fit(X.iloc[rows], y.iloc[rows], chunks=names)
        assert plane(other) == plane(model)
        assert other.mu_ == model.mu_


def test_rows_are_dealt_to_chunks_by_their_values(biopsies):
    X, y, *_ = biopsies
    order = np.random.default_rng(0).permutation(len(y))
    dealt = [quick(n_chunks=3, mu=50.0).fit(X.iloc[k], y.iloc[k]) for k in (order, order[::-1])]
    assert plane(dealt[0]) == plane(dealt[1])
    assert len(dealt[0].summary_) == 3


def test_sites_that_send_files_find_what_one_table_finds(biopsies, tmp_path):
    X, y, sites, *_ = biopsies
    together = quick().fit(X, y, chunks=sites)
    parts = {name: (X[sites == name], y[sites == name]) for name in ("south", "east", "north")}
    for name, part in parts.items():
        quick().summarize(*part, name=name).save(tmp_path / f"{name}.json")
    first, *rest = (ChunkSummary.load(tmp_path / f"{name}.json") for name in parts)
    merged = first.merge(*rest)
    assert merged == together.summary_
    planes = quick().candidates(merged)
    errors = sum(quick().count_errors(planes, *part) for part in parts.values())
    apart = quick().fit_summary(merged, errors=errors)
    assert plane(apart) == plane(together)
    assert apart.mu_ == together.mu_
    assert apart.validation_["errors"].tolist() == together.validation_["errors"].tolist()
    assert (
        apart.validation_["errors"].min() == errors[list(apart.validation_["mu"]).index(apart.mu_)]
    )
    assert apart.feature_names_in_.tolist() == list(X.columns)
    # Without counts the cost is the default one.
    assert quick().fit_summary(merged).mu_ == 3_000.0


def test_chunks_come_one_by_one_in_any_order(biopsies):
    X, y, sites, *_ = biopsies
    found = []
    for order in (("south", "north", "east"), ("east", "south", "north")):
        model = quick()
        for name in order:
            model.partial_fit(X[sites == name], y[sites == name], name=name)
        found.append(plane(model))
    assert found[0] == found[1] == plane(quick(mu=3_000.0).fit(X, y, chunks=sites))


def test_a_chunk_of_one_class_counts_for_the_classes_alone(biopsies):
    X, y, *_ = biopsies
    benign, rest = y == "benign", np.arange(len(y)) < 200
    model = quick()
    with pytest.warns(ClearmarginWarning, match="the plane is constant: every case gets 'benign'"):
        model.partial_fit(X[benign & rest], y[benign & rest], classes=["benign", "malignant"])
    model.partial_fit(X[~rest], y[~rest])
    alone = quick(mu=1_000.0).fit_summary(quick(mu=1.0).summarize(X[~rest], y[~rest]))
    assert [len(chunk.rules) for chunk in model.summary_.chunks].count(0) == 1
    assert model.summary_.counts["benign"] == int((benign & rest).sum() + benign[~rest].sum())
    assert model.rules_[:] == model.summary_.rules
    assert (model.predict(X) == alone.predict(X)).mean() > 0.9


def test_rows_held_out_have_no_part_in_the_rules(biopsies):
    X, y, *_ = biopsies
    codes = (y == "malignant").to_numpy().astype(np.intp)
    held = held_out_rows(X.to_numpy(dtype=float), codes, 0.25)
    assert held.sum() == (codes == 0).sum() // 4 + (codes == 1).sum() // 4
    whole = quick().summarize(X, y)
    assert whole == quick(mu=1.0).summarize(X[~held], y[~held])
    counts = quick().count_errors(np.array([[0.0] * 5 + [-1.0]]), X, y)
    assert counts.tolist() == [codes[held].sum()]


def test_as_published_rules_reach_the_plane_and_count_alike(biopsies):
    X, y, *_ = biopsies
    summary = quick(published=True, mu=1.0, max_rules=None).summarize(X, y)
    machine = clone(QUICK).fit(X, y)
    extractor = RuleExtractor(machine, min_coverage=2, max_rules=None, progress=False).fit(X, y)
    assert set(summary.rules.to_text().splitlines()) == set(extractor.rules_.to_text().splitlines())


def test_rules_begin_at_the_margin(biopsies):
    X, y, *_ = biopsies
    machine = clone(QUICK).fit(X, y)
    rules = quick(mu=1.0).summarize(X, y).rules
    for rule in rules:
        covered = rule.region.contains(X.to_numpy(dtype=float))
        side = 1.0 if rule.label == "malignant" else -1.0
        lows = np.maximum(rule.region.lower, X.min().to_numpy())
        highs = np.minimum(rule.region.upper, X.max().to_numpy())
        w = side * machine.coef_[0]
        worst = np.where(w > 0, lows, highs) @ w + side * machine.intercept_[0]
        assert worst >= 1.0 - 1e-9
        assert rule.stats.covered == covered.sum()
    assert {rule.label for rule in rules} == {"benign", "malignant"}


def test_where_few_rows_reach_the_margin_rules_begin_before_it():
    column = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.where(column[:, 0] == 1, "yes", "no")
    timid = LinearSVC(C=0.01)
    assert np.abs(timid.fit(column, y).decision_function(column)).max() < 0.9
    assert [str(rule) for rule in quick(estimator=timid, mu=1.0).summarize(column, y).rules] == [
        "x0 <= 0 => no",
        "x0 >= 1 => yes",
    ]


def test_own_rows_and_the_rules_of_the_others_make_one_machine(biopsies):
    X, y, sites, X_new, y_new = biopsies
    others = quick(mu=100.0).fit(X, y, chunks=sites).summary_.without("east")
    few = np.flatnonzero(sites == "east")[:30]
    model = quick().fit_summary(others, X.iloc[few], y.iloc[few])
    assert len(model.validation_["errors"]) == len(model.validation_["mu"])
    assert model.score(X_new, y_new) > 0.93
    fixed = quick(mu=30.0).fit_summary(others, X.iloc[few], y.iloc[few])
    assert (fixed.mu_, fixed.validation_) == (30.0, {})
    # Rows of one class are enough, where the others have both; all costs are equal on those held out.
    benign = y == "benign"
    assert quick().fit_summary(others, X[benign][:9], y[benign][:9]).classes_.tolist() == [
        "benign",
        "malignant",
    ]


def test_the_outcome_says_what_became_of_each_rule(biopsies):
    X, y, sites, *_ = biopsies
    model = quick(mu=1_000.0).fit(X, y, chunks=sites)
    assert len(model.outcome_) == len(model.rules_) == len(model.refined_)
    assert model.outcome_ is model.outcome_
    for outcome, rule in zip(model.outcome_, model.rules_, strict=True):
        inside = X[rule.region.contains(X.to_numpy(dtype=float))]
        if outcome.standing == "proved":
            assert set(model.predict(inside)) <= {rule.label}
    assert "proved" in model.outcome_.standings
    assert "advice" in report.report(model, X[:40], y[:40], cv=None).to_markdown().lower()


def test_a_saved_machine_predicts_the_same_and_keeps_its_rules(biopsies, tmp_path):
    X, y, sites, *_ = biopsies
    model = quick(mu=1_000.0).fit(X, y, chunks=sites)
    loaded = load_model(save_model(model, tmp_path / "svm.json"))
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.advice[0] == model.rules_


def test_where_no_chunk_has_a_plane_the_commoner_class_is_predicted():
    X, y = np.arange(12.0)[:, None], np.repeat(["no", "yes"], [4, 8])
    with pytest.warns(ClearmarginWarning, match="the plane is constant: every case gets 'yes'"):
        model = quick(mu=1.0).fit(X, y, chunks=np.repeat(["a", "b"], [4, 8]))
    assert set(model.predict(X)) == {"yes"}
    assert len(model.rules_) == 0


def test_a_constant_plane_of_a_chunk_gives_no_rules():
    X, y = np.zeros((12, 1)), np.repeat(["no", "yes"], 6)
    assert len(quick(mu=1.0).summarize(X, y).rules) == 0


def test_columns_without_names_are_numbered(biopsies):
    X, y, *_ = biopsies
    summary = quick().summarize(X.to_numpy(), y)
    assert summary.space.names == ("x0", "x1", "x2", "x3", "x4")
    model = quick().fit_summary(quick().summarize(X, y)).fit_summary(summary)
    assert not hasattr(model, "feature_names_in_")
    assert set(model.predict(X.to_numpy())) == {"benign", "malignant"}


def test_a_class_that_the_plane_gets_wrong_altogether_has_no_rules():
    scores, codes = np.array([-0.3, -0.2, -0.2, -0.1]), np.array([0, 0, 0, 1])
    assert find_margin(scores, codes) == 0.9 * 0.2


def test_the_machine_of_a_chunk_is_sparse_by_default(biopsies):
    X, y, *_ = biopsies
    summary = ChunkedRuleSVC(max_rules=2).summarize(X[:120], y[:120])
    assert 2 <= len(summary.rules) <= 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda X, y: quick(rows="easy").fit(X, y), InvalidValueError, "rows must be one of"),
        (lambda X, y: quick(mu=-1.0).fit(X, y), InvalidValueError, "mu must be a positive number"),
        (lambda X, y: quick().fit(X, y, chunks=[1]), DataError, "chunks has 1 values for 330 rows"),
        (lambda X, y: quick().summarize(X, None), DataError, "y is None"),
        (lambda X, y: quick().summarize(X, y[:9]), DataError, "330 rows but y has 9 labels"),
        (
            lambda X, y: quick().summarize(X, ["benign"] * 9),
            DataError,
            "330 rows but y has 9 labels",
        ),
        (
            lambda X, y: quick().summarize(X, np.arange(330) % 3),
            DataError,
            "Only binary classification is supported.*3 classes",
        ),
        (
            lambda X, y: quick().fit_summary("a.json"),
            InvalidValueError,
            "summary must be a ChunkSummary, as summarize gives it, not str",
        ),
        (
            lambda X, y: quick().fit_summary(quick().summarize(X, y), errors=[1, 2]),
            InvalidValueError,
            "errors must be 7 numbers of errors",
        ),
        (
            lambda X, y: quick().count_errors(np.zeros((7, 3)), X, y),
            InvalidValueError,
            r"a weight for each of the 5 features and an intercept, not the shape \(7, 3\)",
        ),
        (
            lambda X, y: quick().partial_fit(X[y == "benign"], y[y == "benign"]),
            DataError,
            "all rows are of one class, 'benign'.*partial_fit",
        ),
        (
            lambda X, y: quick().partial_fit(X, y).partial_fit(X, ["odd"] * 330),
            DataError,
            "more than two classes between them",
        ),
        (
            lambda X, y: quick().fit_summary(quick().summarize(X, y), X, ["odd"] * 330),
            DataError,
            "Only binary classification is supported, and y has 3 classes",
        ),
        (
            lambda X, y: quick().fit(X.replace(5, np.nan), y),
            DataError,
            "X contains NaN in row 1, column 'clump_thickness'",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_refused(biopsies, call, error, message):
    X, y, *_ = biopsies
    with pytest.raises(error, match=message):
        call(X, y)
