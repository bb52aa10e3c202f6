"""One verb for every model: what it proves, what it measures, and what it says when it can do neither."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from clearmargin import (
    LPSVC,
    FeatureSpace,
    RuleExtractor,
    RuleSVC,
    ScoreRules,
    SupportVectorRules,
    certify,
    explain,
    explain_many,
    grow_box,
)
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.models.surface import read_surface
from clearmargin.plane_rules import sufficient_reasons


@pytest.fixture(scope="module")
def wbc():
    X, y = load_wbc(return_X_y=True)
    return X, y, LPSVC(nu=0.0025).fit(X, y)


def drawn_within(box, X, rng, count=400):
    """Ends of a box and of the ranges, drawn by chance."""
    low, high = np.maximum(box.lower, X.min()), np.minimum(box.upper, X.max())
    ends = np.where(rng.random((count, X.shape[1])) < 0.5, low, high)
    return pd.DataFrame(ends, columns=X.columns)


def test_a_linear_machine_is_proved_where_few_conditions_are_enough(wbc):
    X, _, svm = wbc
    why = explain(svm, X.iloc[0], X)
    assert (why.guarantee, why.kind, why.label) == ("proved", "sufficient", "benign")
    assert why.n_conditions <= 3
    assert "Proved for every case within the ranges." in why.text
    assert "at least" not in why.text.split("then benign.")[1]
    rows = drawn_within(why.rule.region, X, np.random.default_rng(0))
    assert (svm.predict(rows) == "benign").all()


def test_the_coverage_of_a_proof_does_not_depend_on_the_order_of_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 10))
    model = make_pipeline(StandardScaler(), LinearSVC(dual=False)).fit(X, X[:, 0] + X[:, 1] > 0)
    many = explain_many(model, X, X, guarantee="proved")
    turned = X[rng.permutation(len(X))]
    again = explain_many(model, X[:20], turned, guarantee="proved")
    assert [each.coverage for each in again] == [each.coverage for each in many[:20]]
    assert [each.rule for each in again] == [each.rule for each in many[:20]]


def test_a_proof_of_many_conditions_is_measured_instead_and_said_to_exist(wbc):
    X, y, _ = wbc
    dense = LogisticRegression(max_iter=1000).fit(X, y)
    proved = explain(dense, X.iloc[0], X, guarantee="proved")
    assert proved.n_conditions > 3
    auto = explain(dense, X.iloc[0], X)
    assert auto.guarantee == "measured"
    assert f"A proof takes {proved.n_conditions} conditions" in auto.text
    longer = explain(dense, X.iloc[0], X, max_conditions=proved.n_conditions)
    assert longer.guarantee == "proved"
    assert longer.rule == proved.rule


def test_where_no_row_has_the_class_a_long_proof_is_given(wbc):
    X, y, _ = wbc
    dense = LogisticRegression(max_iter=1000).fit(X, y)
    benign = X[dense.predict(X) == "benign"]
    near = benign[benign.max(axis=1) <= 2]
    why = explain(dense, X[dense.predict(X) == "malignant"].iloc[0], near)
    assert (why.guarantee, why.label) == ("proved", "malignant")


def test_a_long_proof_is_given_where_measuring_takes_as_many_conditions():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=999).fit(X, y)
    measured = explain(model, X.iloc[70], X, guarantee="measured")
    why = explain(model, X.iloc[70], X)
    assert (why.guarantee, why.n_conditions) == ("proved", 4)
    assert measured.n_conditions >= 4
    assert explain(model, X.iloc[70], X, max_conditions=3).guarantee == "measured"


def test_a_card_with_proof_is_explained_by_its_machine(wbc):
    X, y, machine = wbc
    card = ScoreRules(machine, certify=True, max_rules=10).fit(X, y)
    for k in (0, 1):
        why, own = (explain(each, X.iloc[k], X, guarantee="proved") for each in (card, machine))
        assert why.rule.region == own.rule.region
    distilled = ScoreRules(machine, certify=True, max_rules=10, max_features=2).fit(X, y)
    assert explain(distilled, X.iloc[0], X).guarantee == "measured"


def test_a_kernel_machine_is_proved_with_few_conditions(wbc):
    X, y, _ = wbc
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    many = explain_many(model, X.iloc[[5, 0]], X, guarantee="proved")
    rng = np.random.default_rng(0)
    for why, label in zip(many, model.predict(X.iloc[[5, 0]]), strict=True):
        assert (why.guarantee, why.label) == ("proved", label)
        assert (model.predict(drawn_within(why.rule.region, X, rng)) == label).all()
    assert many[0].n_conditions <= 3
    assert explain(model, X.iloc[5], X).guarantee == "proved"
    assert explain(model, X.iloc[0], X).guarantee == "measured"


def mixed_table():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.integers(20, 80, 240), "home": rng.choice(["own", "rent"], 240)})
    y = np.where(X.age + 15 * (X.home == "own") > 55, "yes", "no")
    return X, y


@pytest.mark.parametrize("machine", [LinearSVC(random_state=0), SVC()])
def test_categories_of_linear_and_kernel_machines_are_proved_by_name(machine):
    X, y = mixed_table()
    encode = make_column_transformer((OneHotEncoder(), ["home"]), remainder=StandardScaler())
    model = make_pipeline(encode, machine).fit(X, y)
    for k in range(0, 240, 40):
        why = explain(model, X.iloc[k], X, guarantee="proved")
        inside = X[why.rule.region.contains(why.space.read(X))]
        assert k in inside.index
        assert (model.predict(inside) == why.label).all()


def test_imputed_values_are_said():
    X, y = mixed_table()
    X = X[["age"]].astype(float).assign(more=np.arange(240.0))
    model = make_pipeline(SimpleImputer(), LinearSVC(dual=False)).fit(X, y)
    case = X.iloc[0].copy()
    case["age"] = np.nan
    why = explain(model, case, X, guarantee="proved")
    assert why.imputed[0][0] == "age"
    assert "Missing values were taken as: age" in why.text


def test_rules_with_their_machine_as_fallback_are_explained_by_the_machine(wbc):
    X, y, svm = wbc
    extractor = RuleExtractor(svm, max_rules=1).fit(X, y)
    assert explain(extractor, X.iloc[0], X).text == explain(svm, X.iloc[0], X).text


def test_an_extractor_gives_the_same_reason(wbc):
    X, y, svm = wbc
    extractor = RuleExtractor(svm, max_rules=1).fit(X, y)
    told = extractor.explain_many(X.iloc[:20], "sufficient")
    expected = explain_many(svm, X.iloc[:20], X, guarantee="proved")
    assert [each.rule.region for each in told] == [each.rule.region for each in expected]
    assert {each.kind for each in told} == {"sufficient"}
    assert set(told[0].parts) == {"coverage", "purity", "volume", "distance"}


@pytest.mark.parametrize("container", [np.asarray, lambda X: X.to_numpy().tolist()])
def test_arrays_and_lists_are_taken(wbc, container):
    X, y, _ = wbc
    model = LPSVC(nu=0.0025).fit(X.to_numpy(), y)
    rows = container(X)
    assert explain(model, rows[0], rows).label == "benign"


def test_frames_of_polars_and_pyarrow_are_taken(wbc):
    import polars as pl
    import pyarrow as pa

    X, _, svm = wbc
    expected = explain(svm, X.iloc[0], X, guarantee="measured").rule.region
    for frame in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        case = {name: X[name].iloc[0] for name in X.columns}
        assert explain(svm, case, frame, guarantee="measured").rule.region == expected


def test_what_is_known_is_given_as_plain_data(wbc):
    X, _, svm = wbc
    proved = explain(svm, X.iloc[0], X).to_dict()
    assert proved["guarantee"] == "proved"
    assert proved["precision"] is None
    measured = explain(svm, X.iloc[0], X, guarantee="measured").to_dict()
    assert measured["agreed"] <= measured["covered"] <= measured["rows"]
    assert measured["precision_bound"] <= measured["precision"]
    json.dumps([proved, measured], allow_nan=False)


def test_explanations_are_shown_in_notebooks_and_as_a_sequence(wbc):
    X, _, svm = wbc
    many = explain_many(svm, X.iloc[:4], X, guarantee="measured")
    assert [each.label for each in many[1:3]] == [many[1].label, many[2].label]
    assert many[0] is many[0]
    assert "rows not used to find it" in many[0]._repr_html_()


BAD = [
    ({"precision": 1.0}, "precision must be a number from 0.5 and below 1"),
    ({"precision": "high"}, "precision must be a number"),
    ({"max_conditions": 0}, "max_conditions"),
    ({"guarantee": "prooved"}, "did you mean 'proved'"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_options_that_make_no_sense_are_refused(wbc, options, message):
    X, _, svm = wbc
    with pytest.raises(ClearmarginError, match=message):
        explain(svm, X.iloc[0], X, **options)


def test_what_cannot_be_proved_says_why_and_what_helps(wbc):
    X, y, svm = wbc
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    with pytest.raises(InvalidValueError, match="guarantee='measured' explains any model"):
        explain(tree, X.iloc[0], X, guarantee="proved")
    assert explain(tree, X.iloc[0], X, guarantee="measured").label == "benign"
    with pytest.raises(
        DataError, match="needs 2 conditions for a proof, and max_conditions=1; raise"
    ):
        explain(svm, X.iloc[0], X, guarantee="proved", max_conditions=1)
    assert explain(svm, X.iloc[0], X, guarantee="proved", max_conditions=2).n_conditions == 2


def test_bad_tables_and_models_are_refused(wbc):
    X, _, svm = wbc
    with pytest.raises(DataError, match="X has no rows"):
        explain(svm, X.iloc[0], X.iloc[:0])
    with pytest.raises(DataError, match="explain_many takes several"):
        explain(svm, X.iloc[:2], X)
    with pytest.raises(InvalidValueError, match="has no predict"):
        explain(StandardScaler(), X.iloc[0], X)
    with pytest.raises(InvalidValueError, match="predicts numbers; pass a classifier"):
        explain(DecisionTreeRegressor().fit(X, X.mitoses), X.iloc[0], X)
    with pytest.raises(DataError, match="no value for 'mitoses'"):
        explain(svm, X.iloc[0].drop("mitoses"), X)


def test_a_model_that_abstains_is_explained_where_it_does_not(wbc):
    X, y, svm = wbc
    extractor = RuleExtractor(svm, max_rules=1, fallback="abstain").fit(X, y)
    covered = extractor.predict(X) != np.array(None)
    why = explain(extractor, X[covered].iloc[0], X)
    assert (why.guarantee, why.precision) == ("measured", 1.0)
    with pytest.raises(DataError, match="the model predicts no class for it"):
        explain(extractor, X[~covered].iloc[0], X)


@pytest.mark.parametrize(
    "model", [RuleSVC(max_rules=4, C=0.1), ScoreRules(LinearSVC(random_state=0))]
)
def test_machines_over_rules_and_scorecards_are_measured(wbc, model):
    X, y, _ = wbc
    why = explain(model.fit(X, y), X.iloc[0], X)
    assert (why.guarantee, why.label) == ("measured", "benign")
    assert why.precision > 0.9


def test_a_case_without_a_value_is_measured_and_not_proved():
    X, y = mixed_table()
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["home"]), remainder="passthrough"
    )
    model = make_pipeline(encode, LinearSVC(dual=False)).fit(X, y)
    case = {"age": 70, "home": "boat"}
    assert explain(model, case, X).guarantee == "measured"
    with pytest.raises(DataError, match="a category that it does not know"):
        explain(model, case, X, guarantee="proved")


def fewest_by_enumeration(surface, X, case, code):
    """The smallest number of features that win all duels of a class within the ranges of X, by trying all sets."""
    low, high = X.min(axis=0), X.max(axis=0)
    planes = [half.hyperplane for half in surface.regions()[code]]
    signs = [half.sign for half in surface.regions()[code]]
    n = X.shape[1]
    for size in range(n + 1):
        for kept in combinations(range(n), size):
            fixed = np.isin(np.arange(n), kept)
            worst = [
                sign * plane.intercept
                + np.where(fixed, sign * plane.coef * case, 0.0).sum()
                + np.where(
                    fixed, 0.0, np.minimum(sign * plane.coef * low, sign * plane.coef * high)
                ).sum()
                for sign, plane in zip(signs, planes, strict=True)
            ]
            if min(worst) > 0:
                return size
    return None


@pytest.mark.parametrize("max_nodes", [1, 5_000])
def test_four_classes_say_whether_fewer_conditions_may_be_enough(monkeypatch, max_nodes):
    monkeypatch.setattr(sufficient_reasons, "_MAX_NODES", max_nodes)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 6))
    y = np.argmax(X[:, :4] + 0.4 * X[:, 2:] * rng.normal(size=4), axis=1)
    model = LogisticRegression().fit(X, y)
    surface = read_surface(model, X)
    told = explain_many(model, X, X, guarantee="proved")
    for why, case in zip(told, X, strict=True):
        fewest = fewest_by_enumeration(surface, X, case, why.label)
        assert why.n_conditions >= fewest
        assert not why.is_fewest or why.n_conditions == fewest
        assert why.is_fewest == ("Fewer conditions were not ruled out." not in why.text)
        assert why.to_dict()["is_fewest"] == why.is_fewest
    assert all(why.is_fewest for why in told) == (max_nodes > 1)
    extractor = RuleExtractor(model, fallback="estimator").fit(X, y)
    kinds = extractor.explain_many(X[:9], "sufficient")
    assert [each.is_fewest for each in kinds] == [each.is_fewest for each in told[:9]]
    assert {each.is_fewest for each in extractor.explain_many(X[:9])} == {None}


def test_votes_and_kernels_are_not_said_to_have_the_fewest_conditions():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.argmax(X, axis=1)
    for model in (SVC(kernel="linear"), SVC()):
        why = explain(model.fit(X, y), X[0], X, guarantee="proved")
        assert (why.is_fewest, why.n_conditions > 0) == (False, True)
        assert why.text.endswith("Fewer conditions were not ruled out.")


def test_a_search_that_was_not_enough_says_nothing_of_how_few(wbc):
    X, _, model = wbc
    why = explain(model, X.iloc[0], X, guarantee="measured")
    assert why.is_fewest
    noise = DecisionTreeClassifier(random_state=0).fit(X, np.arange(len(X)) % 2)
    missed = explain(noise, X.iloc[0], X, max_conditions=1)
    assert "was not reached" in missed.text
    assert missed.is_fewest is None


@pytest.mark.parametrize("machine", ["numbers", "categories"])
def test_a_grown_box_of_few_conditions_is_the_proof_that_is_explained(machine, wbc):
    if machine == "numbers":
        X, y = wbc[0].iloc[::4], wbc[1][::4]
        model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    else:
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "blue"], 90)})
        y = np.where((X["size"] > 0) & (X["colour"] == "red"), "yes", "no")
        columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
        model = make_pipeline(columns, SVC(C=10.0)).fit(X, y)
    space = explain(model, X.iloc[0], X, guarantee="proved").space
    for k in (0, 3, 40):
        why = explain(model, X.iloc[k], X, guarantee="proved")
        most = max(1, why.n_conditions)
        box = grow_box(model, X.iloc[[k]], space=space, max_conditions=most, budget=200)
        said = why.rule.region
        assert certify(model, box, why.label).status == "proved"
        for j in range(len(space)):
            low, high = said.lower[j], said.upper[j]
            case = X.iloc[k, j] if space.categories[j] is None else np.nan
            assert box.lower[j] == (low if np.isfinite(low) else np.fmin(space.lower[j], case))
            assert box.upper[j] == (high if np.isfinite(high) else np.fmax(space.upper[j], case))
        assert box.sets == said.sets
        if why.n_conditions > 1:
            with pytest.raises(DataError, match="raise max_conditions, or budget"):
                grow_box(model, X.iloc[[k]], space=space, max_conditions=1, budget=200)


def test_rules_of_a_kernel_machine_explain_by_the_same_proof(wbc):
    X, y = wbc[0].iloc[::4], wbc[1][::4]
    rules = SupportVectorRules(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    for k in (0, 3, 40):
        why = explain(rules.estimator_, X.iloc[k], X, guarantee="proved")
        told = rules.explain(X.iloc[k], "sufficient")
        assert told.rule.region == why.rule.region
        assert (told.label, told.guarantee, told.is_fewest) == (why.label, "proved", why.is_fewest)
        assert "Proved for every case within the ranges" in told.text


def test_a_grown_box_refuses_conditions_that_are_no_number(wbc):
    X, y, _ = wbc
    with pytest.raises(InvalidValueError, match="max_conditions"):
        grow_box(SVC().fit(X, y), X.iloc[0], space=FeatureSpace.from_data(X), max_conditions=0)


@pytest.mark.parametrize("machine", [LinearSVC(random_state=0), SVC()])
def test_a_case_without_its_category_is_explained_however_it_is_written(machine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "c": rng.choice(["x", "y"], 90)})
    X.loc[::9, "c"] = None
    y = (X["a"] > 0) | X["c"].isna()
    encode = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(encode, machine).fit(X, y)
    case = X.iloc[0]
    expected = str(explain(model, X.iloc[[0]], X))
    assert [str(explain(model, each, X)) for each in (case, dict(case))] == [expected] * 2


def test_a_column_without_values_is_no_bar_to_measuring_a_kernel_machine():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "none": np.nan})
    model = make_pipeline(SimpleImputer(keep_empty_features=True), SVC()).fit(X, X["a"] > 0)
    assert explain(model, X.iloc[0], X).guarantee == "measured"
    with pytest.raises(DataError, match="X has a column without any value"):
        explain(model, X.iloc[0], X, guarantee="proved")


def test_numbers_near_the_smallest_float_are_explained():
    X = np.random.default_rng(0).normal(size=(60, 2)) * [1e-310, 1.0]
    model = LinearSVC(random_state=0).fit(X, X[:, 1] > 0)
    assert explain(model, X[0], X, guarantee="proved").label == model.predict(X[:1])[0]
