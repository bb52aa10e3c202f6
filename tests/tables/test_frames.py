"""Every estimator takes a column that is no number, or refuses it in words that name the column; one reader for all."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, OneClassSVM

from clearmargin import (
    LPSVC,
    LPSVCCV,
    AdviceBlendSVC,
    AdviceSVC,
    AdviceSVCCV,
    ChunkedRuleSVC,
    ProximalSVC,
    RankContrast,
    RuleExtractor,
    ScoreRules,
    SupportVectorRules,
    SurrogateRules,
    SVMTreeClassifier,
    recourse,
)
from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.report import report
from clearmargin.tables.table import Table, name_row, number_table
from clearmargin.tables.validation import naming_columns

M = 40
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(M, 2))
Y = np.where(NUMBERS[:, 0] + 0.3 * RNG.normal(size=M) > 0, "yes", "no")
WORDS = np.where(np.arange(M) % 3, "red", "blue").tolist()
DAYS = pd.date_range("2024-01-01", periods=M)

TEXT = r"column '{0}' holds (texts|categories) \(row 1: 'blue'\).*\(OneHotEncoder\(\), \[{1!r}\]\).*or leave the column"
DATES = "column '{0}' holds dates or times .*turn them into numbers first"
COLUMNS = {
    "text": (pd.Series(WORDS, dtype=object), TEXT),
    "string": (pd.Series(WORDS, dtype="string"), TEXT),
    "categorical": (pd.Series(pd.Categorical(WORDS)), TEXT),
    "datetime": (pd.Series(DAYS), DATES),
    "time zone": (pd.Series(DAYS.tz_localize("UTC")), DATES),
    "timedelta": (pd.Series(DAYS - DAYS[0]), DATES),
    "date": (pd.Series([dt.date(2024, 1, 1 + k % 28) for k in range(M)], dtype=object), DATES),
    "list": (pd.Series([[1]] * M, dtype=object), "column '{0}', row 1: .*neither a number nor"),
    "missing": (pd.Series([None, *range(M - 1)], dtype="Int64"), "NaN in row 1, column '{0}'"),
    "bool": (pd.Series(np.arange(M) % 2 == 0), None),
    "Int64": (pd.Series(range(M), dtype="Int64"), None),
    "objects": (pd.Series([1, 2.5] * (M // 2), dtype=object), None),
}


def tables(kind):
    column, _ = COLUMNS[kind]
    yield pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "c": column}), "c", "c"
    values = [None if v is pd.NA else v for v in column.tolist()]
    if kind not in ("list", "objects"):
        third = pl.Series("c", [v.to_pytimedelta() if kind == "timedelta" else v for v in values])
        yield pl.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}).with_columns(third), "c", "c"
    array = np.empty((M, 3), dtype=object)
    array[:, :2] = NUMBERS
    for k, value in enumerate(column.tolist()):
        array[k, 2] = value
    yield array, "x2", 2


def rule_on(X):
    return "a > 0 => yes" if hasattr(X, "columns") else "x0 > 0 => yes"


# Those that know numbers alone, or are given a machine that does.
READERS = {
    "LPSVC": lambda X: LPSVC(nu=0.1).fit(X, Y).predict(X),
    "LPSVCCV": lambda X: LPSVCCV(cv=2, nus=[0.1, 1.0]).fit(X, Y),
    "ProximalSVC": lambda X: ProximalSVC().fit(X, Y).predict(X),
    "RuleExtractor": lambda X: RuleExtractor(LPSVC(nu=0.1)).fit(X, Y).predict(X),
    "AdviceSVC": lambda X: AdviceSVC(rule_on(X)).fit(X, Y).predict(X),
    "AdviceSVCCV": lambda X: AdviceSVCCV(rule_on(X), cv=2, lams=[1.0], mus=[1.0], nus=[1.0]).fit(
        X, Y
    ),
    "AdviceBlendSVC": lambda X: AdviceBlendSVC(rule_on(X), cv=2, repeats=1).fit(X, Y).predict(X),
    "ChunkedRuleSVC": lambda X: (
        ChunkedRuleSVC(1, estimator=LPSVC(), mu=1_000.0, n_rows=9).fit(X, Y).predict(X)
    ),
    "SVMTreeClassifier": lambda X: SVMTreeClassifier().fit(X, Y).predict(X),
    "SupportVectorRules": lambda X: SupportVectorRules(SVC()).fit(X, Y).predict(X),
    "one class": lambda X: SupportVectorRules(OneClassSVM()).fit(X),
    "SurrogateRules": lambda X: SurrogateRules(SVC()).fit(X, Y).predict(X),
    "ScoreRules": lambda X: ScoreRules(SVC(), max_rules=2, n_generated=50).fit(X, Y).predict(X),
    "RankContrast": lambda X: RankContrast(
        LogisticRegression(), top=0.2, bottom=0.2, max_size=1
    ).fit(X, Y),
    "report": lambda X: report(LPSVC(nu=0.1), X, Y, cv=None),
}


@pytest.mark.parametrize("name", READERS)
def test_a_column_is_taken_or_refused_by_its_name(name):
    # All ways to hold such things are tried on one of ours, and on one that hands the table to somebody else's.
    is_thorough = name in ("LPSVC", "SurrogateRules")
    kinds = COLUMNS if is_thorough else ("text", "categorical", "datetime", "missing", "bool")
    for kind in kinds:
        _, message = COLUMNS[kind]
        for X, column, key in tables(kind):
            where = f"{name}, {kind}, {type(X).__module__}"
            if message is None:
                READERS[name](X)
                continue
            with pytest.raises(DataError) as caught:
                READERS[name](X)
            assert re.search(message.format(column, key), str(caught.value)), (
                f"{where}: {caught.value}"
            )


@pytest.mark.parametrize("name", ["RankContrast()", "fit_ranking"])
def test_those_that_know_categories_take_them_and_name_dates(name):
    ask = {
        "RankContrast()": lambda X: RankContrast(top=0.2, bottom=0.2, max_size=1).fit(X, Y),
        "fit_ranking": lambda X: RankContrast(top=0.2, bottom=0.2).fit_ranking(
            X, NUMBERS.sum(axis=1)
        ),
    }[name]
    for kind in ("text", "categorical", "datetime", "missing", "list"):
        message = COLUMNS[kind][1]
        for X, column, _ in tables(kind):
            # pandas.NA in an array of objects is no missing value that scikit-learn knows.
            is_foreign = (
                kind == "missing" and isinstance(X, np.ndarray) and name == "RankContrast()"
            )
            if message == DATES or kind == "list" or is_foreign:
                with pytest.raises(DataError, match=f"column '{column}'"):
                    ask(X)
            else:
                ask(X)


def test_questions_about_cases_name_the_column_too():
    plain = pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "c": np.arange(M) / M})
    linear = LPSVC(nu=1.0).fit(plain, Y)
    dates, words = plain.assign(c=DAYS), plain.assign(c=WORDS)
    for X in (dates, words):
        for ask in (
            linear.predict,
            lambda X: recourse(linear, X.iloc[[0]], actionable=["a"], X=plain),
            lambda X: RuleExtractor(linear).fit(plain, Y).explain(X.iloc[[0]]),
            lambda X: RuleExtractor(linear).fit(plain, Y).predict(X),
        ):
            with pytest.raises(DataError, match="column 'c'"):
                ask(X)


def test_the_advice_to_encode_leads_to_a_model_and_to_rules():
    for kind in ("text", "categorical"):
        for X, _, key in tables(kind):
            encode = make_column_transformer((OneHotEncoder(), [key]), remainder="passthrough")
            model = make_pipeline(encode, LPSVC(nu=1.0)).fit(X, Y)
            assert len(RuleExtractor(model).fit(X, Y).rules_)


def test_rows_are_counted_from_one_and_labels_shown():
    X = pd.DataFrame({"a": [1.0, np.nan]}, index=["ann", "bob"])
    with pytest.raises(DataError, match=r"NaN in row 2 \(index 'bob'\), column 'a'"):
        LPSVC().fit(X, [0, 1])
    assert (
        name_row(3) == name_row(3, [1, 2]) == name_row(3, pd.DataFrame({"a": range(9)})) == "row 4"
    )
    assert name_row(0, X[1:]) == "row 1 (index 'bob')"
    assert name_row(0, pd.DataFrame({"a": [1, 2]}, index=[7, 8])) == "row 1 (index 7)"


def test_numerals_are_numbers_and_a_table_of_numbers_is_not_copied():
    X = np.array([["1", 2.5], [None, " 3 "]], dtype=object)
    assert np.array_equal(number_table(X), [[1.0, 2.5], [np.nan, 3.0]], equal_nan=True)
    for plain in (np.ones((2, 2)), pd.DataFrame({"a": [1, 2]})):
        assert number_table(plain) is plain
    assert number_table(pl.DataFrame({"a": [1, 2]})).tolist() == [[1.0], [2.0]]


def test_other_errors_of_a_machine_stay_what_they_are():
    X = pd.DataFrame({"a": NUMBERS[:, 0], "c": WORDS})
    with pytest.raises(RuntimeError, match="broken"), naming_columns(X, SVC()):
        raise RuntimeError("broken")
    with pytest.raises(ValueError, match="C must be positive") as caught, naming_columns(X, SVC()):
        raise ValueError("C must be positive")
    assert not isinstance(caught.value, ClearmarginError)
    with (
        pytest.raises(ValueError, match="contains NaN") as caught,
        naming_columns(np.ones((2, 2)), SVC()),
    ):
        raise ValueError("Input X contains NaN")
    assert not isinstance(caught.value, ClearmarginError)


def test_a_dict_of_columns_and_a_table_already_read_are_tables_like_others():
    y = np.where(NUMBERS[:, 0] > 0, "yes", "no")
    frame = pd.DataFrame(NUMBERS, columns=["a", "b"])
    expected = LPSVC().fit(frame, y)
    for X in ({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}, Table.read(frame), Table.read(NUMBERS)):
        model = LPSVC().fit(X, y)
        assert model.coef_.tolist() == expected.coef_.tolist()
        assert model.predict(X).tolist() == expected.predict(frame).tolist()
    assert LPSVC().fit(Table.read(frame), y).feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="X contains NaN in row 2, column 'b'"):
        LPSVC().fit({"a": [1, 2], "b": [3, None]}, [0, 1])


def test_the_frame_is_taken_apart_once_in_a_fit_and_once_in_a_report(monkeypatch):
    reads = {"columns": 0.0, "whole": 0}
    get, whole = pd.DataFrame.__getitem__, pd.DataFrame.__array__

    def counted_get(self, key):
        reads["columns"] += 0 if isinstance(key, list) else 1 / self.shape[1]
        return get(self, key)

    def counted_whole(self, *args, **options):
        reads["whole"] += 1
        return whole(self, *args, **options)

    frame = pd.DataFrame(NUMBERS, columns=["a", "b"])
    y = np.where(NUMBERS[:, 0] > 0, "yes", "no")
    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "__getitem__", counted_get)
        patch.setattr(pd.DataFrame, "__array__", counted_whole)
        counts = []
        for job in (
            lambda: LPSVC().fit(frame, y),
            lambda: AdviceSVC("a > 0 => yes").fit(frame, y),
            lambda: RuleExtractor(LPSVC()).fit(frame, y),
            lambda: report(LPSVC(), frame, y, cv=2),
        ):
            reads.update(columns=0.0, whole=0)
            job()
            counts.append(round(reads["columns"] + reads["whole"], 6))
    assert counts == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "model",
    [
        RuleExtractor(LPSVC()),
        SupportVectorRules(max_rules=2),
        SurrogateRules(method="train"),
        ScoreRules(max_rules=2, n_generated=50),
        SVMTreeClassifier(random_state=0),
        AdviceSVC("a > 0 => yes"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_dicts_of_columns_and_tables_of_pyarrow_give_what_data_frames_give(model):
    frame = pd.DataFrame(NUMBERS, columns=["a", "b"])
    y = np.where(NUMBERS[:, 0] > 0, "yes", "no")
    expected = clone(model).fit(frame, y).predict(frame).tolist()
    for X in (frame.to_dict("list"), pa.table(frame.to_dict("list")), Table.read(frame)):
        assert clone(model).fit(X, y).predict(X).tolist() == expected


def test_recourse_takes_tables_of_pyarrow_and_tables_of_columns():
    frame = pd.DataFrame(NUMBERS, columns=["a", "b"])
    model = LPSVC(nu=1.0).fit(frame, Y)
    expected = recourse(model, frame.iloc[[0]], actionable={"a": "any"}, X=frame, costs={"a": 1.0})
    columns = {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}
    for table in (Table.read(pa.table(columns)), Table.of_columns(columns)):
        row = table.take(np.array([0]))
        for x, X in ((row, table), (row.given, table.given)):
            found = recourse(model, x, actionable={"a": "any"}, X=X, costs={"a": 1.0})
            assert str(found) == str(expected)
