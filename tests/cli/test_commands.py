"""Each command from end to end: the numbers of its JSON are those of an independent computation."""

import json
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import clearmargin as cm
from clearmargin.compare import check_drift, compare_rules
from clearmargin.datasets import load_cleveland, load_pima, load_wbc
from clearmargin.export import export
from clearmargin.points import Scorecard

TRAIN = ("patients.csv", "--target", "outcome", "--drop", "patient")
QUICK = (*TRAIN, "--nu", "1", "--cv", "none")
NOISY = "noisy.csv --target y --drop kind,day,clinic"


def patients():
    frame = pd.read_csv("patients.csv")
    return frame[["age", "smoker", "bmi"]], frame["outcome"]


@pytest.fixture
def noisy(folder):
    """A table that no plane tells apart without mistakes, with gaps in none of its columns."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)).round(2), columns=[*"abc"])
    table["kind"] = rng.choice(["red", "green", "blue"], 120)
    score = table["a"] + table["b"] + (table["kind"] == "red") + 0.6 * rng.normal(size=120)
    table["y"] = np.where(score > 0.3, "yes", "no")
    table.assign(day=np.arange(120), clinic=np.arange(120) // 6).to_csv("noisy.csv", index=False)
    return table


@pytest.fixture
def model(ask, noisy):
    ask(f"train {NOISY} --nu 0.5 --cv none --out m.json")
    return cm.load_model("m.json")


@pytest.mark.parametrize(
    ("words", "by_hand"),
    [
        ("--nu 0.5", make_pipeline(StandardScaler(), cm.LPSVC(0.5))),
        (
            "--nu 1 --balanced",
            make_pipeline(StandardScaler(), cm.LPSVC(1.0, class_weight="balanced")),
        ),
        (
            "--advice a.rules --lam 0.5 --mu 2",
            cm.AdviceSVC(
                cm.parse_rules("a >= 1 and b >= 0 => yes", classes=["no", "yes"]), lam=0.5, mu=2.0
            ),
        ),
    ],
)
def test_train_saves_the_plane_of_the_estimator(ask, noisy, words, by_hand):
    Path("a.rules").write_text("a >= 1 and b >= 0 => yes\n")
    told = ask(f"train {NOISY} --cv none --out m.json {words}")
    X, y = noisy[[*"abc"]], noisy["y"]
    expected = by_hand.fit(X, y).decision_function(X)
    model = cm.load_model("m.json")
    sign = 1 if model.classes_.tolist() == ["no", "yes"] else -1
    assert sign * model.decision_function(X) == pytest.approx(expected, abs=1e-6)
    assert told["model"]["accuracy"] == pytest.approx((by_hand.predict(X) == y).mean())
    assert (told["rows"], told["features"]) == (120, [*"abc"])
    assert {each["class"]: each["rows"] for each in told["classes"]} == y.value_counts().to_dict()


def test_rules_are_proved_rules_of_a_sparse_svm_counted_on_all_rows(ask, noisy):
    told = ask(f"rules {NOISY} --cv none --out r.json --save-model m.json")
    X, y = noisy[[*"abc"]], noisy["y"].to_numpy()
    model, rules, facts = cm.load_model("m.json"), cm.RuleSet.load("r.json"), told["model"]
    by_hand = cm.RuleExtractor(model, criterion="coverage", min_coverage=2).fit(X, y).rules_
    assert {(rule.region, rule.label) for rule in rules} == {(r.region, r.label) for r in by_hand}
    assert rules == cm.RuleSet.from_dict(facts["document"])
    inside, predicted = rules.covers(X), rules.predict(X, default=facts["default"]["class"])
    assert (inside.sum(axis=1) <= 1).all()
    for rule, entry, covered in zip(rules, facts["rules"], inside.T, strict=True):
        assert (entry["class"], entry["proved"]) == (rule.label, True)
        assert (entry["rows"], entry["right"]) == (covered.sum(), (y[covered] == rule.label).sum())
        assert set(model.predict(X)[covered]) == {rule.label}
    outside = ~inside.any(axis=1)
    assert facts["default"]["rows"] == outside.sum()
    assert facts["coverage"] == pytest.approx(1 - outside.mean())
    assert facts["fidelity"] == pytest.approx((predicted == model.predict(X)).mean())
    again = ask(f"rules {NOISY} --model m.json")
    counted = [{(r["class"], r["rows"]) for r in each["rules"]} for each in (again["model"], facts)]
    assert counted[0] == counted[1]
    (mine, svm, majority) = again["evaluation"]["models"]
    assert mine["accuracy"]["value"] == pytest.approx((predicted == y).mean())
    assert svm["accuracy"]["value"] == pytest.approx((model.predict(X) == y).mean())
    assert majority["accuracy"]["value"] == pytest.approx(
        max((y == "yes").mean(), (y == "no").mean())
    )


def test_figures_of_rules_are_those_of_folds_fitted_here(ask, noisy):
    told = ask(f"rules {NOISY.replace('day,', '')} --time day --cv 3 --as tree")["evaluation"]
    X, y = noisy[[*"abc"]], noisy["y"].to_numpy()
    parts, tested, predicted, shares = np.array_split(np.arange(120), 4), [], [], []
    for k in range(1, 4):
        train, test = np.concatenate(parts[:k]), parts[k]
        rules = cm.SVMTreeClassifier(random_state=0).fit(X.iloc[train], y[train]).rules_
        outside = y[train][~rules.covers(X.iloc[train]).any(axis=1)]
        names, counts = np.unique(outside if len(outside) else y[train], return_counts=True)
        tested.append(y[test])
        predicted.append(rules.predict(X.iloc[test], default=names[counts.argmax()]))
        shares.append(len(train))
    truth, said = np.concatenate(tested), np.concatenate(predicted).astype(str)
    (mine, _, _) = told["models"]
    assert mine["accuracy"]["value"] == pytest.approx((truth == said).mean())
    assert mine["balanced_accuracy"]["value"] == pytest.approx(balanced_accuracy_score(truth, said))
    for entry in told["classes"]:
        of_class = {"pos_label": entry["class"]}
        assert entry["recall"]["value"] == pytest.approx(recall_score(truth, said, **of_class))
        assert entry["precision"]["value"] == pytest.approx(
            precision_score(truth, said, **of_class)
        )


def test_rules_of_a_fitted_pipeline_are_rules_of_its_decisions(ask, run, folder):
    frame = pd.read_csv("patients.csv").drop(columns="patient")
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    X.loc[3, "bmi"] = np.nan
    X.assign(outcome=y).to_csv("gaps.csv", index=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = make_column_transformer((numbers, ["age", "bmi"]), (OneHotEncoder(), ["smoker"]))
    fitted = make_pipeline(steps, LogisticRegression()).fit(X, y)
    joblib.dump(fitted, "mine.joblib")
    words = "rules gaps.csv --target outcome --model mine.joblib"
    assert run(words).code == 2
    rules = cm.RuleSet.from_dict(ask(f"{words} --trust")["model"]["document"])
    for rule, covered in zip(rules, rules.covers(X).T, strict=True):
        assert set(fitted.predict(X)[covered]) == {rule.label}
    joblib.dump({"no": "model"}, "other.joblib")
    said = run("rules gaps.csv --target outcome --model other.joblib --trust")
    assert (said.code, "other.joblib" in said.err) == (2, True)


def test_rules_of_three_classes_and_of_one_against_the_others(ask, folder):
    frame = pd.read_csv("patients.csv")
    frame["stage"] = np.where(frame["age"] < 36, 1, np.where(frame["age"] < 55, 2, 3))
    frame.drop(columns="outcome").to_csv("stages.csv", index=False)
    words = "rules stages.csv --target stage --cv none"
    told = ask(f"{words} --save-model m.json")["model"]
    assert {rule["class"] for rule in told["rules"]} == {1, 2, 3}
    assert cm.load_model("m.json").classes_.tolist() == [1, 2, 3]
    against = ask(f"{words} --positive 3")["model"]
    assert {rule["class"] for rule in against["rules"]} <= {"3", "not 3"}
    # The class of interest stands first.
    assert against["rules"][0]["class"] == "3"


@pytest.mark.parametrize("form", ["points", "scorecard"])
def test_rules_with_points_decide_by_their_sum(ask, run, noisy, form):
    table = "rules noisy.csv --target y --drop day,clinic"
    words = f"{table} --as {form} --max-rules 3 --cv none"
    told = ask(f"{words} --out r.json --save-model m.json")["model"]
    weighted = Scorecard.from_dict(json.loads(Path("r.json").read_text()))
    X = noisy[[*"abc", "kind"]]
    assert len(weighted.rules) == len(told["lines"]) <= 3
    if form == "scorecard":
        assert all(len(rule.region.bounded) == 1 for rule in weighted.rules)
    predicted = ask("predict noisy.csv --rules r.json")["predictions"]
    assert [entry["class"] for entry in predicted] == weighted.predict(X).tolist()
    loaded = cm.load_model("m.json")
    assert isinstance(loaded, cm.RuleSVC)
    assert loaded.predict(X).tolist() == weighted.predict(X).tolist()
    assert ask(f"{table} --model m.json")["model"]["lines"] == told["lines"]
    # What is written as text has no sum: it is said where somebody decides by it.
    assert run(f"{words} --out r.rules").err
    assert cm.parse_rules(Path("r.rules").read_text()).classes == weighted.classes


def test_auto_takes_the_first_form_within_one_standard_error_of_the_best(ask, noisy):
    told = ask(f"rules {NOISY} --cv 2 --as auto")
    found = {each["form"]: each["accuracy"]["value"] for each in told["alternatives"]}
    assert told["model"]["form"] == told["chosen"]["form"]
    assert {*found, told["model"]["form"]} == {"rules", "scorecard", "points"}


def test_rules_print_a_file_of_rules_when_quiet(run, folder):
    words = ("rules", *TRAIN, "--cv", "none")
    quiet = run(*words, "--quiet")
    assert quiet.err == ""
    assert run(*words, "--quiet", "--out", "r.rules") == (0, "", "")
    assert Path("r.rules").read_text() == quiet.out
    X, y = patients()
    assert (cm.parse_rules(quiet.out).predict(X) == y).all()
    for name in ("r.html", "r.md"):
        shown = run(*words, "--report", name, "--out", "s.rules", "--force")
        assert "\x1b" not in shown.out + shown.err
        assert "age" in Path(name).read_text(encoding="utf-8")


def test_explain_gives_conditions_that_hold_for_the_class_everywhere(ask, noisy, model):
    words, X = f"explain {NOISY} --model m.json", noisy[[*"abc"]]
    for row in (1, 40, 120):
        (told,) = ask(f"{words} --row {row}")["explanations"]
        assert (told["row"], told["true_class"]) == (row, noisy["y"][row - 1])
        assert told["score"] == pytest.approx(model.decision_function(X.iloc[[row - 1]]).item())
        (rule,) = cm.parse_rules(told["rule"], space=model.space, classes=list(model.classes_))
        inside = cm.RuleSet([rule], model.space, list(model.classes_)).covers(X)[:, 0]
        assert inside[row - 1]
        assert set(model.predict(X)[inside]) == {told["class"]}
        assert (told["proof"], told["covered"]) == ("proved", inside.sum())
        assert told["n_conditions"] <= 3
    (told,) = ask(f"{words} --row 3 --guarantee measured")["explanations"]
    assert told["guarantee"] == "measured"
    assert told["precision_bound"] <= told["precision"] <= 1
    by_name = ask("explain", *TRAIN[:3], "--nu", "1", "--cv", "none", "--where", "patient = P-07")
    assert [case["row"] for case in by_name["explanations"]] == [8]


def test_explain_takes_new_cases_without_classes(ask, run, folder):
    ask("train", *QUICK, "--out", "m.json")
    Path("new.csv").write_text("age,smoker,bmi\n64,no,24.1\n")
    told = ask("explain new.csv --model m.json --row 1")
    (case,) = told["explanations"]
    assert (told["target"], case["true_class"], case["class"]) == (None, None, "ill")
    assert run("explain new.csv --row 1").code == 2


def test_recourse_finds_the_cheapest_change_that_changes_the_answer(ask, folder):
    ask("train", *QUICK, "--out", "m.json")
    words = ("recourse", *TRAIN, "--model", "m.json", "--row", "20", "--actionable", "age")
    (way,) = ask(*words)["recourse"]
    X, _ = patients()
    model = cm.load_model("m.json")
    answers = {age: model.predict(X.iloc[[19]].assign(age=age))[0] for age in range(30, 64)}
    best = max(age for age, label in answers.items() if label == "well")
    (change,) = way["changes"]
    assert (change["feature"], change["before"], change["after"]) == ("age", 59, best)
    assert way["cost"] == pytest.approx((59 - best) / 33)
    assert (way["label_before"], way["label_after"], way["verified"]) == ("ill", "well", True)
    dear = ask(*words, "--cost", "age=3")["recourse"][0]
    assert dear["cost"] > way["cost"]
    stuck = ask(*words[:-1], "age=58..63")["recourse"][0]
    assert not stuck["feasible"]
    several = ask(*words, "--actionable", "bmi", "--alternatives", "1", "--goal", "well")
    assert several["recourse"][0]["cost"] <= way["cost"] + 1e-9
    ranked = ask(*words, "--goal", "rank:20")["recourse"][0]
    assert (ranked["rank_before"], ranked["rank_after"]) == (20, 21)


def test_rank_counts_the_ends_of_a_ranking(ask, noisy):
    words = f"rank {NOISY} --positive yes"
    told = ask(f"{words} --top 0.25 --bottom 30 --max-size 2 --cv none --out p.rules")
    top, bottom = told["top_rows"], told["bottom_rows"]
    assert (len(top), len(bottom)) == (30, 30)
    y = (noisy["y"] == "yes").to_numpy()
    assert y[np.array(top) - 1].mean() > 0.5 + y[np.array(bottom) - 1].mean()
    assert told["auc"] > 0.8
    saved = cm.RuleSet.load("p.rules")
    assert len(saved) == len(told["properties"])
    for found in told["properties"]:
        rule = cm.parse_rules(f"{found['property']} => x", space=saved.space, classes=["x"])
        inside = rule.covers(noisy[[*"abc"]])[:, 0]
        counts = (inside[np.array(top) - 1].sum(), inside[np.array(bottom) - 1].sum())
        assert (found["top_count"], found["bottom_count"]) == counts
        n, q = 60, inside[np.array(top + bottom) - 1].sum()
        assert found["leverage"] == pytest.approx(counts[0] / n - 0.5 * q / n)
        assert found["side"] == ("top" if found["leverage"] > 0 else "bottom")
        assert found["low"] <= found["leverage"] <= found["high"]
    ask(f"{words} --top 30 --bottom 30 --max-size 1 --out p.csv")
    assert set(pd.read_csv("p.csv")["side"]) <= {"top", "bottom"}
    sizes = ask(f"{words} --top cv --max-size 1")["sizes"]
    assert all(-0.25 <= entry["score"] <= 0.25 for entry in sizes)


def test_training_with_advice_says_what_became_of_each_rule(ask, noisy):
    Path("a.rules").write_text("high: a >= 0.5 and b >= 0 => yes\nlow: a < -1 => no\n")
    words = f"train {NOISY} --advice a.rules --cv none --out m.json --force"
    costs = "--lam 1 --mu 1"
    told = ask(f"{words} {costs}")
    X, y = noisy[[*"abc"]], noisy["y"]
    given = cm.parse_rules(Path("a.rules").read_text(), classes=["no", "yes"])
    by_hand = cm.AdviceSVC(given, lam=1.0, mu=1.0).fit(X, y)
    model = cm.load_model("m.json")
    assert told["model"]["accuracy"] == pytest.approx((by_hand.predict(X) == y).mean())
    predicted = model.predict(X)
    for entry in told["outcome"]:
        (rule,) = cm.parse_rules(entry["after"], space=model.space, classes=["no", "yes"])
        inside = cm.RuleSet([rule], model.space, ["no", "yes"]).covers(X)[:, 0]
        assert entry["covered_after"] == inside.sum()
        assert entry["agreed_after"] == (predicted[inside] == rule.label).sum()
        if entry["proved"]:
            assert entry["agreed_after"] == entry["covered_after"]
    Path("a.rules").write_text("high: a >= -0.5 => yes\nlow: a < -1 => no\n")
    change = f"{words} {costs} --refine translate --everywhere --change-cost 0.01"
    refined = ask(f"{change} --refined now.rules")["outcome"]
    assert [rule["verdict"] == "refined" for rule in refined] == [
        rule["before"] != rule["after"] for rule in refined
    ]
    assert [rule.label for rule in cm.RuleSet.load("now.rules")] == ["yes", "no"]
    assert ask(f"{words} {costs} --refine slp")["outcome"][0]["name"] == "high"
    chosen = ask(words)["model"]
    assert (chosen["lam"], chosen["mu"]) == (1.0, 30.0)


def test_check_counts_and_finds_contradictions_and_mistakes(ask, run, folder):
    told = ask("check advice.rules --data patients.csv --target outcome")
    X, _ = patients()
    assert told["ok"]
    assert [(rule["covered"], rule["correct"]) for rule in told["rules"]] == [
        (int((X["age"] >= 55).sum()), int((X["age"] >= 55).sum())),
        (int((X["age"] < 35).sum()), int((X["age"] < 35).sum())),
    ]
    assert told["vote"]["covered"] == 14
    Path("bad.rules").write_text("age >= 30 => ill\nage <= 40 => well\n")
    said = run("check bad.rules --json")
    assert said.code == 2
    told = json.loads(said.out)
    assert not told["ok"]
    assert len(told["findings"]) == 1
    Path("two.rules").write_text("age >> 30 => ill\nage >= 30 => ill\nage < 40 -> well\n")
    mistakes = json.loads(run("check two.rules --json").out)["mistakes"]
    assert [(mistake["line"], mistake["fix"]) for mistake in mistakes] == [(1, None), (3, "=>")]
    Path("names.rules").write_text("agee >= 30 => ill\nsmokr = yes and age > 3 => il\n")
    said = run("check names.rules --data patients.csv --target outcome")
    assert said.code == 2
    assert all(f"'{name}'" in said.out for name in ("age", "smoker", "ill"))


def test_compare_is_that_of_the_library(ask, folder):
    ask("rules", *TRAIN, "--cv", "none", "--out", "old.json")
    Path("new.rules").write_text("bmi >= 29 => ill\nbmi < 28 => well\n")
    frame = pd.read_csv("patients.csv")[5:15]
    frame.to_csv("later.csv", index=False)
    told = ask("compare old.json new.rules --data later.csv --target outcome")
    old, new = cm.RuleSet.load("old.json"), cm.RuleSet.load("new.rules")
    assert told["difference"]["decisions"] == compare_rules(old, new).decisions
    drift = check_drift(old, frame[list(old.space.names)], frame["outcome"].to_numpy())
    assert [rule["coverage"]["count"] for rule in told["drift"]["rules"]] == [
        rule.coverage.count for rule in drift.rules
    ]
    assert told["answers"]["rows"] == 10
    right = [int((r.predict(frame) == frame["outcome"].to_numpy()).sum()) for r in (old, new)]
    assert told["answers"]["right"] == right


def test_commands_take_a_file_of_rules_with_points(ask, run, noisy):
    words = "noisy.csv --target y --drop day,clinic"
    X, y = noisy[[*"abc", "kind"]], noisy["y"]
    X.loc[[1, 7], "a"] = np.nan
    fitted = cm.RuleSVC(max_rules=3, cv=2, random_state=0).fit(X, y)
    cm.save_model(fitted, "p.json")
    X.assign(y=y).to_csv("gaps.csv", index=False)
    told = ask("predict gaps.csv --model p.json")["predictions"]
    assert [entry["class"] for entry in told] == fitted.predict(X).tolist()
    assert [entry["score"] for entry in told] == fitted.decision_function(X).tolist()
    (case,) = ask("explain gaps.csv --target y --model p.json --row 2")["explanations"]
    assert case["class"] == fitted.predict(X.iloc[[1]])[0]
    change = "--row 1 --actionable a --actionable b"
    (way,) = ask(f"recourse gaps.csv --target y --model p.json {change}")["recourse"]
    by_hand = cm.recourse(fitted, X.iloc[[0]], actionable=["a", "b"], X=X)
    assert (way["cost"], way["feasible"]) == (by_hand.cost, by_hand.feasible)
    for to in ("sql", "python", "json", "text", "markdown"):
        assert ask(f"export p.json --to {to}")["text"].rstrip() == export(fitted, to).rstrip()
    assert run(f"rules {words} --model p.json --report r.html").code == 0
    assert "</html>" in Path("r.html").read_text(encoding="utf-8")


def test_export_writes_what_the_library_writes(ask, folder):
    ask("rules", *TRAIN, "--cv", "none", "--save-model", "m.json")
    model, rules = cm.load_model("m.json"), cm.RuleSet.load("advice.rules")
    for to in ("sql", "python", "json", "rules", "text", "markdown"):
        told = ask(f"export advice.rules --to {to} --out {to}.out")
        assert Path(f"{to}.out").read_text() == export(rules, to)
        assert (told["rules"], told["file"]) == (2, f"{to}.out")
        saved = ask(f"export m.json --to {to}")["text"]
        assert saved.rstrip() == export(model.rules[:], to).rstrip()
    words = "export advice.rules --to sql --dialect sqlite --form view"
    shown = ask(f"{words} --table t --view v --column c --default well")["text"]
    options = {"dialect": "sqlite", "form": "view", "table": "t", "view": "v", "column": "c"}
    assert shown == export(rules, "sql", **options, default="well")
    assert "def f(" in ask("export advice.rules --to python --name f")["text"]
    Path("n.rules").write_text("age >= 55 => 1\nage < 35 => 0\n")
    assert "ELSE 0" in ask("export n.rules --to sql --default 0")["text"]


def test_datasets_are_listed_and_written(ask, folder):
    sizes = {entry["name"]: entry["rows"] for entry in ask("datasets")["datasets"]}
    assert sizes == {"wbc": 683, "ionosphere": 351, "cleveland": 297, "pima": 768}
    for name, load in (("wbc", load_wbc), ("cleveland", load_cleveland), ("pima", load_pima)):
        assert ask(f"datasets {name} --out {name}.csv")["rows"] == sizes[name]
        X, y = load(return_X_y=True)
        frame = pd.read_csv(f"{name}.csv")
        assert frame.shape == (len(y), X.shape[1] + 1)
        np.testing.assert_array_equal(frame[X.columns].to_numpy(float), X.to_numpy(float))


def test_demo_shows_the_four_systems_with_figures_and_a_page(ask, folder):
    told = ask("demo --out four.html")
    rules = cm.RuleSet.from_dict(told["rules"]["rules"])
    X, _ = load_wbc(return_X_y=True)
    assert (rules.covers(X).sum(axis=1) <= 1).all()
    assert 0.9 < told["rules"]["evaluation"]["models"][0]["accuracy"]["value"] < 1
    assert told["tree"]["recall"]["the tree"] > told["tree"]["recall"]["a plain SVM"] + 0.3
    assert sum(sure for *_, sure in told["ranking"]["properties"]) >= 5
    errors = {name: value for name, (value, _) in told["advice"]["errors"].items()}
    assert errors["rules and data"] < errors["data alone"]
    page = Path("four.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("Fung", "Pang", "Salleb-Aouissi", "Kunapuli"))
    assert [path.name for path in folder.glob("*.html")] == ["four.html"]


def test_commands_and_versions_are_listed(run, folder):
    shown = run("--help").out
    for command in (
        *("demo", "rules", "train", "explain", "recourse", "rank", "check", "compare", "predict"),
        *("export", "workbench", "datasets"),
    ):
        assert f"\n    {command}" in shown
        said = run(f"{command} --help")
        assert said.code == 0
        assert all(option in said.out for option in (command, "--json", "--quiet", "--debug"))
    assert run("--version").out.split() == ["clearmargin", cm.__version__]
    versions = json.loads(run("--debug --json").out)
    assert (versions["numpy"], versions["clearmargin"]) == (np.__version__, cm.__version__)
    assert np.__version__ in run("--debug").out


def test_the_module_reads_a_table_from_a_pipe(folder):
    table = (folder / "patients.csv").read_text()
    words = [sys.executable, "-m", "clearmargin", "rules", "-", "--target", "outcome"]
    said = subprocess.run(
        [*words, "--cv", "none", "--quiet"], input=table, capture_output=True, text=True, check=True
    )
    assert not said.stderr
    X, y = patients()
    assert (cm.parse_rules(said.stdout).predict(X) == y).all()
