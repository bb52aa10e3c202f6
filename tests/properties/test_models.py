"""Fitted models of scikit-learn: what is read from them decides as they do, on rows that nobody chose."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import decomposition as dec
from sklearn import feature_selection as fs
from sklearn import linear_model as lm
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM
from tests.oracles.kernel_grid import duels

import clearmargin as cm
from clearmargin.exceptions import InvalidValueError
from clearmargin.models import PlaneModel
from clearmargin.report import report

# Rounding inside scikit-learn and inside the planes, against the sum of the magnitudes of their terms.
CLOSE = 1e-9
NUMBERS = ["age", "bmi", "dose", "visits"]


def numbers(n_classes=2):
    X, codes = make_classification(
        200, 4, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=3
    )
    X = X * [10.0, 1.0, 0.01, 5.0] + [50.0, 25.0, 0.1, 1000.0]
    return pd.DataFrame(X, columns=NUMBERS), np.array(["low", "mid", "high", "top"])[codes]


def drawn(X, m=300):
    """Rows around those of a table."""
    rng, values = np.random.default_rng(0), np.asarray(X, dtype=float)
    low, high, reach = values.min(axis=0), values.max(axis=0), np.ptp(values, axis=0)
    rows = rng.uniform(low - 0.2 * reach, high + 0.2 * reach, (m, values.shape[1]))
    return pd.DataFrame(rows, columns=X.columns) if isinstance(X, pd.DataFrame) else rows


def assert_same_scores(plain, model, X):
    """The scores of the planes are those of the model but for rounding, and so are the classes."""
    points, found = plain.encoding_.encode(X), plain.decision_function(X)
    expected = np.asarray(model.decision_function(X))
    if expected.ndim == 2:  # leads over the first class
        expected = expected - expected[:, :1]
    elif list(plain.classes_) != list(model.classes_):  # ties of SVC go to the second class
        expected = -expected
    sizes = np.abs(points) @ np.abs(plain.coef_).T + np.abs(plain.intercept_)
    error = np.abs(found - expected)
    assert (error <= CLOSE * sizes.max(axis=1).reshape(-1, *[1] * (error.ndim - 1))).all()
    assert (plain.predict(X) == model.predict(X)).all()


STEPS = [
    ["passthrough"], [StandardScaler()], [StandardScaler(with_mean=False)], [StandardScaler(with_std=False)],
    [MinMaxScaler((-1, 2))], [MaxAbsScaler()], [RobustScaler()], [RobustScaler(with_scaling=False)],
    [RobustScaler(with_centering=False, unit_variance=True)], [fs.SelectFromModel(lm.RidgeClassifier())],
    [fs.GenericUnivariateSelect(mode="k_best", param=3)], [fs.VarianceThreshold(0.01)],
    [fs.RFE(lm.RidgeClassifier(), n_features_to_select=2)], [dec.PCA(3, whiten=True)], [dec.IncrementalPCA(2)],
    [dec.TruncatedSVD(2, random_state=0)], [GaussianRandomProjection(3, random_state=0)],
    [SimpleImputer()], [KNNImputer()], [FunctionTransformer()],
    [FrozenEstimator(StandardScaler().fit(numbers()[0]))],
    [StandardScaler(), fs.SelectKBest(k=3), dec.PCA(2), MinMaxScaler()],
    [make_pipeline(SimpleImputer(), None, RobustScaler()), fs.SelectKBest(k=2)],
    [FeatureUnion([("turned", dec.PCA(2)), ("scaled", make_pipeline(StandardScaler())),
        ("gone", "drop"), ("same", "passthrough")], transformer_weights={"turned": 0.5})],
    [ColumnTransformer([("a", StandardScaler(), ["dose", "age"]), ("b", "passthrough", ["visits"])],
        transformer_weights={"a": -3.0})],
    [ColumnTransformer([("a", MinMaxScaler(), [3, 0]), ("b", "drop", slice(1, 2)), ("none", dec.PCA(), [])],
        remainder=RobustScaler())],
    [ColumnTransformer([("a", "passthrough", [False, True, False, False]),
        ("b", StandardScaler(), make_column_selector("^age|visits"))])],
]  # fmt: skip


@pytest.mark.parametrize("steps", STEPS, ids=range(len(STEPS)))
def test_planes_behind_steps_have_the_scores_of_the_pipeline(steps, tmp_path):
    X, y = numbers()
    model = make_pipeline(*steps, lm.RidgeClassifier()).fit(X, y)
    plain = PlaneModel.from_estimator(model, X)
    assert plain.space.names == tuple(NUMBERS)
    assert_same_scores(plain, model, drawn(X))
    turned = PlaneModel.from_estimator(model, X[NUMBERS[::-1]])
    assert (turned.coef_[0, ::-1] == plain.coef_[0]).all()
    assert turned.intercept_ == plain.intercept_
    loaded = cm.load_model(cm.save_model(model, tmp_path / "m.json", X=X))
    assert (loaded.decision_function(X) == plain.decision_function(X)).all()


def test_planes_of_pipelines_that_hand_on_frames_or_know_no_names():
    X, y = numbers()
    inner = ColumnTransformer([("s", StandardScaler(), ["dose", "bmi"])], remainder="passthrough",
        verbose_feature_names_out=False)  # fmt: skip
    outer = ColumnTransformer([("m", MinMaxScaler(), ["age", "bmi"])], remainder="drop")
    model = make_pipeline(inner, outer, lm.RidgeClassifier()).set_output(transform="pandas")
    plain = PlaneModel.from_estimator(model.fit(X, y), X)
    assert plain.features_used == ["age", "bmi"]
    assert_same_scores(plain, model, X)
    bare = make_pipeline(StandardScaler(), lm.RidgeClassifier()).fit(X.to_numpy(), y)
    for table, names in ((X.to_numpy(), ("x0", "x1", "x2", "x3")), (X, tuple(NUMBERS))):
        assert PlaneModel.from_estimator(bare, table).space.names == names
    table = pl.DataFrame(X.to_dict("list"))
    named = clone(bare).fit(table, y)
    turned = PlaneModel.from_estimator(named, table.select(NUMBERS[::-1]))
    assert (turned.predict(table) == named.predict(table)).all()
    single = X.astype(np.float32)
    found = PlaneModel.from_estimator(bare.fit(single, y), single).decision_function(single)
    assert found == pytest.approx(bare.decision_function(single), abs=2e-3)


TWO = [
    cm.LPSVC(nu=1.0), LinearSVC(), LinearSVC(fit_intercept=False),
    SVC(kernel="linear"), NuSVC(kernel="linear", nu=0.2), lm.LogisticRegression(), lm.RidgeClassifier(),
    lm.LogisticRegressionCV(Cs=2, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"),
    lm.RidgeClassifier(fit_intercept=False), lm.RidgeClassifierCV(), lm.Perceptron(),
    lm.SGDClassifier(random_state=0), lm.SGDClassifier(loss="log_loss", average=True, random_state=0),
    ms.GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2), LinearDiscriminantAnalysis(),
    ms.RandomizedSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, n_iter=1, cv=2, random_state=0),
    fs.RFE(LinearSVC(), n_features_to_select=2), OneVsRestClassifier(LinearSVC()),
]  # fmt: skip
SCORED = [
    LinearSVC(), lm.LogisticRegression(), lm.RidgeClassifier(), lm.RidgeClassifierCV(), lm.Perceptron(),
    LinearSVC(multi_class="crammer_singer", tol=0.01, max_iter=100_000, random_state=0),
    lm.SGDClassifier(random_state=0), LinearDiscriminantAnalysis(), OneVsRestClassifier(cm.LPSVC()),
    OneVsRestClassifier(SVC(kernel="linear")), OneVsRestClassifier(make_pipeline(MinMaxScaler(), LinearSVC())),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "n_classes"), [(m, 2) for m in TWO] + [(m, 4) for m in SCORED], ids=str
)
def test_planes_of_linear_classifiers_have_their_scores(model, n_classes):
    X, y = numbers(n_classes)
    fitted = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    plain = PlaneModel.from_estimator(fitted, X)
    assert_same_scores(plain, fitted, drawn(X))
    for wrapped in (FrozenEstimator(fitted), make_pipeline(fitted)):
        same = PlaneModel.from_estimator(wrapped, X)
        assert (same.coef_ == plain.coef_).all()


VOTED = [
    SVC(kernel="linear", decision_function_shape="ovo"), SVC(kernel="linear", break_ties=True),
    NuSVC(kernel="linear", nu=0.1), OneVsOneClassifier(LinearSVC()), OneVsOneClassifier(SVC(kernel="linear")),
]  # fmt: skip


@pytest.mark.parametrize("model", VOTED, ids=str)
def test_votes_of_pairs_have_a_region_a_class_and_no_plane(model):
    X, y = numbers(4)
    fitted = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    with pytest.raises(InvalidValueError, match="vote"):
        PlaneModel.from_estimator(fitted, X)
    extractor, rows = cm.RuleExtractor(fitted, max_rules=1).fit(X, y), drawn(X, 2000)
    predicted, points = fitted.predict(rows), extractor.surface_.encode(rows)
    found = np.zeros(len(rows), dtype=int)
    for k, label in enumerate(extractor.classes_):
        inside = np.all([m.values(points) > 1e-6 for m in extractor.surface_.margins(k)], axis=0)
        assert (predicted[inside] == label).all()
        found += inside
    assert found.max() == 1
    assert found.mean() > 0.3


def test_points_on_a_plane_get_the_class_that_the_model_gives_them():
    X, y = np.array([[-1.0], [-1.0], [1.0], [1.0]]), ["a", "a", "b", "b"]
    central = LinearSVC(fit_intercept=False)
    for model in [cm.LPSVC(), central, SVC(kernel="linear"), NuSVC(kernel="linear"), lm.RidgeClassifier(),
            lm.LogisticRegression(fit_intercept=False), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
            lm.Perceptron(), OneVsRestClassifier(SVC(kernel="linear")), OneVsOneClassifier(central),
            OneVsOneClassifier(SVC(kernel="linear"))]:  # fmt: skip
        plain = PlaneModel.from_estimator(model.fit(X, y), X)
        assert plain.intercept_ == 0.0
        assert plain.predict([[0.0]]) == model.predict([[0.0]]), model
    X, point = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 5.0]]), np.array([[0.0, -3.0]])
    machines = [SVC(kernel="linear", C=100.0, break_ties=breaks) for breaks in (True, False)]
    for model in (central, OneVsRestClassifier(central), *machines):
        surface = cm.RuleExtractor(model.fit(X, [0, 1, 2])).fit(X, [0, 1, 2]).surface_
        at = cm.Box(point[0], point[0])
        owners = [k for k in range(3) if all(m.is_positive(at) for m in surface.margins(k))]
        assert owners == model.predict(point).tolist(), model


def test_weights_may_be_sparse_or_none():
    X, y = numbers()
    dense = lm.SGDClassifier(penalty="l1", alpha=0.1, random_state=0).fit(X, y)
    expected = PlaneModel.from_estimator(dense, X).coef_
    assert (PlaneModel.from_estimator(dense.sparsify(), X).coef_ == expected).all()
    scaled = StandardScaler().fit_transform(X)
    machine, curved = (SVC(kernel=k).fit(sparse.csr_array(scaled), y) for k in ("linear", "rbf"))
    assert_same_scores(PlaneModel.from_estimator(machine, scaled), machine, scaled)
    assert cm.certify(curved, cm.Box(scaled[0], scaled[0]), y[0]).nodes == 1
    assert not PlaneModel.from_estimator(cm.LPSVC(nu=1e-9).fit(X, y), X).features_used


def patients(m=150):
    """Numbers beside texts, declared categories, truth values and numbers that name things."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], m), "age": rng.normal(50, 10, m),
        "smoker": pd.Categorical(rng.choice(["yes", "ex", "no"], m), ["no", "ex", "yes"]),
        "ward": rng.choice([10, 20, 30], m), "insured": rng.choice([True, False], m),
        "bmi": rng.normal(25, 3, m), "note": rng.choice(["a", "b"], m)})  # fmt: skip
    score = (X["age"] - 50) / 10 + (X["colour"] == "red") - (X["ward"] == 20) + (X["bmi"] - 25) / 5
    return X, np.where(score > 0.1, 1, 0)


CODED = ["colour", "smoker", "ward", "insured"]
ENCODERS = {
    "all": OneHotEncoder(), "dense": OneHotEncoder(sparse_output=False), "first": OneHotEncoder(drop="first"),
    "binary": OneHotEncoder(drop="if_binary"), "some": OneHotEncoder(drop=["green", "no", 20, True]),
    "unknown": OneHotEncoder(handle_unknown="ignore"), "ordinal": OrdinalEncoder(),
    "infrequent": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2),
    "imputed": make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
    "scaled": make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
    "selected": make_pipeline(OneHotEncoder(), fs.SelectKBest(k=4)),
}  # fmt: skip


def encoding(encoder, columns=CODED):
    numeric = make_pipeline(SimpleImputer(), StandardScaler())
    step = make_column_transformer((clone(encoder), columns), (numeric, ["bmi", "age"]))
    return make_pipeline(step, lm.LogisticRegression())


@pytest.mark.parametrize("name", ENCODERS)
def test_encoded_categories_come_back_as_categories(name, tmp_path):
    X, y = patients()
    model = encoding(ENCODERS[name]).fit(X, y)
    plain = PlaneModel.from_estimator(model, X)
    assert_same_scores(plain, model, X)
    assert plain.space.names == tuple(X.columns)
    kinds = dict(zip(X.columns, (set(c or ()) for c in plain.space.categories), strict=True))
    assert kinds == {"colour": {"red", "green", "blue"}, "smoker": {"no", "ex", "yes"},
        "ward": {"10", "20", "30"}, "insured": {"True", "False"}, "age": set(), "bmi": set(),
        "note": {"a", "b"}}  # fmt: skip
    loaded = cm.load_model(cm.save_model(model, tmp_path / "m.json", X=X))
    assert (loaded.predict(X.astype({"ward": str})) == model.predict(X)).all()
    # What an imputer fills in counts as that; what nothing fills in is an error.
    gaps = X.assign(age=np.where(np.arange(150) < 9, np.nan, X["age"]))
    assert_same_scores(plain, model, gaps)
    assert plain.imputed["age"] == pytest.approx(X["age"].mean())
    if name not in ("imputed", "selected"):
        with pytest.raises(ValueError, match="'colour'"):
            plain.predict(X.assign(colour=None))


def test_categories_that_the_model_has_or_has_not_seen():
    X, y = patients()
    model = encoding(OneHotEncoder(handle_unknown="ignore"), ["colour"]).fit(X, y)
    strange = pd.concat([X.head(2).assign(colour="purple"), X], ignore_index=True)
    for table in (strange, X.assign(colour="purple")):
        found = PlaneModel.from_estimator(model, table)
        assert (found.coef_ == PlaneModel.from_estimator(model, X).coef_).all()
    with pytest.raises(ValueError, match="'colour'"):
        found.predict(strange)
    lacking = X.assign(colour=X["colour"].where(np.arange(150) > 20, None))
    model = encoding(OneHotEncoder(), ["colour"]).fit(lacking, y)
    plain = PlaneModel.from_estimator(model, lacking)
    assert plain.space.categories[0] == ("blue", "green", "red")
    assert_same_scores(plain, model, lacking.iloc[21:])
    declared = pd.DataFrame(
        {"grade": pd.Categorical([1, 2, 3, 2]), "age": [40.0, 50.0, 60.0, 45.0]}
    )
    model = make_pipeline(StandardScaler(), lm.RidgeClassifier()).fit(declared, [0, 1, 1, 0])
    assert PlaneModel.from_estimator(model, declared).space.categories == (None, None)
    texts = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]], dtype=object)
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(texts, [0, 1, 0, 1])
    assert_same_scores(PlaneModel.from_estimator(model, texts), model, texts)
    # Each part of a reduction may have an encoder of its own.
    model = OneVsRestClassifier(encoding(OneHotEncoder(), ["colour", "ward"]))
    model.fit(X, X["smoker"].astype(str))
    assert_same_scores(PlaneModel.from_estimator(model, X), model, X)


KERNELS = [
    {"kernel": "linear"}, {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.5},
    {"kernel": "poly", "coef0": 0.3}, {"kernel": "rbf", "gamma": 0.7}, {"kernel": "rbf", "gamma": "auto"},
]  # fmt: skip
MACHINES = {"SVC": lambda options: SVC(decision_function_shape="ovo", **options),
    "NuSVC": lambda options: NuSVC(nu=0.1, decision_function_shape="ovo", **options),
    "OneClassSVM": lambda options: OneClassSVM(nu=0.2, **options)}  # fmt: skip
BEFORE = {
    "searched": ["passthrough"],
    "turned": [MinMaxScaler((-3, 2)), StandardScaler()],
    "columns": [ColumnTransformer([("a", MinMaxScaler(), [1]), ("b", StandardScaler(), [2, 0])],
        transformer_weights={"a": -2.0})],
    "dropped": [make_column_transformer((MaxAbsScaler(), [1, 2]), remainder="drop")],
    "chosen": [RobustScaler(), make_pipeline(fs.SelectKBest(k=2), FunctionTransformer())],
}  # fmt: skip


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from(sorted(MACHINES)),
    st.sampled_from(sorted(BEFORE)), st.integers(2, 4))  # fmt: skip
@example(0, KERNELS[0], "SVC", "searched", 2)
def test_kernel_machines_behind_steps_have_values_of_the_pipeline(seed, kernel, machine, steps, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) + np.array([3.0, 4.0, -7.0])
    y = np.arange(40) % k
    X[:, 0] += y
    before, last = BEFORE[steps], MACHINES[machine](kernel)
    model = make_pipeline(*(s if isinstance(s, str) else clone(s) for s in before), last).fit(X, y)
    if steps == "searched" and machine == "SVC":
        model = FrozenEstimator(ms.GridSearchCV(model, {"svc__C": [1.0]}, cv=2).fit(X, y))
    size = np.abs(last.dual_coef_).sum() if hasattr(last, "dual_coef_") else 100.0
    for point in X[:2] + rng.normal(size=(2, 3)):
        label = model.predict(point[None])[0]
        if machine == "OneClassSVM":
            value = label * model.decision_function(point[None])[0]
        else:
            value = duels(model, point[None], label)[0]
        if value > 1e-6:  # a vote that ties is won without winning each duel
            bound = cm.certify(model, cm.Box(point, point), label).bound
            assert bound == pytest.approx(value, rel=1e-9, abs=1e-9 * size)


SCALERS = {
    "standard": [StandardScaler()],
    "minmax": [MinMaxScaler((-1, 1))],
    "turned": [MinMaxScaler((0, 1)), RobustScaler(), StandardScaler()],
    # The second scaler takes away what the first has added: the sum of both is small, its rounding is not.
    "back and forth": [MinMaxScaler((1e9, 1e9 + 1)), StandardScaler()],
    "there and back": [StandardScaler(), MinMaxScaler((-1e7, -1e7 + 3)), RobustScaler()],
}


def exact_image(model, row):
    """The row that reaches the machine in exact arithmetic, from what the scalers remember."""
    row = [Fraction(v) for v in row.tolist()]
    for step in model[:-1]:
        if isinstance(step, MinMaxScaler):
            pairs = zip(row, step.scale_, step.min_, strict=True)
            row = [v * Fraction(s) + Fraction(t) for v, s, t in pairs]
        else:
            middle = step.mean_ if isinstance(step, StandardScaler) else step.center_
            pairs = zip(row, middle, step.scale_, strict=True)
            row = [(v - Fraction(c)) / Fraction(s) for v, c, s in pairs]
    return row


@pytest.mark.parametrize("name", SCALERS)
@pytest.mark.parametrize("offset", [0.0, 1e6, -1e8])
def test_certify_behind_scalers_is_never_above_the_exact_value(name, offset):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3)) * [1.0, 100.0, 0.01] + offset
    model = make_pipeline(*SCALERS[name], SVC(kernel="linear")).fit(X, X[:, 0] > offset)
    svm = model[-1]
    weights = [sum((Fraction(a) * Fraction(v) for a, v in zip(svm.dual_coef_[0], column, strict=True)),
        Fraction(0)) for column in svm.support_vectors_.T]  # fmt: skip
    for one, other in zip(X[:8], X[8:16], strict=True):
        box = cm.Box(np.minimum(one, other), np.maximum(one, other))
        exact = []
        for corner in itertools.product(*zip(box.lower, box.upper, strict=True)):
            pairs = zip(weights, exact_image(model, np.array(corner)), strict=True)
            exact.append(sum((w * v for w, v in pairs), Fraction(svm.intercept_[0])))
        for label, least in ((True, min(exact)), (False, -max(exact))):
            answer = cm.certify(model, box, label)
            assert answer.status != "proved" or 0 < Fraction(answer.bound) <= least
            assert answer.status != "refuted" or least < 0


FRAME, TARGET = numbers()
INNER = {
    "logistic": lm.LogisticRegression(), "sgd": lm.SGDClassifier(loss="log_loss", random_state=0),
    "discriminant": LinearDiscriminantAnalysis(), "linear": LinearSVC(), "ours": cm.LPSVC(nu=0.1),
    "calibrated": CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2),
    "isotonic": CalibratedClassifierCV(lm.RidgeClassifier(), ensemble=False, method="isotonic", cv=2),
}  # fmt: skip


@pytest.mark.parametrize("name", INNER)
def test_planes_move_by_an_operating_threshold(name):
    outer = ms.FixedThresholdClassifier(make_pipeline(StandardScaler(), clone(INNER[name])))
    inner = make_pipeline(StandardScaler(), ms.FixedThresholdClassifier(clone(INNER[name])))
    for model, threshold in ((outer, outer), (inner, inner[-1])):
        model.fit(FRAME, TARGET)
        for label in ("low", "mid"):
            counts = set()
            for value in (0.15, 0.8):
                threshold.set_params(threshold=value, pos_label=label)
                predicted = model.predict(FRAME)
                assert (PlaneModel.from_estimator(model, FRAME).predict(FRAME) == predicted).all()
                counts.add(int((predicted == label).sum()))
            assert len(counts) == 2  # the threshold matters


POINTS = np.array([[0.0], [1.0], [2.0], [3.0]] * 3)
LABELS = np.array(["no", "yes", "no", "yes"] * 3)
FITTED = {name: clone(INNER[name]).fit(POINTS, LABELS) for name in ("logistic", "calibrated")}


@settings(max_examples=25)
@given(st.floats(1e-6, 1 - 1e-6), st.sampled_from(["no", "yes"]), st.sampled_from(sorted(FITTED)))
@example(0.5, "yes", "logistic")
def test_rules_of_a_threshold_hold_next_to_it(value, label, name):
    model = ms.FixedThresholdClassifier(
        FrozenEstimator(FITTED[name]), threshold=value, pos_label=label
    ).fit(POINTS, LABELS)
    if len(set(model.predict(POINTS))) < 2:
        return
    extractor = cm.RuleExtractor(model, min_coverage=1).fit(POINTS, LABELS)
    assert {rule.proof for rule in extractor.rules_} == {"proved"}
    for rule in extractor.rules_:
        for end in (*rule.region.lower, *rule.region.upper):
            if np.isfinite(end):
                rows = end + np.arange(-200, 200)[:, None] * np.spacing(end)
                inside = rule.region.contains(rows)
                assert (model.predict(rows)[inside] == rule.label).all()


def test_thresholds_reach_kernels_rules_reports_files_cards_and_recourse(tmp_path):
    svm = SVC(gamma=0.5)
    for machine in (svm, CalibratedClassifierCV(svm, ensemble=False, cv=2)):
        inner = make_pipeline(StandardScaler(), machine)
        model = ms.FixedThresholdClassifier(inner, threshold=0.3, pos_label="low").fit(
            FRAME, TARGET
        )
        for k in range(0, 200, 20):
            box, said = cm.Box(FRAME.iloc[k], FRAME.iloc[k]), model.predict(FRAME.iloc[[k]])[0]
            for label in ("low", "mid"):
                assert cm.certify(model, box, label).status == (
                    "proved" if label == said else "refuted"
                )
    linear = make_pipeline(StandardScaler(), LinearSVC())
    tuned = ms.TunedThresholdClassifierCV(linear, cv=2, thresholds=9).fit(FRAME, TARGET)
    extractor = cm.RuleExtractor(tuned, max_rules=2).fit(FRAME, TARGET)
    said = report(extractor, FRAME, TARGET, cv=None).to_dict()["model"]["threshold"]
    assert f"{tuned.best_threshold_:.6g}" in said
    loaded = cm.load_model(cm.save_model(extractor, tmp_path / "t.json"))
    assert loaded.facts["threshold"] == said
    assert (loaded.predict(FRAME) == tuned.predict(FRAME)).all()
    assert cm.ScoreRules(tuned, max_rules=8).fit(FRAME, TARGET).fidelity_ > 0.85
    case = FRAME.iloc[int(np.argmax(tuned.predict(FRAME) == "mid"))]
    answer = cm.recourse(tuned, case, X=FRAME, target="low", actionable=NUMBERS)
    assert (answer.verified, answer.label_after) == (True, "low")
