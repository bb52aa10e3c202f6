"""Tables of any kind are read alike: columns of numbers or categories, labels, rows by name, rows that are made."""

import datetime as dt
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import KFold, StratifiedKFold
from tests.contract.estimators import ESTIMATORS

from clearmargin import LPSVC, FeatureSpace, ScoreRules, SurrogateRules, compare_extractors
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning, DataError
from clearmargin.report import report

NAN = np.nan
NUMBERS = {"list": [1, 2.5, None], "float32": np.array([1.0, 2.5, NAN], dtype=np.float32),
    "objects": np.array([1, 2.5, None], dtype=object), "objects with NA": np.array([1, 2.5, pd.NA], dtype=object),
    "decimals": np.array([Decimal(1), Decimal("2.5"), Decimal("nan")], dtype=object),
    "fractions": np.array([Fraction(1), Fraction(5, 2), NAN], dtype=object), "pandas": pd.Series([1, 2.5, None]),
    "pandas Float64": pd.Series([1, 2.5, None], dtype="Float64"),
    "pandas of arrow": pd.Series([1, 2.5, None], dtype="float64[pyarrow]"), "polars": pl.Series([1.0, 2.5, None]),
    "polars decimal": pl.Series([Decimal(1), Decimal("2.5"), None])}  # fmt: skip
WHOLE = {"bool": np.array([True, False]), "int8": np.array([1, 0], dtype=np.int8),
    "uint64": np.array([1, 0], dtype=np.uint64), "pandas Int64": pd.Series([1, 0], dtype="Int64"),
    "pandas boolean": pd.Series([True, False], dtype="boolean"),
    "objects": np.array([True, np.bool_(False)], dtype=object), "polars": pl.Series([True, False])}  # fmt: skip
TEXTS = {"list": ["b", None, "a"], "numpy": np.array(["b", None, "a"], dtype=object),
    "pandas str": pd.Series(["b", None, "a"], dtype="str"),
    "pandas string": pd.Series(["b", None, "a"], dtype="string"),
    "pandas object": pd.Series(["b", NAN, "a"], dtype=object),
    "pandas categorical": pd.Series(["b", None, "a"], dtype="category"), "polars": pl.Series(["b", None, "a"]),
    "polars categorical": pl.Series(["b", None, "a"], dtype=pl.Categorical)}  # fmt: skip


def frame(values, name="x"):
    if isinstance(values, pl.Series):
        return pl.DataFrame({name: values})
    return {name: values} if isinstance(values, list) else pd.DataFrame({name: values})


def read(X):
    space = FeatureSpace.from_data(X)
    return space.categories, space.read(X).T.tolist()


def test_columns_of_any_kind_are_numbers_or_categories():
    same = lambda found, expected: found == pytest.approx(expected, nan_ok=True)
    for kind, values in NUMBERS.items():
        categories, (found,) = read(frame(values))
        assert (categories, same(found, [1.0, 2.5, NAN])) == ((None,), True), kind
    for kind, values in WHOLE.items():
        assert read(frame(values)) == ((None,), [[1.0, 0.0]]), kind
        assert FeatureSpace.from_data(frame(values)).integer[0], kind
    for kind, values in TEXTS.items():
        categories, (codes,) = read(frame(values))
        assert (categories, same(codes, [1.0, NAN, 0.0])) == ((("a", "b"),), True), kind
        other = FeatureSpace(["x"], categories={"x": ["c", "a"]}).read(frame(values))
        assert same(other[:, 0].tolist(), [-1.0, NAN, 1.0]), kind
    # Numbers that name things are found however they are stored.
    space = FeatureSpace(["x"], categories={"x": ["3", "1"]})
    declared = pd.Series(pd.Categorical([3, 1, None], categories=[3, 1]))
    assert read(frame(declared))[0] == (("1", "3"),)
    for values in (declared, pd.Series([3, 1, None]), pd.Series([3, 1, None], dtype="Int64"),
            pd.Series(["3", "1", None]), pl.Series([3, 1, None]), np.array([3.0, 1.0, NAN])):  # fmt: skip
        assert same(space.read(frame(values))[:, 0].tolist(), [0.0, 1.0, NAN]), values


DATES = [pd.Series(pd.to_datetime(["2020-01-01", None])),
    pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")), pd.Series(pd.to_timedelta([1], unit="s")),
    pd.Series([dt.date(2020, 1, 1)], dtype=object), pl.Series([dt.date(2020, 1, 1), None]),
    pl.Series([dt.datetime(2020, 1, 1)]), np.array([None, dt.timedelta(1)], dtype=object)]  # fmt: skip
NO_COLUMN = [pl.Series([[1], [2]]), pd.Series([1, {"a": 2}]), pd.Series([(1, 2)]), np.array([1j])]
WORDS = [(np.array([1.0, b"x"], dtype=object), "row 2"), (pl.Series([None, "u"]), "row 2"),
    (pd.Series(["u", "v"]), "row 1"), (pd.Series([0, "u"], index=["ann", "bob"]), r"row 2.*'bob'")]  # fmt: skip


def test_columns_of_dates_things_and_words_are_refused_by_name():
    for values in (*DATES, *NO_COLUMN):
        with pytest.raises(DataError, match="'when'"):
            FeatureSpace.from_data(frame(values, "when"))
    numbers = FeatureSpace(["age"], [0.0], [9.0])
    for values, row in WORDS:
        with pytest.raises(DataError, match=f"(?s)'age'.*{row}"):
            numbers.read(frame(values, "age"))
    for X, named in (({"a": [1, 2], "b": [1]}, "'b'"), ({"a": 1}, "'a'"), ([1.0, 2.0], "shape"),
            (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1'")):  # fmt: skip
        with pytest.raises(DataError, match=named):
            FeatureSpace.from_data(X)
    with pytest.raises(DataError, match="'age'"):
        numbers.read({"agee": [1]})


ROWS = [(40, "no", 1.5), (None, "ex", 2.5), (60, None, None), (50, "no", 0.5)]
NAMES = ["age", "smoker", "dose"]
COLUMNS = {name: [row[j] for row in ROWS] for j, name in enumerate(NAMES)}
FORMS = {"pandas": pd.DataFrame, "pandas of its own types": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas categorical": lambda columns: pd.DataFrame(columns).astype({"smoker": "category"}),
    "polars": pl.DataFrame, "pyarrow": pa.table,
    "pyarrow in chunks": lambda c: pa.concat_tables([pa.table(c)[:1], pa.table(c)[1:]]), "columns": dict,
    "rows": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "objects": lambda c: np.array(list(zip(*c.values(), strict=True)), dtype=object)}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_the_same_in_every_form(form, monkeypatch):
    X, names = FORMS[form](COLUMNS), ["x0", "x1", "x2"] if form in ("rows", "objects") else NAMES
    expected = [[40, 1, 1.5], [NAN, 0, 2.5], [60, NAN, NAN], [50, 1, 0.5]]
    categories = [None, ["ex", "no"], None]
    space = FeatureSpace(
        names, [40, -np.inf, 0.5], [60, np.inf, 2.5], [True, False, False], categories
    )
    for is_hidden in (False, True) if form in ("columns", "pyarrow", "polars") else (False,):
        if is_hidden:
            monkeypatch.setitem(sys.modules, "pandas", None)
        assert FeatureSpace.from_data(X) == space
        np.testing.assert_array_equal(space.read(X), expected)


M = 60
RNG = np.random.default_rng(2)
TABLE = pd.DataFrame({"age": RNG.integers(20, 80, M).astype(float), "bmi": RNG.normal(26, 4, M)})
Y = np.where(TABLE["age"] + 2 * TABLE["bmi"] + 4 * RNG.normal(size=M) > 102, "ill", "well")


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        return call()


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if not n.endswith("CV")])
def test_estimators_take_every_form_and_name_the_column_that_they_cannot_take(name):
    def answer(X):
        fitted = quietly(lambda: clone(ESTIMATORS[name]).fit(X, Y))
        return fitted.auc_ if name == "RankContrast" else fitted.predict(X).tolist()

    expected = answer(TABLE)
    columns = TABLE.to_dict("list")
    for X in (columns, pa.table(columns), pl.DataFrame(columns), TABLE.convert_dtypes()):
        assert answer(X) == expected, type(X)
    for values in (pd.date_range("2024-01-01", periods=M), [[1]] * M):
        with pytest.raises(ClearmarginError, match="'when'"):
            answer(TABLE.assign(when=values))
    words = TABLE.assign(kind=np.where(np.arange(M) % 3, "red", "blue"))
    try:
        answer(words)
    except ClearmarginError as refused:
        assert "'kind'" in str(refused)  # noqa: PT017 - some take it
    lacking = np.where(np.arange(M) == 4, None, Y)
    with pytest.raises(ClearmarginError, match="row 5"):
        quietly(lambda: clone(ESTIMATORS[name]).fit(TABLE, lacking))


def test_labels_are_what_they_are_whatever_holds_them():
    is_ill = Y == "ill"
    for labels in (is_ill, is_ill.astype(object), pd.Series(is_ill).astype("boolean")):
        assert LPSVC().fit(TABLE, labels).classes_.tolist() == [False, True]
    for two, classes in (
        ((1, 2.0), [1.0, 2.0]),
        ((np.int64(3), 4), [3, 4]),
        (("a", "b"), ["a", "b"]),
    ):
        labels = np.array([two[int(ill)] for ill in is_ill], dtype=object)
        assert LPSVC().fit(TABLE, labels).classes_.tolist() == classes
    mixed = np.array([True if ill else 0 for ill in is_ill], dtype=object)
    with pytest.raises(DataError, match=r"(?s)True.*0.*y\.astype"):
        LPSVC().fit(TABLE, mixed)
    assert LPSVC().fit(TABLE, mixed.astype(str)).classes_.tolist() == ["0", "True"]
    with pytest.raises(DataError, match=r"row 2 \(index 'bob'\), column 'a'"):
        LPSVC().fit(pd.DataFrame({"a": [1.0, NAN]}, index=["ann", "bob"]), [0, 1])


class Watching(ClassifierMixin, BaseEstimator):
    """Asks that every table it is given looks like the one that it was trained on."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        self.form_, self.names_ = type(X), list(X.columns)
        self.known_ = [set(X[name]) for name in self.names_]
        self.feature_names_in_ = np.array([str(name) for name in self.names_], dtype=object)
        return self

    def predict(self, X):
        assert (type(X), list(X.columns)) == (self.form_, self.names_)
        for name, known in zip(self.names_[1:], self.known_[1:], strict=True):
            assert set(X[name]) <= known, name
        is_first = X[self.names_[1]] == sorted(self.known_[1])[0]
        return self.classes_[((X[self.names_[0]] > 1) & is_first).astype(int)]


@pytest.mark.parametrize(
    "kinds",
    [
        pd.Categorical(["low", "high", "mid"] * 20, categories=["low", "mid", "high", "top"]),
        np.array([True, False, True] * 20),
        np.array(["x", "y", "x"] * 20, dtype=object),
    ],
)
def test_rows_that_are_drawn_have_the_spelling_of_the_table(kinds):
    X = pd.DataFrame({"n": np.linspace(0, 2, M), "kind": kinds})
    y = np.where((X["n"] > 1) & (X["kind"] == sorted(set(kinds))[0]), "b", "a")
    for make in (SurrogateRules, ScoreRules):
        fitted = make(Watching(), n_generated=200).fit(X, y)
        assert (fitted.predict(X) == y).mean() > 0.9


def folds_of(X, y, cv, **columns):
    """How a report splits rows, with the count of rows that are in both parts."""
    return quietly(lambda: report(LPSVC(), X, y, cv=cv, **columns)).to_dict()["validation"]


def test_times_may_be_numbers_dates_or_texts():
    rng = np.random.default_rng(0)
    days = [dt.date(2024, 1, 1) + dt.timedelta(int(k)) for k in rng.permutation(M) // 2]
    stamps = pd.Series(pd.to_datetime(days))
    numbers = [day.toordinal() for day in days]
    forms = (numbers, days, [str(day) for day in days], stamps, stamps.dt.tz_localize("Europe/Vienna"),
        np.array(days, dtype="datetime64[D]"), [v / 4 for v in numbers], pd.Series(numbers, dtype=object))  # fmt: skip
    expected = folds_of(TABLE, Y, 3, times=forms[0])
    for times in forms[1:]:
        assert folds_of(TABLE, Y, 3, times=times) == expected


UNSPLIT = [
    ({"cv": 1}, "cv"), ({"cv": "five"}, "cv"), ({"cv": True}, "cv"), ({"cv": []}, "cv"),
    ({"groups": ["a"] * M}, "groups"), ({"groups": [1, 2]}, "groups"),
    ({"groups": [*range(M - 1), None]}, f"groups.*row {M}"), ({"times": [3.0] * M}, "times"),
    ({"times": [NAN, *range(M - 1)]}, "times.*row 1"),
    ({"times": ["2024-01-01"] * (M - 1) + ["31.12.2024"]}, f"times.*row {M}"),
    ({"times": [1, 2.5, *["2024-01-01"] * (M - 2)]}, "times.*row 1"),
    ({"groups": np.arange(M) // 2, "cv": KFold(4, shuffle=True, random_state=0)}, "GroupKFold"),
    ({"times": range(M), "cv": StratifiedKFold(2)}, "TimeSeriesSplit"),
    ({"groups": (Y == "ill").astype(int)}, "class"), ({"cv": [(range(M), [])]}, "fold 1"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(UNSPLIT)))
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_rows_that_cannot_be_split_are_refused_by_the_option(row):
    options, named = UNSPLIT[row]
    rules = {"tree": SurrogateRules(n_generated=50)}
    with pytest.raises(ClearmarginError, match=named):
        compare_extractors(LPSVC(), TABLE, Y, extractors=rules, **options)
