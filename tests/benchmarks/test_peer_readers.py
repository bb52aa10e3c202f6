"""What the workers read out of the models of peers."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.peers import run
from benchmarks.peers.work import protocol
from hypothesis import given
from hypothesis import strategies as st

# Rules as the workers read them

conditions = st.tuples(
    st.integers(0, 2), st.sampled_from(["<=", "<", ">", ">="]), st.sampled_from([-1.0, 0.0, 0.5])
)


@given(st.lists(st.lists(conditions, max_size=5), max_size=4), st.integers(0, 9))
def test_covers_is_what_python_says_of_each_row(rules, seed):
    X = np.random.default_rng(seed).choice([-1.0, 0.0, 0.5, 1.0], size=(6, 3))
    said = [[all(eval(f"{x[j]} {op} {v}") for j, op, v in rule) for rule in rules] for x in X]
    assert protocol.covers(rules, X).tolist() == said


@given(st.lists(conditions, max_size=6))
def test_a_rule_has_as_many_conditions_as_its_box_has_finite_ends(rule):
    lower, upper = np.full(3, -np.inf), np.full(3, np.inf)
    for feature, operator, value in rule:
        if operator[0] == "<":
            upper[feature] = min(upper[feature], value)
        else:
            lower[feature] = max(lower[feature], value)
    ends = np.isfinite(lower).sum() + np.isfinite(upper).sum()
    assert protocol.count_conditions([rule]) == ends
    assert protocol.count_conditions([rule, rule]) == 2 * ends


def test_equalities_count_each():
    rule = [(0, "==", 1.0), (1, "!=", 1.0), (1, "!=", 2.0), (1, "!=", 2.0)]
    assert protocol.count_conditions([rule]) == 3


def test_rules_differ_where_both_classes_fire():
    fired = np.array([[True, True, False], [True, False, True], [False, False, False]])
    assert protocol.differ(fired, [1, 1, 0]).tolist() == [False, True, False]


# What the workers make of a peer's model


@pytest.fixture
def reader(monkeypatch):
    """Import the worker of a peer where the peer itself is not installed."""

    def load(peer, **stands_for):
        name = f"benchmarks.peers.work.{peer}"
        monkeypatch.setitem(sys.modules, peer, SimpleNamespace(**stands_for))
        # Set before it is deleted, so that what is imported here is forgotten after the test.
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
        return importlib.import_module(name)

    return load


def asked(y_train=(0, 1), rows=2):
    y = np.array(y_train)
    return protocol.Problem(np.zeros((len(y), 1)), y, np.zeros((rows, 1)), ["a"], 0, {})


def stump(feature, threshold):
    return SimpleNamespace(tree_=SimpleNamespace(feature=[feature], threshold=[threshold]))


class Boosted:
    def __init__(self, *estimators):
        self.estimators_ = estimators

    def predict(self, X):
        return np.zeros(len(X))

    decision_function = predict


def test_stumps_that_repeat_a_cut_count_once(reader):
    imodels = reader("imodels")
    # The last one did not find a cut.
    model = Boosted(stump(0, 0.5), stump(1, 0.5), stump(0, 0.5), stump(0, 0.75), stump(-2, -2.0))
    said = imodels.read_boosted_rules(model, asked())
    assert (said["n_rules"], said["n_conditions"]) == (3, 3)
    assert said["fires"].all()
    assert said["overlap"].all()
    assert said["note"].startswith("stumps: 4;")


def test_one_cut_however_often_repeated_is_no_sum(reader):
    imodels = reader("imodels")
    said = imodels.read_boosted_rules(Boosted(stump(0, 0.5), stump(0, 0.5)), asked())
    assert said["n_rules"] == 1
    assert said["fires"].all()
    assert not said["overlap"].any()


def leaf(share):
    return SimpleNamespace(left=None, right=None, value=np.array([1 - share, share]))


def split(feature, threshold, left, right):
    return SimpleNamespace(feature=feature, threshold=threshold, left=left, right=right)


class Figs:
    def __init__(self, *trees):
        self.trees_, self.complexity_ = trees, 3

    def predict(self, X):
        return np.zeros(len(X))

    def predict_proba(self, X):
        return np.zeros((len(X), 2))


# Everything right of the first cut is of class 1, though cut twice more.
BRANCHED = split(0, 0.5, leaf(0.1), split(1, 2.0, leaf(0.6), split(0, 0.7, leaf(0.9), leaf(1.0))))


def test_leaves_side_by_side_of_one_class_are_one_rule_of_a_single_tree(reader):
    imodels = reader("imodels")
    assert imodels.merged_leaves(BRANCHED) == [((0, "<=", 0.5),), ((0, ">", 0.5),)]
    said = imodels.read_figs(Figs(BRANCHED), asked())
    assert (said["n_rules"], said["n_conditions"], said["weighted"]) == (2, 2, False)


def test_leaves_of_one_class_that_are_not_side_by_side_stay_apart(reader):
    imodels = reader("imodels")
    tree = split(0, 0.5, leaf(0.9), split(1, 2.0, leaf(0.1), leaf(0.9)))
    assert set(imodels.merged_leaves(tree)) == {
        ((0, "<=", 0.5),),
        ((0, ">", 0.5), (1, "<=", 2.0)),
        ((0, ">", 0.5), (1, ">", 2.0)),
    }


def test_a_tree_of_one_class_is_one_rule_without_conditions(reader):
    imodels = reader("imodels")
    assert imodels.merged_leaves(leaf(0.3)) == [()]
    assert imodels.merged_leaves(split(0, 0.5, leaf(0.1), leaf(0.2))) == [()]


def test_leaves_of_trees_that_are_summed_are_not_merged(reader):
    imodels = reader("imodels")
    said = imodels.read_figs(Figs(BRANCHED, split(1, 0.0, leaf(0.1), leaf(0.2))), asked())
    assert (said["n_rules"], said["n_conditions"], said["weighted"]) == (6, 10, True)


def test_sizes_of_imodels_are_those_of_their_names(reader):
    made = []

    class Learner:
        def __init__(self, **options):
            made.append(options)

        def fit(self, X, y):
            return self

    imodels = reader("imodels", BoostedRulesClassifier=Learner, FIGSClassifier=Learner)
    assert tuple(imodels.METHODS) == run.METHODS["imodels"]
    for name in ("BoostedRules", "BoostedRules, 5 stumps", "BoostedRules, 30 stumps"):
        imodels.METHODS[name].train(asked())
    for name in ("FIGS", "FIGS, 6 splits"):
        imodels.METHODS[name].train(asked())
    sizes = [{k: v for k, v in options.items() if k != "random_state"} for options in made]
    assert sizes == [{}, {"n_estimators": 5}, {"n_estimators": 30}, {}, {"max_rules": 6}]


class Ripper:
    """Its rules, for the class it was told, fire on the first row only."""

    def __init__(self, random_state):
        rule = SimpleNamespace(conds=[SimpleNamespace(val="1 - 2"), SimpleNamespace(val="<3")])
        self.ruleset_ = SimpleNamespace(rules=[rule])

    def fit(self, X, y, pos_class):
        self.described = pos_class

    def predict(self, X):
        return [True, False]

    def predict_proba(self, X):
        return np.array([[0.1, 0.9], [0.7, 0.3]])


@pytest.mark.parametrize(
    ("y_train", "described", "predicted", "score"),
    [
        ([0, 0, 1], 1, [1, 0], [0.9, 0.3]),
        ([0, 1], 1, [1, 0], [0.9, 0.3]),
        ([0, 1, 1], 0, [0, 1], [0.1, 0.7]),
    ],
)
def test_ripper_describes_the_rarer_class(reader, y_train, described, predicted, score):
    wittgenstein = reader("wittgenstein", RIPPER=Ripper)
    model = wittgenstein.ripper(asked(y_train))
    assert model.described == described
    said = wittgenstein.read_ripper(model, asked(y_train))
    assert said["predicted"].tolist() == predicted
    assert said["score"].tolist() == score
    assert said["fires"].tolist() == [True, False]
    assert (said["n_rules"], said["n_conditions"]) == (1, 3)
    assert f"for class {described}," in said["note"]


# Those that learn the classes of strangers


class Voters:
    """A model of ruleopt: rules in the order of their weights."""

    def __init__(self, **size):
        self.size = size

    def fit(self, X, y):
        self.decision_rules_ = {k: Held(lambda X: X[:, 0] > 0) for k in range(20)}

    def predict(self, X, indices):
        self.asked = indices
        return np.zeros(len(X))

    def predict_proba(self, X, indices):
        return np.tile([0.75, 0.25], (len(X), 1))


class Held:
    def __init__(self, check_rule):
        self.check_rule = check_rule

    def __len__(self):
        return 2


def test_the_heaviest_rules_are_kept(reader):
    ruleopt = reader("ruleopt", RUGClassifier=Voters)
    method = ruleopt.METHODS["RUG, 15 rules"]
    problem = asked()
    trained = method.train(problem)
    said = method.read(trained, problem)
    assert trained[0].size == {"max_depth": 2, "random_state": 0}
    assert trained[0].asked == list(range(15))
    assert (said["n_rules"], said["n_conditions"]) == (15, 30)
    assert not said["fires"].any()
    assert said["score"].tolist() == [0.25, 0.25]


class Curves:
    term_names_, term_features_ = ("a", "b", "a & b"), ((0,), (1,), (0, 1))

    def __init__(self, **options):
        self.options = options

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.ones(len(X))

    def predict_proba(self, X):
        return np.tile([0.0, 1.0], (len(X), 1))


def test_curves_and_surfaces_count_as_rules(reader, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "interpret.glassbox", SimpleNamespace(ExplainableBoostingClassifier=Curves)
    )
    interpret = reader("interpret")
    said = interpret.read(interpret.train(asked()), asked())
    assert (said["n_rules"], said["n_conditions"], said["predicted"].tolist()) == (3, 4, [1, 1])
