"""Each command from end to end."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from clearmargin import RuleExtractor, RuleSet
from clearmargin.datasets import load_wbc
from clearmargin.models import load_model

pytestmark = pytest.mark.usefixtures("no_folds")

TRAIN = ("patients.csv", "--target", "outcome")


def test_rules_are_printed_and_saved_with_their_model(clearmargin, folder):
    said = clearmargin(
        *("rules", *TRAIN, "--method", "plane", "--positive", "ill"),
        *("--out", "r.rules", "--save-model", "m.json"),
    )
    assert "patients.csv: 24 rows, 3 features; outcome: 12 ill, 12 well." in said.out
    assert "column 'patient' holds 24 different texts in 24 rows" in said.err
    assert said.out.index("for ill: 12 of 12 rows") < said.out.index("for well: 12 of 12 rows")
    rules, model = RuleSet.load("r.rules"), load_model("m.json")
    assert len(rules) == len(model.rules) >= 2
    assert model.classes_.tolist() == ["well", "ill"]
    frame = pd.read_csv("patients.csv")
    assert (rules.predict(frame) == frame["outcome"]).all()
    assert (model.predict(frame) == frame["outcome"]).all()


def test_a_saved_model_gives_the_same_rules_again(clearmargin, folder):
    first = clearmargin(
        "rules", *TRAIN, "--method", "plane", "--save-model", "m.json", "--quiet"
    ).out
    again = clearmargin("rules", *TRAIN, "--model", "m.json", "--quiet").out
    assert again == first
    assert RuleSet.from_text(again) == load_model("m.json").rules[:]


def test_a_table_of_three_classes_has_rules_for_each(clearmargin, folder):
    frame = pd.read_csv("patients.csv")
    frame["stage"] = np.where(frame["age"] < 36, 1, np.where(frame["age"] < 55, 2, 3))
    frame.drop(columns="outcome").to_csv("stages.csv", index=False)
    said = clearmargin(
        *("rules", "stages.csv", "--target", "stage", "--method", "plane"),
        *("--json", "--save-model", "m.json"),
    )
    data = json.loads(said.out)
    assert data["rules"]["classes"] == [1, 2, 3]
    assert [entry["class"] for entry in data["coverage"]] == [1, 2, 3]
    assert 0.9 < data["auc"] <= 1.0
    assert load_model("m.json").classes_.tolist() == [1, 2, 3]
    again = clearmargin("rules", "stages.csv", "--target", "stage", "--model", "m.json", "--json")
    assert json.loads(again.out)["rules"]["classes"] == [1, 2, 3]
    words = ("rules", "stages.csv", "--target", "stage", "--method", "plane")
    against = clearmargin(*words, "--positive", "3")
    assert "taken together as 'not 3'" in against.err
    assert "for 3:" in against.out


def test_categories_come_back_by_name(clearmargin, folder):
    frame = pd.read_csv("patients.csv")
    frame["outcome"] = np.where(frame["smoker"] == "no", "well", "ill")
    frame.to_csv("smokers.csv", index=False)
    words = ("rules", "smokers.csv", "--target", "outcome", "--method", "plane")
    said = clearmargin(*words, "--save-model", "m.json")
    assert "smoker = no => well" in said.out
    assert "smoker in {" in said.out
    weights = json.loads((folder / "m.json").read_text())["planes"][0]["weights"]
    assert {"feature": "smoker", "category": "no"}.items() <= weights[0].items()


def test_columns_of_codes_are_categories_on_request(clearmargin, folder):
    frame = pd.read_csv("patients.csv")
    frame["group"] = [1, 2, 3] * 8
    frame["outcome"] = np.where(frame["group"] == 2, "b", "a")
    frame[["group", "age", "outcome"]].to_csv("groups.csv", index=False)
    said = clearmargin(
        *(
            "rules",
            "groups.csv",
            "--target",
            "outcome",
            "--categories",
            "group",
            "--method",
            "plane",
        )
    )
    assert "group = `2` => b" in said.out


def test_the_options_of_extraction_are_followed(clearmargin, folder):
    words = ("rules", *TRAIN, "--criterion", "volume", "--max-rules", "2", "--nu", "10", "--json")
    data = json.loads(clearmargin(*words, "--assume-ranges", "--max-conditions", "1").out)
    assert len(data["rules"]["rules"]) == 2
    assert all(len(rule["when"]) == 1 for rule in data["rules"]["rules"])
    assert data["model"]["trained_by"] == "LPSVC"
    assert clearmargin("rules", *TRAIN, "--balanced", "--max-features", "1").code == 0


def test_rules_are_searched_within_the_ranges_and_in_the_order_that_are_asked_for(
    clearmargin, run, folder
):
    X, y = load_wbc(return_X_y=True)
    X.assign(outcome=y).to_csv("wbc.csv", index=False)
    words = ("rules", "wbc.csv", "--target", "outcome", "--nu", "0.01", "--cv", "none")
    clearmargin(*words, "--save-model", "m.json", "--quiet")
    words = (*words[:4], "--model", "m.json")
    chosen = ("--bounds", "class", "--cut-order", "natural")
    model = load_model("m.json")
    for typed, options in [((), {}), (chosen, {"bounds": "class", "order": "natural"})]:
        found = json.loads(clearmargin(*words, *typed, "--json").out)["rules"]["rules"]
        assert found == RuleExtractor(model, **options).fit(X, y).rules_.to_dict()["rules"]
    assert "--assume-ranges" in clearmargin(*words).out
    assert "--assume-ranges" not in clearmargin(*words, *chosen).out
    said = run(*words, *chosen, "--assume-ranges")
    assert said.code == 2
    assert "leave out one of the two" in said.err


def test_rules_of_a_distilled_plane_say_first_how_often_it_agrees(clearmargin, folder):
    X, y = load_wbc(return_X_y=True)
    X.assign(outcome=y).to_csv("wbc.csv", index=False)
    words = (
        "rules",
        "wbc.csv",
        "--target",
        "outcome",
        "--nu",
        "1",
        "--cv",
        "none",
        "--distil",
        "2",
    )
    said = clearmargin(*words).out
    assert said.index("a plane that agrees with the model on") < said.index(" => ")
    assert "Each rule is proved of the distilled plane, not of the model" in said
    data = json.loads(clearmargin(*words, "--json").out)
    assert len(data["distillation"]["features"]) == 2
    assert 0.9 < data["distillation"]["fidelity"] < 1


def test_a_screen_shows_some_rules_and_a_file_has_all(clearmargin, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)).round(2), columns=["a", "b"])
    table["y"] = np.where(table["a"] + table["b"] > 0, "p", "n")
    table.to_csv("t.csv", index=False)
    words = ("rules", "t.csv", "--target", "y", "--nu", "10", "--criterion", "volume")
    said = clearmargin(*words, "--most", "2", "--out", "all.rules")
    assert said.out.count(" => ") == 4
    own = [rule for rule in RuleSet.load("all.rules") if rule.label == "p"]
    assert f"  ... and {len(own) - 2} more (--most, --out)" in said.out
    few = json.loads(clearmargin(*words, "--min-coverage", "20", "--json").out)["rules"]["rules"]
    assert 0 < len(few) < len(RuleSet.load("all.rules"))
    assert min(rule["stats"]["covered"] for rule in few) >= 20


def test_a_row_is_explained_by_its_number_or_its_name(clearmargin, folder):
    by_number = clearmargin("explain", *TRAIN, "--row", "8").out
    by_name = clearmargin("explain", *TRAIN, "--where", "patient = P-07").out
    assert by_number == by_name
    assert "Row 8 (right). The case is well" in by_number


def test_a_row_is_explained_by_conditions_that_are_proved_or_measured(clearmargin, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 4)).round(2), columns=[*"abcd"])
    table["y"] = np.where(table["a"] + table["b"] > 0, "p", "n")
    table.to_csv("t.csv", index=False)
    words = ("explain", "t.csv", "--target", "y")
    train = ("--nu", "1", "--cv", "none", "--row", "3")
    said = clearmargin(*words, *train, "--save-model", "m.json").out
    assert "Proved for every case within the ranges." in " ".join(said.split())
    loaded = (*words, "--model", "m.json", "--row", "3", "--quiet")
    assert clearmargin(*loaded).out.strip() in said
    (told,) = json.loads(clearmargin(*loaded, "--guarantee", "measured", "--json").out)[
        "explanations"
    ]
    assert (told["guarantee"], told["proof"]) == ("measured", "observed")
    assert told["precision_bound"] <= told["precision"] <= 1.0
    assert told["n_conditions"] <= 2
    (told,) = json.loads(clearmargin(*loaded, "--max-conditions", "1", "--json").out)[
        "explanations"
    ]
    assert told["n_conditions"] <= 1


def test_a_row_under_no_rule_is_explained_with_the_conditions_that_fail(clearmargin, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)).round(2), columns=["a", "b"])
    table["y"] = np.where(table["a"] + table["b"] > 0, "p", "n")
    table.to_csv("t.csv", index=False)
    words = ("explain", "t.csv", "--target", "y", "--nu", "10", "--where", "true", "--most", "40")
    words = (*words, "--kind", "rule")
    told = json.loads(clearmargin(*words, "--json").out)["explanations"]
    texts = " ".join(clearmargin(*words).out.split())
    bare = [case["coverage"] for case in told if case["coverage"]["status"] != "covered"]
    assert 0 < len(bare) < len(told)
    assert texts.count("No rule covers the row") == len(bare)
    assert all(answer["text"] in texts and answer["failed"] for answer in bare)


def test_a_model_explains_new_cases_without_their_classes(clearmargin, run, folder):
    clearmargin("train", *TRAIN, "--out", "ill.json", "--cv", "none")
    (folder / "new.csv").write_text("age,smoker,bmi\n64,no,24.1\n")
    said = clearmargin("explain", "new.csv", "--model", "ill.json", "--row", "1").out
    assert "new.csv: 1 row, 3 features." in said
    assert "Row 1. The case is well" in said
    # "Always" would be true of one case alone; the ranges are those of the training.
    assert "if bmi is at most" in said
    assert "Proved for every case within the ranges." in said
    for words, message in (
        (("explain", "new.csv", "--row", "1"), "with --target, or a model with --model"),
        (
            ("explain", "new.csv", "--model", "ill.json", "--row", "1", "--kind", "rule"),
            "add --target, or leave out --kind",
        ),
        (
            ("explain", "new.csv", "--model", "ill.json", "--row", "1", "--guarantee", "measured"),
            "none is left to count on",
        ),
    ):
        refused = run(*words)
        assert refused.code
        assert message in refused.err


def test_rows_are_explained_by_a_premise(clearmargin, folder):
    words = ("explain", *TRAIN, "--where", "age >= 52 and smoker = no", "--kind", "largest")
    said = clearmargin(*words, "--most", "2", "--json")
    told = json.loads(said.out)["explanations"]
    assert [entry["row"] for entry in told] == [13, 16]
    assert all(entry["class"] == entry["true_class"] == "ill" for entry in told)
    assert {entry["kind"] for entry in told} == {"largest"}
    assert "the first 2 are explained" in said.err


def test_parts_of_the_confidence_are_weighed(clearmargin, folder):
    words = ("explain", *TRAIN, "--row", "3", "--kind", "rule", "--json")
    (plain,) = json.loads(clearmargin(*words).out)["explanations"]
    (told,) = json.loads(
        clearmargin(*words, "--weights", "purity=3", "--weights", "volume = 0").out
    )["explanations"]
    parts = told["parts"]
    assert parts == plain["parts"]
    assert told["weights"] == {"coverage": 1.0, "purity": 3.0, "volume": 0.0, "distance": 1.0}
    expected = (parts["coverage"] + 3 * parts["purity"] + parts["distance"]) / 5
    assert told["confidence"] == pytest.approx(expected)
    assert plain["confidence"] == pytest.approx(np.mean(list(parts.values())))


def test_a_ranking_is_contrasted(clearmargin, folder):
    words = ("rank", *TRAIN, "--positive", "ill", "--top", "0.25", "--bottom", "6")
    said = clearmargin(*words, "--max-size", "1", "--out", "p.csv")
    assert "The top 6 and the bottom 6 of 24 rows" in said.out
    assert "ill at the top" in said.out
    assert set(pd.read_csv("p.csv")["side"]) == {"top", "bottom"}
    data = json.loads(clearmargin(*words, "--json", "--out", "p.rules").out)
    assert len(data["top_rows"]) == 6
    assert min(data["top_rows"]) > 12
    assert len(RuleSet.load("p.rules")) == len(data["properties"])


def test_the_size_of_the_ends_is_chosen_in_cross_validation(clearmargin, folder):
    words = ("rank", *TRAIN, "--positive", "ill", "--top", "cv", "--max-size", "1")
    said = clearmargin(*words, "--size-criterion", "accuracy", "--json")
    sizes = json.loads(said.out)["sizes"]
    assert [entry["share"] for entry in sizes] == [0.27]
    assert 0.5 < sizes[0]["score"] <= 1.0
    assert "by the leverage in cross-validation; corrections count all" in clearmargin(*words).out
    given = clearmargin(*words[:6], "--top", "0.3", "--bottom", "0.3", "--json")
    assert json.loads(given.out)["sizes"] is None


@pytest.mark.parametrize("how", [(), ("--refine", "translate"), ("--tune",)])
def test_advice_is_followed_and_told_of(clearmargin, folder, how):
    words = ("advise", *TRAIN, "--advice", "advice.rules", *how)
    said = clearmargin(*words, "--out", "now.rules", "--save-model", "m.json")
    assert "old: " in said.out
    assert "before  old: age >= 55 => ill" in said.out
    given, refined = load_model("m.json").advice
    assert given == RuleSet.load("advice.rules")
    assert [rule.label for rule in refined] == [rule.label for rule in RuleSet.load("now.rules")]
    data = json.loads(clearmargin(*words, "--json").out)
    assert [rule["name"] for rule in data["outcome"]] == ["old", "young"]
    assert all(isinstance(rule["holds"], bool) for rule in data["outcome"])


def test_advice_may_speak_of_categories(clearmargin, folder):
    (folder / "s.rules").write_text("smoker in {yes, ex} and age >= 52 => ill\n")
    said = clearmargin("advise", *TRAIN, "--advice", "s.rules", "--save-model", "m.json")
    assert "smoker in {" in said.out
    again = clearmargin("rules", *TRAIN, "--model", "m.json", "--max-rules", "1")
    assert "for ill" in again.out


def test_rules_are_checked_against_data(clearmargin, folder):
    said = clearmargin("check", "advice.rules", "--data", "patients.csv", "--target", "outcome")
    assert "2 rules: nothing to report" in said.out
    assert "100 %  age >= 55 => ill" in said.out
    data = json.loads(clearmargin("check", "advice.rules", "--json").out)
    assert data["ok"] is True
    assert len(data["rules"]) == 2


def test_rules_that_contradict_each_other_are_an_error(run, folder):
    (folder / "bad.rules").write_text("age >= 30 => ill\nage <= 40 => well\n")
    said = run("check", "bad.rules")
    assert said.code == 2
    assert "30 <= age <= 40" in said.out
    assert "bad.rules: 1 error, see above" in said.err


def test_all_mistakes_of_a_file_are_told_at_once(run, folder):
    (folder / "two.rules").write_text("age >> 30 => ill\nage >= 30 => ill\nage < 40 -> well\n")
    said = run("check", "two.rules")
    assert said.code == 2
    assert "two.rules, line 1, column 6" in said.out
    assert "two.rules, line 3, column 10: unexpected '->'; write '=>'" in said.out
    assert "two.rules: 2 mistakes, see above" in said.err
    data = json.loads(run("check", "two.rules", "--json").out)
    assert [(mistake["line"], mistake["fix"]) for mistake in data["mistakes"]] == [
        (1, None),
        (3, "=>"),
    ]


def test_names_that_a_table_does_not_have_are_all_told_at_once(run, folder):
    (folder / "two.rules").write_text("agee >= 30 => ill\nsmokr = yes and age > 3 => il\n")
    said = run("check", "two.rules", "--data", "patients.csv", "--target", "outcome")
    assert "did you mean 'age'?" in said.out
    assert "did you mean 'smoker'?" in said.out
    assert "did you mean 'ill'?" in said.out
    assert "two.rules: 3 mistakes, see above" in said.err


def test_rules_and_report_are_written_in_one_go(clearmargin, folder):
    said = clearmargin("rules", *TRAIN, "--nu", "1", "--out", "r.rules", "--report", "r.html").out
    assert "The report is in r.html" in said
    assert "r.rules" in said
    assert "clearmargin rules patients.csv" in (folder / "r.html").read_text(encoding="utf-8")


def test_rules_and_models_predict(clearmargin, folder):
    said = clearmargin("predict", "patients.csv", "--rules", "advice.rules")
    lines = said.out.splitlines()
    assert lines[:2] == ["row,class,rule", "1,well,young"]
    assert lines[-1] == "24,ill,old"
    assert lines[12] == "12,,"
    assert "with no rule, and so without a class" in said.err
    assert (
        "note: row 6: No rule covers the row. The nearest one for ill, rule 1, fails at" in said.err
    )
    filled = clearmargin("predict", "patients.csv", "--rules", "advice.rules", "--default", "well")
    assert filled.out.splitlines()[12] == "12,well,"
    clearmargin("rules", *TRAIN, "--method", "plane", "--save-model", "m.json", "--quiet")
    clearmargin("predict", "patients.csv", "--model", "m.json", "--out", "said.csv")
    frame = pd.read_csv("patients.csv")
    said_classes = pd.read_csv("said.csv", dtype={"score": str})
    assert (said_classes["class"] == frame["outcome"]).all()
    # pandas before 3 reads numbers from text with an error in the last digit.
    scores = said_classes["score"].map(float)
    assert (scores == load_model("m.json").decision_function(frame)).all()


def test_a_model_has_no_class_for_what_it_does_not_know(clearmargin, folder):
    frame = pd.read_csv("patients.csv")
    frame["outcome"] = np.where(frame["smoker"] == "no", "well", "ill")
    frame.to_csv("smokers.csv", index=False)
    words = ("rules", "smokers.csv", "--target", "outcome", "--method", "plane")
    clearmargin(*words, "--save-model", "m.json")
    frame.loc[0, "smoker"], frame.loc[1, "age"] = "pipe", np.nan
    frame.to_csv("new.csv", index=False)
    said = clearmargin("predict", "new.csv", "--model", "m.json", "--json")
    told = json.loads(said.out)["predictions"]
    # The model looks at smokers alone: it needs no age.
    assert [entry["class"] for entry in told[:3]] == [None, frame["outcome"][1], "ill"]
    assert "1 row with a missing value or an unknown category that the model needs" in said.err
    frame.loc[2, "smoker"] = np.nan
    frame.to_csv("newer.csv", index=False)
    said = clearmargin("predict", "newer.csv", "--model", "m.json", "--json")
    assert json.loads(said.out)["predictions"][2]["class"] is None


def test_a_report_is_one_file(clearmargin, folder):
    said = clearmargin("report", *TRAIN, "--out", "r.html")
    assert "The report is in r.html" in said.out
    page = (folder / "r.html").read_text()
    assert "age" in page
    assert "</html>" in page


def test_missing_values_are_dropped_or_filled_as_the_user_says(clearmargin, folder):
    frame = pd.read_csv("patients.csv")
    frame.loc[2, "age"], frame.loc[5, "smoker"], frame.loc[7, "outcome"] = np.nan, np.nan, np.nan
    frame.to_csv("gaps.csv", index=False)
    words = ("rules", "gaps.csv", "--target", "outcome", "--method", "plane")
    dropped = clearmargin(*words, "--missing", "drop")
    assert "gaps.csv: 21 rows" in dropped.out
    assert "1 row without a value of 'outcome' left out" in dropped.err
    assert "2 of 23 rows lack a value ('age': 1, 'smoker': 1) and are left out" in dropped.err
    filled = clearmargin(*words, "--missing", "impute", "--save-model", "m.json")
    assert "gaps.csv: 23 rows" in filled.out
    median = float(frame.loc[frame["outcome"].notna(), "age"].median())
    assert load_model("m.json").fill == {"age": median, "smoker": "no", "bmi": pytest.approx(28.4)}
    said = clearmargin("predict", "gaps.csv", "--model", "m.json", "--json")
    assert json.loads(said.out)["predictions"][2]["class"] is not None
    # The rules know without the model what missing values count as.
    clearmargin(*words, "--missing", "impute", "--out", "filled.rules")
    rules = RuleSet.load("filled.rules")
    assert rules.space.fill[rules.space.index("age")] == median
    row = ("predict", "gaps.csv", "--rules", "filled.rules", "--json")
    imputed = frame.fillna({"age": median, "smoker": "no"})
    expected = rules.predict(imputed).tolist()
    answers = json.loads(clearmargin(*row).out)["predictions"]
    assert [entry["class"] for entry in answers] == expected


def test_data_sets_are_listed_described_and_written(clearmargin, folder):
    assert clearmargin("datasets").out.count("\n") == 4
    assert "zero" in clearmargin("datasets", "pima").out.lower()
    listed = json.loads(clearmargin("datasets", "--json").out)["datasets"]
    assert [entry["name"] for entry in listed] == ["wbc", "ionosphere", "cleveland", "pima"]
    assert "class, is benign or malignant" in clearmargin("datasets", "wbc", "--out", "wbc.csv").out
    assert pd.read_csv("wbc.csv").shape == (683, 10)


def test_the_demo_prints_rules_explains_a_case_and_writes_a_report(clearmargin, run, folder):
    shown = clearmargin("demo").out
    assert "683 cases, 9 features, 444 benign and 239 malignant" in shown
    assert "Made without a comparison: " in shown
    assert "malignant if the points of what holds sum to " in shown
    assert "  benign: the score is " in shown
    assert f"is in {folder / 'report.html'}" in shown
    before = (folder / "report.html").read_bytes()
    again = run("demo")
    assert again.code == 2
    assert "report.html exists already; add --force to replace it, or --out" in again.err
    assert (folder / "report.html").read_bytes() == before


def test_the_demo_runs_on_other_data(clearmargin, folder):
    data = json.loads(clearmargin("demo", "cleveland", "--no-report", "--json").out)
    assert data["report"] is None
    assert data["explanation"].startswith("num_le_1: the score is")
    assert data["method"] == "rule-svc"
    assert not list(folder.glob("*.html"))


def test_a_rule_that_is_wrong_on_one_of_many_rows_is_not_called_right_on_all(clearmargin, folder):
    rows = [f"{k * 0.7:.1f},{'low' if k < 300 and k != 7 else 'high'}" for k in range(600)]
    (folder / "steps.csv").write_text("\n".join(["x,y", *rows]))
    said = clearmargin("rules", "steps.csv", "--target", "y", "--nu", "1", "--cv", "none")
    (low,) = re.findall(r"(\d+) +([\d.]+) %  .*=> low", said.out)
    assert int(low[0]) > 250
    assert low[1] == "99.6"
    (high,) = re.findall(r"(\d+) +([\d.]+) %  .*=> high", said.out)
    assert int(high[0]) > 250
    assert high[1] == "100"
