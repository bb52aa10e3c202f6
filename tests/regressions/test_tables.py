"""Tables as people have them: samples of large files, types of columns, exports, and places that cannot be written."""

import errno
import os
from time import process_time

import duckdb
import numpy as np
import pandas as pd
import pytest

from clearmargin import (
    LPSVC,
    RuleSVC,
    SurrogateRules,
    SVMTreeClassifier,
    parse_rules,
    save_model,
    scan,
)
from clearmargin.exceptions import ClearmarginWarning, DataError, FileNotWrittenError
from clearmargin.export import to_python, to_sql
from clearmargin.points import LinearTerm, Scorecard
from clearmargin.rules import FeatureSpace, RuleSet


def machines(m=4000, seed=0):
    """Rows of machines in the order of time: 3 % fail, 3 % of the values are missing."""
    rng = np.random.default_rng(seed)
    sensors = rng.normal(size=(m, 3))
    fails = sensors[:, 0] > np.quantile(sensors[:, 0], 0.97)
    sensors[rng.random(sensors.shape) < 0.03] = np.nan
    return pd.DataFrame(
        {
            "event": [f"E{k:06d}" for k in range(m)],
            "ts": pd.date_range("2023-01-01", periods=m, freq="h").strftime("%Y-%m-%d %H:%M"),
            "kind": rng.choice(["a", "b", "c"], m, p=[0.6, 0.399, 0.001]),
            **{f"s{j}": sensors[:, j].round(4) for j in range(3)},
            "failure": np.where(fails, "fail", "ok"),
        }
    )


@pytest.fixture
def large(tmp_path):
    frame = machines()
    for k in range(2):
        frame[2000 * k : 2000 * (k + 1)].to_csv(tmp_path / f"{k}.csv", index=False)
    return tmp_path


def test_a_sample_has_the_size_asked_for_and_is_spread_over_all_files(large):
    drawn = scan(large, target="failure").sample_with_ends(400)
    assert 400 <= len(drawn.rows) <= 420
    assert (np.diff(drawn.rows) == 1).mean() < 0.2
    assert np.histogram(drawn.rows, 4, (0, 4000))[0].min() > 70
    assert set(drawn.values("kind")) == {"a", "b", "c"}


@pytest.mark.parametrize(("n_rows", "kept"), [(400, 120), (120, 60)])
def test_a_sample_keeps_a_rare_class_up_to_half_of_it(large, n_rows, kept):
    drawn = scan(large, target="failure").sample_with_ends(n_rows)
    assert kept <= (drawn.values("failure") == "fail").sum() <= kept + 8
    even = scan(large, target="failure").sample_with_ends(n_rows, rare=0)
    assert (even.values("failure") == "fail").sum() < 0.1 * n_rows


def test_rules_of_a_plane_of_many_files_may_be_judged_by_time(large, run):
    frame = machines().assign(failure=lambda t: np.where(t.s0 > 1, "fail", "ok"))
    frame.loc[:1999, "s1"] = np.nan  # no value in a whole file
    for k in range(2):
        frame[2000 * k : 2000 * k + 200].to_csv(large / f"{k}.csv", index=False)
    words = "--target failure --time ts --drop event --cv 2"
    said = run("rules", str(large), *words.split())
    assert said.code == 0, said.err
    assert "by time" in said.out


def test_rules_of_many_files_find_a_rare_class_whatever_is_missing(large, ask):
    told = ask("rules", str(large), "--target", "failure", "--cv", "2")["evaluation"]
    rules, svm, _ = told["models"]
    assert rules["balanced_accuracy"]["value"] > 0.9
    assert svm["auc"]["value"] > 0.95
    assert told["classes"][0]["recall"]["value"] > 0.9


def test_a_cost_for_many_rows_is_chosen_in_seconds():
    X = np.random.default_rng(0).normal(size=(20_000, 100))
    noise = np.random.default_rng(1).logistic(size=20_000)
    start = process_time()
    LPSVC("cv", cv=2).fit(X, X[:, 0] + X[:, 1] ** 2 + noise > 1)
    assert process_time() - start < 6


def test_predictions_do_not_depend_on_how_categories_are_declared():
    rng, m = np.random.default_rng(0), 240
    a, b = rng.choice(list("abcdefgh"), m), rng.choice(["lo", "mid", "hi"], m)
    X = pd.DataFrame({"a": a, "b": b, "x": rng.integers(0, 6, m), "z": rng.normal(size=m).round(1)})
    y = np.isin(a, ["a", "c", "f"]) + (b == "hi") + (X.x > 3) + X.z / 2 + rng.normal(size=m) * 0.8
    said = []
    for order in ("abcdefgh", "hgcdfeba", "zhyagcdfebx"):
        table = X.assign(a=pd.Categorical(a, list(order)))
        said.append(RuleSVC(5).fit(table[:120], y[:120] > 1.5).predict(table[120:]))
    assert (said[0] == said[1]).all()
    assert (said[0] == said[2]).all()


@pytest.mark.parametrize("model", [LPSVC(), RuleSVC(3), SurrogateRules()])
def test_numbers_held_as_texts_are_numbers_to_every_estimator(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80).round(2), "b": rng.integers(0, 9, 80)})
    y = X.a + X.b > 4
    expected = model.fit(X, y).predict(X)
    with pytest.warns(ClearmarginWarning, match="'a'|'b'"):
        assert (model.fit(X.astype(str), y).predict(X.astype(str)) == expected).all()


@pytest.mark.parametrize("model", [LPSVC(), RuleSVC(1), SVMTreeClassifier(C=0.1), SurrogateRules()])
def test_numbers_that_outweigh_all_others_or_are_rounded_are_said(model):
    for value in (1e9, 2**53 + 1)[: 1 + isinstance(model, RuleSVC)]:
        X = pd.DataFrame({"a": np.arange(40.0), "b": [*range(38), 3, value]})
        for table in (X, X.to_numpy(dtype=object)):
            with pytest.warns(ClearmarginWarning, match="'b'|'x1'"):
                model.fit(table, X.a > 15)
    whole = pd.DataFrame({"a": np.arange(40), "b": 2**53 + 1 + 2 * np.arange(40)})
    for table in (whole, whole.to_numpy()):
        with pytest.warns(ClearmarginWarning, match="'b'|'x1'"):
            model.fit(table, whole.a > 15)


def test_a_boolean_column_of_a_database_is_compared_as_a_number():
    X = pd.DataFrame({"flag": np.arange(80) % 3 == 0, "age": np.arange(80) % 50})
    model = RuleSVC(3).fit(X, np.where(X.flag & (X.age > 20), "ill", "well"))
    query = f"SELECT {to_sql(model, dialect='duckdb')} AS said FROM X"
    assert duckdb.sql(query).df().said.tolist() == model.predict(X).tolist()


def test_an_infinity_in_a_linear_term_is_refused():
    rules = RuleSet([], FeatureSpace(["a", "b"]), ["no", "yes"])
    terms = [LinearTerm(0, 1.0, fill=0.0), LinearTerm(1, -1.0, fill=0.0)]
    weighted = Scorecard(rules, [], 0.0, terms)
    with pytest.raises(DataError, match="'a'"):
        weighted.predict([[np.inf, np.inf]])
    names = {}
    exec(to_python(weighted), names)
    with pytest.raises(ValueError, match="infinity"):
        names["predict_row"]({"a": np.inf, "b": np.inf})


@pytest.mark.parametrize("reason", [errno.EROFS, errno.ENOSPC])
def test_a_place_that_is_read_only_or_full_is_told_in_words(tmp_path, monkeypatch, reason):
    def refuse(*_):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(FileNotWrittenError) as said:
        save_model(LPSVC().fit([[0.0], [1.0]], ["a", "b"]), tmp_path / "m.json")
    assert "Errno" not in str(said.value)


def test_linear_model_refuses_a_number_whose_square_is_infinite():
    X = pd.DataFrame({"age": np.arange(40.0), "dose": np.tile([1.0, 2.0], 20)})
    y = np.where(X["age"] < 20, "a", "b")
    X.loc[3, "dose"] = 1e308
    with pytest.raises(DataError, match="dose"):
        LPSVC().fit(X, y)


def test_a_data_frame_with_a_column_of_lengths_is_no_table_in_partitions():
    frame = pd.DataFrame({"lengths": [1.0, 5.0], "map": [0.0, 1.0]})
    assert parse_rules("lengths >= 3 => long").which(frame).tolist() == [-1, 0]
