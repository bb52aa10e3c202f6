"""The comparison of rules with those of peers: data, folds, statements, measures, budgets and cards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.quality.budget import DEFAULT_ALONE, Remembering, fresh_rows, ladder
from benchmarks.quality.cards import card_answer, card_answers, card_size, measure_cards
from benchmarks.quality.data import encoded, load
from benchmarks.quality.folds import Fold, folds, write_problem
from benchmarks.quality.judge import Answer, judge, mean_and_error
from benchmarks.quality.ours import answers, methods
from benchmarks.quality.single import Explained, measure, ours_single
from benchmarks.quality.statement import answer_of, one_class, shortest, with_default
from benchmarks.quality.tables import cell
from benchmarks.quality.tree_peer import leaves
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from .cases import fold_of, small, stated


def test_categories_become_columns_and_a_missing_one_is_all_zeros():
    frame = pd.DataFrame({"age": [1, 2, 3], "job": ["cook", None, "smith"]})
    table, count = encoded(frame, ["job"])
    assert list(table.columns) == ["age", "job=cook", "job=smith"]
    assert count == 2
    assert table.to_numpy().tolist() == [[1, 1, 0], [2, 0, 0], [3, 0, 1]]


def test_a_set_that_is_not_at_hand_is_left_out_with_the_name_of_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARMARGIN_DATA", str(tmp_path))
    sets, missing = load(["cleveland", "spambase"])
    assert [data.name for data in sets] == ["Cleveland"]
    assert "cp=4" in sets[0].names
    assert "cp" not in sets[0].names
    assert missing[0].name == "Spambase"
    assert "spambase.csv" in missing[0].reason
    assert str(tmp_path) not in missing[0].reason


def test_a_file_is_read_with_its_texts_as_categories(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARMARGIN_DATA", str(tmp_path))
    frame = pd.DataFrame({"age": [1, 2], "job": ["cook", "smith"], "target": ["<=50K", ">50K"]})
    frame.to_csv(tmp_path / "adult.csv.gz", index=False)
    (data,), missing = load(["adult"])
    assert not missing
    assert (data.names, data.classes) == (("age", "job=cook", "job=smith"), ("<=50K", ">50K"))


def test_folds_hold_out_each_row_once_and_both_machines_get_the_same_rows():
    data = small()
    linear, rbf = (list(folds(data, kind, 1)) for kind in ("linear", "RBF"))
    held = np.vstack([fold.X_test for fold in linear])
    assert {tuple(row) for row in held} == {tuple(row) for row in data.X}
    assert len(held) == len(data.X)
    for one, other in zip(linear, rbf, strict=True):
        np.testing.assert_array_equal(one.X_test, other.X_test)
        np.testing.assert_array_equal(one.predicted_train, one.model.predict(one.X_train))


def test_a_large_set_is_cut_in_the_proportion_of_its_classes():
    data = small(600, most_train=100, most_test=50)
    fold = next(folds(data, "linear", 1))
    assert (len(fold.X_train), len(fold.X_test)) == (100, 50)
    assert fold.y_test.mean() == pytest.approx(data.y.mean(), abs=0.02)


def test_a_peer_sees_the_words_of_the_machine_and_nothing_of_the_truth(tmp_path):
    fold = fold_of()
    write_problem(fold, tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as problem:
        assert set(problem) == {"X_train", "y_train", "X_test", "names", "seed"}
        np.testing.assert_array_equal(problem["y_train"], fold.predicted_train)


def test_the_default_is_the_class_most_common_among_uncovered_training_rows():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 0.0]])
    said = np.array([0, 0, 0, 1])
    assert with_default(stated("a <= 5 => 0"), X, said).default == 1
    # All rows are covered: the most common class of all.
    assert with_default(stated("a <= 99 => 1"), X, said).default == 0


def test_rules_of_one_class_are_the_fullest_in_their_old_order():
    fold = fold_of()
    rules = (
        next(method for method in methods("linear", full=False) if "boxes" in method.name)
        .make(fold.model, 0)
        .fit(fold.X_train, fold.predicted_train)
        .rules_
    )
    own = [rule for rule in rules if rule.label == 1]
    kept = one_class(rules, 1, 2)
    assert kept.default == 0
    fullest = sorted((rule.stats.agreed for rule in own), reverse=True)[:2]
    assert sorted((rule.stats.agreed for rule in kept.rules), reverse=True) == fullest
    assert [own.index(rule) for rule in kept.rules] == sorted(
        own.index(rule) for rule in kept.rules
    )


def test_the_shortest_statement_drops_a_class_that_its_default_says_anyway():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0], [9.0, 0.0], [7.0, 0.0]])
    said = np.array([0, 0, 1, 1, 1])
    short = shortest(stated("a <= 5 => 0\na >= 8 => 1\n6 <= a <= 7 => 1"), X, said)
    assert ([rule.label for rule in short.rules], short.default) == ([0], 1)
    assert short.fidelity(X, said) == 1.0


def test_measures_agree_with_counting_by_hand():
    fold = fold_of()
    fold = Fold(
        **{**vars(fold), "predicted_test": np.array([0, 0, 1, 1]), "y_test": np.array([0, 1, 1, 1])}
    )
    found = judge(
        fold,
        Answer(
            np.array([0, 1, 1, 0]),
            np.array([True, True, True, False]),
            rules=2,
            conditions=5,
            seconds=0.1,
            score=np.array([0.1, 0.2, 0.9, 0.8]),
            overlap=0.25,
            proved=np.array([True, False, False, False]),
        ),
    )
    assert (found.accuracy, found.fidelity, found.coverage, found.proved) == (0.75, 0.5, 0.75, 0.25)
    assert found.fired_fidelity == pytest.approx(2 / 3)
    assert (found.auc, found.size, found.one_class) == (1.0, 3.0, 0.5)


def test_a_proof_that_is_contradicted_stops_the_run():
    fold = fold_of()
    wrong = Answer(
        1 - fold.predicted_test,
        np.ones(len(fold.predicted_test), bool),
        1,
        1,
        0.0,
        proved=np.ones(len(fold.predicted_test), bool),
    )
    with pytest.raises(AssertionError, match="contradicts the machine"):
        judge(fold, wrong)


def test_the_error_of_a_mean_counts_the_folds_of_one_repetition():
    values = [0.0, 1.0] * 5
    assert mean_and_error(values)[1] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))
    assert mean_and_error([np.nan, 2.0])[0] == 2.0
    assert cell([np.nan]) == "-"


@pytest.mark.parametrize("kind", ["linear", "RBF"])
def test_our_methods_answer_and_what_is_proved_is_never_contradicted(kind):
    fold = fold_of(kind)
    found = answers(fold, full=True)
    assert all(isinstance(said, Answer) for said in found.values())
    measured = {name: judge(fold, said) for name, said in found.items()}
    exact = [name for name in found if "RuleExtractor" in name or "certified" in name]
    assert exact
    for name in exact:
        assert measured[name].proved == measured[name].coverage > 0
        assert measured[name].fired_fidelity == 1.0
    assert measured["SurrogateRules, local"].proved == 0


def test_an_answer_says_what_its_statement_says_and_counts_overlap():
    fold = fold_of()
    said = with_default(
        stated("a >= 0 => 1\n0 <= a <= 9 and b >= 0 => 0"), fold.X_train, fold.predicted_train
    )
    found = answer_of(said, fold, 0.0)
    np.testing.assert_array_equal(found.fires, fold.X_test[:, 0] >= 0)
    assert (found.rules, found.conditions) == (2, 4)
    assert found.overlap == np.mean((fold.X_test >= 0).all(axis=1))
    assert len(np.unique(found.score)) <= 3


def test_a_budget_is_kept_and_no_held_out_row_is_asked_for_it():
    fold = fold_of("RBF")
    steps = ladder(fold, leaves=(4, 8))
    assert steps.choose(1) == DEFAULT_ALONE
    assert steps.answer(DEFAULT_ALONE).rules == 0
    for size in (2, 3, 5, 9):
        assert judge(fold, steps.answer(steps.choose(size))).size <= size
    blind = Fold(
        **{**vars(fold), "X_test": fold.X_test[:1], "predicted_test": 1 - fold.predicted_test[:1]}
    )
    again = ladder(blind, leaves=(4, 8))
    assert [again.choose(size) for size in range(1, 9)] == [
        steps.choose(size) for size in range(1, 9)
    ]


def test_fresh_rows_have_values_of_a_row_and_of_one_near_it():
    rng = np.random.default_rng(0)
    # Two clouds far apart, a column that says which, and one that never changes.
    X = np.c_[rng.normal(size=(40, 2)), np.repeat([0.0, 9.0], 20), np.ones(40)]
    X[20:, :2] += 50.0
    fresh = fresh_rows(X, seed=3, count=500)
    assert all(np.isin(fresh[:, k], X[:, k]).all() for k in range(4))
    np.testing.assert_array_equal(fresh[:, 2] == 9.0, fresh[:, 0] > 25.0)
    is_row = (fresh[:, None] == X).all(axis=2).any(axis=1)
    assert 0.1 < is_row.mean() < 0.9
    np.testing.assert_array_equal(fresh, fresh_rows(X, seed=3, count=500))
    assert not np.array_equal(fresh, fresh_rows(X, seed=4, count=500))
    assert fresh_rows(X[:2], seed=0).shape[1] == 4


def test_the_choice_is_the_statement_most_faithful_on_fresh_rows():
    fold = fold_of("RBF")
    steps = ladder(fold, leaves=(4, 8))
    fresh = fresh_rows(fold.X_train, fold.seed)
    said = fold.model.predict(fresh)
    for size in (3, 6, 12):
        chosen = steps.statements[steps.choose(size)]
        best = max(
            np.mean(each.predict(fresh) == said)
            for each in steps.statements.values()
            if len(each.rules) < size
        )
        assert np.mean(chosen.predict(fresh) == said) == best


def test_a_machine_that_remembers_says_the_same():
    fold = fold_of("RBF")
    model = Remembering(fold.model.steps)
    first = model.predict(fold.X_test)
    first[:] = 7
    np.testing.assert_array_equal(model.predict(fold.X_test), fold.predicted_test)
    values = model.decision_function(fold.X_test)
    values[:] = 7
    again = model.decision_function(fold.X_test)
    np.testing.assert_array_equal(again, fold.model.decision_function(fold.X_test))


def test_rules_that_are_known_already_change_no_choice():
    fold = fold_of()
    kept = {}
    answers(fold, full=True, kept=kept)
    assert "SurrogateRules, boxes" in kept
    first, second = ladder(fold, (4,)), ladder(fold, (4,), known=kept)
    assert first.promise == second.promise
    for size in (2, 4, 9):
        assert first.choose(size) == second.choose(size)


@pytest.mark.parametrize("kind", ["linear", "RBF"])
def test_a_card_keeps_to_its_cuts_and_decides_by_its_points(kind):
    fold = fold_of(kind)
    found = card_answers(fold)
    assert list(found) == ["ScoreRules, 30 cuts", "ScoreRules, 15 cuts", "ScoreRules, 5 cuts"]
    said = found["ScoreRules, 5 cuts"]
    assert 1 <= said.rules == said.conditions <= 5
    assert said.fires.all()
    assert (said.is_weighted, said.overlap, said.proved) == (True, float(said.rules > 1), None)
    np.testing.assert_array_equal(said.predicted, said.score > 0)
    assert judge(fold, said).size == said.rules
    # A machine that remembers makes the same card.
    assert measure_cards(fold, [5])[5].fidelity == judge(fold, said).fidelity


def test_a_card_without_cuts_says_the_most_common_class():
    fold = fold_of()
    said = card_answer(fold, 0)
    common = int(np.mean(fold.predicted_train) > 0.5)
    assert (said.predicted == common).all()
    assert said.rules == 0
    assert [card_size(rules) for rules in (0.9, 7.6, 1000.0)] == [0, 7, 40]


def test_leaves_side_by_side_of_one_class_count_as_one():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    # The right half is split once more by impurity, but both parts say 1.
    tree = DecisionTreeClassifier(random_state=0).fit(
        np.repeat(X, 4, axis=0), np.array([0] * 8 + [0, 1, 1, 1] + [1] * 4)
    )
    assert tree.get_n_leaves() == 3
    assert leaves(tree) == [1, 1]
    assert leaves(DecisionTreeClassifier().fit(X, [1, 1, 1, 1])) == [0]


@pytest.mark.parametrize("machine", [LinearSVC(), SVC()])
def test_explanations_hold_their_row_and_are_as_precise_as_proved(machine):
    data = small()
    kind = "linear" if isinstance(machine, LinearSVC) else "RBF"
    fold = next(folds(data, kind, 1))
    for said in ours_single(fold, [0, 3]).values():
        assert len(said) == 2
        for each in said:
            assert (each.lower <= fold.X_test[each.row]).all()
            assert (each.upper >= fold.X_test[each.row]).all()
            found = measure(fold, each, 2_000)
            assert (found.precision, found.proved) == (1.0, 1.0)
            assert found.coverage >= 1 / len(fold.X_test)


def test_precision_of_a_box_with_half_of_each_class_is_about_a_half():
    X = np.array([[-1.0], [1.0], [-0.9], [0.9]])
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, [0, 1, 0, 1])
    said = model.predict(X)
    fold = Fold("d", "linear", 0, model, X, said, X, said, said, ("a",))
    box = Explained(1, np.array([-np.inf]), np.array([np.inf]), 1, 0.0)
    found = measure(fold, box, 20_000)
    assert found.precision == pytest.approx(0.5, abs=0.02)
    assert (found.coverage, found.conditions) == (1.0, 0.0)
