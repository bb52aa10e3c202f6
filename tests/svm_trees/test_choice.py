"""Kernel, cost and number of layers chosen by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from clearmargin.exceptions import InvalidValueError
from clearmargin.svm_trees import SVMTreeClassifier
from clearmargin.svm_trees.choice import COSTS
from clearmargin.svm_trees.grow import Growth, KMeansPartition, LocalSVM, grow_in_steps

from .conftest import imbalanced

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def scores_of(make, X, y):
    """Balanced accuracies in the parts that the tree is judged on."""
    return np.array(
        [
            balanced_accuracy_score(y[judge], make().fit(X[train], y[train]).predict(X[judge]))
            for train, judge in FOLDS.split(X, y)
        ]
    )


class Scaled:
    """A machine on data scaled to [0, 1], with the gamma of the whole table."""

    def __init__(self, **options):
        self.scaler, self.machine = MinMaxScaler(), SVC(class_weight="balanced", **options)

    def fit(self, X, y):
        self.machine.fit(self.scaler.fit_transform(X), y)
        return self

    def predict(self, X):
        return self.machine.predict(self.scaler.transform(X))


def test_cost_and_kernel_are_those_of_the_best_machine_in_the_folds():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2)) * [3.0, 1.0]
    y = ((X**2 / [9.0, 1.0]).sum(axis=1) < 0.5).astype(int)
    model = SVMTreeClassifier(
        C="auto", kernel="auto", max_layers=1, class_weight="balanced", random_state=0
    ).fit(X, y)
    scaled = MinMaxScaler().fit_transform(X)
    gamma, spread = 1.0 / (2 * scaled.var()), scaled.var(axis=0).mean()
    found = {
        (kernel, cost / spread): scores_of(
            lambda k=kernel, c=cost: Scaled(kernel=k, C=c / spread, gamma=gamma), X, y
        ).mean()
        for kernel in ("linear", "rbf")
        for cost in COSTS
    }
    kernel, C = max(found, key=lambda key: found[key])
    assert kernel == "rbf"
    assert model.best_params_["kernel"] == "rbf"
    assert model.best_params_["C"] == pytest.approx(C)
    assert model.best_params_["max_layers"] == 1


def test_planes_are_preferred_where_a_kernel_gains_less_than_its_standard_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=150) > 1.2).astype(int)
    model = SVMTreeClassifier(kernel="auto", C=1.0, max_layers=1, class_weight="balanced").fit(X, y)
    assert model.best_params_ == {"C": 1.0, "kernel": "linear", "max_layers": 1}
    assert len(model.exact_rules_) == 2


def test_the_number_of_layers_is_the_best_of_trees_grown_one_by_one():
    X, y = imbalanced(77, 2)
    weights = {"common": 0.55, "rare": 5.5}
    options = {"class_weight": weights, "C": 10.0, "random_state": 0}
    table = []
    for most in range(1, 8):
        scores = []
        for train, judge in FOLDS.split(X, y):
            tree = SVMTreeClassifier(max_layers=most, **options).fit(X[train], y[train])
            counts = np.where(y[judge] == "rare", 5.5, 0.55)
            scores.append(np.average(tree.predict(X[judge]) == y[judge], weights=counts))
        table.append(np.array(scores))
    best = 0
    for step, found in enumerate(table):
        if found.mean() > table[best].mean():
            best = step
        elif step - best >= 3:
            break
    assert best < 4  # so that the range was long enough
    gains = table[best] - table[0]
    if gains.mean() <= 2 * gains.std(ddof=1) / np.sqrt(5):
        best = 0
    model = SVMTreeClassifier(max_layers="auto", **options).fit(X, y)
    assert model.best_params_["max_layers"] == best + 1
    assert model.tree_ == SVMTreeClassifier(max_layers=best + 1, **options).fit(X, y).tree_


def test_trees_grown_in_steps_are_those_with_so_many_layers(table):
    X, y = table
    codes = (y == "rare").astype(int)
    growth = Growth("breadth", 0.02, LocalSVM(0.1))
    steps = grow_in_steps(X, codes, KMeansPartition(2), growth, np.random.RandomState(0))
    complete = SVMTreeClassifier().fit(X, y).tree_
    for most, (layers, _) in enumerate(steps, start=1):
        limited = SVMTreeClassifier(max_layers=most).fit(X, y).tree_
        assert tuple(layers) == limited.layers
    assert most == len(complete.layers) + 1
    assert tuple(layers) == complete.layers


def test_islands_are_cut_and_halves_are_not():
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 4.0, (160, 2))
    islands = (np.floor(X).sum(axis=1) % 2).astype(int)
    halves = (X[:, 0] > 2).astype(int)
    options = {"C": "auto", "max_layers": "auto", "class_weight": "balanced"}
    fresh = rng.uniform(0.0, 4.0, (1000, 2))
    model = SVMTreeClassifier(**options).fit(X, islands)
    assert model.best_params_["max_layers"] != 1
    truth = np.floor(fresh).sum(axis=1) % 2
    assert (model.predict(fresh) == truth).mean() > 0.75  # one machine: half of them
    plain = SVMTreeClassifier(**options).fit(X, halves)
    assert plain.best_params_["max_layers"] == 1
    assert (plain.predict(fresh) == (fresh[:, 0] > 2)).mean() > 0.97


def test_trees_that_need_no_more_layers_have_no_limit():
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], 10, axis=0) + np.linspace(0, 0.1, 40)[:, None]
    y = np.repeat([0, 1, 0, 1], 10)
    model = SVMTreeClassifier(C="auto", max_layers="auto").fit(X, y)
    assert model.best_params_["max_layers"] is None
    assert (model.predict(X) == y).all()


def test_a_class_of_one_row_and_columns_that_do_not_vary_are_no_obstacle():
    X = np.column_stack([np.arange(9.0), np.full(9, 2.0)])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    model = SVMTreeClassifier(C="auto", kernel="auto", max_layers="auto").fit(X, y)
    assert set(model.predict(X)) <= {0, 1, 2}
    same = SVMTreeClassifier(C="auto").fit(np.ones((4, 2)), [0, 1, 1, 0])
    assert same.best_params_["C"] == COSTS[0]


def test_what_is_given_is_what_best_params_say(table):
    model = SVMTreeClassifier(C=2.0, max_layers=3).fit(*table)
    assert model.best_params_ == {"C": 2.0, "kernel": "linear", "max_layers": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": "cv"}, "C must be a positive number, not 'cv', or 'auto'"),
        ({"kernel": "automatic"}, "kernel must be one of .*, not 'automatic'.*, or 'auto'"),
        ({"max_layers": "all"}, "max_layers must be a whole number from 1 or None, not 'all', or"),
    ],
)
def test_words_that_mean_no_choice_are_refused(options, message):
    with pytest.raises(InvalidValueError, match=message):
        SVMTreeClassifier(**options).fit([[0.0], [1.0]], [0, 1])
