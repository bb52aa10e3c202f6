"""Rules of surrogates: leaves without gaps, rows that the model labels, columns that it looks at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.kernel_rules.surrogate_rules import SurrogateRules, mean_distance, tree_boxes

from ..conftest import ring


@parametrize_with_checks(
    [
        SurrogateRules(method="local", n_generated=100, random_state=0),
        SurrogateRules(method="svs", random_state=0),
    ]
)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def some_tree(seed, classes=3, leaves=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = rng.integers(0, classes, 80)
    return DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y), rng


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.one_of(st.none(), st.integers(1, 10)))
def test_leaves_cover_every_point_exactly_once(seed, most):
    tree, rng = some_tree(seed)
    boxes, codes = tree_boxes(tree, most)
    cuts = tree.tree_.threshold[tree.tree_.feature >= 0]
    points = np.vstack([rng.normal(size=(200, 3)) * 3, rng.choice(cuts, (50, 3))])
    assert (boxes.masks(points).sum(axis=0) == 1).all()
    assert len(codes) == len(boxes)
    if most is not None:
        assert len(boxes) <= most


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_joined_brothers_decide_as_the_tree_does(seed):
    tree, rng = some_tree(seed)
    boxes, codes = tree_boxes(tree)
    # scikit-learn compares in single precision
    points = (rng.normal(size=(200, 3)) * 2).astype(np.float32).astype(np.float64)
    assert (codes[boxes.masks(points).argmax(axis=0)] == tree.predict(points)).all()
    assert len(boxes) <= tree.get_n_leaves()


def test_no_brothers_of_one_class_are_left():
    X = np.arange(8.0)[:, None]
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1, 1, 1, 0, 0])
    boxes, codes = tree_boxes(tree)
    assert codes.tolist() == [0, 1, 0]
    assert boxes.upper[:, 0].tolist() == [1.5, 5.5, np.inf]


def test_the_cheapest_brothers_are_joined_first():
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], [10, 1, 10, 3], axis=0)
    tree = DecisionTreeClassifier(random_state=0).fit(X, np.repeat([0, 1, 0, 1], [10, 1, 10, 3]))
    errors = []
    for most in (4, 3, 2, 1):
        boxes, codes = tree_boxes(tree, most)
        said = codes[boxes.masks(X).argmax(axis=0)]
        errors.append(int((said != np.repeat([0, 1, 0, 1], [10, 1, 10, 3])).sum()))
        assert len(boxes) <= most
    assert errors == [0, 1, 1, 4]


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
def test_short_cuts_leave_all_points_on_their_sides(seed, unit):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)).astype(np.float32).astype(np.float64) * np.float64(
        np.float32(unit)
    )
    tree = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(0, 2, 60))
    plain, codes = tree_boxes(tree)
    short, same = tree_boxes(tree, points=X)
    assert (codes == same).all()
    assert (plain.masks(X) == short.masks(X)).all()
    assert (short.masks(rng.normal(size=(100, 2)) * 2 * unit).sum(axis=0) == 1).all()


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 0.25, 1e-3]))
def test_cuts_between_the_same_points_may_become_one(seed, unit):
    # Drawn rows lie between the rows whose sides count, so that a tree cuts there more than once.
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 300, size=(150, 2)) * unit
    tree = DecisionTreeClassifier(random_state=0).fit(drawn, rng.integers(0, 2, 150))
    few = drawn[:4]
    boxes, codes = tree_boxes(tree, points=few)
    assert (boxes.masks(rng.uniform(-1, 301, size=(200, 2)) * unit).sum(axis=0) == 1).all()
    assert (codes[boxes.masks(few).argmax(axis=0)] == tree.predict(few)).all()


def test_two_cuts_that_round_to_one_number_leave_no_empty_leaf():
    drawn = np.array([[0.0], [11.0], [12.0], [13.0], [100.0]])
    tree = DecisionTreeClassifier(random_state=0).fit(drawn, [0, 0, 1, 0, 0])
    assert sorted(tree.tree_.threshold[tree.tree_.feature >= 0]) == [11.5, 12.5]
    boxes, codes = tree_boxes(tree, points=drawn[[0, 4]])
    # Nothing but drawn rows lay between 11.5 and 12.5.
    assert len(boxes) < 3
    assert set(codes.tolist()) == {0}


@pytest.mark.parametrize("method", ["local", "alba"])
@pytest.mark.parametrize("seed", range(6))
def test_whole_numbers_with_gaps_between_them_make_rules(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0, 3, 11, 14, 27, 60], size=(120, 3)).astype(np.float64)
    y = (np.sin(X[:, 0] / 4) + (X[:, 1] > 12) + 0.3 * rng.normal(size=120) > 0.7).astype(int)
    rules = SurrogateRules(
        SVC(gamma=0.05), method=method, max_leaves=32, max_rules=None, random_state=seed
    )
    rules.fit(X, y)
    assert len(rules.rules_) >= 1
    assert rules.rules_.covers(X).any(axis=1).mean() > 0.9


def test_cuts_are_short_where_there_is_room():
    X = np.array([[0.0], [1.23456], [3.98765], [5.0]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1])
    boxes, _ = tree_boxes(tree, points=X)
    assert boxes.upper[0, 0] == 2.61


def test_rules_of_a_tree_leave_no_gap_between_leaves():
    # Rounded inwards, the rules of two leaves left a strip on both sides of a cut in which none fired.
    X, y = ring(120, seed=0)
    rules = SurrogateRules(method="train", random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    rows = rng.uniform(X.min(axis=0), X.max(axis=0), (5000, 3))
    assert (rules.which(rows) >= 0).all()
    covered = rules.rules_.covers(rows).sum(axis=1)
    assert (covered == 1).all()


def test_whole_numbers_keep_whole_bounds():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (150, 2)).astype(float)
    rules = SurrogateRules(method="train", random_state=0).fit(X, X[:, 0] + X[:, 1] > 9).rules_
    ends = np.concatenate([[*rule.region.lower, *rule.region.upper] for rule in rules])
    finite = ends[np.isfinite(ends)]
    assert len(finite)
    assert (finite == np.round(finite)).all()
    grid = np.array([[i, j] for i in range(10) for j in range(10)], dtype=float)
    assert (rules.covers(grid).sum(axis=1) == 1).all()


@pytest.mark.parametrize("learner", ["tree", "boxes", DecisionTreeClassifier(max_depth=4)])
@pytest.mark.parametrize("method", ["svs", "alba", "train", "local"])
def test_every_method_learns_what_the_model_says(method, learner):
    X, y = ring(120, seed=0, n=2)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    rules = SurrogateRules(
        model, method=method, learner=learner, n_generated=300, random_state=0
    ).fit(X, y)
    assert np.mean(rules.predict(X) == model.predict(X)) > 0.8
    assert hasattr(rules, "learner_") == (learner != "boxes")


def test_drawn_rows_make_rules_more_faithful_where_training_rows_are_few():
    X, y = ring(60, seed=1, n=2)
    model = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X, y)
    rows, _ = ring(3000, seed=2, n=2)
    fidelity = {}
    for method in ("train", "local"):
        rules = SurrogateRules(model, method=method, random_state=0).fit(X, y)
        fidelity[method] = np.mean(rules.predict(rows) == model.predict(rows))
    assert fidelity["local"] > fidelity["train"] + 0.02


def test_any_model_will_do():
    X, y = ring(120, seed=0)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    rules = SurrogateRules(forest, method="train", random_state=0).fit(X, y)
    assert np.mean(rules.predict(X) == forest.predict(X)) > 0.9
    with pytest.raises(
        InvalidValueError, match=r"no support vectors; SurrogateRules\(method='train'\)"
    ):
        SurrogateRules(forest).fit(X, y)


def test_a_quantised_machine_has_rules_that_repeat_it():
    X, y = ring(200, seed=0, n=2)
    cells = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = make_pipeline(cells, StandardScaler(), SVC()).fit(X, y)
    rules = SurrogateRules(model, method="local", random_state=0).fit(X, y)
    rows, _ = ring(2000, seed=1, n=2)
    assert np.mean(rules.predict(rows) == model.predict(rows)) > 0.98


@pytest.mark.parametrize("learner", ["tree", "boxes"])
@pytest.mark.parametrize("method", ["train", "local"])
def test_rules_speak_only_of_columns_that_the_model_looks_at(method, learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = X[:, 1] * X[:, 4] > 0
    # The other columns are copies, and would serve a tree as well.
    X[:, 0], X[:, 5] = X[:, 1], X[:, 4]
    keep = SelectKBest(lambda X, y: np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0]), k=2)
    model = make_pipeline(keep, StandardScaler(), SVC(C=10.0)).fit(X, y)
    rules = SurrogateRules(
        model, method=method, learner=learner, n_generated=200, random_state=0
    ).fit(X, y)
    spoken = {j for rule in rules.rules_ for j in rule.region.bounded}
    assert spoken <= {1, 4}
    assert spoken


def test_a_model_that_always_says_the_same_gets_one_rule():
    X, _ = ring(40, seed=0)
    y = np.array(["a"] * 39 + ["b"])
    rules = SurrogateRules(SVC(C=1e-3), method="train").fit(X, y)
    assert len(rules.rules_) == 1
    assert (rules.predict(X) == "a").all()


def test_categories_come_back_by_name(mixed):
    X, y = mixed
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["colour", "smoker"])
    )
    model = make_pipeline(columns, SVC()).fit(X, y)
    rules = SurrogateRules(model, method="local", n_generated=500, random_state=0).fit(X, y)
    assert "colour" in rules.rules_.to_text()
    assert np.mean(rules.predict(X) == model.predict(X)) > 0.9


def test_at_most_so_many_leaves():
    X, y = ring(150, seed=0)
    sizes = [
        len(SurrogateRules(max_leaves=most, n_generated=500, random_state=0).fit(X, y).rules_)
        for most in (2, 5, 30)
    ]
    assert sizes[0] <= 2
    assert sizes[1] <= 5
    assert sizes[2] > 5


def test_the_same_seed_gives_the_same_rules():
    X, y = ring(100, seed=0)
    one, two, other = (
        SurrogateRules(method="local", n_generated=300, random_state=seed).fit(X, y).rules_
        for seed in (1, 1, 2)
    )
    assert one == two
    assert one != other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "nearby"}, "method must be"),
        ({"learner": "forest"}, "learner must be 'tree', 'boxes' or a DecisionTreeClassifier"),
        ({"learner": DecisionTreeRegressor()}, "whose leaves are no classes"),
        ({"n_generated": 0}, "n_generated"),
        ({"max_leaves": 1}, "max_leaves"),
        ({"by": "nobody"}, "by must be"),
    ],
)
def test_bad_parameters_are_refused(changes, message):
    X, y = ring(40, seed=0)
    with pytest.raises(InvalidValueError, match=message):
        SurrogateRules(**changes).fit(X, y)


def test_a_tree_of_your_own_may_be_a_random_one():
    X, y = ring(100, seed=0)
    own = ExtraTreeClassifier(max_leaf_nodes=6, random_state=0)
    rules = SurrogateRules(method="train", learner=own).fit(X, y)
    assert isinstance(rules.learner_, ExtraTreeClassifier)
    assert len(rules.rules_) <= 6


def test_mean_distances_are_those_of_all_pairs():
    random = np.random.default_rng(0)
    for m, k in [(1, 1), (5, 3), (40, 60)]:
        x, s = random.integers(0, 9, m) / 4.0, random.integers(0, 9, k) / 4.0
        assert mean_distance(x, s) == pytest.approx(np.abs(x[:, None] - s).mean(), abs=1e-12)


@pytest.mark.parametrize("rules", [SurrogateRules(), SupportVectorRules()])
def test_the_default_machine_of_many_rows_is_trained_on_some(rules, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "in", "out")
    monkeypatch.setattr("clearmargin.rule_base.training.MOST_KERNEL_ROWS", 250)
    fitted = rules.fit(X, y)
    assert 250 <= fitted.estimator_[-1].shape_fit_[0] <= 252
    assert {rule.stats.rows for rule in fitted.rules_} == {500}
    assert (fitted.predict(X) == y).mean() > 0.8
