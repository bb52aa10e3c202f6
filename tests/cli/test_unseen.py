"""What commands say of rows not seen in training: the whole training, repeated without the rows it is judged on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Bunch

from clearmargin import LPSVC, LPSVCCV, AdviceSVC, RuleExtractor
from clearmargin.language.prose import ratio_text
from clearmargin.models import load_model, save_model
from clearmargin.recipes import make_task
from clearmargin.tables.files import FileTable
from clearmargin.tables.splitting import Splitting

pytestmark = [
    pytest.mark.filterwarnings("ignore:the plane has"),
    pytest.mark.filterwarnings("ignore:the advice deserves"),
    pytest.mark.filterwarnings("ignore:no plane"),
]


@pytest.fixture
def noise(folder):
    """A table of pure noise, with patients and days."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 12)), columns=[f"a{j}" for j in range(12)])
    table["y"] = rng.permutation(np.repeat(["no", "yes"], 60))
    table["patient"] = [f"P{k // 3}" for k in range(120)]
    table["day"] = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d")
    table.to_csv("noise.csv", index=False)
    return table


def _facts(said):
    return json.loads(said.out)["model"]


def _pairs(X, y, cv):
    """The folds of a table, which depend on what rows hold: see tests/recipes/test_one_page.py."""
    columns = {name: X[name].to_numpy() for name in X}
    table = FileTable("t", {**columns, "target": y.to_numpy().astype(object)})
    return make_task(table, "target", cv=cv).folds().pairs


def test_the_figures_of_a_plane_do_not_depend_on_the_order_of_the_rows(clearmargin, noise):
    noise.sample(frac=1.0, random_state=1).to_csv("shuffled.csv", index=False)
    told = []
    for file in ("noise.csv", "shuffled.csv"):
        words = ("--target", "y", "--drop", "patient,day", "--method", "plane", "--nu", "1")
        facts = _facts(clearmargin("report", file, *words, "--out", "r.html", "--force", "--json"))
        assert facts["cross_validation"] == "5 stratified folds, whatever the order of the rows"
        right = re.search(r"(\d+) of 120", Path("r.html").read_text(encoding="utf-8"))
        told.append((facts["cross_validated_accuracy"], right[1]))
    assert told[0] == told[1]


def test_a_report_on_noise_claims_no_more_than_chance(clearmargin, noise):
    # The trained plane itself was judged in every fold: 78 % "on cases not seen in training".
    words = ("report", "noise.csv", "--target", "y", "--drop", "patient,day", "--nu", "1")
    facts = _facts(clearmargin(*words, "--max-rules", "1", "--out", "r.html", "--json"))
    X, y = noise.drop(columns=["y", "patient", "day"]), noise["y"]
    pipeline = make_pipeline(StandardScaler(), LPSVC(nu=1.0))
    right = (cross_val_predict(pipeline, X, y, cv=_pairs(X, y, 5)) == y).sum()
    assert facts["cross_validated_accuracy"] == right / 120
    assert facts["accuracy"] > 0.6 > right / 120
    page = Path("r.html").read_text(encoding="utf-8")
    assert f"{right} of 120" in page
    assert "In each fold the model and its rules were" in page


def test_missing_values_and_categories_are_learned_anew_in_every_fold(clearmargin, folder):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.normal(50, 10, 60).round(), "kind": rng.choice([*"abc"], 60)})
    table.loc[7, "kind"] = "only here"
    ill = table["age"] + 10 * (table["kind"] == "a") + rng.normal(0, 8, 60) > 53
    table["age"] = table["age"].mask(rng.random(60) < 0.2)
    table["kind"] = table["kind"].mask(rng.random(60) < 0.1)
    table.assign(y=np.where(ill, "ill", "well")).to_csv("holes.csv", index=False)
    words = ("rules", "holes.csv", "--target", "y", "--missing", "impute", "--nu", "1", "--json")
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age"]),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent", missing_values=None),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            ["kind"],
        ),
    )
    kinds = table["kind"].astype(object).where(table["kind"].notna(), None)
    by_hand = cross_val_predict(
        make_pipeline(steps, LPSVC(nu=1.0)), table.assign(kind=kinds), ill, cv=StratifiedKFold(5)
    )
    facts = _facts(clearmargin(*words))
    assert facts["cross_validated_accuracy"] == pytest.approx((by_hand == ill).mean())


def test_the_choice_of_nu_and_features_is_repeated_in_every_fold(clearmargin, folder, monkeypatch):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 2))
    target = np.where(data[:, 0] + 0.5 * rng.normal(size=40) > 0, "yes", "no")
    names = {"feature_names": ["a", "b"], "target_names": ["no", "yes"], "units": {}}
    part = Bunch(data=data, target=target, DESCR="# few", **names)
    monkeypatch.setattr("clearmargin.recipes.demonstration.load_dataset", lambda name: part)
    said = clearmargin("demo", "wbc", "--cv", "2", "--no-report")
    assert "Chosen by 2 stratified folds, whatever the order of the rows: " in said.out
    assert "Measured on unseen rows: right on " in said.out
    table = pd.DataFrame(part.data, columns=[*"ab"]).assign(y=part.target)
    table.to_csv("part.csv", index=False)
    X, y = table[[*"ab"]], table["y"]
    right = [
        RuleExtractor().fit(X.iloc[a], y.iloc[a]).estimator_.predict(X.iloc[b]) == y.iloc[b]
        for a, b in _pairs(X, y, 2)
    ]
    facts = _facts(
        clearmargin(
            *("rules", "part.csv", "--target", "y", "--method", "plane", "--cv", "2", "--json")
        )
    )
    assert facts["cross_validated_accuracy"] == pytest.approx(np.concatenate(right).mean())
    assert "accuracy_unseen" not in facts


def test_advice_is_judged_by_models_trained_without_the_rows(clearmargin, folder):
    words = ("advise", "patients.csv", "--target", "outcome", "--advice", "advice.rules")
    table = pd.read_csv("patients.csv")
    X, y = table[["age", "smoker", "bmi"]], table["outcome"]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["smoker"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    by_hand = cross_val_predict(
        make_pipeline(encode, AdviceSVC("advice.rules")), X, y, cv=StratifiedKFold(3)
    )
    facts = _facts(clearmargin(*words, "--cv", "3", "--json"))
    assert facts["cross_validated_accuracy"] == pytest.approx((by_hand == y).mean())


def test_advice_that_was_learned_may_have_seen_the_rows(clearmargin, folder):
    table = pd.read_csv("patients.csv")
    rules = RuleExtractor(LPSVC()).fit(table[["age", "bmi"]], table["outcome"]).rules_
    rules.save("learned.json")
    words = ("advise", "patients.csv", "--target", "outcome", "--advice", "learned.json")
    said = clearmargin(*words, "--cv", "2")
    assert re.search(r"note: \d+ of \d+ rules of the advice were learned from data", said.err)
    assert "learned from data" not in clearmargin(*words, "--cv", "none").err


@pytest.mark.parametrize("command", ["rules", "explain", "report", "advise"])
def test_every_command_splits_by_groups_and_times(clearmargin, folder, command):
    table = pd.read_csv("patients.csv")
    table["visit"] = [f"2024-01-{day:02d}" for day in np.random.default_rng(0).permutation(24) + 1]
    table["clinic"] = np.arange(24) // 4 % 3
    table.to_csv("visits.csv", index=False)
    more = {
        "rules": ["--nu", "1"],
        "explain": ["--nu", "1", "--row", "1"],
        "report": ["--nu", "1", "--out", "r.html"],
        "advise": ["--advice", "advice.rules"],
    }[command]
    words = [command, "visits.csv", "--target", "outcome", "--cv", "2", *more]
    by_time = clearmargin(*words, "--time", "visit", "--drop", "clinic")
    assert "(2 folds by time, each tested after training on all earlier rows)" in by_time.out
    by_clinic = clearmargin(*words, "--groups", "clinic", "--drop", "visit", "--force")
    assert "(2 stratified folds of whole groups, in the order of the rows)" in by_clinic.out
    # These columns say who and when, and are no features.
    assert "visits.csv: 24 rows, 3 features" in by_time.out + by_clinic.out
    if command == "rules":
        said = clearmargin(*words, "--groups", "clinic", "--time", "visit", "--json")
        assert json.loads(said.out)["features"] == ["age", "smoker", "bmi"]


def test_a_search_for_nu_keeps_groups_together_too(clearmargin, folder, monkeypatch):
    asked = []
    monkeypatch.setattr(LPSVCCV, "_folds", _noting(asked, LPSVCCV._folds), raising=True)
    table = pd.read_csv("patients.csv").assign(clinic=np.arange(24) % 4)
    table.to_csv("visits.csv", index=False)
    words = ("rules", "visits.csv", "--target", "outcome", "--groups", "clinic", "--cv", "2")
    clearmargin(*words, "--method", "plane")
    assert len(asked) == 3  # all rows, and two folds
    for folds, clinics in zip(asked, (4, 2, 2), strict=True):
        assert len(folds.pairs) == clinics


def _noting(asked, folds):
    def noting(*given):
        asked.append(folds(*given))
        return asked[-1]

    return noting


def test_rows_that_occur_twice_are_told(clearmargin, folder):
    table = pd.read_csv("patients.csv")[["age", "bmi", "outcome"]]
    twice = pd.concat([table, table[:6]], ignore_index=True)
    twice.to_csv("twice.csv", index=False)
    X, y = twice[["age", "bmi"]], twice["outcome"]
    count = Splitting(_pairs(X, y, 2)).folds(X, y).duplicates
    said = clearmargin("rules", "twice.csv", "--target", "outcome", "--nu", "1", "--cv", "2")
    assert count
    assert (
        f"{count} of the 30 rows tested also occur in the training part of their fold" in said.out
    )


def test_what_a_file_says_of_its_own_rows_is_not_said_of_these(clearmargin, folder):
    """Labels are shuffled after training: what the file holds must not read like a figure about them."""
    words = ("patients.csv", "--target", "outcome")
    trained = clearmargin(
        "rules", *words, "--nu", "1", "--cv", "2", "--save-model", "m.json", "--drop", "patient"
    )
    assert "Its file says" not in trained.out
    table = pd.read_csv("patients.csv")
    table["outcome"] = table["outcome"].to_numpy()[np.random.default_rng(0).permutation(len(table))]
    table.to_csv("patients.csv", index=False)
    for command in (("rules",), ("explain", "--row", "1"), ("report", "--out", "r.html")):
        said = clearmargin(*command, *words, "--model", "m.json")
        assert (
            f"Its file says, of the {len(table)} rows that it was trained on:\nTrained in the same way"
            in said.out
        )


def test_a_model_that_was_given_is_not_judged_again(clearmargin, run, folder):
    words = ("patients.csv", "--target", "outcome")
    clearmargin("rules", *words, "--nu", "1", "--cv", "2", "--save-model", "m.json")
    model = load_model("m.json")
    share = ratio_text(model.facts["cross_validated_accuracy"])
    said = clearmargin("report", *words, "--model", "m.json", "--out", "r.html")
    # What was measured when it was trained.
    assert f"it is right on {share} " in said.out
    page = Path("r.html").read_text(encoding="utf-8")
    assert "There is no cross-validation: estimator=PlaneModel was trained before" in page
    for option in (["--cv", "3"], ["--cv", "none"], ["--groups", "patient"], ["--time", "age"]):
        refused = run("rules", *words, "--model", "m.json", *option)
        assert refused.code == 2
        assert f"--model is trained already; leave out {option[0]}" in refused.err


def test_the_best_score_of_a_search_in_an_older_file_is_not_said_to_be_of_rows_not_seen(
    clearmargin, folder
):
    words = ("rules", "patients.csv", "--target", "outcome")
    clearmargin(*words, "--nu", "1", "--cv", "none", "--save-model", "m.json")
    model = load_model("m.json")
    model.facts = {**model.facts, "folds": 10, "accuracy_unseen": 0.99}
    save_model(model, "m.json", overwrite=True)
    said = clearmargin(*words, "--model", "m.json")
    assert "99.0" not in said.out
    assert "judged on" not in said.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "patients"], "has no column 'patients'; did you mean 'patient'"),
        (["--time", "date"], "has no column 'date'"),
        (["--groups", "y"], "--groups: 'y' is the column of classes"),
        (["--groups", "one"], "--groups one: groups has the same value in all 120 rows"),
        (["--time", "one"], "--time one: times has the same value in all 120 rows"),
        (["--groups", "holes"], "--groups holes: groups is missing in 1 of 120 rows, .* row 3"),
        (["--time", "holes"], "--time holes: times is missing in 1 of 120 rows, .* row 3"),
        (["--time", "patient"], "--time patient: times holds 'P0' in row 1, .* 2024-03-31"),
        (["--cv", "1"], "1 is not a whole number from 2, or 'none'"),
        (["--cv", "few"], "'few' is neither a whole number nor 'none'"),
        (["--cv", "none", "--groups", "patient"], "--groups says how rows are split; leave it out"),
    ],
)
def test_columns_that_cannot_split_rows_are_refused_in_words(run, noise, options, message):
    holes = [k if k != 2 else None for k in range(120)]
    noise.assign(one=1, holes=holes)[["a0", "y", "patient", "one", "holes"]].to_csv(
        "noise.csv", index=False
    )
    said = run("rules", "noise.csv", "--target", "y", *options)
    assert said.code == 2
    assert re.search(message, said.err)


def test_a_table_that_cannot_be_split_is_told_and_the_rest_goes_on(clearmargin, folder):
    table = pd.read_csv("patients.csv").assign(clinic=["a"] * 23 + ["b"])
    table.to_csv("visits.csv", index=False)
    words = ("rules", "visits.csv", "--target", "outcome", "--nu", "1")
    said = clearmargin(*words, "--groups", "clinic")
    assert "not trained on is not known: fold 1 has training rows of the class" in said.err
    assert "rule for" in said.out


def test_a_ranking_of_noise_is_not_praised(clearmargin, noise):
    words = (
        "rank",
        "noise.csv",
        "--target",
        "y",
        "--top",
        "0.2",
        "--bottom",
        "0.2",
        "--max-size",
        "1",
    )
    said = clearmargin(*words, "--drop", "day", "--groups", "patient", "--json")
    found = json.loads(said.out)
    assert found["features"] == [f"a{j}" for j in range(12)]
    assert found["auc"] > 0.6 > found["held_out_auc"]
    by_time = clearmargin(*words, "--drop", "patient", "--time", "day", "--cv", "3")
    assert "on the others (mean of 3 folds by time, each tested after" in by_time.out
    said = clearmargin(*words, "--cv", "none").out
    assert "Nothing is confirmed: there are no folds" in said
    assert "trained before" not in said


def test_a_column_of_dates_in_a_parquet_file_tells_the_time(clearmargin, folder):
    table = pd.read_csv("patients.csv").assign(visit=pd.date_range("2024-01-01", periods=24))
    table["visit"] = table["visit"].sample(frac=1.0, random_state=0).to_numpy()
    table.to_parquet("visits.parquet")
    words = ("rules", "visits.parquet", "--target", "outcome", "--nu", "1", "--cv", "2")
    said = clearmargin(*words, "--time", "visit")
    assert "folds by time, each tested after training on all earlier rows" in said.out


def test_a_fold_that_cannot_choose_nu_is_said_to_be_trained_otherwise(clearmargin, folder):
    # The first fold by time has one row of a class: it took nu = 1, and the text called this "the same way".
    ill = {3, 11, 14, 18, 20, 22}
    rows = [f"{k},{k % 5 + 10 * (k in ill)},{'ill' if k in ill else 'well'}" for k in range(24)]
    Path("late.csv").write_text("\n".join(["day,bmi,outcome", *rows]))
    words = (
        "rules",
        "late.csv",
        "--target",
        "outcome",
        "--method",
        "plane",
        "--time",
        "day",
        "--cv",
        "2",
    )
    said = clearmargin(*words)
    assert (
        "Trained in the same way, except that in fold 1 nu is 1 and not chosen, since one row is ill,"
        in said.out
    )
    assert "in fold 1 nu is 1" in _facts(clearmargin(*words, "--json"))["trained_otherwise"]
    assert "except that" not in clearmargin(*words, "--nu", "1").out


def test_the_command_line_and_the_report_round_shares_alike(clearmargin, noise):
    # 61.36 % was 61.4 % on the screen and 61.3 % in the report.
    noise[:107].drop(columns=["patient", "day"]).to_csv("odd.csv", index=False)
    words = ("report", "odd.csv", "--target", "y", "--nu", "1", "--max-rules", "1", "--cv", "2")
    said = clearmargin(*words, "--out", "r.html").out
    (share,) = re.findall(r"judged on, it is right on ([\d.]+) %", said)
    facts = _facts(clearmargin(*words, "--out", "s.html", "--json"))
    assert share != f"{100 * facts['cross_validated_accuracy']:.1f}"
    assert f"not seen in training, {share}&nbsp;%" in Path("r.html").read_text(encoding="utf-8")
