"""The comparison of rules with those of peers: data, folds, statements, measures, budgets, tables and the picture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread, current_thread

import numpy as np
import pandas as pd
import pytest
from benchmarks.peers.anchors import Anchor, Anchors
from benchmarks.peers.environment import Absent
from benchmarks.peers.run import Outcome
from benchmarks.quality import budget, others, ours
from benchmarks.quality.ahead import ahead_section, compare, kind_of
from benchmarks.quality.budget import DEFAULT_ALONE, Remembering, fresh_rows, ladder
from benchmarks.quality.cards import card_answer, card_answers, card_size, measure_cards
from benchmarks.quality.choice import choice_section, entries, proofs
from benchmarks.quality.data import DataSet, encoded, load
from benchmarks.quality.folds import Fold, folds, machine_fields, write_problem
from benchmarks.quality.jobs import Job, shared
from benchmarks.quality.judge import Answer, Figures, judge, mean_and_error
from benchmarks.quality.measure import Panel, Row, assemble, measure_fold, start_cards
from benchmarks.quality.others import answer_from, any_rule, explained_from, peer_answers
from benchmarks.quality.ours import answers, methods, too_large
from benchmarks.quality.picture import draw, spread
from benchmarks.quality.plan import FULL, QUICK, Plan, plan_for
from benchmarks.quality.single import Explained, SingleFigures, measure, ours_single
from benchmarks.quality.single_table import judge_all, pooled, single_section, start_single
from benchmarks.quality.statement import answer_of, one_class, shortest, with_default
from benchmarks.quality.tables import cell, panel_section
from benchmarks.quality.tree_peer import leaves
from scipy.stats import t as student
from scipy.stats import ttest_rel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from clearmargin import parse_rules
from clearmargin.core import FeatureSpace
from clearmargin.exceptions import DataError, InvalidValueError


def small(m=90, seed=0, **limits):
    """Two features, a class above a line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=m) > 0).astype(np.int64)
    return DataSet("small", X, y, ("a", "b"), ("no", "yes"), **limits)


def fold_of(kind="linear"):
    return next(folds(small(), kind, 1))


def stated(text):
    return parse_rules(text, space=FeatureSpace(["a", "b"]), classes=[0, 1])


def figures(fidelity, size=3.0, **others):
    base = dict.fromkeys(Figures.__dataclass_fields__, 0.5)
    return Figures(**{**base, "fidelity": fidelity, "size": size, "rules": size - 1, **others})


def single(precision, coverage, proved):
    return SingleFigures(0.1, coverage, precision, 1.0, proved, 2.0)


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
        np.testing.assert_array_equal(one.said_train, one.model.predict(one.X_train))


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
        np.testing.assert_array_equal(problem["y_train"], fold.said_train)


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
        .fit(fold.X_train, fold.said_train)
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
        **{**vars(fold), "said_test": np.array([0, 0, 1, 1]), "y_test": np.array([0, 1, 1, 1])}
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
        1 - fold.said_test,
        np.ones(len(fold.said_test), bool),
        1,
        1,
        0.0,
        proved=np.ones(len(fold.said_test), bool),
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
        stated("a >= 0 => 1\n0 <= a <= 9 and b >= 0 => 0"), fold.X_train, fold.said_train
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
    blind = Fold(**{**vars(fold), "X_test": fold.X_test[:1], "said_test": 1 - fold.said_test[:1]})
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
    np.testing.assert_array_equal(model.predict(fold.X_test), fold.said_test)
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
    common = int(np.mean(fold.said_train) > 0.5)
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


def panel():
    peer = Row("peer", False, [figures(0.9), figures(0.901), None], reasons=["too slow"])
    peer.rivals = [figures(0.8), figures(0.801), None]
    peer.cards = [figures(0.9), figures(0.89), None]
    worse = Row("other", False, [figures(0.7), figures(0.72), figures(0.7)], is_weighted=True)
    worse.rivals = [figures(0.8), figures(0.81), figures(0.83)]
    worse.cards = [figures(0.9), figures(0.92), figures(0.9)]
    mute = Row("mute", False, [figures(0.5, one_class=1.0)] * 3)
    mute.rivals = mute.cards = [figures(0.8)] * 3
    silent = figures(0.9, proved=0.0, coverage=0.0)
    proved = Row("exact", True, [figures(0.9, proved=0.5, coverage=0.5)] * 2 + [silent])
    absent = Row("gone", False, [None] * 3, reasons=["no environment"])
    rungs = [{1: figures(0.6, 1.0), 2: figures(0.8, 2.0)}] * 3
    return Panel("D", "linear", [figures(1.0)] * 3, [proved, peer, worse, mute, absent], rungs)


def test_every_place_where_a_peer_is_ahead_is_named():
    section = ahead_section([panel()])
    column = section.table.header.index
    ahead = [(row[column("list: ahead")], row[column("card: ahead")]) for row in section.table.rows]
    assert ahead == [("peer", "even"), ("ours", "ours"), ("ours", "ours")]
    # Who says one class of everybody is shown, and not counted.
    first = "our list of rules is ahead in 1, even in 0 and behind in 1 of 2 comparisons"
    assert first in section.finding
    assert "our scorecard is ahead in 1, even in 1 and behind in 0 of 2" in section.finding
    assert "mute says one and the same class of 100.0% of the held-out rows" in section.verdict
    assert "A peer is ahead of the list in: D, linear: peer by 10.0 points." in section.verdict
    assert "No peer is ahead of the scorecard anywhere." in section.verdict
    nominal = "Nominally ahead of the scorecard, within the error: D, linear: peer by 0.6 points."
    assert nominal in section.verdict


def test_lists_are_compared_with_lists_and_sums_with_the_scorecard():
    verdict = ahead_section([panel()]).verdict
    assert "our list against lists (peer) is ahead in 0, even in 0 and behind in 1 of 1" in verdict
    assert "our scorecard against sums (other) is ahead in 1, even in 0" in verdict
    kinds = [kind_of(Row(name, False)) for name in ("scikit-learn tree, depth 3", "imodels FIGS")]
    assert kinds == ["tree", "tree"]
    assert kind_of(Row("imodels FIGS", False, is_weighted=True)) == "sum"


def test_a_side_is_ahead_where_a_paired_t_test_says_so_that_counts_shared_rows():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        a, b = rng.normal(0.9, 0.02, 5), rng.normal(0.94, 0.02, 5)
        pairs = [(figures(x), figures(y)) for x, y in zip(a, b, strict=True)]
        found.append(compare(pairs).who)
        # A fifth of the rows is held out: the statistic shrinks by the root of (1/5 + 1/4) / (1/5).
        plain = ttest_rel(b, a)
        p = 2 * student.sf(abs(plain.statistic) / np.sqrt(1 + 5 / 4), 4)
        assert found[-1] == (("ours" if b.mean() > a.mean() else "peer") if p < 0.05 else "even")
    assert {"ours", "even"} <= set(found)
    assert compare([(figures(0.1), figures(0.9))]).who == "even"
    # Three repetitions are no more than one: they share rows.
    twice = [(figures(0.9), figures(0.9 + gap)) for gap in (0.0, 0.01, 0.02, 0.0, 0.01)]
    assert compare(twice).who == compare(twice * 3).who == "even"


def test_the_choice_is_the_best_on_folds_that_all_have():
    row = Row("peer", False, [figures(0.9, 5.0), None])
    own = Row("own", True, [figures(0.8, 5.0), figures(1.0, 5.0)])
    proved = Row("exact", True, [figures(0.7, 30.0, proved=0.4)] * 2)
    for each in (row, own):
        each.figures = [f and Figures(**{**vars(f), "proved": 0.0}) for f in each.figures]
    both = [Panel("D", t, [figures(1.0)] * 2, [row, own, proved], []) for t in ("linear", "RBF")]
    assert [entry.fidelity for entry in entries(both[:1])] == pytest.approx([0.9, 0.8, 0.7])
    singles = {
        ("linear", "box"): [single(1.0, 0.2, 1.0)],
        ("linear", "anchors"): [single(0.6, 0.4, 0.0)],
    }
    section = choice_section(both, singles)
    assert section.title == "What to choose"
    rows = section.table.rows
    assert rows[0][2] == "exact"
    assert "40% of the rows, 30.0 rules" in rows[0][3]
    assert [row[2] for row in rows if "at most 7" in row[0]] == ["peer", "peer"]
    assert rows[-1][2:5] == [
        "box",
        "1 box; true on 100.0% of the box by proof and 100.0% of held-out rows in it; covers 20.0% of rows by "
        "2.0 conditions, 0.100 s",
        "anchors",
    ]
    assert "most faithful, at most 7 rules (RBF machine): peer, 90.0 % faithful" in section.verdict
    assert "a peer is the better choice for 14 of 14" in section.finding
    assert section.verdict.endswith(
        "Compared on 1 folds of each set; peers that lack a set, and are left out: none."
    )


def test_a_method_that_is_absent_from_a_set_is_no_choice():
    names = [entry.name for entry in entries([panel()])]
    assert names == ["exact", "peer", "other", "mute"]
    elsewhere = Panel(**{**vars(panel()), "data": "E", "rows": panel().rows[:1]})
    assert [entry.name for entry in entries([panel(), elsewhere])] == ["exact"]


def test_proofs_count_where_they_were_made_and_the_sets_are_named():
    everywhere = Row("wide", True, [figures(0.7, 3.0, proved=0.1)])
    here = Row("slow", True, [figures(0.7, 9.0, proved=0.6), None])
    nowhere = Row("slow", True, [None], reasons=["too many columns"])
    first = Panel("D", "RBF", [figures(1.0)], [here], [])
    second = Panel("E", "RBF", [figures(1.0)], [nowhere], [])
    section = choice_section([first, second], {})
    assert section.table.rows[0][:4] == [
        "rules that are never wrong about the machine",
        "RBF",
        "slow",
        "100 % faithful by proof where a rule fires: 60% of the rows of D, 9.0 rules, 0 conditions",
    ]
    assert section.finding.startswith(
        "never wrong about an RBF machine, on 60% of the rows of D: slow;"
    )
    # Whoever was run on all sets comes first, with less as well.
    both = [Panel(**{**vars(p), "rows": [*p.rows, everywhere]}) for p in (first, second)]
    assert [each.name for each in proofs(both)] == ["wide", "slow"]
    assert proofs([second]) == []


def test_absent_peers_missing_folds_and_proofs_are_shown():
    section = panel_section(panel())
    text = section.to_markdown()
    assert "absent: no environment" in text
    assert "peer [2 of 3 folds]" in text
    assert "100 (proof)" in text


def test_places_of_labels_keep_their_distance_and_order():
    found = spread([5.0, 5.0, 1.0, 9.9], 1.0, 0.0, 10.0)
    ordered = sorted(found)
    assert min(np.diff(ordered)) >= 1.0 - 1e-12
    assert max(found) <= 10.0
    assert np.argsort(found, kind="stable").tolist() == [2, 0, 1, 3]


def test_the_picture_is_the_same_every_time(tmp_path):
    both = [panel(), Panel(**{**vars(panel()), "teacher": "RBF"})]
    draw(both, tmp_path / "one.svg")
    draw(both, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def half_absent(problems):
    """A peer that says what the machine said most often, and one that gives up on every second problem."""
    found = []
    for problem in problems:
        with np.load(problem) as given:
            default = int(np.median(given["y_train"]))
            rows = len(given["X_test"])
        found.append(Answer(np.full(rows, default), np.zeros(rows, bool), 0, 0, 0.1))
    return {
        "lazy": found,
        "slow": [said if k % 2 else "stopped after 1 s" for k, said in enumerate(found)],
        "gone": ["no such package"] * len(found),
    }


def test_ours_and_peers_meet_on_the_same_folds(tmp_path):
    parts = [list(folds(small(), kind, 1))[:2] for kind in ("linear", "RBF")]
    # One measured fold stands for all of them, since only the places matter here.
    once = measure_fold(parts[0][0], Plan(leaves=(4,)))
    found = [[once] * 2] * 2
    problems = [tmp_path / f"{k}.npz" for k in range(4)]
    for path, fold in zip(problems, [fold for part in parts for fold in part], strict=True):
        write_problem(fold, path)
    answered = half_absent(problems)
    with ThreadPoolExecutor(1) as pool:
        cards = [each.result() for each in start_cards(parts, answered, pool)]
    assert [list(each) for each in cards] == [[0]] * 4
    panels = assemble(parts, found, answered, cards)
    assert [(each.data, each.teacher) for each in panels] == [("small", "linear"), ("small", "RBF")]
    for each in panels:
        rows = {row.name: row for row in each.rows}
        assert len(rows["lazy"].pairs) == 2
        # A default alone may be met by nothing but a default alone.
        assert all(rival.rules == 0 for _, rival in rows["lazy"].pairs)
        assert all(rival.rules == 0 for _, rival in rows["lazy"].card_pairs)
        assert rows["ScoreRules, 5 cuts"].is_weighted
        assert not rows["SurrogateRules, boxes"].is_weighted
        assert len(rows["slow"].pairs) == 1
        assert rows["gone"].known == []
        assert rows["gone"].reasons == ["no such package"] * 2
        for peer, rival in rows["scikit-learn tree, 16 leaves"].pairs:
            assert rival.size <= peer.size
        for peer, rival in rows["scikit-learn tree, 16 leaves"].card_pairs:
            assert 0 < rival.rules <= peer.rules
        assert "slow [1 of 2 folds]" in panel_section(each).to_markdown()


def test_an_absent_peer_gives_its_reason_and_a_present_one_its_answer():
    assert answer_from(Absent("imodels", "no network")) == "no network"
    outcome = Outcome(
        peer="p",
        method="m",
        version="1",
        predicted=np.array([0, 1]),
        score=None,
        fires=None,
        overlap=np.array([True, False]),
        overlap_means="",
        n_rules=3,
        n_conditions=4,
        weighted=True,
        linear_terms=2,
        seconds=0.5,
        note="",
    )
    answer = answer_from(outcome)
    assert answer.fires.all()
    assert (answer.overlap, answer.rules, answer.is_weighted) == (0.5, 3, True)
    assert answer.linear_terms == 2


@pytest.mark.parametrize("kind", ["linear", "RBF"])
def test_a_machine_written_as_numbers_decides_as_it_did(kind):
    fold = fold_of(kind)
    given = machine_fields(fold)
    if kind == "linear":
        scores = fold.X_test @ given["w"] + given["b"]
    else:
        Z = (fold.X_test - given["mean"]) / given["scale"]
        squares = ((Z[:, None] - given["sv"][None]) ** 2).sum(axis=2)
        scores = np.exp(-given["gamma"] * squares) @ given["dual"] + given["b"]
    np.testing.assert_allclose(scores, fold.model.decision_function(fold.X_test), atol=1e-9)


def test_an_anchor_is_open_below_and_an_absent_one_gives_its_reason():
    assert explained_from(Absent("alibi", "no network")) == "no network"
    anchor = Anchor(3, np.array([1.0, -np.inf]), np.array([2.0, np.inf]), 0.9, 0.2, 1, 0.5)
    (said,) = explained_from(Anchors("alibi", "1", (anchor,), ""))
    assert said.lower[0] > 1.0
    assert np.isneginf(said.lower[1])
    assert (said.row, said.label, said.is_proved) == (3, 1, False)


def test_single_explanations_stand_beside_anchors_with_the_share_of_false_ones():
    def everywhere(cases):
        """A box without conditions is wrong somewhere; the RBF machine gets no answer."""
        ends = np.array([-np.inf, -np.inf])
        return [
            [Explained(row, ends, -ends, int(fold.said_test[row]), 0.1) for row in rows]
            if fold.teacher == "linear"
            else "stopped"
            for fold, rows in cases
        ]

    plan = Plan(n_explained=2, n_samples=500)
    with ThreadPoolExecutor(1) as pool:
        cases = [start_single(fold_of(kind), plan, pool) for kind in ("linear", "RBF")]
        peers = everywhere([(case.fold, case.rows) for case in cases])
        judged = judge_all(cases, plan, peers)
        section = single_section(cases, plan, peers, judged)
    together = pooled(cases, judged)
    assert len(together["linear", "alibi anchors"]) == 2
    assert ("RBF", "alibi anchors") not in together
    names = [row[2] for row in section.table.rows]
    assert names[2] == "alibi anchors"
    assert names[-1] == "alibi anchors (absent: stopped)"
    assert (
        "alibi anchors: the machine says otherwise somewhere in 100% of 2 boxes." in section.verdict
    )
    assert "largest box: the machine says otherwise somewhere in 0% of 2 boxes." in section.verdict
    # What speaks for them is said as well.
    assert "on linear machines they cover more rows (100.00 and " in section.verdict
    assert "need fewer conditions (0.00 and " in section.verdict
    assert "on RBF machines" not in section.verdict


def test_a_slow_peer_is_asked_on_its_first_folds_only(monkeypatch, tmp_path):
    def told(peer, method, problems, folder, seconds):
        return [Absent(peer, path.stem) for path in problems]

    monkeypatch.setattr(others, "run", told)
    monkeypatch.setattr(others, "METHODS", {"p": ("slow", "fast")})
    paths = [tmp_path / f"{k}.npz" for k in range(4)]
    places = [("D", 0), ("D", 1), ("E", 0), ("E", 1)]
    plan = Plan(first_folds={"slow": 1, "slow on E": 0})
    found = peer_answers(paths, places, tmp_path, plan)
    skipped, later = "only the first 1 folds were asked", "left to the full run"
    assert found == {"p slow": ["0", skipped, later, later], "p fast": ["0", "1", "2", "3"]}


def test_rules_that_vote_are_judged_a_second_time_by_any_of_them():
    said = Answer(np.array([0, 0, 1]), np.array([True, False, True]), 2, 4, 0.1, is_weighted=True)
    again = any_rule(said)
    assert again.predicted.tolist() == [1, 0, 1]
    assert (again.is_weighted, again.rules, again.overlap) == (False, 2, 0.0)
    assert any_rule("stopped") == "stopped"


def test_a_slow_method_of_ours_is_skipped_with_the_reason():
    fold = fold_of()
    name = "RuleExtractor, overlapping, 8 rules a class"
    reason = QUICK.skips(name, "small", 3)
    assert QUICK.skips(name, "small", 2) is None
    found = answers(fold, full=False, skipped={name: reason})
    assert found[name] == found[f"{name}, one class"] == "only the first 3 folds were asked"


def test_a_plan_keeps_everything_but_its_sets():
    plan = plan_for(["wbc"], full=True)
    assert plan.names == ("wbc",)
    assert (plan.repetitions, plan.n_explained, plan.full) == (FULL.repetitions, 50, True)
    assert plan_for(None, full=True) is FULL


def test_methods_that_would_take_hours_say_so():
    assert too_large("RuleExtractor, overlapping", np.zeros((3_000, 50))) is not None
    assert too_large("RuleExtractor, volume", np.zeros((3_000, 50))) is None
    assert too_large("RuleExtractor, overlapping, 8 rules a class", np.zeros((3_000, 50))) is None
    assert too_large("RuleExtractor, coverage", np.zeros((700, 9))) is None
    assert "10 columns" in too_large("SupportVectorRules, certified", np.zeros((5, 11)))


@pytest.mark.parametrize("kind", [DataError, InvalidValueError])
def test_a_method_that_refuses_or_fails_does_so_in_all_its_forms(monkeypatch, kind):
    def refuse(method, *_):
        raise kind("no rule covers 2 training points")

    monkeypatch.setattr(ours, "rules_of", refuse)
    found = answers(fold_of(), full=False)
    assert set(found.values()) == {f"{kind.__name__}: no rule covers 2 training points"}
    assert "SurrogateRules, local, one class" in found


def test_a_candidate_that_fails_leaves_the_others_and_is_heard_of(monkeypatch, capsys):
    known = budget.rules_of

    def fail(method, *given):
        if "boxes" in method.name:
            raise InvalidValueError("box 17 is empty")
        return known(method, *given)

    monkeypatch.setattr(budget, "rules_of", fail)
    steps = ladder(fold_of(), leaves=(4,))
    assert steps.choose(5).method.endswith("4 leaves")
    assert "small, fold 0, SurrogateRules, boxes: box 17 is empty" in capsys.readouterr().err


def test_a_free_process_takes_what_has_not_begun_from_the_end():
    held, entered = Event(), Event()

    def wait():
        entered.set()
        held.wait(10)
        return current_thread().name

    with ThreadPoolExecutor(1, "first") as first, ThreadPoolExecutor(1, "second") as second:
        jobs = [Job(first, wait), *(Job(first, lambda: current_thread().name) for _ in range(4))]
        entered.wait(10)
        with shared(jobs, second):
            # The first process is busy: the other one does all the rest.
            names = [job.result().split("_")[0] for job in jobs[1:]]
            held.set()
            names.insert(0, jobs[0].result().split("_")[0])
    assert names == ["first", "second", "second", "second", "second"]


def test_whoever_waits_for_a_job_gets_it_though_it_is_moved_meanwhile():
    held, found = Event(), []

    with ThreadPoolExecutor(1, "first") as first, ThreadPoolExecutor(1, "second") as second:
        busy = Job(first, held.wait, 10)
        job = Job(first, lambda: current_thread().name)
        waiting = Thread(target=lambda: found.append(job.result()))
        waiting.start()
        assert job.move(second)
        waiting.join(10)
        held.set()
        assert busy.result()
        assert not job.move(first)
    assert found[0].startswith("second")


def test_the_error_of_a_moved_job_is_that_of_its_work():
    held = Event()

    def fail():
        raise ValueError("no luck")

    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        jobs = [Job(first, held.wait, 10), Job(first, fail)]
        with shared(jobs, second):
            with pytest.raises(ValueError, match="no luck"):
                jobs[1].result()
            held.set()


def test_our_reading_of_a_peer_is_shown_and_not_counted():
    given = panel()
    given.rows[2].name = others.ANY_RULE
    section = ahead_section([given])
    assert len(section.table.rows) == 3
    assert "our scorecard is ahead in 0, even in 1 and behind in 0 of 1" in section.finding
    assert "these 1 comparisons are not counted either" in section.verdict
