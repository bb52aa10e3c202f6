"""SVMTreeClassifier: predictions of a plain walk, cells by scikit-learn's machines, rules sound against the tree."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from tests.oracles.svm_tree_walk import cell_of, machine_answers, walk

from clearmargin import SVMTreeClassifier
from clearmargin.datasets import make_imbalanced
from clearmargin.exceptions import ClearmarginError
from clearmargin.svm_trees import Layer, Leaf, SVMTree

ALL = {"min_coverage": 1, "max_rules": None}


def grown(**options):
    """A tree with the cost of the paper and as many layers as there are, unless it says otherwise."""
    return SVMTreeClassifier(**{"C": 0.1, "max_layers": None, **options})


def imbalanced(m, seed):
    """Two overlapping Gaussians in the plane, ten to one, in any order."""
    X, y = make_imbalanced(m, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], np.where(y == "class_2", "rare", "common")[order]


@pytest.fixture(scope="module")
def table():
    return imbalanced(184, 0)


WAYS = [
    {}, {"order": "depth"}, {"partition": "ecm"}, {"loss": "minority"}, {"tol": 0.0},
    {"min_leaf": 4}, {"max_layers": 2}, {"C": 100.0, "tol": 0.2}, {"simplify": False},
    {"class_weight": "balanced", "C": 5.0, "tol": 0.2},
    {"partition": "ecm", "order": "depth"},
]  # fmt: skip


@st.composite
def tables(draw, lattice=None):
    """Few points of two to four classes: apart, or on a lattice where points coincide and contradict each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n, k = draw(st.integers(8, 45)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    shift, unit = draw(st.sampled_from([(0.0, 1.0), (1e5, 0.1), (0.0, 1e-9), (0.0, 1e120)]))
    if lattice is None:
        lattice = draw(st.booleans())
    X = rng.integers(0, 5, (m, n)) if lattice else rng.normal(2.0, 1.0, (m, n))
    y = np.where(rng.random(m) < 0.3, rng.integers(0, k, m), (X.sum(axis=1) > 2 * n).astype(int))
    y[:2] = 0, 1
    Z = np.vstack([X, rng.integers(-2, 13, (30, n)) / 2, rng.normal(2.0, 3.0, (30, n))])
    return X * unit + shift, y, Z * unit + shift


@settings(max_examples=60)
@given(tables(), st.sampled_from(WAYS))
def test_svmtree_predicts_what_a_plain_walk_over_its_layers_says(data, options):
    X, y, Z = data
    model = grown(**options).fit(X, y)
    leaves, said, scores = model.apply(Z), model.predict(Z), model.decision_function(Z)
    for k, x in enumerate(Z.tolist()):
        number, code = walk(model.tree_, x)
        if number is None:
            continue
        assert leaves[k] == number
        if code is not None:
            assert said[k] == model.classes_[code]
            by_score = int(scores[k] > 0) if scores.ndim == 1 else int(scores[k].argmax())
            assert by_score == code
        if not model.tree_.leaves[number].pairs and scores.ndim == 2:
            assert sorted(scores[k])[-2:] == [-1.0, 1.0]
    assert leaves.max() < model.n_leaves_ == len(model.tree_.leaves)
    if model.simplify:
        assert model.n_support_vectors_ == sum(leaf.n_support for leaf in model.tree_.leaves)


@settings(max_examples=50)
@given(tables(), st.sampled_from(WAYS))
def test_svmtree_leaves_hold_their_training_points_and_keep_what_their_kind_promises(data, options):
    X, y, _ = data
    model = grown(**options).fit(X, y)
    leaves, said, layers = model.apply(X), model.predict(X), model.tree_.layers
    for number, leaf in enumerate(model.tree_.leaves):
        own = leaves == number
        assert leaf.counts == tuple(np.count_nonzero(y[own] == c) for c in model.classes_)
        if leaf.kind == "pure":
            assert not leaf.pairs
            assert (said[own] == y[own]).all()
        elif leaf.kind == "svm":
            assert leaf.size >= model.min_leaf
            assert 2 <= leaf.n_support <= leaf.size
        else:
            assert number == model.n_leaves_ - 1
            if not options.keys() & {"class_weight", "loss"}:  # a machine has to beat one class
                most = max(leaf.counts)
                assert leaf.label == leaf.counts.index(most)
                assert (said[own] == y[own]).sum() > most if leaf.pairs else not leaf.n_support
    for layer, following in pairwise(layers):
        taken = [leaf.size for leaf in layer.leaves if leaf is not None]
        assert following.size == layer.size - sum(taken) == sum(map(sum, following.counts))
        assert len(taken) == 1 if model.order == "depth" else taken
    assert layers[0].size == sum(leaf.size for leaf in model.tree_.leaves) == len(X)
    assert model.max_layers is None or len(layers) <= model.max_layers
    if options in ({}, {"tol": 0.0}):
        # Only equal points of different classes, or a class within the loss of a cell, can be wrong.
        contradicted = np.array([len(set(y[(x == X).all(axis=1)])) > 1 for x in X])
        assert (said == y)[~contradicted].all() or model.tol


CUTS = [
    {}, {"C": 3.0, "tol": 0.1}, {"loss": "minority", "C": 1.0}, {"min_leaf": 3, "tol": 0.1, "C": 1.0},
    {"class_weight": "balanced", "tol": 0.2, "C": 1.0}, {"partition": "ecm", "C": 1.0, "tol": 0.1},
    {"order": "depth", "C": 0.5},
    {"C": 1.0, "tol": 0.2, "weighted": True}, {"loss": "minority", "C": 1.0, "tol": 0.3, "weighted": True},
]  # fmt: skip


@settings(max_examples=40)
@given(tables(lattice=False), st.sampled_from(CUTS))
def test_svmtree_a_cell_is_a_leaf_where_the_machine_of_scikit_learn_is_good_enough(data, options):
    X, y, _ = data
    options = dict(options)
    costs = np.resize([1.0, 9.0, 1.0], len(y)) if options.pop("weighted", 0) else np.ones(len(y))
    model = grown(**options).fit(X, y, costs)
    tree, codes = model.tree_, np.searchsorted(model.classes_, y)
    scaled = MinMaxScaler().fit_transform(X)
    sizes = np.bincount(codes, costs)
    if model.class_weight:
        costs = (len(y) / (len(sizes) * sizes))[codes]
    rest = np.arange(len(y))
    for layer in tree.layers[:-1]:
        cells = np.array([-1 if (c := cell_of(tree, layer, X[i])) is None else c for i in rest])
        for cell, leaf in enumerate(layer.leaves):
            own = rest[cells == cell]
            if -1 in cells or len(own) < model.min_leaf:
                assert leaf is None or len(own) >= model.min_leaf or -1 in cells
                continue
            if len(set(codes[own])) == 1:
                assert model.order == "depth" or leaf.kind == "pure"
                continue
            answers = machine_answers(scaled[own], codes[own], model.C * costs[own])
            judged = costs[own]
            if model.loss == "minority" and (codes[own] == sizes.argmin()).any():
                judged = judged * (codes[own] == sizes.argmin())
            losses = [(judged * wrong).sum() / judged.sum()
                      for wrong in ((answers != codes[own]) & (answers >= 0), answers != codes[own])]  # fmt: skip
            if leaf is not None:
                assert losses[0] <= model.tol + 1e-9
                said = np.searchsorted(model.classes_, model.predict(X[own]))
                assert (said == answers)[answers >= 0].all()
            elif model.order == "breadth":
                assert losses[1] > model.tol
        gone = [cell for cell, leaf in enumerate(layer.leaves) if leaf is not None]
        rest = rest[~np.isin(cells, gone)]


@given(tables(lattice=False))
def test_svmtree_a_weight_is_as_many_equal_rows_and_zero_is_none(data):
    X, y, Z = data
    weights = np.random.default_rng(len(X)).integers(0, 4, len(X))
    weights[:2] = 1, 2
    options = {"C": 2.0, "tol": 0.1, "class_weight": "balanced", **ALL}
    weighted = grown(**options).fit(X, y, sample_weight=weights)
    repeated = grown(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert (weighted.apply(Z) == repeated.apply(Z)).all()
    assert (weighted.predict(Z) == repeated.predict(Z)).all()


def test_svmtree_depends_on_no_order_or_unit_of_rows_and_on_its_random_state_alone(table):
    X, y = table
    units, turned = np.array([1024.0, 1 / 64]), np.random.default_rng(3).permutation(len(y))
    for options in ({}, {"partition": "ecm"}, {"C": "auto"}):
        model = grown(**options).fit(X, y)
        assert model.tree_ == grown(**options).fit(X[turned], y[turned]).tree_
        assert (model.predict(X) == grown(**options).fit(X * units, y).predict(X * units)).all()
    assert len({grown(random_state=seed).fit(X, y).tree_ for seed in range(4)}) > 1


def test_svmtree_cuts_by_two_centres_and_refines_after_failures(table):
    *most, _ = [len(layer.leaves) for layer in grown().fit(*table).tree_.layers]
    assert set(most) <= {2, 3, 5, 8, 12, 18, 27, 41}
    assert most == sorted(most)
    # Any cell is a leaf with this tol, so that the first layer is the first cut; clusters are within the threshold.
    rows = np.vstack([table[0], [[40.0, 40.0]]])  # far from all others
    tree = grown(partition="ecm", tol=0.99).fit(rows, np.append(table[1], "rare")).tree_
    apart = (((rows[:, None] - tree.layers[0].centres) / tree.width) ** 2).sum(axis=2) / 2
    assert (apart.min(axis=1) <= 0.9**2).all()


def test_svmtree_of_many_rows_is_grown_from_some_and_its_rules_count_all():
    X = np.random.default_rng(0).normal(size=(10_800, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0.5, "in", "out")
    tree = grown(max_layers=1, C=1.0).fit(X, y)
    assert 10_000 <= np.sum(tree.tree_.layers[0].counts) <= 10_002
    assert tree.score(X, y) > 0.85
    for rule, inside in zip(tree.rules_, tree.rules_.covers(X).T, strict=True):
        counts = rule.stats.rows, rule.stats.covered, rule.stats.correct
        assert counts == (10_800, inside.sum(), (inside & (y == rule.label)).sum())


FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def test_svmtree_cost_is_among_the_best_of_one_machine_in_the_folds():
    X = np.random.default_rng(1).normal(size=(200, 4))
    y = (X.sum(axis=1) > 3.0).astype(int)
    Z, found = MinMaxScaler().fit_transform(X), {}
    for cost in np.array([0.03, 0.3, 3.0]) / Z.var(axis=0).mean():
        whole = make_pipeline(MinMaxScaler(), SVC(C=cost, kernel="linear"))
        found[cost] = cross_val_score(whole, X, y, cv=FOLDS).mean()
    model = grown(C="auto", max_layers=1).fit(X, y)
    (chosen,) = [cost for cost in found if np.isclose(cost, model.best_params_["C"])]
    # The folds are other rows there.
    assert found[chosen] >= max(found.values()) - 0.005 > min(found.values()) + 0.005


@pytest.mark.parametrize("options", [{"class_weight": "balanced"}, {"loss": "minority"}])
def test_svmtree_number_of_layers_is_the_best_of_trees_grown_one_by_one(options):
    X, y = imbalanced(77, 2)
    options, n_rare = {**options, "C": 10.0}, (y == "rare").sum()
    scores = np.zeros((7, 5))
    for most in range(7):
        for part, (train, judge) in enumerate(FOLDS.split(X, y)):
            tree = grown(max_layers=most + 1, **options).fit(X[train], y[train])
            counts = np.where(y[judge] == "rare", 1 / n_rare, 1 / (len(y) - n_rare))
            scores[most, part] = np.average(tree.predict(X[judge]) == y[judge], weights=counts)
    best = 0
    for most in range(7):  # growth stops when three more layers have not helped
        if scores[most].mean() > scores[best].mean():
            best = most
        elif most - best >= 3:
            break
    gains = scores[best] - scores[0]
    best = best if gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(5) else 0
    model = grown(max_layers="auto", **options).fit(X, y)
    assert model.best_params_["max_layers"] == best + 1
    assert model.tree_ == grown(max_layers=best + 1, **options).fit(X, y).tree_


def test_svmtree_cuts_islands_and_not_halves():
    X = np.random.default_rng(3).uniform(0.0, 4.0, (160, 2))
    rows = np.random.default_rng(4).uniform(0.0, 4.0, (1000, 2))
    options = {"C": "auto", "max_layers": "auto", "class_weight": "balanced"}
    model = grown(**options).fit(X, np.floor(X).sum(axis=1) % 2)
    assert model.best_params_["max_layers"] != 1
    assert model.score(rows, np.floor(rows).sum(axis=1) % 2) > 0.75  # one machine: half of them
    assert grown(**options).fit(X, X[:, 0] > 2).best_params_["max_layers"] == 1
    x = np.repeat([[0.0], [1.0], [2.0], [3.0]], 10, axis=0) + np.linspace(0, 0.1, 40)[:, None]
    complete = grown(C="auto", max_layers="auto").fit(x, np.repeat([0, 1, 0, 1], 10))
    assert complete.best_params_["max_layers"] is None
    # A class of one row, and rows that do not vary at all.
    X = np.column_stack([np.arange(9.0), np.full(9, 2.0)])
    odd = SVMTreeClassifier().fit(X, [0, 0, 0, 0, 1, 1, 1, 1, 2])
    assert set(odd.predict(X)) <= {0, 1, 2}
    same = SVMTreeClassifier().fit(np.ones((5, 2)), [0, 1, 1, 0, 1])
    assert (same.best_params_["C"], set(same.predict([[1.0, 1.0], [7.0, 1.0]]))) == (0.03, {1})


def decided_by_loops(model, X, reach):
    """The first rule that covers a row, else the nearest one."""

    def distance(rule, x):
        excess = np.maximum(np.maximum(rule.region.lower - x, x - rule.region.upper), 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.linalg.norm(np.where(excess > 0, excess / reach, 0.0)))

    return [min(model.rules_, key=lambda rule: distance(rule, x)).label for x in X]


@settings(max_examples=40)
@given(tables(), st.sampled_from(WAYS), st.booleans())
def test_tree_rules_are_sound_against_the_tree_and_rows_without_one_go_to_the_nearest(
    data, options, simplify
):
    X, y, Z = data
    model = grown(**{**options, **ALL, "simplify": simplify}).fit(X, y)
    truth, rules = model.predict(X), model.rules_
    covers = rules.covers(X)
    for k, rule in enumerate(rules):
        held = covers[:, k]
        right = (held & (y == rule.label)).sum()
        assert (rule.stats.covered, rule.stats.correct) == (held.sum(), right)
        assert not simplify or (truth[held] == rule.label).all()
        if not simplify and held.any():  # no box whose points another one of its class covers, too
            same = [j for j, r in enumerate(rules) if r.label == rule.label and j != k]
            assert not any((held <= covers[:, j]).all() for j in same)
    if simplify:
        assert (model.predict_by_rules(X) == truth).all()
        assert (rules.which(X) >= 0).all()
    if not options.keys() & {"class_weight", "loss"}:
        n_classes = len(model.classes_)
        sure = [(r.stats.agreed + 1) / (r.stats.covered + n_classes) for r in rules]
        assert sure == sorted(sure, reverse=True)
    if np.abs(X).max() < 1e100:
        expected = decided_by_loops(model, Z, np.ptp(X, axis=0))
        assert model.predict_by_rules(Z).tolist() == expected


@settings(max_examples=25)
@given(tables(), st.sampled_from(WAYS))
def test_svmtree_explanations_hold_the_case_and_give_its_class(data, options):
    X, y, Z = data
    model = grown(**options).fit(X, y)
    which, leaves, said = model.rules_.which(Z), model.apply(X), model.predict(X)
    told = model.explain_many(Z)
    assert [each.label for each in told] == model.predict(Z).tolist()
    for k, (each, leaf) in enumerate(zip(told, model.apply(Z), strict=True)):
        assert each.rule.region.contains(Z[k : k + 1])[0]
        fits = which[k] >= 0 and model.rules_[which[k]].label == each.label
        assert each.kind == ("rule" if fits else "leaf")
        own = X[(leaves == leaf) & (said == each.label)]
        assert each.kind == "rule" or each.rule.region.contains(own).all()


PURE, OTHER = Leaf("pure", 0, [3, 0]), Leaf("pure", 1, [0, 2])
MACHINE = Leaf("svm", 0, [1, 1], [(0, 1)], [[1.0, -0.25]], [3.5], n_support=2)
LAYERS = [Layer([[0.0, 1.0], [8.0, 1.0]], [(3, 0), (3, 4)], [PURE, None]),
    Layer([[8.0, 2.0], [9.0, 4.0]], [(1, 1), (0, 2)], [MACHINE, OTHER]),
    Layer([[7.0, 3.0]], [(2, 1)], [Leaf("residual", 0, [2, 1])])]  # fmt: skip


def small_tree(layers=LAYERS, low=(0.0, 0.0)):
    return SVMTree(layers, low, [10.0, 5.0], ["age", "dose"], ["well", "ill"])


def test_svmtree_as_a_value_decides_draws_and_is_kept():
    tree = small_tree()
    X = [[0.0, 0.0], [8.0, 2.0], [9.0, 4.5], [4.0, 1.0], [3.5, -90.0]]
    assert (tree.apply(X).tolist(), tree.decide(X).tolist()) == ([0, 1, 2, 0, 0], [0, 1, 1, 0, 0])
    # On a plane the first class wins, and the first of two centres as near.
    assert MACHINE.decide(np.array([[3.5, 0.0], [np.nextafter(3.5, 4), 0.0]])).tolist() == [0, 1]
    assert "age - 0.25*dose > 3.5" in str(tree).splitlines()[5]
    assert "x - 0.25*y > 3.5" in tree.to_text(["x", "y"])
    pairs = [(0, 1), (0, 2), (1, 2)]
    cyclic = Leaf("svm", 2, [1, 1, 2], pairs, [[0.0], [0.0], [0.0]], [1.0, -1, 1])
    assert cyclic.decide(np.zeros((1, 1))).tolist() == [2]
    tree_of_duels = SVMTree([Layer([[0.0]], [(1, 1, 2)], [cyclic])], [0.0], [1.0], ["x"], "abc")
    assert str(tree_of_duels).count(";") == 3
    for twin in (small_tree(), pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert (twin, hash(twin)) == (tree, hash(tree))
    assert tree != small_tree(LAYERS[2:])


FOUR, TWO = [[0.0, 1.0], [1.0, 1.5], [5.0, 4.0], [6.0, 4.5]], [0, 0, 1, 1]
REFUSED = [
    *((lambda o=options: grown(**o).fit(FOUR, TWO), name) for options, name in [
        ({"order": "best"}, "order"), ({"partition": "grid"}, "partition"), ({"loss": "skewed"}, "loss"),
        ({"tol": 1.0}, "tol"), ({"tol": float("nan")}, "tol"), ({"C": 0}, "C"), ({"C": "cv"}, "C"),
        ({"min_leaf": 0}, "min_leaf"), ({"max_layers": 2.5}, "max_layers"),
        ({"class_weight": "even"}, "class_weight"), ({"class_weight": {2: 1.0}}, "class_weight"),
        ({"class_weight": {1: 0.0}}, "1"), ({"class_weight": "balanced", "loss": "minority"}, "loss"),
        ({"max_rules": 0}, "max_rules"), ({"min_coverage": 0}, "min_coverage"),
    ]),
    (lambda: grown().fit(FOUR, [1, 1, 1, 1]), "class"),
    (lambda: grown().fit([[-1e308], [1e308]], [0, 1]), "x0"),
    (lambda: grown().fit(FOUR, TWO, sample_weight=-np.ones(4)), "weight"),
    (lambda: grown().fit(FOUR, TWO).predict_by_rules([[np.nan, 0.0]]), "x0"),
    (lambda: small_tree(LAYERS[:1]), "last layer"), (lambda: small_tree(low=[0.0]), "low"),
    (lambda: small_tree().to_text(["x"]), "names"), (lambda: small_tree().apply([[1.0]]), "X"),
    (lambda: Layer([[0.0]], [(1, 1)], [PURE, OTHER]), "centres"),
    (lambda: Leaf("svm", 0, [1, 1], [(0, 1)]), "planes"),
]  # fmt: skip


def test_svmtrees_refuse_by_name():
    for call, name in REFUSED:
        with pytest.raises(ValueError if name == "weight" else ClearmarginError, match=name):
            call()
