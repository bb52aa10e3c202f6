"""What everything that gives rules has in common: which rule covers a row, explanations, reports, bad tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin import (
    RuleExtractor,
    ScoreRules,
    SupportVectorRules,
    SurrogateRules,
    SVMTreeClassifier,
    grow_box,
)
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines import FuzzyRules, HyperRectangleRules, PrototypeRules
from clearmargin.report import Report
from clearmargin.rule_base.base import RuleBasedClassifier
from clearmargin.rule_base.options import (
    Choice,
    PositiveNumber,
    Share,
    WholeNumber,
    check_options,
)
from clearmargin.rule_base.simplify import to_encoded_bounds, to_user_box
from clearmargin.rules import Box, CategorySets
from clearmargin.rules.rule import as_label

IRIS = load_iris()
X, Y = IRIS.data[50:, 1:3], IRIS.target_names[IRIS.target[50:]]

GIVERS = {
    "planes": RuleExtractor(LogisticRegression()),
    "kernel": SupportVectorRules(),
    "surrogate": SurrogateRules(n_generated=200),
    "tree": SVMTreeClassifier(),
    "boxes": HyperRectangleRules(),
    "prototypes": PrototypeRules(),
}
FITTED = {name: giver.fit(X, Y) for name, giver in GIVERS.items()}


@pytest.mark.parametrize("name", FITTED)
def test_which_gives_the_first_rule_that_covers_a_row(name):
    giver = FITTED[name]
    assert isinstance(giver, RuleBasedClassifier)
    covers, which = giver.covers(X), giver.which(X)
    assert covers.shape == (len(X), len(giver.rules_))
    for row, k in enumerate(which):
        held = [
            j for j, rule in enumerate(giver.rules_) if rule.region.contains(X[row : row + 1])[0]
        ]
        assert np.flatnonzero(covers[row]).tolist() == held
        assert k == (held[0] if held else -1)


@pytest.mark.parametrize("name", FITTED)
def test_an_explanation_is_a_rule_that_gives_the_predicted_class(name):
    giver = FITTED[name]
    classes = giver.predict(X)
    for x, label, explanation in zip(X, classes, giver.explain_many(X), strict=True):
        assert explanation.label == explanation.rule.label == label
        assert explanation.rule.region.contains(x[None])[0] == (explanation.kind != "nearest")
        assert 0.0 <= explanation.confidence <= 1.0
        assert str(label) in explanation.text
        assert "nan" not in explanation.text


@pytest.mark.parametrize("name", ["kernel", "surrogate", "tree", "boxes", "prototypes"])
def test_parts_of_an_explanation_are_counted_on_the_training_rows(name):
    giver = FITTED[name]
    model = giver if name == "tree" else giver.estimator_
    predicted = model.predict(X)
    for explanation in giver.explain_many(X[::9]):
        inside = explanation.rule.region.contains(X)
        member = explanation.label == Y
        right = member & (predicted == Y)
        assert explanation.parts["coverage"] == pytest.approx((inside & right).sum() / right.sum())
        purity = ((inside & member).sum() + 1) / (inside.sum() + 2)
        assert explanation.parts["purity"] == pytest.approx(purity)


@pytest.mark.parametrize("name", FITTED)
def test_parts_of_the_confidence_count_by_their_weights(name):
    giver = FITTED[name]
    plain = giver.explain_many(X[::9])
    for weights in ({"purity": 3}, {"coverage": 0.0, "purity": 2.5}, {}, None):
        told = giver.explain_many(X[::9], weights=weights)
        for explanation, same in zip(told, plain, strict=True):
            parts = explanation.parts
            by_part = {part: (weights or {}).get(part, 1) for part in parts}
            total = sum(by_part[part] * parts[part] for part in parts)
            assert explanation.confidence == pytest.approx(total / sum(by_part.values()))
            assert (explanation.rule, explanation.parts) == (same.rule, same.parts)
    one = giver.explain(X[9], weights={"purity": 3})
    assert one == giver.explain_many(X[::9], weights={"purity": 3})[1]
    assert " with weight 3" in one.text
    assert "purity with weight 3" in one._repr_html_()
    assert "weight" not in giver.explain(X[9], weights={"purity": 1.0}).text


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"purty": 1}, r"are 'coverage', 'purity', not 'purty'; did you mean 'purity'\?"),
        ({"purity": -1}, "that of 'purity' must be a number from 0, not -1; 0 leaves the part out"),
        ({"purity": float("inf")}, "must be a number from 0, not inf"),
        ({"purity": "2"}, "must be a number from 0, not '2'"),
        ({"purity": True}, "must be a number from 0, not True"),
        ({"purity": 0, "coverage": 0}, r"all parts \('coverage', 'purity'\) have weight 0"),
        ([1, 2], r"weights must be a mapping from parts to numbers, such as .*, not \[1, 2\]"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, message):
    with pytest.raises(InvalidValueError, match=message):
        FITTED["kernel"].explain(X[0], weights=weights)


def test_a_single_case_is_explained_by_name_in_any_order():
    table = pd.DataFrame(X, columns=["width", "length"])
    rules = SupportVectorRules().fit(table, Y)
    one = rules.explain({"length": X[3, 1], "width": X[3, 0]})
    assert one == rules.explain(table.iloc[3]) == rules.explain_many(table)[3]
    with pytest.raises(DataError, match="explain_many"):
        rules.explain(table)


def test_where_no_rule_covers_the_nearest_one_explains_as_it_predicts():
    rules = SupportVectorRules(max_rules=1).fit(X, Y)
    bare = np.flatnonzero(rules.which(X) < 0)
    assert len(bare)
    for k, explanation in zip(bare, rules.explain_many(X[bare]), strict=True):
        assert explanation.kind == "nearest"
        assert explanation.label == rules.predict(X[k : k + 1])[0]
        assert "No rule covers it, and the nearest one is" in explanation.text


def test_a_grown_box_explains_what_a_kernel_machine_predicts_with_proof():
    rules = SupportVectorRules(max_rules=1, fallback="estimator").fit(X, Y)
    bare = np.flatnonzero(rules.which(X) < 0)[:2]
    assert len(bare)
    for k in bare:
        grown = rules.explain(X[k])
        assert (grown.kind, grown.rule.proof) == ("grown", "proved")
        assert grown.rule.region == grow_box(rules.estimator_, X[k], space=rules.space_)
        assert grown.label == rules.estimator_.predict(X[k : k + 1])[0]
        assert grown.margin == pytest.approx(rules.estimator_.decision_function(X[k : k + 1])[0])
        assert "A box grown around it is" in grown.text
    covered = int(np.argmax(rules.which(X) >= 0))
    assert rules.explain(X[covered]).kind == "rule"
    assert rules.explain(X[covered], "grown").kind == "grown"


def test_three_classes_have_the_lead_of_a_class_as_margin():
    iris = SupportVectorRules().fit(IRIS.data[::5], IRIS.target[::5])
    row = IRIS.data[:1]
    scores = np.sort(iris.estimator_.decision_function(row)[0])
    assert iris.explain(row).margin == pytest.approx(scores[-1] - scores[-2])


def test_what_cannot_be_explained_by_a_rule_says_what_explains():
    forest = SurrogateRules(
        RandomForestClassifier(n_estimators=3, random_state=0),
        method="train",
        min_coverage=20,
        fallback="abstain",
    ).fit(X, Y)
    bare = int(np.argmax(forest.which(X) < 0))
    assert forest.which(X)[bare] < 0
    with pytest.raises(InvalidValueError, match=r"no box can be grown .* fallback='nearest'"):
        forest.explain(X[bare])
    with pytest.raises(
        InvalidValueError, match="kind must be one of 'rule', 'grown', 'sufficient', not 'largest'"
    ):
        forest.explain(X[bare], "largest")
    with pytest.raises(
        InvalidValueError, match=r"nothing can be proved .* clearmargin.explain measures"
    ):
        forest.explain(X[bare], "sufficient")
    with pytest.raises(InvalidValueError, match="FuzzyRules predicts by fuzzy_rules_"):
        FuzzyRules().fit(X, Y).explain(X[0])
    with pytest.raises(InvalidValueError, match="shape='ellipsoid' predicts by ellipsoids_"):
        PrototypeRules(shape="ellipsoid").fit(X, Y).explain(X[0])
    with pytest.raises(InvalidValueError, match="kind must be one of 'rule', 'leaf', not 'grown'"):
        FITTED["tree"].explain(X[0], "grown")


def test_a_model_without_scores_is_explained_without_one():
    forest = SurrogateRules(RandomForestClassifier(n_estimators=3), method="train").fit(X, Y)
    explanation = forest.explain(X[0])
    assert np.isnan(explanation.margin)
    assert "score" not in explanation.text


def test_a_rule_that_the_model_contradicts_says_of_how_many_rows_it_holds():
    rules = SurrogateRules(max_leaves=2, n_generated=200).fit(X, Y)
    texts = {e.rule.stats: e.text for e in rules.explain_many(X)}
    assert any(stats.agreed < stats.covered for stats in texts)
    for stats, text in texts.items():
        counted = f"of {stats.agreed} of the {stats.covered} training rows" in text
        assert counted == (stats.agreed < stats.covered)


def test_a_leaf_explains_where_the_intervals_of_a_tree_say_something_else():
    tree = FITTED["tree"]
    for x, leaf in zip(X[::7], tree.explain_many(X[::7], "leaf"), strict=True):
        assert leaf.kind == "leaf"
        assert leaf.rule == tree.exact_rules_[int(tree.exact_rules_.which(x[None])[0])]
        assert leaf.label == tree.predict(x[None])[0]


@pytest.mark.parametrize("name", FITTED)
def test_rules_make_a_report_of_themselves(name):
    made = FITTED[name].to_report(X, Y, cv=None, cases=1)
    assert isinstance(made, Report)
    assert made.to_dict()["data"]["rows"] == len(X)
    assert len(made.to_dict()["rules"]["list"]) == len(FITTED[name].rules_)


@pytest.mark.parametrize(
    "giver",
    [RuleExtractor(), SupportVectorRules(), SurrogateRules(), ScoreRules(), SVMTreeClassifier()],
    ids=lambda giver: type(giver).__name__,
)
@pytest.mark.parametrize("table", [np.empty((0, 3)), pd.DataFrame({"a": [], "b": []})])
def test_an_empty_table_is_refused_in_the_same_words_by_all(giver, table):
    with pytest.raises(
        DataError, match="the table is empty: X has no rows, nothing can be learned"
    ):
        giver.fit(table, [])


@pytest.mark.parametrize("labels", [[], [0, 1]])
def test_too_few_labels_are_counted(labels):
    with pytest.raises(DataError, match=f"X has 100 rows but y has {len(labels)} labels"):
        SupportVectorRules().fit(X, labels)


@pytest.mark.parametrize("name", ["planes", "kernel", "surrogate"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_case_without_a_value_is_refused_with_row_and_column(name, value):
    table = pd.DataFrame(X, columns=["width", "length"], index=[f"p{k}" for k in range(len(X))])
    giver = GIVERS[name].fit(table, Y)
    broken = table.iloc[:3].copy()
    broken.loc["p1", "length"] = value
    with pytest.raises(DataError, match=r"row 2 \(index 'p1'\) has a missing value .* 'length'"):
        giver.explain_many(broken)


def test_categories_are_explained_by_name():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"home": ["own", "rent", "free"] * 30, "age": rng.integers(20, 80, 90)})
    y = np.where((table["home"] == "own") & (table["age"] > 40), "good", "bad")
    steps = make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["age"]))
    rules = SupportVectorRules(make_pipeline(steps, SVC())).fit(table, y)
    for kind in ("rule", "grown"):
        for explanation, (_, row) in zip(
            rules.explain_many(table[:9], kind), table[:9].iterrows(), strict=True
        ):
            region = explanation.rule.region
            code = rules.space_.categories[0].index(row["home"])
            assert region.contains(np.array([[code, row["age"]]], dtype=float))[0]
            inside = region.contains(rules._encoding.read(table))
            member = y == explanation.label
            purity = ((inside & member).sum() + 1) / (inside.sum() + 2)
            assert explanation.parts["purity"] == pytest.approx(purity)


def test_bounds_over_encoded_columns_are_the_way_back_from_the_users_box():
    table = pd.DataFrame({"home": ["own", "rent", "free"] * 2, "age": range(6)})
    rules = SurrogateRules(LogisticRegressionOnTable(), method="train").fit(table, list("aabbab"))
    encoding = rules._encoding
    box = Box([-np.inf, 2.0], [np.inf, 4.0], sets=CategorySets({0: [0, 2]}))
    lower, upper = to_encoded_bounds(box, encoding)
    assert to_user_box(Box(lower, upper), encoding) == box
    inside = ((encoding.encode(table) >= lower) & (encoding.encode(table) <= upper)).all(axis=1)
    assert inside.tolist() == box.contains(encoding.read(table)).tolist()


class LogisticRegressionOnTable(LogisticRegression):
    """Takes the table's categories as its own numbers."""

    def fit(self, X, y):
        return super().fit(pd.get_dummies(X), y)

    def predict(self, X):
        return super().predict(
            pd.get_dummies(X).reindex(columns=self.feature_names_in_, fill_value=0)
        )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (WholeNumber(2), True, "k must be a whole number from 2, not True"),
        (WholeNumber(1, optional=True), 1.0, "k must be a whole number from 1 or None, not 1.0"),
        (WholeNumber(1, why="none is too few"), 0, "from 1, not 0; none is too few"),
        (WholeNumber(1, why="none is too few"), "0", "from 1, not '0'$"),
        (
            Choice("tree", "boxes"),
            "tre",
            "must be one of 'tree', 'boxes', not 'tre'; did you mean 'tree'",
        ),
        (Choice("tree", 3), 4, "k must be one of 'tree', 3, not 4"),
        (Choice("tree"), np.array(["tree"]), "k must be one of 'tree', not array"),
        (PositiveNumber(), 0, "k must be a positive number, not 0"),
        (PositiveNumber(optional=True), np.inf, "k must be a positive number or None, not inf"),
        (Share(), 1, "k must be a number from 0 up to, but not including, 1, not 1"),
        (Share(zero=False), 0, "k must be a share between 0 and 1, not 0"),
        (Share(), np.nan, "k must be a number from 0"),
    ],
)
def test_an_option_says_what_it_may_be(option, value, message):
    class Holder:
        k = value

    with pytest.raises(InvalidValueError, match=message):
        check_options(Holder(), {"k": option})


@pytest.mark.parametrize(
    ("option", "values"),
    [
        (WholeNumber(2), [2, np.int64(5)]),
        (WholeNumber(1, optional=True), [1, None]),
        (Choice("tree", 3), ["tree", 3]),
        (PositiveNumber(optional=True), [1e-9, 3, np.float64(2), None]),
        (Share(), [0, 0.5, np.float64(0.99)]),
    ],
)
def test_an_option_that_is_allowed_passes(option, values):
    for value in values:
        option.check("k", value)


def test_labels_of_explanations_are_plain_values():
    whole = SupportVectorRules().fit(X, (Y == "virginica").astype(int))
    assert whole.explain(X[0]).label == as_label(whole.predict(X[:1])[0])
