"""Whoever follows the advice of an error gets somewhere: what fails, what its message names, and that done."""

import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GroupKFold, TimeSeriesSplit
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.contract.estimators import THREE, X, Y

from clearmargin import (
    LPSVC,
    AdviceSVC,
    Box,
    FeatureSpace,
    RankContrast,
    RuleExtractor,
    RuleSet,
    ScoreRules,
    SupportVectorRules,
    SurrogateRules,
    certify,
    check_advice,
    compare_extractors,
    load_model,
    parse_rules,
    recourse,
    save_model,
)
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning
from clearmargin.export import export
from clearmargin.plot import plot_card
from clearmargin.report import report

MIXED = X.assign(job=np.where(np.arange(60) % 2, "a", "b"))
TWICE = make_column_transformer((StandardScaler(), ["age", "bmi"]), ("passthrough", ["age"]))
FOREST = RandomForestClassifier(3, random_state=0)
CALIBRATED = CalibratedClassifierCV(LinearSVC(), cv=2)
AT_40 = FixedThresholdClassifier(CALIBRATED, threshold=0.4)
WHOLE_AT_40 = FixedThresholdClassifier(
    CalibratedClassifierCV(LinearSVC(), cv=2, ensemble=False), threshold=0.4
)
RBF = SVC(random_state=0).fit(X, Y)
CARD = ScoreRules(LPSVC(), certify=True, n_generated=50).fit(X, Y)
BROAD = np.random.default_rng(0).normal(size=(40, 1100)), np.arange(40) % 2
BOTH = "age > 50 => ill\nage < 30 => well"
SPARSE = sparse.csr_array(X.to_numpy())
OPEN = Box([50.0, 20.0], [np.inf, 30.0])
BY_TIME = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
BMI = {"actionable": ["bmi"], "X": X}


def own_kernel(a: Any, b: Any) -> Any:
    return np.asarray(a) @ np.asarray(b).T


def linear() -> LPSVC:
    return LPSVC().fit(X, Y)


def card(model: Any, **options: Any) -> ScoreRules:
    return ScoreRules(model, max_rules=2, n_generated=50, **options)


def compared(**options: Any) -> Any:
    return compare_extractors(SVC(), X, Y, extractors={"tree": SurrogateRules()}, **options)


def saved_twice(**options: Any) -> None:
    for _ in range(2):
        parse_rules("age > 3 => a").save("r.rules", **options)


class WithoutScores(LogisticRegression):  # type: ignore[misc]
    """A classifier that only predicts."""

    @property
    def decision_function(self) -> Any:
        raise AttributeError("decision_function")

    @property
    def predict_proba(self) -> Any:
        raise AttributeError("predict_proba")


Call = Callable[[], object]
HINTS: list[tuple[Call, str, tuple[Call, ...]]] = [
    (lambda: LPSVC().fit(X, THREE), "OneVsRestClassifier",
     (lambda: OneVsRestClassifier(LPSVC()).fit(X, THREE), lambda: OneVsOneClassifier(LPSVC()).fit(X, THREE))),
    (lambda: RuleExtractor(AT_40).fit(X, Y), "ensemble=False",
     (lambda: RuleExtractor(WHOLE_AT_40).fit(X, Y), lambda: card(AT_40).fit(X, Y))),
    (lambda: ScoreRules().fit(X, THREE), "OneVsRestClassifier",
     (lambda: OneVsRestClassifier(card(None)).fit(X, THREE),)),
    (lambda: plot_card(LPSVC().fit(X, Y)), "ScoreRules",
     (lambda: plot_card(CARD), lambda: plot_card(CARD.scorecard_))),
    (lambda: ScoreRules(RBF, certify=True).fit(X, Y), "certify",
     (lambda: card(RBF).fit(X, Y), lambda: SupportVectorRules(RBF, certify=True).fit(X, Y))),
    (lambda: ScoreRules(max_features=1).fit(X, Y), "certify=True",
     (lambda: ScoreRules(LPSVC(), certify=True, max_features=1, n_generated=50).fit(X, Y),)),
    (lambda: ScoreRules(bounds={"age": (0, 120)}).fit(X, Y), "bounds",
     (lambda: ScoreRules(LPSVC(), certify=True, bounds={"age": (0, 120)}).fit(X, Y),)),
    (lambda: AdviceSVC("age > 60 => old").fit(X, THREE), "labels",
     (lambda: AdviceSVC("age > 60 => true").fit(X, THREE == "old"),)),
    (lambda: recourse(RBF, X.iloc[0], **BMI), "LPSVC",
     (lambda: recourse(make_pipeline(StandardScaler(), LPSVC()).fit(X, Y), X.iloc[0], **BMI),
      lambda: recourse(SVC(kernel="linear").fit(X, Y), X.iloc[0], **BMI))),
    (lambda: RuleExtractor(SVC()).fit(X, Y), "SupportVectorRules", (lambda: SupportVectorRules(SVC()).fit(X, Y),)),
    (lambda: RuleExtractor(FOREST).fit(X, Y), "SurrogateRules", (lambda: SurrogateRules(FOREST).fit(X, Y),)),
    (lambda: RuleExtractor(CALIBRATED).fit(X, Y), "SurrogateRules", (lambda: SurrogateRules(CALIBRATED).fit(X, Y),)),
    (lambda: SupportVectorRules(CALIBRATED).fit(X, Y), "support vector",
     (lambda: SupportVectorRules(SVC()).fit(X, Y),)),
    (lambda: RuleExtractor(make_pipeline(PolynomialFeatures(), LPSVC())).fit(X, Y), "SurrogateRules",
     (lambda: SurrogateRules(make_pipeline(PolynomialFeatures(), LPSVC())).fit(X, Y),)),
    (lambda: SupportVectorRules(LPSVC()).fit(X, Y), "RuleExtractor", (lambda: RuleExtractor(LPSVC()).fit(X, Y),)),
    (lambda: SupportVectorRules(SVC()).fit(*BROAD), "SelectKBest",
     (lambda: SupportVectorRules(make_pipeline(SelectKBest(k=50), SVC())).fit(*BROAD),)),
    (lambda: SupportVectorRules(make_pipeline(PCA(2), SVC())).fit(X, Y), "SurrogateRules",
     (lambda: SurrogateRules(make_pipeline(PCA(2), SVC())).fit(X, Y),)),
    (lambda: SupportVectorRules(make_pipeline(TWICE, SVC())).fit(X, Y), "SurrogateRules",
     (lambda: SurrogateRules(make_pipeline(TWICE, SVC())).fit(X, Y),)),
    (lambda: SupportVectorRules(SVC(kernel=own_kernel)).fit(X, Y), "SurrogateRules",
     (lambda: SurrogateRules(SVC(kernel=own_kernel)).fit(X, Y),)),
    (lambda: certify(RBF, OPEN, "ill"), "FeatureSpace",
     (lambda: certify(RBF, OPEN, "ill", space=FeatureSpace.from_data(X)),)),
    (lambda: LPSVC().fit(MIXED, Y), "OneHotEncoder",
     (lambda: make_pipeline(make_column_transformer((OneHotEncoder(), ["job"])), LPSVC()).fit(MIXED, Y),
      lambda: LPSVC().fit(MIXED.drop(columns="job"), Y))),
    (lambda: make_pipeline(StandardScaler(), AdviceSVC("age > 0.5 => ill")).fit(X, Y), "set_output",
     (lambda: make_pipeline(StandardScaler(), AdviceSVC("age > 0.5 => ill"))
      .set_output(transform="pandas").fit(X, Y),)),
    (lambda: AdviceSVC("age > 50 => ill\nage > 40 => well", mu=np.inf, where="everywhere").fit(X, Y), "check_advice",
     (lambda: check_advice("age > 50 => ill\nage > 40 => well", X, Y),
      lambda: AdviceSVC("age > 50 => ill\nage > 40 => well").fit(X, Y))),
    (lambda: AdviceSVC("age > 50 => ill", mu=np.inf).fit(X, Y), "everywhere",
     (lambda: AdviceSVC("age > 50 => ill", mu=np.inf, where="everywhere").fit(X, Y),
      lambda: AdviceSVC("age > 50 => ill").fit(X, Y))),
    (lambda: recourse(OneVsOneClassifier(LPSVC()).fit(X, THREE), X.iloc[0], target="old", **BMI), "class",
     (lambda: recourse(OneVsRestClassifier(LPSVC()).fit(X, THREE), X.iloc[0], target="old", **BMI),)),
    (lambda: recourse(linear(), X.iloc[0], actionable=["bmi"]), "costs",
     (lambda: recourse(linear(), X.iloc[0], **BMI),
      lambda: recourse(linear(), X.iloc[0], actionable={"bmi": (10, 60)}),
      lambda: recourse(linear(), X.iloc[0], actionable=["bmi"], costs={"bmi": 1}))),
    (lambda: compared(cv=BY_TIME, groups=np.arange(60) % 20), "GroupKFold",
     (lambda: compared(cv=GroupKFold(3), groups=np.arange(60) % 20),)),
    (lambda: compared(cv=BY_TIME, times=np.arange(60)), "TimeSeriesSplit",
     (lambda: compared(cv=TimeSeriesSplit(3), times=np.arange(60)),)),
    (lambda: RankContrast(WithoutScores(), top=0.2, bottom=0.2).fit(X, Y), "fit_ranking",
     (lambda: RankContrast(top=0.2, bottom=0.2).fit_ranking(X, X.sum(axis=1)),)),
    (lambda: RankContrast(top=0.2, bottom=0.2).fit_ranking(X, X["age"]), "exclude",
     (lambda: RankContrast(top=0.2, bottom=0.2, exclude=["age"]).fit_ranking(X, X["age"]),)),
    (lambda: save_model(LogisticRegression().fit(X, Y), "m.json"), "X",
     (lambda: save_model(LogisticRegression().fit(X, Y), "m.json", X=X),)),
    (lambda: save_model(RBF, "m.json", X=X), "joblib.dump", (lambda: joblib.dump(RBF, "m.joblib"),)),
    (lambda: RuleSet.load(save_model(linear(), "m.json")), "load_model", (lambda: load_model("m.json"),)),
    (lambda: load_model(parse_rules("age > 3 => a").save("r.json")), "RuleSet.load",
     (lambda: RuleSet.load("r.json"),)),
    (saved_twice, "overwrite", (lambda: saved_twice(overwrite=True),)),
    (lambda: RuleExtractor(LPSVC()).fit(SPARSE, Y), "toarray",
     (lambda: RuleExtractor(LPSVC()).fit(SPARSE.toarray(), Y),)),
    (lambda: RankContrast().fit(SPARSE, Y), "toarray",
     (lambda: RankContrast(top=0.2, bottom=0.2).fit(SPARSE.toarray(), Y),)),
    (lambda: SurrogateRules(SVC()).fit(X, Y).predict(X.assign(bmi=np.nan)), "abstain",
     (lambda: SurrogateRules(SVC(), fallback="abstain").fit(X, Y).predict(X.assign(bmi=np.nan)),)),
    (lambda: report(LPSVC(), X, Y, cv=None, groups=np.arange(60)), "cv=None",
     (lambda: report(LPSVC(), X, Y, cv=None),)),
    (lambda: export(parse_rules("age > 3 => a"), "sql", default="b"), "classes",
     (lambda: export(RuleSet(r := parse_rules("age > 3 => a"), r.space, classes=["a", "b"]), "sql", default="b"),)),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(HINTS)))
def test_advice_of_an_error_works_when_followed(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fails, named, works = HINTS[row]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClearmarginWarning)
        with pytest.raises((ClearmarginError, ClearmarginWarning, TypeError)) as caught:
            fails()
    assert named in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in works:
            call()
