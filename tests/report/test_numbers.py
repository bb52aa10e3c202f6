"""Every number of a report is counted again: rules by their conditions, figures by folds that are fitted here."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import clearmargin
from clearmargin import LPSVC, RuleExtractor, RuleSet, RuleSVC, ScoreRules, parse_rules
from clearmargin.report import report

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(90, 3)).round(2), columns=["age", "bmi", "iron"])
X["colour"] = RNG.choice(["red", "green", "blue"], 90)
SCORE = X["age"] + X["bmi"] - 0.5 * X["iron"] + (X["colour"] == "red") + 0.5 * RNG.normal(size=90)
Y = np.where(SCORE > 0.2, "ill", "well")
RARE = np.where(SCORE > 1.9, "rare", "usual")
THREE = np.select([X["age"] < -0.5, X["age"] < 0.6], ["low", "mid"], "high")
FULL = X[["age", "bmi", "iron"]].copy()
X.loc[3:9, "bmi"] = np.nan
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
STEPS = make_column_transformer((NUMBERS, [*FULL]), (OneHotEncoder(), ["colour"]))
WRITTEN = """feature age\nfeature bmi\nfeature iron\nfeature colour: in {blue, green, red}
age >= 1 and bmi is not missing => ill\nbmi is missing => ill\n0.5*age + iron <= -0.25 => well
colour in {red, green} and -1 < iron < 0.5 => ill"""
ADVICE = "old: age >= 1 and bmi >= 0 => ill\nyoung: bmi <= -1 and age <= 0 => well"
PLANE = RuleExtractor(LPSVC(nu=1.0))
PROOF = ScoreRules(LPSVC(nu=1.0), certify=True, max_rules=8, n_generated=50)
POINTS = RuleSVC(max_rules=4, cv=2, rules="age > 1 => well", progress=False)
MODELS = {
    "plane": (PLANE, FULL, Y),
    "pipeline": (RuleExtractor(make_pipeline(STEPS, LPSVC(nu=1.0))), X, Y),
    "silent": (clone(PLANE).set_params(fallback="abstain", disjoint=False), FULL, Y),
    "rare": (RuleExtractor(make_pipeline(StandardScaler(), LogisticRegression())), FULL, RARE),
    "kernel": (clearmargin.SupportVectorRules(), FULL, Y),
    "tree": (clearmargin.SVMTreeClassifier(random_state=0), FULL, THREE),
    "points": (POINTS, X, Y),
}
WHOLE = {**MODELS, "written": (parse_rules(WRITTEN), X, Y)}


def given(model):
    """Rules are extracted of a pipeline that is given as it is."""
    inner = getattr(model, "estimator", None)
    return inner if isinstance(inner, Pipeline) else model


def holds(conditions, X):
    """Where all conditions of a rule hold, as its JSON has them."""
    inside = np.ones(len(X), dtype=bool)
    for told in conditions:
        if told["feature"] is None:
            inside &= X.eval(told["text"])
        elif "missing" in told:
            inside &= X[told["feature"]].isna() == told["missing"]
        elif "allowed" in told:
            inside &= X[told["feature"]].isin([told["categories"][k] for k in told["allowed"]])
        else:
            column = X[told["feature"]]
            low = -np.inf if told["low"] is None else told["low"]
            high = np.inf if told["high"] is None else told["high"]
            inside &= (column >= low) if told["low_closed"] else (column > low)
            inside &= (column <= high) if told["high_closed"] else (column < high)
    return inside.to_numpy()


@pytest.mark.parametrize("name", WHOLE)
def test_counts_of_rules_are_those_of_their_conditions(name):
    model, X, y = WHOLE[name]
    told = report(given(model), X, y, cv=None, cases=0).to_dict()
    rules, says = model, None
    if not isinstance(model, RuleSet):
        model = clone(model).fit(X, y)
        rules, says = model.rules_, getattr(model, "estimator_", model).predict(X)
    facts = told["rules"]["list"]
    # Where an imputation belongs to the model, its rules take missing values as filled.
    filled = X.fillna(X.mean(numeric_only=True)) if name == "pipeline" else X
    masks = np.array([holds(fact["conditions"], filled) for fact in facts]).T
    for fact, inside in zip(facts, masks.T, strict=True):
        right = y[inside] == fact["class"]
        assert (fact["rows"], fact["covered"], fact["correct"]) == (90, len(right), right.sum())
        assert fact["precision"] == (right.mean() if len(right) else None)
        assert fact["agreed"] == (None if says is None else (says[inside] == fact["class"]).sum())
    total, covered = told["rules"]["total"], masks.any(axis=1)
    assert told["rules"]["overlaps"] == (masks.sum(axis=1) > 1).sum()
    assert (total["covered"], len(facts)) == (covered.sum(), len(rules))
    assert total["model_right"] == (None if says is None else (says == y).sum())
    if name != "points":
        assert total["correct"] == (np.array(rules.predict(X), dtype=object) == y)[covered].sum()
        assert told["uncovered"]["rows"] == (~covered).sum()
        first = [entry["row"] - 1 for entry in told["uncovered"]["first"]]
        assert first == np.flatnonzero(~covered)[:20].tolist()
    labels = np.array([fact["class"] for fact in facts])
    for entry in told["rules"]["classes"]:
        reach = y == entry["class"] if says is None else (y == entry["class"]) & (says == y)
        found = (masks[:, labels == entry["class"]].any(axis=1) & reach).sum()
        assert entry["rules"] == (labels == entry["class"]).sum()
        assert (entry["reachable"], entry["covered"]) == (reach.sum(), found)
        assert entry["recall"] == pytest.approx(found / (y == entry["class"]).sum())
    for entry in told["features"]:
        column = X[entry["name"]]
        assert entry["missing"] == column.isna().sum()
        assert entry["range"] in (None, [column.min(), column.max()])
        used = [any(c["feature"] == entry["name"] for c in fact["conditions"]) for fact in facts]
        linear = name == "written" and entry["name"] in "age iron"
        assert sum(entry["rules"]) == sum(used) + linear


@pytest.mark.parametrize("name", MODELS)
def test_figures_on_unseen_rows_are_those_of_folds_fitted_here(name):
    model, X, y = MODELS[name]
    check = report(given(model), X, y, cv=3, random_state=0, cases=0).to_dict()["validation"]
    answer, says, by_rule = np.full((3, 90), "none", dtype=object)
    parts, areas, members = [], [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        made, rows = clone(model).fit(X.iloc[train], y[train]), X.iloc[test]
        predicted, covered = made.predict(rows), made.rules_.covers(rows).any(axis=1)
        answer[test] = np.where(predicted == None, "none", predicted)  # noqa: E711
        says[test] = getattr(made, "estimator_", made).predict(rows)
        by_rule[test] = np.where(covered, made.rules_.predict(rows), "none")
        parts.append((answer[test] == y[test]).mean())
        if name != "tree":
            is_sum = name == "points"
            share = made.decision_function(rows) if is_sum else made.class_shares(rows)[:, 1]
            members.append((y[test] == made.classes_[1]).sum())
            areas.append(roc_auc_score(y[test] == made.classes_[1], share))
    found, told = check["figures"], check["unseen"]
    said = by_rule != "none"
    hits = {"accuracy": answer == y, "model_accuracy": says == y, "coverage": said}
    hits |= {"precision": (by_rule == y)[said], "fidelity": (by_rule == says)[said]}
    for key in hits if name != "points" else ("accuracy", "model_accuracy"):
        assert (found[key]["part"], found[key]["whole"]) == (hits[key].sum(), len(hits[key]))
    classes = np.unique(y).tolist()
    counts = confusion_matrix(y, answer.astype(str), labels=[*classes, "none"])[:-1]
    assert check["confusion"] == counts.tolist()
    recalls = np.diag(counts) / counts.sum(axis=1)
    assert told["balanced_accuracy"]["value"] == pytest.approx(recalls.mean())
    # Over rows or between folds, whichever is larger; a fold trains on twice as many rows as it tests.
    spread = max(3 * np.var(answer == y) / 90, np.var(parts, ddof=1))
    assert found["accuracy"]["standard_error"] == pytest.approx(np.sqrt(spread * (1 / 3 + 1 / 2)))
    if areas:
        assert told["auc"]["value"] == pytest.approx(np.average(areas, weights=members))
    assert told.get("rare_class") == ("rare" if name == "rare" else None)
    if name == "rare":
        for key, measure in (("recall", recall_score), ("precision", precision_score)):
            expected = measure(y, answer.astype(str), pos_label="rare")
            assert told[key]["value"] == pytest.approx(expected)


TWICE, LABELS = pd.concat([FULL, FULL[:20]], ignore_index=True), np.r_[Y, Y[:20]]


COLUMNS = {
    "groups": np.array([f"P{k % 13}" for k in range(110)]),
    "times": np.array([f"2026-{1 + k % 12:02d}-03" for k in range(110)]),
    "cv": 3,
}


@pytest.mark.parametrize("option", COLUMNS)
def test_folds_keep_groups_whole_and_times_in_order(option):
    folds, column = [], COLUMNS[option]

    def refit(train, test):
        folds.append((train, test))
        return clone(PLANE).fit(TWICE.iloc[train], LABELS[train]), TWICE.iloc[test]

    options = {"cv": 3, "cases": 0, option: column}
    told = report(PLANE, TWICE, LABELS, **options).to_dict()["validation"]
    assert told == report(PLANE, TWICE, LABELS, **options, refit=refit).to_dict()["validation"]
    right, twins = 0, 0
    rows = [tuple(row) for row in TWICE.assign(y=LABELS).itertuples(index=False)]
    for train, test in folds:
        assert not set(train) & set(test)
        if option == "groups":
            assert not set(column[train]) & set(column[test])
        if option == "times":
            assert max(column[train]) < min(column[test])
        model = LPSVC(nu=1.0).fit(TWICE.iloc[train], LABELS[train])
        right += (model.predict(TWICE.iloc[test]) == LABELS[test]).sum()
        twins += sum(rows[k] in {rows[j] for j in train} for k in test)
    figure = told["figures"]["model_accuracy"]
    assert (figure["part"], figure["whole"]) == (right, sum(len(test) for _, test in folds))
    assert (told["duplicates"], bool(told["note"])) == (twins, twins > 0)


def test_no_figure_on_unseen_rows_comes_from_rows_that_were_trained_on(tmp_path):
    plane = LPSVC(nu=1.0).fit(FULL, Y)
    loaded = clearmargin.load_model(clearmargin.save_model(plane, tmp_path / "m.json"))
    card = clone(PROOF).set_params(estimator=FrozenEstimator(plane)).fit(FULL, Y)
    single = np.where(np.arange(90) == 7, "dead", "well")
    scarce = clearmargin.SupportVectorRules(min_coverage=30)
    known = [(LogisticRegression(), single), (plane, None), (card, None)]
    trained = (RuleExtractor(loaded, max_rules=1), RuleExtractor(FrozenEstimator(plane)), scarce)
    written = (clone(POINTS).fit(FULL, Y).scorecard_, parse_rules("age > 0 => ill"))
    known += [(model, Y) for model in (LPSVC(), loaded, card, *trained, *written)]
    for model, y in known:
        options = {"cv": None} if isinstance(model, LPSVC) and model is not plane else {}
        told = report(model, FULL, y, cases=0, **options).to_dict()
        check = told["validation"] or told["card"]["validation"]
        assert (check["done"], bool(check["why"])) == (False, True)


NOISE = np.random.default_rng(3).normal(size=(160, 6))


@pytest.mark.parametrize("name", ["plane", "kernel", "points", "card"])
def test_on_noise_figures_are_at_chance(name):
    model = PROOF if name == "card" else clone(MODELS[name][0])
    model = model.set_params(rules=None) if name == "points" else model
    told = report(model, NOISE, np.arange(160) % 2, cv=4, cases=0).to_dict()
    check = told["validation"] or told["card"]["validation"]
    for key in ("accuracy", "balanced_accuracy", "auc"):
        figure = check["unseen"][key]
        if figure["value"] is not None:
            assert abs(figure["value"] - 0.5) < 3 * figure["standard_error"]
            assert 0.02 < figure["standard_error"] < 0.12


def test_cases_points_and_cards_are_those_of_the_model():
    model = clone(PLANE).fit(FULL, Y)
    says, size = model.estimator_.predict(FULL), np.abs(model.estimator_.decision_function(FULL))
    told = report(model, FULL, Y, cv=None, cases=5).to_dict()["cases"]
    assert [case["kind"] for case in told] == ["right", "wrong", "close", "right", "wrong"]
    assert len({case["row"] for case in told}) == 5
    errors = np.flatnonzero(says != Y)
    assert told[1]["row"] - 1 == errors[size[errors].argmax()]
    assert told[2]["row"] - 1 == size.argmin()
    for case in told:
        row = FULL.iloc[[case["row"] - 1]]
        assert (case["says"], case["true"]) == (says[case["row"] - 1], Y[case["row"] - 1])
        assert case["score"] == pytest.approx(model.explain(row).margin)
        assert all(value["value"] == row[value["feature"]].iloc[0] for value in case["values"])
    model = clone(POINTS).fit(X, Y)
    told = report(model, X, Y, cv=None).to_dict()
    assert [line["points"] for line in told["points"]["lines"]] == model.weights_.tolist()
    experts = told["points"]["experts"]
    assert [entry["verdict"] for entry in experts] == list(model.outcome_.verdicts)
    for case in told["cases"]:
        score = model.decision_function(X.iloc[[case["row"] - 1]])[0]
        assert case["score"] == pytest.approx(score)
        assert sum(part["points"] for part in case["points"]["parts"]) == pytest.approx(score)
    model = clone(PROOF).fit(FULL, Y)
    told, proved = report(model, FULL, Y, cv=None).to_dict()["card"], model.scorecard_.prove(FULL)
    assert [tuple(line.values()) for line in told["lines"]] == model.scorecard_.rows()
    for entry in told["proved"]["classes"]:
        mine = proved == entry["class"]
        assert (entry["rows"], entry["right"]) == (mine.sum(), (Y[mine] == entry["class"]).sum())
    assert told["right"] == (model.predict(FULL) == Y).sum()
    assert told["agreed"] == (model.predict(FULL) == model.estimator_.predict(FULL)).sum()
    assert [case["proved"] for case in told["cases"]] == [True, True, False]


def test_call_of_a_report_makes_it_again_and_fingerprints_see_every_value():
    splitter = StratifiedKFold(2, shuffle=True, random_state=4)
    for model, table, options in (
        (MODELS["pipeline"][0].set_params(bounds={"age": (-5, 5)}), X, {"cv": splitter}),
        (LPSVC(nu=0.5), FULL, {"cv": None, "cases": 1, "title": 'It\'s "new"', "advice": ADVICE}),
        (parse_rules(WRITTEN), X, {}),
        (LPSVC(), FULL, {"cv": 2, "random_state": np.random.RandomState(5)}),
    ):
        made = report(model, table, Y, **options)
        names = {"X": table, "y": Y}
        exec(made.to_dict()["reproduce"]["call"], names)
        assert names["made"].to_json() == made.to_json()

    def prints(table, y=Y):
        made = report(parse_rules("age >= 1 => ill"), table, y, cases=0).to_dict()
        return made["reproduce"]["data"].values()

    table = X.assign(day=pd.date_range("2026-01-01", periods=90))
    (first, labels), seen = prints(table), set()
    assert [*prints(table.copy(), Y.astype(object))] == [first, labels]
    for column in table:
        other = table.copy()
        other.loc[5, column] = {"colour": "grey", "day": table["day"][9]}.get(column, 9.5)
        seen |= {*prints(other)}
    assert (len(seen), first in seen) == (1 + table.shape[1], False)
    assert labels not in prints(table, np.roll(Y, 1))
