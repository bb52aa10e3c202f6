"""One page of rules for any table: every row gets a class, the budget is kept, and figures are honest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from clearmargin import FeatureSpace, RuleSet
from clearmargin.exceptions import DataError
from clearmargin.models.planes import Planes
from clearmargin.recipes import PageBudget, find_points, make_one_page, make_task, one_page
from clearmargin.recipes.found_points import card_as_points, points_as_rules
from clearmargin.recipes.method_choice import FoldScores
from clearmargin.recipes.one_page import METHODS, page_report, plane_text
from clearmargin.rule_svm import WeightedRules
from clearmargin.tables.files import FileTable
from clearmargin.tables.splitting import Folds


def strangers_table(rows=240, seed=0, noise=0.1):
    """Numbers, a time in seconds, categories and missing values; two of the columns decide."""
    rng = np.random.default_rng(seed)
    age, colour = (
        rng.integers(18, 80, rows).astype(float),
        rng.choice(["red", "green", "blue"], rows),
    )
    since = 1.7e9 + rng.integers(0, 10**6, rows)
    income = rng.normal(3_000, 900, rows)
    income[rng.random(rows) < 0.1] = np.nan
    ill = (age > 50) | (colour == "red")
    ill ^= rng.random(rows) < noise
    columns = {"age": age, "colour": colour.astype(object), "since": since, "income": income}
    return FileTable("t", {**columns, "ill": np.where(ill, "yes", "no").astype(object)})


@pytest.fixture(scope="module")
def task():
    made = make_task(strangers_table(), "ill", missing="either", cv=3)
    assert "taken as they are by rules with points, and by other methods filled" in made.notes[0]
    return made


@pytest.fixture(scope="module")
def page(task):
    return make_one_page(task)


def test_every_method_gives_every_row_a_class_within_the_budget(task):
    rows = task.given
    for method in METHODS:
        made = make_one_page(task, method)
        predicted = made.model.predict(rows)
        assert set(predicted) <= {"yes", "no"}
        assert (predicted == task.y).mean() > 0.75
        if method == "card":
            assert len(made.result.card.lines()) <= 2 * PageBudget().max_cuts
        else:
            assert len(made.result.rules) <= 15
            assert max(len(rule.region.bounded) for rule in made.result.rules) <= 3


def test_the_choice_says_what_readability_costs_in_two_sentences(page, task):
    first, second = page.sentences
    assert first.startswith("Chosen by 3 stratified folds")
    assert page.size in first
    assert second.startswith("Measured on unseen rows: right on ")
    assert "plain SVM" in second
    assert "proved" not in second
    assert page.choice.readable.chosen == page.method
    facts = json.loads(json.dumps(page.to_dict()))
    assert [entry["method"] for entry in facts["choice"]["methods"]] == list(METHODS)
    assert facts["choice"]["price"]["points"] == pytest.approx(100 * page.choice.price[0])


def test_on_noise_the_figure_is_at_chance_and_the_page_says_so():
    shares, warned = [], 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        columns = {f"x{k}": rng.normal(size=120) for k in range(4)}
        label = np.repeat(["no", "yes"], 60).astype(object)
        task = make_task(FileTable("t", {**columns, "y": label}), "y", cv=2)
        made = make_one_page(task)
        shares.append(made.choice.readable.honest)
        warned += len(made.sentences) == 3
    # Three tables of 120 rows: a standard error of 2.6 points.
    assert abs(np.mean(shares) - 0.5) < 0.09
    assert warned >= 2


def test_a_method_that_cannot_learn_gives_way_to_the_next():
    # Neither column says anything alone, so that every plane is constant.
    grid = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 12)
    table = FileTable(
        "t",
        {"a": grid[:, 0], "b": grid[:, 1], "y": np.array(["n", "n", "p", "p"] * 12, dtype=object)},
    )
    task = make_task(table, "y", cv=2)
    made = make_one_page(task)
    assert made.method == "rule-svc"
    assert made.result.accuracy == 1.0
    with pytest.raises(DataError, match="proved rules of a sparse plane: all planes"):
        make_one_page(task, "plane")


def test_more_than_two_classes_have_no_card_and_unknown_methods_are_refused(task):
    rng = np.random.default_rng(0)
    size = rng.normal(size=90)
    label = np.where(size < -0.5, "s", np.where(size < 0.5, "m", "l")).astype(object)
    three = make_task(FileTable("t", {"size": size, "y": label}), "y", cv=2)
    made = make_one_page(three)
    assert "card" not in made.choice.readable.names
    assert (made.model.predict(three.X) == three.y).mean() > 0.9
    with pytest.raises(DataError, match="did you mean 'card'"):
        make_one_page(task, "crad")


def test_without_folds_rules_with_points_are_made_and_nothing_is_claimed():
    task = make_task(strangers_table(60), "ill", missing="impute", cv=None)
    made = make_one_page(task, budget=PageBudget(max_rules=3))
    assert made.method == "rule-svc"
    assert len(made.result.rules) <= 3
    assert made.sentences == (
        f"Made without a comparison: {made.size}; how right it is on unseen rows is not known.",
    )


def test_a_large_table_is_compared_on_a_sample_and_learned_from_as_a_whole(monkeypatch):
    monkeypatch.setattr("clearmargin.recipes.one_page._MOST_COMPARED", 90)
    task = make_task(strangers_table(200), "ill", missing="impute", cv=2)
    made = make_one_page(task, "rule-svc")
    assert any("compared on 90 of the 200 rows" in note for note in made.notes)
    assert made.choice.readable.rows.sum() == 90
    assert made.result.facts["rows"] == 200


def test_balanced_classes_weigh_the_same_in_training_and_in_the_choice():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    rare = (x + 0.8 * rng.normal(size=300)) > 1.8
    table = FileTable(
        "t",
        {"x": x, "z": rng.normal(size=300), "y": np.where(rare, "rare", "usual").astype(object)},
    )
    task = make_task(table, "y", cv=2)
    made = make_one_page(task, balanced=True)
    assert made.choice.constant[1] == 0.5
    assert made.choice.readable.honest > 0.6
    assert "balanced accuracy" in made.sentences[1]
    recall = (made.model.predict(task.X) == "rare")[task.y == "rare"].mean()
    assert recall > 0.6


def test_a_card_as_rules_with_points_decides_as_the_card(task):
    made = make_one_page(task, "card")
    assert (
        card_as_points(made.result.card).predict(task.X) == made.result.card.predict(task.X)
    ).all()
    # What is missing counts as what the card was made with.
    assert (made.weighted.predict(task.given) == made.result.card.predict(task.X)).all()


def test_rules_with_points_are_text_that_can_be_given_back(page):
    weighted = find_points(page.task, max_rules=4).weighted
    text = points_as_rules(weighted)
    assert text.startswith(f"# {weighted.summary()}")
    again = RuleSet.from_text(text)
    assert [rule.weight for rule in again] == np.abs(weighted.weights).tolist()
    assert [rule.label for rule in again] == [rule.label for rule in weighted.rules]
    assert WeightedRules.from_dict(json.loads(json.dumps(weighted.to_dict()))) == weighted


def test_the_plane_that_decides_other_rows_is_written_out():
    task = make_task(strangers_table(), "ill", missing="impute", cv=None)
    made = make_one_page(task, "plane")
    planes = made.model.estimator_
    text = plane_text(planes)
    assert text.startswith("yes where ")
    assert all(name in text for name in planes.features_used)


def test_a_rare_class_of_few_rows_is_no_evidence_of_a_balanced_accuracy_above_chance():
    folds = Folds([(np.arange(0), np.arange(408))], "folds")
    task = make_task(strangers_table(rows=408), "ill", missing="impute", cv=None)
    few = replace(task, y=np.repeat(np.array(["no", "yes"], dtype=object), [400, 8]))
    scores = FoldScores(("plane",), np.array([[0.65]]), np.array([408]))
    errors = [one_page._choice(few, folds, scores, scores, each).chance_error for each in (0, 1)]
    # By chance each class is right on half of its rows, and the mean of both counts.
    expected = np.sqrt((0.25 / 400 + 0.25 / 8) / 4)
    assert errors == pytest.approx([np.sqrt(400 * 8) / 408 / np.sqrt(408), expected])
    assert not one_page._choice(few, folds, scores, scores, True).is_better_than_constant


def test_of_a_rare_class_the_page_says_how_many_of_its_rows_are_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    label = np.where(x + 0.4 * rng.normal(size=400) > 1.6, "fraud", "fair").astype(object)
    task = make_task(FileTable("t", {"x": x, "z": rng.normal(size=400), "y": label}), "y", cv=2)
    made = make_one_page(task, "rule-svc")
    rows, found = int((label == "fraud").sum()), made.choice.readable.honest_found
    assert 0 < found < rows
    third = made.sentences[2]
    assert third.startswith(f"Of the {rows} rows of fraud, the rarest class, ")
    assert float(third.split("class, ")[1].split(" %")[0]) == pytest.approx(
        100 * found / rows, abs=0.1
    )
    facts = made.choice.to_dict()["rarest_class"]
    assert facts == {"class": "fraud", "rows": rows, "found": found}
    # Where all classes weigh the same, the figure itself says it.
    assert not any("rarest" in each for each in replace(made.choice, balanced=True).sentences("m"))


def test_the_plane_is_written_with_the_digits_that_give_the_rows_their_classes():
    space = FeatureSpace(["seconds", "x"])
    planes = Planes(RuleSet([], space, ["no", "yes"]), [[4.8091, 2.0]], [-4.8091 * 1.7e9 - 2.5])
    X = np.column_stack([1.7e9 + np.linspace(0.0, 1.0, 21), np.linspace(-1.0, 1.0, 21)])
    text = plane_text(planes, X)
    assert plane_text(planes) == "yes where -8175000000 + 4.809 seconds + 2 x is above 0, else no"
    # As a reader would compute it, in fractions.
    b, w, v = (Fraction(number) for number in re.findall(r"-?[0-9.]+(?= )", text)[:3])
    sums = [b + w * Fraction(seconds) + v * Fraction(x) for seconds, x in X.tolist()]
    assert [value > 0 for value in sums] == (planes.predict(X) == "yes").tolist()


def test_the_report_says_first_what_was_chosen_and_judges_it_in_the_same_folds(page):
    made = page_report(page, command="clearmargin report t.csv --target ill")
    facts = made.to_dict()
    assert facts["learned"][: len(page.sentences)] == list(page.sentences)
    assert facts["reproduce"]["call"] == "clearmargin report t.csv --target ill"
    assert "Why this form" in made.to_markdown()
    share = facts["validation"]["figures"]["accuracy"]["value"]
    # The same folds and the same training: only the choice in each fold is missing here.
    place = page.choice.readable.names.index(page.method)
    assert share == pytest.approx(float(page.choice.readable.means[place]))


@pytest.mark.parametrize("method", ["rule-svc", "auto"])
def test_a_page_does_not_depend_on_the_order_of_rows_nor_does_its_sample(monkeypatch, method):
    # Rows twice, so that some are equal; fewer of them are compared than there are.
    monkeypatch.setattr(one_page, "_MOST_COMPARED", 90)
    table = strangers_table(70)
    rng = np.random.default_rng(3)
    pages = []
    for order in (np.tile(np.arange(70), 2), rng.permutation(np.tile(np.arange(70), 2))):
        columns = {name: values[order] for name, values in table.columns.items()}
        task = make_task(FileTable("t", columns), "ill", missing="either", cv=2)
        pages.append(make_one_page(task, method, budget=PageBudget(max_rules=3, max_cuts=4)))
    first, second = pages
    assert first.choice.how == "2 stratified folds, whatever the order of the rows"
    assert first.sentences == second.sentences
    np.testing.assert_array_equal(first.choice.plain.by_fold, second.choice.plain.by_fold)
    np.testing.assert_array_equal(first.choice.readable.by_fold, second.choice.readable.by_fold)
    assert first.rules_text() == second.rules_text()


def test_rows_of_groups_and_rows_that_are_not_split_stay_where_they_are():
    table = strangers_table(40)
    columns = {**table.columns, "clinic": np.arange(40) // 4}
    grouped = make_task(FileTable("t", columns), "ill", missing="either", groups="clinic", cv=2)
    assert grouped.by_values() is grouped
    alone = make_task(table, "ill", missing="either", cv=None)
    assert alone.by_values() is alone
    task = make_task(table, "ill", missing="either", cv=2)
    ordered = task.by_values()
    place = np.argsort(ordered.given.labels)
    assert ordered.given.labels.tolist() != task.given.labels.tolist()
    np.testing.assert_array_equal(ordered.y[place], task.y)


def test_a_report_tests_the_same_rows_as_the_choice_and_calls_rows_as_the_table_does(task, page):
    told = page_report(page).to_dict()
    assert "whatever the order of the rows" in json.dumps(told)
    assert "in the order of the rows" not in json.dumps(told)
    assert page.task is task
    assert ", called" not in page_report(page).to_markdown()
