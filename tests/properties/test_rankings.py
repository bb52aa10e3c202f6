"""Properties of columns, the search for those that set two ends apart, and the contrast of a ranking."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.oracles.leverage import share_ends

from clearmargin import RankContrast, Rule, RuleSet, parse_rules, scan
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import DataError, InvalidValueError

# Small, large and tied.
numbers = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=False, allow_infinity=False),
)


pytestmark = pytest.mark.filterwarnings("ignore:the ends of a ranking of")


def texts(table):
    return [each.text for each in table.properties]


@st.composite
def tables(draw):
    m = draw(st.integers(2, 40))
    column = lambda values: draw(st.lists(values, min_size=m, max_size=m))
    kinds = column(st.sampled_from(["u", "v w", None]))
    return pd.DataFrame({
        "a": column(numbers | st.just(math.nan)), "b": column(numbers),
        "whole": column(st.integers(-30, 30)), "flag": column(st.booleans()),
        "kind": pd.Categorical(kinds, ["v w", "u", "never"]),
        "word": pd.Series(column(st.sampled_from(["x", "y", "3b", None])), dtype=object),
    })  # fmt: skip


def table_of(X, **options):
    """The properties of a table, and who has them."""
    return RankContrast(max_size=1, **options).fit_ranking(X, np.arange(len(X)) + 0.1234567).table_


@given(tables(), st.integers(2, 7) | st.just({"a": [-1.5, 2], "whole": [0, 7, 100]}))
@settings(max_examples=60)
def test_properties_share_out_the_rows_and_are_their_rules(X, bins):
    X["always"] = np.arange(len(X)) % 2  # an attribute that varies
    table = table_of(X, bins=bins)
    for j in range(len(table.space)):
        masks = table.masks[table.attribute == j]
        if len(masks):
            assert len(masks) >= 2
            np.testing.assert_array_equal(masks.sum(axis=0), 1)
            assert masks.any(axis=1).all()
    assert not {*dict(table.skipped)} & {table.space.names[j] for j in table.attribute}
    rules = [Rule(each.box, 1) for each in table.properties]
    covered = RuleSet(rules, table.space, classes=[1]).covers(X).T
    np.testing.assert_array_equal(covered, table.masks)
    for each, rule in zip(table.properties, rules, strict=True):
        assert parse_rules(f"{each.text} => 1", space=table.space)[0].region == rule.region


def cuts_of(values, **options):
    """The numbers at which a single column was cut."""
    table = table_of(np.array(values, dtype=float)[:, None], **options)
    ends = [each.box.interval(0) for each in table.properties]
    return sorted({end for each in ends for end in (each.low, each.high) if math.isfinite(end)})


@given(st.lists(numbers, min_size=11, max_size=60, unique=True), st.integers(2, 8), st.data())
def test_quantile_cuts_are_those_nearest_to_equal_shares_with_few_digits(values, n_bins, data):
    values = [*values, *data.draw(st.lists(st.sampled_from(values), max_size=20))]
    distinct = sorted(set(values))
    below = [sum(v < u for v in values) for u in distinct[1:]]
    expected = {
        min(below, key=lambda count: (abs(count * n_bins - i * len(values)), count))
        for i in range(1, n_bins)
    }
    cuts = cuts_of(values, bins=n_bins)
    assert [sum(v < cut for v in values) for cut in cuts] == sorted(expected)
    for cut in cuts:
        low, high = max(v for v in values if v < cut), min(v for v in values if v >= cut)
        digits = len(Decimal(repr(cut)).normalize().as_tuple().digits)
        if cut and digits > 1 and math.isfinite(high - low):
            # No multiple of the next larger power of ten lies in the gap.
            unit = Fraction(10) ** (math.floor(math.log10(abs(cut))) - digits + 2)
            steps = math.floor(Fraction(high) / unit)
            assert steps * unit <= Fraction(math.nextafter(low, math.inf))


def test_properties_are_readable():
    X = pd.DataFrame({
        "toba": [0.85, 1.25, 0.85], "flag": [True, False, True],
        "kind of": pd.Categorical(["male", "fe male", None], ["male", "fe male"]),
        "gap": [2.0, None, 2.0], "same": [1, 1, 1], "none": [None] * 3,
    })  # fmt: skip
    assert texts(table_of(X)) == [
        *("toba = 0.85", "toba = 1.25", "flag = 0", "flag = 1"),
        *("`kind of` = `fe male`", "`kind of` = male", "`kind of` is missing"),
        *("gap = 2", "gap is missing"),
    ]
    given_edges = table_of([[1.0], [2.0], [9.0]], bins={"x0": [-math.inf, 1.37, 4, 5]})
    assert texts(given_edges) == ["x0 < 1.37", "1.37 <= x0 < 4", "x0 >= 5"]


def test_identifiers_and_named_columns_are_left_out():
    for name in ("id", "PatientID", "case_nr", "serial no", "Index"):
        X = pd.DataFrame({name: range(7, 27), "age": [30, 40] * 10})
        table = table_of(X)
        assert (table.space.names, table.skipped[0][0]) == (("age",), name)
        assert len(table_of(X, bins={name: [7]}).properties) == 2
    X = pd.DataFrame({"serial": [f"15B{k}" for k in range(10)], "age": [1, 2] * 5})
    assert table_of(X).skipped[0][0] == "serial"
    assert table_of(X.to_numpy(dtype=object)).attribute.tolist() == [1, 1]
    assert table_of(pd.DataFrame({"valid": range(7, 27)})).skipped == ()
    day = pd.to_datetime(["2020-01-01"] * 3)
    X = pd.DataFrame({"day": day, "a": [1, 2, 4], "b": [1, 1, 2], "c": [0, 1, 1]})
    assert table_of(X, exclude=["day", "c"]).space.names == ("a", "b")
    data = {"t": [5, 6, 7], "a": [1.5, None, 2.5], "k": ["u", "v", None]}
    expected = texts(table_of(pd.DataFrame(data), exclude=["t"]))
    for frame in (pl.DataFrame(data), pa.table(data)):
        assert texts(table_of(frame, exclude=["t"])) == expected


LABELS = [
    ([1, 0, 0, 1, 1], [1, 0, 0, 1, 1], True),
    (["no", "yes", "yes", "no", "no"], [1, -1, -1, 1, 1], True),
    ([1.0, 0.0, None, 1.0, None], [1, 0, 0, 1, 1], True),
    ([True, False, False, True, True], [0, 1, 1, 0, 0], True),
    ([1, 0, 0, 1, 0], [1, 0, 0, 1, 1], False),
    ([1.0, 0.0, None, None, None], [1, 0, 0, 1, 1], False),
    ([1, 0, 0, 2, 1], [1, 0, 0, 1, 1], False),
]  # fmt: skip


def test_a_column_that_is_the_label_is_refused_and_no_other():
    for column, y, is_label in LABELS:
        X = pd.DataFrame({"age": [1, 2, 3, 4, 4] * 8, "failed": column * 8})
        if is_label:
            with pytest.raises(DataError, match="'failed'"):
                RankContrast(top=0.2, bottom=0.2).fit(X, y * 8)
        out = ["failed"] * is_label
        contrast = RankContrast(top=0.2, bottom=0.2, exclude=out).fit(X, y * 8)
        assert "age = 1" in texts(contrast.table_)


class Sum(ClassifierMixin, BaseEstimator):
    """Ranks by the sum of two columns; nothing to train."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X["a"], dtype=float) + np.asarray(X["few"], dtype=float)


def test_contrast_gives_rules_that_cover_what_it_counts():
    X, y = load_wbc(return_X_y=True)
    contrast = RankContrast(top=0.1, bottom=0.1).fit(X, y)
    frame, covered = contrast.properties_, contrast.rules_.covers(X)
    assert len(contrast.rules_) == len(frame) > 10
    assert (covered[contrast.top_index_].sum(axis=0) == frame["top_count"]).all()
    assert (covered[contrast.bottom_index_].sum(axis=0) == frame["bottom_count"]).all()
    assert RuleSet.from_text(contrast.rules_.to_text()) == contrast.rules_
    histograms = contrast.histograms_
    sums = histograms.groupby("attribute")[["top_percent", "bottom_percent"]].sum()
    assert sums.to_numpy() == pytest.approx(100.0)
    singles = set(frame.loc[frame["size"] == 1, "property"])
    assert set(histograms.loc[histograms["found"], "property"]) == singles
    shown = frame[frame["shown"]]
    for text in (contrast.describe(3), contrast._repr_html_()):
        assert shown["property"].iloc[0].split(" ")[0] in text


def test_contrast_any_classifier_and_any_scores_rank():
    X, y = load_pima(return_X_y=True)
    by_tree = RankContrast(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    assert by_tree.top_ties_ > 0
    top, bottom = share_ends(by_tree.scores_, 0.05)
    assert by_tree.top_index_.tolist() == top.tolist()
    assert by_tree.bottom_index_.tolist() == bottom.tolist()
    last = by_tree.scores_[top[-1]]
    assert by_tree.top_ties_ == (np.delete(by_tree.scores_, top) == last).sum()
    by_logit = RankContrast(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    by_scores = RankContrast().fit_ranking(X, by_logit.scores_)
    assert by_scores.properties_["property"].tolist() == by_logit.properties_["property"].tolist()
    assert not hasattr(by_scores, "auc_")
    ill = RankContrast(positive="tested_positive").fit(X, y)
    well = RankContrast(positive="tested_negative").fit(X, y)
    assert ill.classes_.tolist()[-1] == "tested_positive"
    assert set(ill.top_index_) & set(well.bottom_index_)
    again = clone(ill).set_params(top=0.1).fit(X, y).fit_ranking(X, ill.scores_)
    assert not any(hasattr(again, name) for name in ("auc_", "roc_", "model_", "classes_"))


def test_contrast_sizes_are_chosen_by_what_is_found_and_corrected_for():
    rng = np.random.default_rng(7)
    X = rng.choice([-1.0, 1.0], (600, 8))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=600) > 0
    auto = RankContrast(top="auto", max_size=1).fit(X, y)
    chosen = auto.sizes_[auto.sizes_["chosen"]].iloc[0]
    assert chosen["significant"] == auto.sizes_["significant"].max()
    share = float(chosen["share"])
    assert len(auto.top_index_) == len(auto.bottom_index_) == int(Fraction(str(share)) * 600)
    fixed = RankContrast(top=share, bottom=share, max_size=1).fit(X, y)
    assert (chosen["above"], len(auto.properties_)) == (len(fixed.properties_),) * 2
    ratio = auto.properties_["holm"].min() / fixed.properties_["holm"].min()
    assert ratio == pytest.approx(len(auto.sizes_))
    cv = RankContrast(top="cv", max_size=1).fit(X, y)
    best = cv.sizes_[cv.sizes_["chosen"]].iloc[0]
    assert best["score"] == cv.sizes_["score"].max() > 0.1
    frame = cv.properties_
    named = {text.split(" ")[0] for text in frame.loc[frame["confirmed"], "property"]}
    assert named == {"x0", "x1", "x2"}
    ranked = RankContrast(top="cv", max_size=1).fit_ranking(X, X[:, :2].sum(axis=1) + 0.1 * y)
    assert ranked.sizes_["score"].max() > 0.15
    few = RankContrast(top="cv", max_size=1).fit(X[:60], np.arange(60) < 3)
    assert len(few.folds_) == 2


def test_contrast_of_a_table_in_files_draws_rows_and_counts_all(tmp_path):
    # About a second: more rows than are drawn.
    rng = np.random.default_rng(0)
    m = 102_000
    frame = pd.DataFrame({"a": rng.normal(size=m).round(2), "few": rng.integers(0, 4, m) * 1.0})
    frame["kind"] = np.where(frame["a"] > 1, "hot", np.where(rng.random(m) < 0.5, "mild", None))
    y = np.where(frame["a"] + frame["few"] / 2 + rng.normal(size=m) > 1, "yes", "no")
    for k, part in enumerate(np.array_split(np.arange(m), 3)):
        frame.assign(label=y).iloc[part].to_parquet(tmp_path / f"{k}.parquet")
    contrast = RankContrast(FrozenEstimator(Sum().fit(frame, y)), top=500, bottom=0.01)
    contrast.fit(scan(tmp_path, target="label"))
    assert (contrast.n_rows_, contrast.n_ranked_on_) == (m, 0)
    assert 99_000 < len(contrast.scores_) <= 100_000
    found, covered = contrast.properties_, contrast.rules_.covers(frame)
    assert len(found) > 3
    assert found["rows"].tolist() == covered.sum(axis=0).tolist()
    assert found["positive_rows"].tolist() == covered[y == "yes"].sum(axis=0).tolist()
    for end, side in ((contrast.top_index_, "top_count"), (contrast.bottom_index_, "bottom_count")):
        assert found[side].tolist() == covered[end].sum(axis=0).tolist()
    drawn = np.array(frame["a"] + frame["few"])[contrast.top_index_]
    np.testing.assert_array_equal(drawn, np.sort(contrast.scores_)[::-1][:500])
    trained = RankContrast(cv="halves", max_size=1).fit(scan(tmp_path, target="label"))
    assert trained.n_ranked_on_ == len(trained.scores_)
    assert np.unique(np.concatenate(trained.folds_.pairs[0])).max() > 100_500


X = pd.DataFrame({"age": [30, 41, 52, 63], "kind": ["u", "v", "u", "v"]})
RNG = np.random.default_rng(0)
WIDE = pd.DataFrame({"age": RNG.normal(size=100), "bmi": RNG.normal(size=100)})
Y = np.where(WIDE["age"] > 0, "yes", "no")
PROPERTIES = [
    ({"bins": "quantiles"}, "bins"), ({"bins": {"agee": [40]}}, "'age'"),
    ({"bins": {"age": [50, 40]}}, "'age'"), ({"bins": {"kind": [1]}}, "'kind'"),
    ({"bins": {"age": [4]}, "exclude": ["age"]}, "'age'"), ({"bins": 1}, "bins"),
    ({"exclude": ["aeg"]}, "'age'"), ({"exclude": ["age", "kind"]}, "exclude"),
    ({"X": X.iloc[:0]}, "X"), ({"X": [[1.0], [math.inf]]}, "'x0'"),
    ({"X": pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])})}, "'day'"),
]  # fmt: skip
CONTRASTS = [
    ({"top": 0.6, "bottom": 0.5}, "top"),
    ({"top": "best"}, "top"),
    ({"top": "cv", "bottom": "auto"}, "bottom"),
    ({"top": "auto", "min_leverage": "much"}, "min_leverage"),
    ({"min_leverage": 0.3}, "min_leverage"),
    ({"cv": 1}, "cv"),
    ({"estimator": LinearRegression()}, "LinearRegression"),
]
FITS = [
    (lambda c: c.fit(WIDE, np.arange(100) % 3), "3 classes"),
    (lambda c: c.fit(WIDE.assign(age=1.0, bmi=1.0), Y), "attribute"),
    (lambda c: c.fit(WIDE.assign(failed=Y), Y), "'failed'"),
    (lambda c: c.fit(WIDE, Y, groups=[1] * 100), "groups"),
    (lambda c: c.fit(WIDE, Y, times=[None] + [1] * 99), "times"),
    (
        lambda c: c.fit_ranking(WIDE, np.where(np.arange(100) == 3, np.nan, np.arange(100.0))),
        "row 4",
    ),
    (lambda c: c.fit_ranking(WIDE, WIDE["bmi"]), "'bmi'"),
]


def test_rankings_refuse_by_name():
    for options, name in PROPERTIES:
        with pytest.raises((InvalidValueError, DataError), match=name):
            table_of(**{"X": X} | options)
    for options, name in CONTRASTS:
        with pytest.raises((InvalidValueError, DataError), match=name):
            RankContrast(**options).fit(WIDE, Y)
    for call, name in FITS:
        with pytest.raises((ValueError, DataError), match=name):
            call(RankContrast())
    with pytest.raises(AttributeError):
        _ = RankContrast(max_size=1, top=10, bottom=10).fit(WIDE, Y).sizes_
