"""Whoever follows a message gets somewhere: each one that names a class, a function or an option is tried."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GroupKFold, TimeSeriesSplit
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

import clearmargin
import clearmargin.report
from clearmargin import (
    LPSVC,
    LPSVCCV,
    AdviceBlendSVC,
    AdviceSVC,
    AdviceSVCCV,
    Box,
    ChunkedRuleSVC,
    FeatureSpace,
    RankContrast,
    RuleExtractor,
    RuleSet,
    ScoreRules,
    SupportVectorRules,
    SurrogateRules,
    SVMTreeClassifier,
    certify,
    check_advice,
    parse_rules,
    recourse,
)
from clearmargin.chunks.chunk_summary import ChunkRules
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning
from clearmargin.export import export, to_xlsx
from clearmargin.kernel_rules.baselines import FuzzyRules, HyperRectangleRules, PrototypeRules
from clearmargin.models import load_model, save_model
from clearmargin.plot import CardDisplay
from clearmargin.rankings import Rank, make_properties
from clearmargin.tables.part_survey import held_table

SOURCES = Path(clearmargin.__file__).parent

RNG = np.random.default_rng(2)
X = pd.DataFrame({"age": RNG.integers(20, 80, 60).astype(float), "bmi": RNG.normal(26, 4, 60)})
Y = np.where(X["age"] + 2 * X["bmi"] + 4 * RNG.normal(size=60) > 102, "ill", "well")
THREE = np.where(X["age"] > 60, "old", np.where(X["age"] > 40, "mid", "young"))
MIXED = X.assign(job=np.where(np.arange(60) % 2, "a", "b"))
ONE_HOT = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["job"]), remainder="passthrough"
)
TWICE = make_column_transformer((StandardScaler(), ["age", "bmi"]), ("passthrough", ["age"]))
FOREST = RandomForestClassifier(3, random_state=0)
RBF = SVC(gamma="scale").fit(X, Y)
CARD = ScoreRules(LPSVC(), certify=True, n_generated=50).fit(X, Y)
TRAIN = {"method": "train"}
CROSS = RNG.normal(size=(40, 2))
CROSSED = np.where(CROSS.prod(axis=1) > 0, "same", "other")
WIDE = np.random.default_rng(5).normal(size=(60, 12))


def own_kernel(A: Any, B: Any) -> Any:
    return np.asarray(A) @ np.asarray(B).T


class Hint(NamedTuple):
    """What provokes a message, and what it advises."""

    provoke: Callable[[], object] | None
    follow: tuple[Callable[[], object], ...]


def hint(provoke: Callable[[], object] | None, *follow: Callable[[], object]) -> Hint:
    return Hint(provoke, follow)


def tuned(**options: Any) -> AdviceSVCCV:
    return AdviceSVCCV("age > 50 => ill", cv=2, lams=[1.0], mus=[1.0], nus=[1.0], **options)


def blend_in_partitions() -> None:
    with mock.patch("clearmargin.advice.all_rows.MOST_HELD", 20):
        AdviceBlendSVC("age > 50 => ill").fit(held_table(TABLE, "y"))


few = slice(0, 10)
TABLE = X.assign(y=Y)
FEW_Y = np.array(["ill", *["well"] * 9])
CALIBRATED = CalibratedClassifierCV(LinearSVC(), cv=2)

# By a part of the message as it stands in the source; what provokes it; what it names, each done.
HINTS: dict[str, Hint] = {
    "leave it out, or choose nu on a sample in memory and train": hint(
        lambda: LPSVCCV(cv=2).fit(held_table(TABLE, "y"), groups=X["age"]),
        lambda: LPSVCCV(cv=2).fit(held_table(TABLE, "y")),
        lambda: LPSVC(LPSVCCV(cv=2).fit(X, Y).nu_).fit(held_table(TABLE, "y")),
    ),
    "one class has fewer than 2; choose it yourself": hint(
        lambda: LPSVCCV(cv=2).fit(held_table(TABLE[few].assign(y=FEW_Y), "y")),
        lambda: LPSVC(0.1).fit(held_table(TABLE[few].assign(y=FEW_Y), "y")),
    ),
    "AdviceBlendSVC is for few points": hint(
        blend_in_partitions,
        lambda: AdviceSVC("age > 50 => ill").fit(held_table(TABLE, "y")),
        lambda: tuned().fit(held_table(TABLE, "y")),
    ),
    "cannot be trained on a table in partitions": hint(
        lambda: RuleExtractor(LinearSVC()).fit(held_table(TABLE, "y")),
        lambda: RuleExtractor(LPSVC(nu=0.01)).fit(held_table(TABLE, "y")),
        lambda: RuleExtractor(LinearSVC().fit(X, Y)).fit(held_table(TABLE, "y")),
    ),
    "wrap the classifier in sklearn.multiclass.OneVsRestClassifier": hint(
        lambda: LPSVC().fit(X, THREE),
        lambda: OneVsRestClassifier(LPSVC()).fit(X, THREE),
        lambda: OneVsOneClassifier(LPSVC()).fit(X, THREE),
    ),
    "machines, which no single decision function decides": hint(
        lambda: RuleExtractor(FixedThresholdClassifier(CALIBRATED, threshold=0.4)).fit(X, Y),
        lambda: RuleExtractor(
            FixedThresholdClassifier(
                CalibratedClassifierCV(LinearSVC(), cv=2, ensemble=False), threshold=0.4
            )
        ).fit(X, Y),
        lambda: ScoreRules(
            FixedThresholdClassifier(CALIBRATED, threshold=0.4), max_rules=2, n_generated=50
        ).fit(X, Y),
        lambda: SurrogateRules(FixedThresholdClassifier(CALIBRATED, threshold=0.4), **TRAIN).fit(
            X, Y
        ),
    ),
    "come from machines of their own and are no function of its": hint(
        None,  # scikit-learn warns of such machines before
        lambda: SupportVectorRules(
            FixedThresholdClassifier(SVC(), threshold=0.1, response_method="decision_function")
        ).fit(X, Y),
    ),
    "the threshold is one of a probability of": hint(
        None,
        lambda: ScoreRules(
            FixedThresholdClassifier(FOREST, threshold=0.4), max_rules=2, n_generated=50
        ).fit(X, Y),
        lambda: SurrogateRules(FixedThresholdClassifier(FOREST, threshold=0.4), **TRAIN).fit(X, Y),
    ),
    "a card tells two apart. Make one for each class": hint(
        lambda: ScoreRules().fit(X, THREE),
        lambda: [
            ScoreRules(max_rules=2, n_generated=50).fit(X, c == THREE) for c in np.unique(THREE)
        ],
        lambda: OneVsRestClassifier(ScoreRules(max_rules=2, n_generated=50)).fit(X, THREE),
    ),
    "from_estimator takes a fitted ScoreRules": hint(
        lambda: CardDisplay.from_estimator(CARD.scorecard_),
        lambda: CardDisplay.from_estimator(CARD),
        lambda: CardDisplay.from_card(CARD.scorecard_),
    ),
    "has no scorecard; fit a ScoreRules": hint(
        lambda: CardDisplay.from_estimator(RBF), lambda: CardDisplay.from_estimator(CARD)
    ),
    "certify=True needs a linear machine": hint(
        lambda: ScoreRules(RBF, certify=True).fit(X, Y),
        lambda: ScoreRules(LPSVC(), certify=True, n_generated=50).fit(X, Y),
        lambda: ScoreRules(RBF, certify=False, max_rules=2, n_generated=50).fit(X, Y),
        lambda: SupportVectorRules(RBF, certify=True).fit(X, Y),
    ),
    "is for cards with proof: ScoreRules(certify=True": hint(
        lambda: ScoreRules(max_features=1).fit(X, Y),
        lambda: ScoreRules(LPSVC(), certify=True, max_features=1, n_generated=50).fit(X, Y),
    ),
    "bounds are for cards with proof, which speak of the cases within": hint(
        lambda: ScoreRules(bounds={"age": (0, 120)}).fit(X, Y),
        lambda: ScoreRules(LPSVC(), certify=True, bounds={"age": (0, 120)}).fit(X, Y),
    ),
    "Train a model for each class, with labels y == c": hint(
        lambda: AdviceSVC("age > 60 => old").fit(X, THREE),
        lambda: AdviceSVC("age > 60 => true").fit(X, THREE == "old"),
    ),
    "recourse needs a linear model, such as LPSVC or SVC(kernel='linear')": hint(
        lambda: recourse(RBF, X.iloc[0], actionable=["bmi"], X=X),
        lambda: recourse(LPSVC().fit(X, Y), X.iloc[0], actionable=["bmi"], X=X),
        lambda: recourse(SVC(kernel="linear").fit(X, Y), X.iloc[0], actionable=["bmi"], X=X),
        lambda: recourse(
            make_pipeline(StandardScaler(), LPSVC()).fit(X, Y), X.iloc[0], actionable=["bmi"], X=X
        ),
    ),
    "use SupportVectorRules, which reads rules out of": hint(
        lambda: RuleExtractor(SVC()).fit(X, Y), lambda: SupportVectorRules(SVC()).fit(X, Y)
    ),
    "use a linear classifier such as LPSVC, or SurrogateRules(method='train')": hint(
        lambda: RuleExtractor(FOREST).fit(X, Y),
        lambda: RuleExtractor(LPSVC()).fit(X, Y),
        lambda: SurrogateRules(FOREST, **TRAIN).fit(X, Y),
    ),
    "SurrogateRules(method='train') or ScoreRules, which take any classifier": hint(
        lambda: RuleExtractor(CALIBRATED).fit(X, Y),
        lambda: RuleExtractor(LinearSVC()).fit(X, Y),
        lambda: SurrogateRules(CALIBRATED, **TRAIN).fit(X, Y),
        lambda: ScoreRules(CALIBRATED, max_rules=2, n_generated=50).fit(X, Y),
    ),
    "pass the support vector machine itself": hint(
        lambda: SupportVectorRules(CALIBRATED).fit(X, Y),
        lambda: SupportVectorRules(SVC()).fit(X, Y),
        lambda: SurrogateRules(CALIBRATED, **TRAIN).fit(X, Y),
        lambda: ScoreRules(CALIBRATED, max_rules=2, n_generated=50).fit(X, Y),
    ),
    "Leave the step out, or use SurrogateRules(method='train')": hint(
        lambda: RuleExtractor(make_pipeline(PolynomialFeatures(), LPSVC())).fit(X, Y),
        lambda: SurrogateRules(make_pipeline(PolynomialFeatures(), LPSVC()), **TRAIN).fit(X, Y),
    ),
    "kind='grown' explains what the model predicts, or read fuzzy_rules_": hint(
        lambda: FuzzyRules().fit(X, Y).explain(X.iloc[[0]]),
        lambda: FuzzyRules().fit(X, Y).explain(X.iloc[[0]], kind="grown"),
        lambda: FuzzyRules().fit(X, Y).fuzzy_rules_,
    ),
    "has no support vectors to read; RuleExtractor gives its exact rules": hint(
        lambda: SupportVectorRules(LPSVC()).fit(X, Y), lambda: RuleExtractor(LPSVC()).fit(X, Y)
    ),
    "SVC, NuSVC and OneClassSVM can, bare or at the end of": hint(
        lambda: SupportVectorRules(FOREST).fit(X, Y),
        lambda: SurrogateRules(FOREST, **TRAIN).fit(X, Y),
    ),
    "has no support vectors; SurrogateRules(method='train')": hint(
        lambda: SurrogateRules(FOREST).fit(X, Y), lambda: SurrogateRules(FOREST, **TRAIN).fit(X, Y)
    ),
    "is not one column of the table scaled by itself": hint(
        lambda: SupportVectorRules(make_pipeline(PCA(2), SVC())).fit(X, Y),
        lambda: SurrogateRules(make_pipeline(PCA(2), SVC()), **TRAIN).fit(X, Y),
    ),
    "are the same column of the table; leave one of them out": hint(
        lambda: SupportVectorRules(make_pipeline(TWICE, SVC())).fit(X, Y),
        lambda: SupportVectorRules(SVC()).fit(X, Y),
        lambda: SurrogateRules(make_pipeline(TWICE, SVC()), **TRAIN).fit(X, Y),
    ),
    "SurrogateRules, PrototypeRules, HyperRectangleRules and FuzzyRules ask": hint(
        lambda: SupportVectorRules(SVC(kernel=own_kernel)).fit(X, Y),
        *(
            lambda make=make: make(SVC(kernel=own_kernel)).fit(X, Y)
            for make in (SurrogateRules, PrototypeRules, HyperRectangleRules, FuzzyRules)
        ),
    ),
    "pass space=FeatureSpace.from_data(X), at whose ranges": hint(
        lambda: certify(RBF, Box([50.0, 20.0], [np.inf, 30.0]), "ill"),
        lambda: certify(
            RBF, Box([50.0, 20.0], [np.inf, 30.0]), "ill", space=FeatureSpace.from_data(X)
        ),
    ),
    "A sparser one gives fewer and better rules: LPSVCCV(max_features=8)": hint(
        lambda: RuleExtractor(LogisticRegression()).fit(WIDE, Y),
        lambda: RuleExtractor(LPSVCCV(max_features=8, cv=2, nus=[0.1, 1.0])).fit(X, Y),
        lambda: ScoreRules(LogisticRegression(), certify=True, n_generated=50).fit(WIDE, Y),
        lambda: RuleExtractor(LogisticRegression(), max_features=8).fit(WIDE, Y),
    ),
    "so there are no rules of a plane to extract": hint(
        lambda: quietly(lambda: RuleExtractor().fit(CROSS, CROSSED)),
        lambda: SurrogateRules(SVC(), **TRAIN).fit(CROSS, CROSSED),
        lambda: RuleExtractor(
            LPSVCCV(class_weight="balanced", scoring="balanced_accuracy", cv=2, nus=[0.1, 1.0])
        ).fit(X, X["age"] > 70),
    ),
    "with more features there are better ones: RuleExtractor(LPSVCCV(max_features=": hint(
        None,
        lambda: RuleExtractor(LPSVCCV(max_features=9, scale=True, cv=2, nus=[0.1, 1.0])).fit(X, Y),
    ),
    "Encode them before it in a pipeline, make_pipeline(make_column_transformer(": hint(
        lambda: LPSVC().fit(MIXED, Y),
        lambda: make_pipeline(
            make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), LPSVC()
        ).fit(MIXED, Y),
        lambda: LPSVC().fit(MIXED.drop(columns="job"), Y),
    ),
    "keep them with set_output(transform='pandas')": hint(
        lambda: make_pipeline(ONE_HOT, AdviceSVC("age > 50 => ill")).fit(MIXED, Y),
        lambda: (
            make_pipeline(ONE_HOT, AdviceSVC("age > 50 and job = a => ill"))
            .set_output(transform="pandas")
            .fit(MIXED, Y)
        ),
    ),
    "encode it as 0/1 columns such as": hint(
        lambda: AdviceSVC(parse_rules("age = old => ill")).fit(X, Y),
        lambda: AdviceSVC(parse_rules("age = old => ill")).fit(
            X.drop(columns="age").assign(age_old=X["age"] > 50), Y
        ),
    ),
    "encode categories as 0/1 columns, as OneHotEncoder does": hint(
        lambda: ChunkRules(RuleSet([], FeatureSpace.from_data(MIXED), ["ill", "well"]), [], [1, 1]),
        lambda: ChunkedRuleSVC(n_chunks=2).fit(ONE_HOT.fit_transform(MIXED), Y),
    ),
    "encode every category (OneHotEncoder without drop)": hint(
        lambda: AdviceSVC("job = c => ill").fit(X.assign(job_a=1.0, job_b=0.0), Y),
        lambda: AdviceSVC("job = c => ill").fit(X.assign(job_a=1.0, job_b=0.0, job_c=0.0), Y),
    ),
    "cross-validation needs data; AdviceSVC learns from advice alone": hint(
        lambda: tuned().fit(None, None),
        lambda: AdviceSVC("classes: ill, well\nage > 50 => ill\nage < 30 => well").fit(None, None),
    ),
    "use AdviceSVC or AdviceBlendSVC": hint(
        lambda: tuned().fit(X[few], FEW_Y),
        lambda: AdviceSVC("age > 50 => ill").fit(X[few], FEW_Y),
        lambda: AdviceBlendSVC("age > 50 => ill").fit(X[few], FEW_Y),
    ),
    "Run check_advice to see where they": hint(
        lambda: AdviceSVC("age > 50 => ill\nage > 40 => well", mu=np.inf).fit(X, Y),
        lambda: check_advice("age > 50 => ill\nage > 40 => well", X, Y),
        lambda: AdviceSVC("age > 50 => ill\nage > 40 => well", mu=1.0).fit(X, Y),
    ),
    "fit with X and y, or set refine=None": hint(
        lambda: AdviceSVC("age > 50 => ill\nage < 30 => well", refine="translate").fit(None, None),
        lambda: AdviceSVC("age > 50 => ill\nage < 30 => well", refine=None).fit(None, None),
        lambda: AdviceSVC("age > 50 => ill\nage < 30 => well", refine="translate").fit(X, Y),
    ),
    "use a model with one score for each class": hint(
        lambda: recourse(
            OneVsOneClassifier(LPSVC()).fit(X, THREE),
            X.iloc[0],
            actionable=["age"],
            X=X,
            target="old",
        ),
        lambda: recourse(
            OneVsRestClassifier(LPSVC()).fit(X, THREE),
            X.iloc[0],
            actionable=["age"],
            X=X,
            target="old",
        ),
    ),
    "has more than one boundary; name a class": hint(
        lambda: recourse(
            OneVsRestClassifier(LPSVC()).fit(X, THREE), X.iloc[0], actionable=["age"], X=X
        ),
        lambda: recourse(
            OneVsRestClassifier(LPSVC()).fit(X, THREE),
            X.iloc[0],
            actionable=["age"],
            X=X,
            target="mid",
        ),
    ),
    "or say Rank(n, listed=False)": hint(
        lambda: recourse(
            LPSVC().fit(X, Y),
            {"age": 50.5, "bmi": 1.0},
            actionable=["bmi"],
            X=X,
            target=Rank(5, listed=True),
        ),
        lambda: recourse(
            LPSVC().fit(X, Y),
            {"age": 50.5, "bmi": 1.0},
            actionable=["bmi"],
            X=X,
            target=Rank(5, listed=False),
        ),
    ),
    "a splitter by groups such as GroupKFold()": hint(
        lambda: (
            clearmargin.compare_extractors(
                SVC(), X, Y, cv=3, groups=None, extractors={"tree": SurrogateRules(**TRAIN)}
            )
            and grouped(cv=[(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))])
        ),
        lambda: grouped(cv=GroupKFold(3)),
        lambda: grouped(cv=3),
    ),
    "a splitter by time such as TimeSeriesSplit()": hint(
        lambda: timed(cv=[(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]),
        lambda: timed(cv=TimeSeriesSplit(3)),
        lambda: timed(cv=3),
    ),
    "rank the rows yourself and use fit_ranking(X, scores)": hint(
        lambda: RankContrast(WithoutScores(), top=0.2, bottom=0.2).fit(X, Y),
        lambda: RankContrast(top=0.2, bottom=0.2).fit_ranking(X, X.sum(axis=1)),
    ),
    "leave it out with exclude=[": hint(
        lambda: RankContrast(top=0.2, bottom=0.2).fit_ranking(X, X["age"]),
        lambda: RankContrast(top=0.2, bottom=0.2, exclude=["age"]).fit_ranking(X, X["age"]),
    ),
    "bins='supervised' needs labels; use fit(X, y) or other bins": hint(
        lambda: RankContrast(bins="supervised").fit_ranking(X, X.sum(axis=1)),
        lambda: RankContrast(bins="supervised", top=0.2, bottom=0.2).fit(X, Y),
        lambda: RankContrast(bins="quantile", top=0.2, bottom=0.2).fit_ranking(X, X.sum(axis=1)),
    ),
    "cuts by the labels: pass y, or use bins='quantile'": hint(
        lambda: make_properties(X, bins="supervised"),
        lambda: make_properties(X, bins="supervised", y=Y),
        lambda: make_properties(X, bins="quantile"),
    ),
    "pass the table it was trained on: ": hint(
        lambda: save_model(LogisticRegression().fit(X, Y), "m.json"),
        lambda: save_model(LogisticRegression().fit(X, Y), "m.json", X=X),
    ),
    "only linear models can be saved. joblib.dump keeps": hint(
        lambda: save_model(RBF, "m.json", X=X),
        lambda: joblib.dump(RBF, "m.joblib"),
        lambda: SupportVectorRules(RBF).fit(X, Y).rules_.save("r.json"),
    ),
    "this is a model, which load_model reads": hint(
        lambda: RuleSet.load(save_model(LPSVC().fit(X, Y), "m.json")), lambda: load_model("m.json")
    ),
    "these are rules, which RuleSet.load reads": hint(
        lambda: load_model(parse_rules("age > 3 => a").save("r.json")),
        lambda: RuleSet.load("r.json"),
    ),
    "exists already; pass overwrite=True to replace it": hint(
        lambda: [parse_rules("age > 3 => a").save("r.rules") for _ in range(2)],
        lambda: parse_rules("age > 3 => a").save("r.rules", overwrite=True),
    ),
    "the format 'xlsx' is a file, not a text: use to_xlsx(rules, path)": hint(
        lambda: export(parse_rules("age > 3 => a"), "xlsx"),
        lambda: to_xlsx(parse_rules("age > 3 => a"), "r.xlsx"),
    ),
    "if it should be one, declare it: RuleSet(rules, rules.space, classes=": hint(
        lambda: export(parse_rules("age > 3 => a"), "sql", default="b"),
        lambda: export(
            RuleSet(r := parse_rules("age > 3 => a"), r.space, classes=[*r.classes, "b"]),
            "sql",
            default="b",
        ),
    ),
    "and rules need tables; pass X.toarray()": hint(
        lambda: (
            RuleExtractor(LPSVC().fit(X.to_numpy(), Y))
            .fit(X.to_numpy(), Y)
            .explain_many(sparse.csr_array(X.to_numpy()))
        ),
        lambda: RuleExtractor(LPSVC().fit(X.to_numpy(), Y)).fit(
            sparse.csr_array(X.to_numpy()).toarray(), Y
        ),
    ),
    "a rule speaks of every feature; pass X.toarray()": hint(
        lambda: RuleExtractor(LPSVC()).fit(sparse.csr_array(X.to_numpy()), Y),
        lambda: RuleExtractor(LPSVC()).fit(sparse.csr_array(X.to_numpy()).toarray(), Y),
    ),
    "and properties need a dense table; pass X.toarray()": hint(
        lambda: RankContrast().fit(sparse.csr_array(X.to_numpy()), Y),
        lambda: RankContrast(top=0.2, bottom=0.2).fit(sparse.csr_array(X.to_numpy()).toarray(), Y),
    ),
    "fill it, or take fallback='abstain'": hint(
        lambda: SurrogateRules(SVC(), fallback="nearest").fit(X, Y).predict(X.assign(bmi=np.nan)),
        lambda: SurrogateRules(SVC(), fallback="abstain").fit(X, Y).predict(X.assign(bmi=np.nan)),
    ),
    "the largest box is defined for models of two classes; use kind='central'": hint(
        lambda: (
            RuleExtractor(OneVsRestClassifier(LPSVC())).fit(X, THREE).explain(X.iloc[0], "largest")
        ),
        lambda: (
            RuleExtractor(OneVsRestClassifier(LPSVC())).fit(X, THREE).explain(X.iloc[0], "central")
        ),
    ),
    "needs data; use 'range' or None": hint(
        lambda: AdviceSVC("age > 50 => ill\nage < 30 => well", scale="standard").fit(None, None),
        lambda: AdviceSVC("age > 50 => ill\nage < 30 => well", scale=None).fit(None, None),
        lambda: AdviceSVC("age > 50 => ill\nage < 30 => well", scale="range").fit(None, None),
    ),
    "raise budget, or use certify=False": hint(
        None, lambda: SupportVectorRules(SVC(), certify=False).fit(X, Y)
    ),
    "says how cases are put into folds; leave it out with cv=None": hint(
        lambda: clearmargin.report.report(LPSVC(), X, Y, cv=None, groups=np.arange(60)),
        lambda: clearmargin.report.report(LPSVC(), X, Y, cv=None),
    ),
    "leave them at their defaults": hint(
        lambda: RuleExtractor(OneVsRestClassifier(LPSVC()), max_conditions=2).fit(X, THREE),
        lambda: RuleExtractor(OneVsRestClassifier(LPSVC())).fit(X, THREE),
    ),
    "give X, whose range is the unit, or bounds, or costs=": hint(
        lambda: recourse(LPSVC().fit(X, Y), X.iloc[0], actionable=["bmi"]),
        lambda: recourse(LPSVC().fit(X, Y), X.iloc[0], actionable=["bmi"], X=X),
        lambda: recourse(LPSVC().fit(X, Y), X.iloc[0], actionable={"bmi": (10, 60)}),
        lambda: recourse(LPSVC().fit(X, Y), X.iloc[0], actionable=["bmi"], costs={"bmi": 1}),
    ),
    "a distance threshold goes with partition='ecm'": hint(
        lambda: SVMTreeClassifier(partition="kmeans", scale=0.5).fit(X, Y),
        lambda: SVMTreeClassifier(partition="ecm", scale=0.5).fit(X, Y),
    ),
}

# Messages that name a class to say what was expected or met; there is nothing to follow.
TYPES = re.compile(
    r"must be|is needed, not|is a RuleSet, a text|is a Box or a Polyhedron|are RuleStats or None|is a FeatureSpace, not"
    r"|is not a Rule but|is made by a|is a OneHot or|requires y to be passed|was fitted to several labels"
    r"|takes a fitted|NaN|at least one Boxes|refused \{|needs XlsxWriter|is trained already and cannot be cloned"
    r"|already; leave contrast out|exactly one column of"
)


class WithoutScores(LogisticRegression):  # type: ignore[misc]
    """A classifier that only predicts."""

    @property
    def decision_function(self) -> Any:
        raise AttributeError("decision_function")

    @property
    def predict_proba(self) -> Any:
        raise AttributeError("predict_proba")


def quietly(ask: Callable[[], object]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask()


def fails_with(part: str) -> Callable[[], object]:
    def fail() -> None:
        raise ClearmarginError(next(text for _, text in messages() if part in text))

    return fail


def compared(**options: Any) -> Any:
    extractors = {"tree": SurrogateRules(**TRAIN)}
    return clearmargin.compare_extractors(SVC(), X, Y, extractors=extractors, **options)


def grouped(cv: Any) -> Any:
    return compared(cv=cv, groups=np.arange(60) % 20)


def timed(cv: Any) -> Any:
    return compared(cv=cv, times=np.arange(60))


@pytest.mark.parametrize("part", HINTS)
def test_following_a_message_leads_somewhere(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    provoke, follow = HINTS[part]
    # None where only a rare table brings the message about; its advice is tried all the same.
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClearmarginWarning)
        if provoke is None:
            provoke = fails_with(part)
        with pytest.raises((ClearmarginError, ClearmarginWarning, TypeError)) as caught:
            provoke()
    assert part in re.sub(r"\s+", " ", str(caught.value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in follow:
            step()


def messages():
    """The texts of all errors and warnings in the sources, with {} for what is filled in."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_raised = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
            called = node.exc if is_raised else node
            if not isinstance(called, ast.Call):
                continue
            name = getattr(called.func, "attr", getattr(called.func, "id", ""))
            if is_raised or name == "warn" or name.endswith("Error"):
                text = "; ".join(filter(None, map(written, called.args)))
                if text:
                    yield f"{path.relative_to(SOURCES)}:{node.lineno}", text


def written(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_message_names_a_class_that_is_not_tried_here():
    a_class = re.compile(r"\b(?:[A-Z][a-z]+(?:[A-Z][a-z]*)+|[A-Z]+[a-z]*SVC(?:CV)?)\b")
    fitting = [re.sub(r"\s+", " ", part) for part in HINTS]
    left = [
        f"{place}: {text}"
        for place, text in messages()
        if any(not name.endswith("Error") for name in a_class.findall(text))
        and not TYPES.search(text)
        and not any(part in text for part in fitting)
    ]
    assert not left, "\n".join(left)
