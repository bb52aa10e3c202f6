"""The yardstick: figures against a count by hand, the same model for all, folds that failed, bad input."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from clearmargin import RuleExtractor
from clearmargin.compare.extractors import (
    MEASURES,
    ExtractorComparison,
    ExtractorFigures,
    compare_extractors,
    count_bounds,
)
from clearmargin.exceptions import DataError, InvalidValueError, MissingDependencyError
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.kernel_rules.surrogate_rules import SurrogateRules
from clearmargin.language import parse_rules
from clearmargin.models import PlaneModel
from clearmargin.rules import Box, Rule
from clearmargin.tables.splitting import Splitting

from ..conftest import ring


@pytest.fixture(scope="module")
def machine():
    return make_pipeline(StandardScaler(), SVC())


@pytest.fixture(scope="module")
def everything(machine):
    """All extractors that fit a kernel machine, on three folds."""
    X, y = ring(120, seed=0)
    return compare_extractors(machine, X, y, cv=3, random_state=0)


def count_by_hand(extractor, model, X, y):
    """The definitions, row by row and rule by rule."""
    rules, m = extractor.rules_, len(X)
    hits = [[r for r, rule in enumerate(rules) if rule.region.contains(x[None])[0]] for x in X]
    covered = [k for k in range(m) if hits[k]]
    said, model_said = extractor.predict(X), model.predict(X)
    length = [
        sum(
            bool(np.isfinite(low)) + bool(np.isfinite(high))
            for low, high in zip(b.lower, b.upper, strict=True)
        )
        for b in (rule.region for rule in rules)
    ]
    score = [
        next(
            (
                abs((rules[r].label != model.classes_[1]) - (n.correct + 1) / (n.covered + 2))
                for r in hits[k]
                for n in [rules[r].stats]
            ),
            0.5,
        )
        for k in range(m)
    ]
    pairs = [
        (score[i], score[j])
        for i in np.flatnonzero(y == model.classes_[1])
        for j in np.flatnonzero(y != model.classes_[1])
    ]
    return {
        "accuracy": sum(said[k] == y[k] for k in range(m)) / m,
        "auc": sum((a > b) + (abs(a - b) < 1e-12) / 2 for a, b in pairs) / len(pairs),
        "fidelity": sum(said[k] == model_said[k] for k in range(m)) / m,
        "coverage": len(covered) / m,
        "covered_accuracy": sum(said[k] == y[k] for k in covered) / len(covered),
        "covered_fidelity": sum(said[k] == model_said[k] for k in covered) / len(covered),
        "rules": len(rules),
        "conditions": sum(length) / len(rules),
        "explanation": sum(length[hits[k][0]] for k in covered) / len(covered),
        "overlap": sum(len({rules[r].label for r in hits[k]}) > 1 for k in range(m)) / m,
        "proved": sum(rule.proof == "proved" for rule in rules) / len(rules),
    }


@pytest.mark.parametrize(
    "extractor",
    [
        SupportVectorRules(),
        SupportVectorRules(tune=False, fallback="estimator"),
        SurrogateRules(method="train", min_coverage=5, random_state=None),
    ],
    ids=["support", "untuned", "tree"],
)
def test_figures_are_those_of_a_count_by_hand(machine, extractor):
    X, y = ring(120, seed=3)
    found = compare_extractors(machine, X, y, cv=3, extractors={"mine": extractor}, random_state=5)
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    expected = []
    for train, test in folds.split(X, y):
        model = clone(machine).fit(X[train], y[train])
        mine = clone(extractor).set_params(estimator=model)
        if "random_state" in mine.get_params():
            mine.set_params(random_state=5)
        expected.append(count_by_hand(mine.fit(X[train], y[train]), model, X[test], y[test]))
    for measure in set(MEASURES) - {"seconds"}:
        by_hand = [fold[measure] for fold in expected]
        assert found["mine"].values(measure) == pytest.approx(by_hand), measure
        assert found["mine"].mean(measure) == pytest.approx(np.mean(by_hand))
        assert found["mine"].error(measure) == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(3))


def test_the_area_of_the_model_stands_beside_that_of_its_rules(everything, machine):
    X, y = ring(120, seed=0)
    by_hand = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        scores = clone(machine).fit(X[train], y[train]).decision_function(X[test])
        by_hand.append(roc_auc_score(y[test], scores))
    assert everything.model_aucs.tolist() == pytest.approx(by_hand)
    assert everything.model_auc == pytest.approx(np.mean(by_hand))
    assert everything.model_auc_se == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(3))
    assert f"and an auc of {np.mean(by_hand):.2f} ±" in str(everything)
    assert everything.to_fold_frame()["model_auc"][:3].tolist() == pytest.approx(by_hand)
    assert " auc " in str(everything).splitlines()[1]


def test_a_model_without_scores_has_no_area(machine):
    class Silent(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]

    X, y = ring(80, seed=0)
    rules = {"tree": SurrogateRules(method="train")}
    found = compare_extractors(Silent(), X, y, cv=2, extractors=rules, random_state=0)
    assert np.isnan(found.model_auc)
    assert "auc of" not in str(found)
    assert 0 <= found["tree"].mean("auc") <= 1
    forest = DecisionTreeClassifier(max_depth=2)
    assert compare_extractors(forest, X, y, cv=2, extractors=rules).model_auc > 0.5


def test_overlap_is_seen_where_boxes_were_not_tuned(machine):
    X, y = ring(120, seed=3)
    rules = {"untuned": SupportVectorRules(tune=False), "tree": SurrogateRules(method="train")}
    found = compare_extractors(machine, X, y, cv=3, extractors=rules, random_state=0)
    assert found["untuned"].mean("overlap") > 0
    assert found["tree"].mean("overlap") == 0


def test_the_accuracy_of_the_model_is_that_of_cross_validation(machine, everything):
    X, y = ring(120, seed=0)
    expected = [
        clone(machine).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    ]
    assert everything.model_accuracies.tolist() == expected
    assert everything.model_accuracy == pytest.approx(np.mean(expected))
    assert everything.model_accuracy_se == pytest.approx(np.std(expected, ddof=1) / np.sqrt(3))


class CountingSVC(SVC):
    """Counts its trainings in a list that clones share."""

    trainings: list[int] = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.trainings.append(len(X))
        return super().fit(X, y, sample_weight)


def test_a_model_is_trained_once_a_fold_and_shared():
    X, y = ring(90, seed=1)
    CountingSVC.trainings.clear()
    rules = {name: SurrogateRules(method="train") for name in ("one", "two", "three")}
    compare_extractors(CountingSVC(), X, y, cv=3, extractors=rules, random_state=0)
    assert CountingSVC.trainings == [60, 60, 60]


def test_a_fitted_model_is_trained_anew_and_left_alone(machine):
    X, y = ring(90, seed=1)
    fitted = clone(machine).fit(X, y)
    before = fitted.predict(X)
    rules = {"tree": SurrogateRules(method="train")}
    options = {"cv": 3, "extractors": rules, "random_state": 0}
    again = compare_extractors(fitted, X, y, **options)
    assert again.model_accuracies.tolist() == (
        compare_extractors(machine, X, y, **options).model_accuracies.tolist()
    )
    assert (fitted.predict(X) == before).all()
    assert rules["tree"].estimator is None


def test_by_default_all_extractors_that_fit_are_compared(everything):
    names = [figures.name for figures in everything.extractors]
    assert names == [
        "support vectors",
        "prototypes",
        "hyper-rectangles",
        "fuzzy sets",
        "tree, support vectors",
        "tree, ALBA",
        "tree, training rows",
        "tree, drawn rows",
        "boxes, training rows",
    ]
    assert not any(figures.failure for figures in everything.extractors)
    assert (everything.to_frame()["fidelity"] > 0.6).all()


@pytest.mark.parametrize(
    ("model", "has_linear", "has_support"),
    [
        (SVC(kernel="linear"), True, True),
        (LogisticRegression(), True, False),
        (RandomForestClassifier(5, random_state=0), False, False),
    ],
    ids=["linear machine", "logistic", "forest"],
)
def test_what_fits_depends_on_the_model(model, has_linear, has_support):
    X, y = ring(60, seed=2, n=2)
    y = np.where(X[:, 0] > 5, y, "outer")
    scaled = make_pipeline(StandardScaler(), model)
    found = compare_extractors(scaled, X, y, cv=2, random_state=0)
    names = {figures.name for figures in found.extractors}
    assert ("linear" in names) == has_linear
    assert ("support vectors" in names) == has_support
    assert "tree, training rows" in names


def test_tables_with_categories_are_measured_too(mixed):
    X, y = mixed
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["colour", "smoker"])
    )
    rules = {"tree": SurrogateRules(method="train"), "support": SupportVectorRules()}
    model = make_pipeline(columns, SVC())
    found = compare_extractors(model, X, y, cv=2, extractors=rules, random_state=0)
    assert not any(figures.failure for figures in found.extractors)
    assert found["tree"].mean("fidelity") > 0.7
    assert found["tree"].mean("overlap") == 0


def test_three_classes_are_measured_too(three_classes):
    X, y = three_classes
    rules = {"boxes": SupportVectorRules(), "tree": SurrogateRules(method="train")}
    found = compare_extractors(SVC(), X, y, cv=2, extractors=rules, random_state=0)
    assert found["boxes"].mean("accuracy") > 0.7
    assert found["tree"].mean("coverage") == 1


def test_what_an_extractor_refuses_is_told_and_the_others_go_on(machine):
    X, y = ring(90, seed=1)
    rules = {"plane": RuleExtractor(), "tree": SurrogateRules(method="train")}
    found = compare_extractors(machine, X, y, cv=3, extractors=rules, random_state=0)
    assert found["plane"].failure.startswith("failed on 3 of 3 folds: NotLinearError")
    assert "not linear" in found["plane"].failure
    assert np.isnan(found["plane"].mean("fidelity"))
    assert found["tree"].failure == ""
    assert "not linear" in str(found)
    assert "not linear" in found._repr_html_()
    assert found.to_frame().loc["plane", "failure"] == found["plane"].failure


def test_abstaining_counts_as_wrong_everywhere_but_on_covered_rows(machine):
    X, y = ring(120, seed=0)
    rules = {"silent": SupportVectorRules(fallback="abstain", max_rules=1)}
    figures = compare_extractors(machine, X, y, cv=3, extractors=rules, random_state=0)["silent"]
    assert figures.mean("coverage") < 1
    assert (figures.values("fidelity") <= figures.values("coverage")).all()
    assert figures.mean("covered_fidelity") > figures.mean("fidelity")


def test_proved_rules_agree_with_the_model_wherever_they_cover(machine):
    X, y = ring(90, seed=1, n=2)
    rules = {"proved": SupportVectorRules(certify=True, budget=64, fallback="estimator")}
    figures = compare_extractors(machine, X, y, cv=2, extractors=rules, random_state=0)["proved"]
    assert figures.mean("proved") == 1
    assert figures.mean("covered_fidelity") == 1
    assert figures.mean("fidelity") == 1


def test_the_same_seed_gives_the_same_figures_in_any_number_of_jobs(machine):
    X, y = ring(60, seed=4)
    rules = {"tree": SurrogateRules(method="local", n_generated=50)}
    options = {"cv": 2, "extractors": rules}
    # Threads: starting processes would take most of the time of this file.
    with parallel_config(backend="threading"):
        folds = [
            compare_extractors(machine, X, y, random_state=7, n_jobs=jobs, **options)["tree"].folds
            for jobs in (None, 2)
        ]
    assert np.array_equal(folds[0][:, :-1], folds[1][:, :-1], equal_nan=True)
    other = compare_extractors(machine, X, y, random_state=np.random.RandomState(8), **options)
    assert not np.array_equal(other["tree"].folds[:, :-1], folds[0][:, :-1])


def test_splits_can_be_given(machine):
    X, y = ring(80, seed=4)
    rows = np.arange(80)
    found = compare_extractors(
        machine,
        X,
        y,
        cv=[(rows[:50], rows[50:])],
        extractors={"tree": SurrogateRules(method="train")},
    )
    assert len(found.model_accuracies) == 1
    assert np.isnan(found.model_accuracy_se)
    assert np.isnan(found["tree"].error("accuracy"))
    assert "±" not in str(found)


def test_the_frame_has_a_mean_and_an_error_for_each_measure(everything):
    frame = everything.to_frame()
    assert len(frame) == 9
    assert set(frame.columns) == {
        *MEASURES,
        *(f"{measure}_se" for measure in MEASURES),
        "fallback",
        "failure",
    }
    folds = everything.to_fold_frame()
    assert len(folds) == 27
    means = folds.groupby("extractor")["fidelity"].mean()
    assert frame["fidelity"].to_dict() == pytest.approx(means.to_dict())


def test_the_text_is_a_table_of_aligned_columns(everything):
    summary, *lines = str(everything).splitlines()
    assert "3 stratified folds, shuffled with seed 0" in summary
    assert f"{100 * everything.model_accuracy:.1f}" in summary
    assert len({len(line) for line in lines}) == 1
    assert f"{100 * everything['fuzzy sets'].mean('fidelity'):.1f}" in lines[4]


def test_html_is_escaped():
    folds = np.full((2, len(MEASURES)), 0.5)
    figures = ExtractorFigures("<b>", "nearest", folds, (None, "ValueError: 1 < 2"))
    html = ExtractorComparison((figures,), np.array([0.5, 0.6]))._repr_html_()
    assert "&lt;b&gt;" in html
    assert "1 &lt; 2" in html
    assert "<b>" not in html
    assert html.count("<th ") == html.count('scope="col"') + html.count('scope="row"') > 2
    assert "<th>" not in html


def test_a_frame_without_pandas_names_the_line_that_installs_it(everything, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install clearmargin\[frames\]"):
        everything.to_frame()


def test_bounds_are_counted_as_they_are_read():
    rules = parse_rules("1 <= x <= 2 and y > 3 and colour in {red, blue} => a\nx + y <= 3 => b")
    assert [count_bounds(rule) for rule in rules] == [4, 1]
    assert count_bounds(Rule(Box([-np.inf], [np.inf]), "a")) == 0


def test_unknown_names_are_refused_with_those_that_exist(everything):
    with pytest.raises(InvalidValueError, match="no measure 'speed'; there are accuracy"):
        everything["fuzzy sets"].mean("speed")
    with pytest.raises(KeyError, match="fuzzy sets"):
        everything["fuzzy"]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": SVR()}, InvalidValueError, "must be a classifier, not SVR"),
        ({"model": SVC}, InvalidValueError, "must be a classifier, not SVC"),
        ({"extractors": {}}, InvalidValueError, "mapping from names to extractors"),
        ({"extractors": [SurrogateRules()]}, InvalidValueError, "mapping from names"),
        ({"extractors": {"it": SurrogateRules}}, InvalidValueError, r"extractors\['it'\] must be"),
        ({"extractors": {"it": SVC()}}, InvalidValueError, "parameter 'estimator'.*not SVC"),
        ({"cv": []}, InvalidValueError, "no folds"),
        ({"cv": 1}, InvalidValueError, "cv must be a whole number from 2"),
        ({"y": np.ones(5)}, DataError, "90 rows but y has 5"),
    ],
    ids=[
        "regressor",
        "class",
        "empty",
        "list",
        "extractor class",
        "no extractor",
        "no folds",
        "one",
        "y",
    ],
)
def test_bad_input_is_refused(changes, error, message):
    X, y = ring(90, seed=1)
    given = {"model": SVC(), "X": X, "y": y, "cv": 3, **changes}
    model, table, labels = given.pop("model"), given.pop("X"), given.pop("y")
    with pytest.raises(error, match=message):
        compare_extractors(model, table, labels, **given)


def test_what_stays_trained_is_refused_since_its_figures_are_not_held_out():
    X, y = ring(90, seed=1)
    machine = SVC().fit(X, y)
    plane = PlaneModel.from_estimator(LinearSVC().fit(X, y), X)
    with pytest.raises(
        InvalidValueError, match=r"FrozenEstimator stays trained .* not be held out"
    ):
        compare_extractors(FrozenEstimator(machine), X, y)
    with pytest.raises(InvalidValueError, match="estimator=FrozenEstimator stays trained"):
        compare_extractors(CalibratedClassifierCV(FrozenEstimator(machine)), X, y)
    with pytest.raises(InvalidValueError, match="planemodel=PlaneModel stays trained"):
        compare_extractors(make_pipeline(plane), X, y)
    tree = FrozenEstimator(DecisionTreeClassifier().fit(X, y))
    with pytest.raises(
        InvalidValueError, match=r"extractors\['t'\]: learner=FrozenEstimator stays"
    ):
        compare_extractors(SVC(), X, y, extractors={"t": SurrogateRules(learner=tree)})
    # The model that an extractor was given does not matter: another one is put in its place.
    rules = {"linear": RuleExtractor(plane)}
    assert np.isfinite(compare_extractors(LinearSVC(), X, y, cv=2, extractors=rules).model_accuracy)


@pytest.mark.parametrize("how", ["groups", "times"])
def test_rows_of_a_group_are_together_and_tests_come_after_training(how):
    X, y = ring(90, seed=1)
    column = np.arange(90) // 5
    rules = {"tree": SurrogateRules(method="train")}
    pairs = Splitting(3, **{how: column}, seed=4).folds(X, y).pairs
    given = compare_extractors(SVC(), X, y, cv=pairs, extractors=rules, random_state=4)
    by_column = compare_extractors(
        SVC(), X, y, cv=3, extractors=rules, random_state=4, **{how: column}
    )
    np.testing.assert_array_equal(by_column.model_accuracies, given.model_accuracies)
    words = "3 stratified folds of whole groups" if how == "groups" else "3 folds by time"
    assert words in str(by_column)


def test_rows_in_both_parts_of_a_fold_are_told():
    X, y = ring(60, seed=1)
    twice, labels = np.vstack([X, X[:7]]), np.concatenate([y, y[:7]])
    rules = {"tree": SurrogateRules(method="train")}
    text = str(compare_extractors(SVC(), twice, labels, cv=2, extractors=rules, random_state=0))
    assert re.search(r"[1-9]\d* of the 67 rows tested also occur in the training part", text)
    assert "also occur" not in str(
        compare_extractors(SVC(), X, y, cv=2, extractors=rules, random_state=0)
    )


def test_faults_of_an_extractor_are_not_hidden(machine):
    class Faulty(SurrogateRules):
        def fit(self, X, y):
            raise KeyError("a fault")

    X, y = ring(90, seed=1)
    with pytest.raises(KeyError, match="a fault"):
        compare_extractors(machine, X, y, cv=3, extractors={"faulty": Faulty()})


def test_progress_is_shown_when_asked_for(machine, capsys):
    X, y = ring(60, seed=1)
    rules = {"tree": SurrogateRules(method="train")}
    compare_extractors(machine, X, y, cv=2, extractors=rules, progress=True)
    assert "2/2" in capsys.readouterr().err


def test_data_frames_keep_their_names(machine):
    X, y = ring(60, seed=1)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    rules = {"tree": SurrogateRules(method="train")}
    options = {"cv": 2, "extractors": rules, "random_state": 0}
    by_name = compare_extractors(machine, table, y, **options)["tree"].folds[:, :-1]
    assert np.array_equal(
        by_name, compare_extractors(machine, X, y, **options)["tree"].folds[:, :-1]
    )
