from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from clearmargin import format_rules, parse_rules
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import Box
from clearmargin.rules.boxes import Boxes
from clearmargin.svm_trees import IntervalRules, SVMTreeClassifier, class_bias_ratio, interval_rules
from clearmargin.svm_trees.node_rules import LeafBoxes, clean_boxes


@pytest.fixture(params=[True, False], ids=["simplified", "as published"])
def reading(request, model):
    return interval_rules(model, simplify=request.param)


def draw(m, seed):
    """Two overlapping Gaussians in the plane, ten to one, as in `conftest` but of other seeds."""
    rng = np.random.default_rng(seed)
    is_rare = np.arange(m) < m // 11
    X = np.where(is_rare[:, None], [-2.5, 0.5], 0.0)
    X = X + rng.normal(0, 1, (m, 2)) * np.where(is_rare, 0.7, 1.5)[:, None]
    return X, np.where(is_rare, "rare", "common")


def predict_one_by_one(reading, X):
    """The class of the first rule that covers a row, else of the nearest, written as loops."""
    said = []
    for x in X:
        distances = []
        for rule in reading.rules:
            excess = np.maximum(np.maximum(rule.region.lower - x, x - rule.region.upper), 0)
            distances.append(float(np.sqrt(((excess / reading.reach) ** 2).sum())))
        said.append(reading.rules[int(np.argmin(distances))].label)
    return said


def test_rows_go_to_the_first_rule_that_covers_them_and_else_to_the_nearest(reading, fresh):
    X = fresh[0][:300]
    assert reading.predict(X).tolist() == predict_one_by_one(reading, X)


def test_some_rows_are_covered_by_no_rule(table, fresh):
    model = SVMTreeClassifier(random_state=0).fit(*table)
    published = interval_rules(model, simplify=False)
    bare = published.rules.which(fresh[0]) < 0
    assert 0.1 < bare.mean() < 0.4
    assert (model.rules_.which(fresh[0]) < 0).mean() < 0.1
    assert (published.which(fresh[0]) >= 0).all()


def test_simplified_rules_are_right_about_every_training_point(model, table):
    assert (model.predict_by_rules(table[0]) == model.predict(table[0])).all()
    assert (model.rules_.which(table[0]) >= 0).all()
    by_labels = interval_rules(model, by="labels")
    assert (by_labels.predict(table[0]) == table[1]).all()


def test_no_simplified_rule_covers_a_training_point_of_another_class(model, table):
    said, covers = model.predict(table[0]), model.rules_.covers(table[0])
    for rule, covered in zip(model.rules_, covers.T, strict=True):
        assert (said[covered] == rule.label).all()


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(2, 4),
    st.sampled_from([(0.0, 1.0), (1e5, 0.1), (0.0, 1e-9)]),
    st.sampled_from([{}, {"C": 10.0, "tol": 0.25}, {"max_layers": 1}, {"loss": "minority"}]),
)
def test_rules_are_right_on_lattices_where_points_coincide(seed, n, n_classes, units, options):
    rng = np.random.default_rng(seed)
    shift, unit = units
    X = rng.integers(0, 5, (30, n)) * unit + shift
    y = rng.integers(0, n_classes, 30)
    y[:2] = [0, 1]
    model = SVMTreeClassifier(random_state=0, **options).fit(X, y)
    assert (model.predict_by_rules(X) == model.predict(X)).all()
    apart = np.array([(y[(x == X).all(axis=1)] == c).all() for x, c in zip(X, y, strict=True)])
    if apart.any():
        by_labels = interval_rules(model, by="labels")
        assert (by_labels.predict(X)[apart] == y[apart]).all()
    Z = rng.integers(-4, 14, (100, n)) / 2 * unit + shift
    assert set(model.predict_by_rules(Z)) <= set(y)


def test_points_cut_off_get_boxes_of_their_own_and_contradictions_none():
    X = np.array([[0.0], [1.0], [4.0], [6.0], [7.0], [7.0]])
    codes = np.array([0, 0, 1, 0, 0, 1])
    start = LeafBoxes(Boxes.from_bounds([[0.0]], [[7.0]]), np.array([0]), [(0,)], np.array([True]))
    clean = clean_boxes(start, X, codes, np.zeros(6, dtype=int))
    covers = clean.boxes.masks(X)
    assert not (covers & (clean.codes[:, None] != codes)).any()
    assert covers.any(axis=0).tolist() == [True, True, True, True, False, False]
    assert clean.from_machine.all()


def test_the_signs_of_zeros_do_not_matter():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    model = SVMTreeClassifier(random_state=0).fit(X, ["a", "b", "b", "b"])
    by_labels = interval_rules(model, by="labels")
    assert by_labels.predict(X)[2:].tolist() == ["b", "b"]
    assert {rule.label for rule in by_labels.rules} == {"b"}


def test_labels_that_contradict_each_other_everywhere_are_an_error():
    model = SVMTreeClassifier(random_state=0).fit([[1.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1])
    assert (model.predict_by_rules([[1.0], [2.0]]) == model.predict([[1.0], [2.0]])).all()
    with pytest.raises(DataError, match="every training point coincides with one of another class"):
        interval_rules(model, by="labels")


def test_published_rules_are_pruned_within_each_class(model, table):
    reading = interval_rules(model, simplify=False)
    covered = [
        (rule.label, frozenset(np.flatnonzero(column)))
        for rule, column in zip(reading.rules, reading.rules.covers(table[0]).T, strict=True)
    ]
    for (label, some), (other, more) in itertools.permutations(covered, 2):
        assert label != other or not some <= more
    assert all(rule.n_features == 2 for rule in reading.rules)
    assert all(rule.region.bounded == (0, 1) for rule in reading.rules)


def test_rules_know_their_leaves(reading, model):
    leaves = model.tree_.leaves
    assert reading.n_svm_rules + reading.n_tree_rules == len(reading.rules)
    for rule, numbers, from_machine in zip(
        reading.rules, reading.leaves, reading.from_machine, strict=True
    ):
        assert numbers
        assert from_machine == all(bool(leaves[k].pairs) for k in numbers)
        code = model.tree_.classes.index(rule.label)
        for k in numbers:
            assert code in ({c for pair in leaves[k].pairs for c in pair} or {leaves[k].label})


def test_rules_stand_in_the_order_of_their_precision(table):
    model = SVMTreeClassifier(random_state=0).fit(*table)
    for simplify in (True, False):
        stats = [rule.stats for rule in interval_rules(model, simplify=simplify).rules]
        sure = [(s.agreed + 1) / (s.covered + 2) for s in stats]
        assert sure == sorted(sure, reverse=True)


def test_rules_are_fewer_and_shorter_than_published_and_near_the_tree(model, table, fresh):
    published = interval_rules(model, simplify=False)
    n_conditions = [
        sum(rule.n_conditions for rule in rules) for rules in (model.rules_, published.rules)
    ]
    assert n_conditions[0] < n_conditions[1]
    assert len(model.rules_) <= 0.75 * model.n_leaves_ or model.n_leaves_ < 10
    for reading in (published, model.interval_rules_):
        assert np.mean(reading.predict(fresh[0]) == model.predict(fresh[0])) > 0.9


def test_rules_of_a_tree_for_the_rare_class_find_it_as_the_tree_does():
    found = []
    for seed in range(6):
        X, y = draw(184, seed)
        Z, z = draw(2000, 100 + seed)
        model = SVMTreeClassifier(loss="minority", random_state=0).fit(X, y)
        rare = z == "rare"
        by_rules, by_tree = model.predict_by_rules(Z), model.predict(Z)
        found.append([(said[rare] == "rare").mean() for said in (by_rules, by_tree)])
        assert class_bias_ratio(z, by_rules) < 0.6
    by_rules, by_tree = np.mean(found, axis=0)
    assert by_rules > by_tree - 0.02


def test_the_counts_of_a_simple_tree_are_as_expected():
    X = np.array([[1.0, 5.0], [2.0, 5.5], [3.0, 5.2], [8.0, 5.1], [9.0, 5.4]])
    model = SVMTreeClassifier(random_state=0).fit(X, ["a", "a", "a", "b", "b"])
    expected = "classes: a, b\nx0 <= 5 => a\nx0 >= 6 => b"
    assert [(r.region, r.label) for r in model.rules_] == [
        (r.region, r.label) for r in parse_rules(expected, space=model.space_)
    ]
    assert [rule.stats.covered for rule in model.rules_] == [3, 2]
    assert repr(model.interval_rules_) == (
        "<IntervalRules: 2 rules, 0 from support vectors, 2 from the tree>"
    )


def test_names_and_labels_are_those_of_the_user(three_classes):
    X, y = three_classes
    frame = pd.DataFrame(X, columns=["length", "mass", "width of it", "same"])
    model = SVMTreeClassifier(random_state=0, min_coverage=1, max_rules=None).fit(frame, y)
    assert model.rules_.space.names == tuple(frame.columns)
    assert (model.predict_by_rules(frame) == model.predict(frame)).all()
    assert (model.interval_rules_.predict(frame) == model.predict(frame)).all()
    numbers = SVMTreeClassifier(random_state=0).fit(X, (y == "b").astype(np.int8))
    assert numbers.predict_by_rules(X).dtype == np.int8


def test_rules_survive_text_and_pickle(model):
    reading = model.interval_rules_
    assert parse_rules(format_rules(model.rules_)) == model.rules_
    assert pickle.loads(pickle.dumps(reading)) == reading


def test_rules_are_made_once_and_anew_after_another_fit(table):
    model = SVMTreeClassifier(random_state=0).fit(*table)
    rules = model.rules_
    assert model.rules_ is rules
    model.fit(table[0][:60], table[1][:60])
    assert model.rules_ != rules
    assert model.rules_[0].stats.rows == 60


def test_rules_that_cover_too_few_points_can_be_left_out(model, table):
    reading = interval_rules(model, min_coverage=3)
    assert min(rule.stats.covered for rule in reading.rules) >= 3
    assert len(reading.rules) <= len(model.rules_)


def test_bad_input_is_named(table):
    model = SVMTreeClassifier(random_state=0)
    with pytest.raises(NotFittedError):
        interval_rules(model)
    with pytest.raises(NotFittedError):
        _ = model.rules_
    model.fit(*table)
    with pytest.raises(InvalidValueError, match=r"by must be .*'tree'.*'labels'.*'model'"):
        interval_rules(model, by="model")
    with pytest.raises(InvalidValueError, match=r"min_coverage must be .* 0"):
        interval_rules(model, min_coverage=0)
    with pytest.raises(DataError, match="no rule covers 1000 training points"):
        interval_rules(model, min_coverage=1000)
    with pytest.raises(DataError, match=r"missing|NaN"):
        model.predict_by_rules([[np.nan, 0.0]])
    with pytest.raises(DataError, match="row 1, column 'x0' is nan"):
        model.interval_rules_.predict([[np.nan, np.nan]])


def test_a_reading_needs_leaves_for_each_rule_and_boxes():
    rules = parse_rules("x <= 1 => a\nx >= 2 => b")
    with pytest.raises(InvalidValueError, match="2 rules, but leaves for 1"):
        IntervalRules(rules, [[0]], [True], [1.0])
    with pytest.raises(InvalidValueError, match="from_machine has shape"):
        IntervalRules(rules, [[0], [1]], [True], [1.0])
    with pytest.raises(InvalidValueError, match="rules of intervals are boxes"):
        IntervalRules(parse_rules("x + y <= 1 => a"), [[0]], [True], [1.0, 1.0])


def test_labels_of_different_types_stay_what_they_are():
    rules = parse_rules("classes: 1, one\nx <= 1 => 1\nx >= 2 => one")
    assert isinstance(rules[0].region, Box)
    reading = IntervalRules(rules, [[0], [1]], [False, False], [1.0])
    assert reading.predict([[0.0], [1.9]]).tolist() == [rules[0].label, rules[1].label]
