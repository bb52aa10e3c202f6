"""The command line and Python do the same where nobody chooses, and say what is true where no plane helps."""

from __future__ import annotations

import argparse
import inspect
import json

import numpy as np
import pandas as pd
import pytest

from clearmargin import LPSVCCV, RuleExtractor
from clearmargin.cli.command_options import EXTRACTION, MODEL, add_options
from clearmargin.datasets import load_pima
from clearmargin.exceptions import ClearmarginWarning, DataError
from clearmargin.lp_svm.lpsvccv import MAX_FEATURES, default_machine
from clearmargin.models import load_model
from clearmargin.models.planes import column_encoding
from clearmargin.plane_rules.search import ORDERS


def helps(names):
    parser = argparse.ArgumentParser()
    add_options(parser, *names)
    return {action.dest: action for action in parser._actions}


def test_options_that_are_left_out_are_left_to_the_estimators():
    extraction = helps(EXTRACTION)
    defaults = inspect.signature(RuleExtractor).parameters
    for name in (
        "criterion",
        "max_rules",
        "max_conditions",
        "min_coverage",
        "bounds",
        "cut_order",
        "distil",
    ):
        assert extraction[name].default is None
    assert f"default: {defaults['criterion'].default})" in extraction["criterion"].help
    assert f"default: {defaults['min_coverage'].default}," in extraction["min_coverage"].help
    assert f"default: {defaults['max_rules'].default})" in extraction["max_rules"].help
    assert f"default: {defaults['order'].default})" in extraction["cut_order"].help
    assert f"({defaults['bounds'].default}, default)" in extraction["bounds"].help
    assert extraction["cut_order"].choices == list(ORDERS)
    model = helps(MODEL)
    assert model["max_features"].default is None
    assert f"default: {MAX_FEATURES})" in model["max_features"].help


def test_both_doors_give_the_same_rules(clearmargin, folder):
    X, y = load_pima(return_X_y=True)
    X, y = X.iloc[:300], y.iloc[:300]
    X.assign(target=y.to_numpy()).to_csv(folder / "pima.csv", index=False)
    words = ("rules", "pima.csv", "--target", "target", "--method", "plane")
    shown = clearmargin(*words, "--cv", "none", "--json").out
    found = json.loads(shown)["rules"]["rules"]
    extractor = RuleExtractor().fit(X, y)
    expected = extractor.rules_.to_dict()["rules"]
    assert found == expected
    assert extractor.estimator_.get_params() == default_machine(10).get_params()


def xor():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 12)
    return pd.DataFrame(X, columns=["a", "b"]), np.array(["no", "no", "yes", "yes"] * 12)


def test_a_table_without_linear_structure_is_said_without_a_nu_that_nobody_set(
    clearmargin, run, folder
):
    X, y = xor()
    with (
        pytest.warns(
            ClearmarginWarning, match="no plane with at most 8 features beats a constant one"
        ),
        pytest.raises(DataError, match="all planes that were tried are constant") as failure,
    ):
        RuleExtractor().fit(X, y)
    assert " nu" not in str(failure.value)
    X.assign(outcome=y).to_csv(folder / "xor.csv", index=False)
    said = run("rules", "xor.csv", "--target", "outcome", "--method", "plane").err
    assert "all planes that were tried are constant" in said
    assert "--nu" not in said
    given = run("rules", "xor.csv", "--target", "outcome", "--nu", "0.5").err
    assert "with --nu 0.5 the plane is constant" in given


def credit(rows, seed):
    """Four numbers and six categories of four values, each of which says a little; one class is smaller."""
    rng = np.random.default_rng(seed)
    numbers, categories = rng.normal(size=(rows, 4)), rng.integers(0, 4, size=(rows, 6))
    effects = np.array([1.2, 0.4, -0.4, -1.2])[categories].sum(axis=1)
    score = 0.35 * numbers.sum(axis=1) + 0.6 * effects + rng.logistic(size=rows) - 1.3
    table = {f"n{k}": numbers[:, k] for k in range(4)}
    table |= {f"c{k}": np.array(list("pqrs"))[categories[:, k]] for k in range(6)}
    return pd.DataFrame(table).assign(bad=np.where(score > 0, "yes", "no"))


def test_a_cap_is_kept_on_the_command_line_and_a_category_counts_as_one_feature(
    clearmargin, folder
):
    credit(400, 0).to_csv(folder / "credit.csv", index=False)
    words = (
        "rules",
        "credit.csv",
        "--target",
        "bad",
        "--max-features",
        "6",
        "--max-rules",
        "1",
        "--cv",
        "none",
    )
    shown = clearmargin(*words, "--save-model", "model.json")
    assert "nothing to do with it" not in shown.out + shown.err
    model = load_model(folder / "model.json")
    weights = model.hyperplane_.coef
    owners = [source.feature for source in column_encoding(model.space).sources]
    used = [owner for owner, weight in zip(owners, weights, strict=True) if weight]
    assert 1 <= len(set(used)) <= 6 < len(used)


def test_a_cap_that_leaves_nothing_says_how_many_features_would_do(run, clearmargin, folder):
    # Nobody may be told that the columns have nothing to do with it.
    credit(400, 1).to_csv(folder / "credit.csv", index=False)
    words = (
        "rules",
        "credit.csv",
        "--target",
        "bad",
        "--max-rules",
        "1",
        "--cv",
        "none",
        "--max-features",
    )
    said = run(*words, "2").err
    assert "all planes with at most 2 features are constant" in said
    assert "try --max-features 10" in said
    assert clearmargin(*words, "10").code == 0


def test_hints_of_a_doubt_can_be_followed():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(240, 3))
    y = np.where(rng.random(240) < 1 / (1 + np.exp(3.2 - 1.2 * X[:, 0])), "rare", "usual")
    with pytest.warns(
        ClearmarginWarning, match=r"try LPSVCCV\(class_weight='balanced', scoring='bal"
    ):
        LPSVCCV(rule="1se", cv=5).fit(X, y)
    hinted = LPSVCCV(rule="1se", cv=5, class_weight="balanced", scoring="balanced_accuracy").fit(
        X, y
    )
    assert hinted.coef_[0, 0] != 0


def test_coverage_is_said_with_the_recall_of_each_class(clearmargin, folder):
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    X["outcome"] = np.where(X["a"] + rng.normal(size=120) > 0, "failure", "success")
    X.to_csv(folder / "noisy.csv", index=False)
    words = ("rules", "noisy.csv", "--target", "outcome", "--nu", "1")
    shown, document = clearmargin(*words).out, json.loads(clearmargin(*words, "--json").out)
    for label, entry in zip(("failure", "success"), document["coverage"], strict=True):
        members = int((X["outcome"] == label).sum())
        covered = round(entry["recall"] * members)
        assert entry["class"] == label
        assert f"for {label}: {covered} of {members} rows of this class" in shown
        assert entry["recall"] < entry["coverage"]
