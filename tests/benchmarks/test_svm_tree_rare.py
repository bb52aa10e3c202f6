"""Tables with a rare class: how they are chosen, read and measured."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from benchmarks.rare_classes import RareTable, judging_tables, keel_tables, read_keel, tuning_tables
from benchmarks.reproduce import svm_tree_rare
from benchmarks.reproduce.svm_tree_rare import METHODS, compare, measure_table, rare_sections

from benchmarks import rare_classes

KEEL = """@relation small
@attribute Height real [0.0, 3.0]
@attribute Colour {red, blue}
@attribute Class {positive,negative}
@inputs Height, Colour
@outputs Class
@data
1.5, red, negative
<null>, blue , positive
"""


def wheel_of(path, sizes):
    """A package with tables of so many rare and frequent rows."""
    with zipfile.ZipFile(path, "w") as wheel:
        for name, (rare, frequent) in sizes.items():
            rows = ["1.0, red, positive"] * rare + ["2.0, red, negative"] * frequent
            text = KEEL.split("1.5", maxsplit=1)[0] + "\n".join(rows) + "\n"
            wheel.writestr(f"pack/data/{name}/{name}.dat", text)
            wheel.writestr(f"pack/data/{name}/{name}-names.dat", "no table")
    return path


@pytest.fixture
def package(tmp_path, monkeypatch):
    sizes = {
        "apple1": (20, 200),
        "apple2": (25, 200),
        "bread-2_vs_4": (30, 300),
        "cake0": (30, 100),  # not rare
        "dill3": (19, 900),  # too few
        "egg_1": (40, 400),
        "fig": (21, 400),
    }
    path = wheel_of(tmp_path / "tables.whl", sizes)
    monkeypatch.setattr(rare_classes, "download", lambda _: path)
    keel_tables.cache_clear()
    yield path
    keel_tables.cache_clear()


def test_a_table_of_keel_has_names_numbers_and_texts():
    frame = read_keel(KEEL)
    assert frame.columns.tolist() == ["Height", "Colour", "Class"]
    assert frame["Height"].tolist()[0] == 1.5
    assert np.isnan(frame["Height"][1])
    assert frame["Colour"].tolist() == ["red", "blue"]
    assert frame["Class"].tolist() == ["negative", "positive"]


def test_of_each_family_the_table_with_most_rare_rows_is_on_one_of_two_lists(package):
    assert list(keel_tables().values()) == ["apple2", "bread-2_vs_4", "egg_1", "fig"]
    tuning, judging = ([t.name for t in tables()] for tables in (tuning_tables, judging_tables))
    assert tuning == ["apple2", "egg_1"]
    assert judging == ["bread-2_vs_4", "fig", "caravan", "default", "kidney", "trial 320"]
    X, y = tuning_tables()[0].encoded()
    assert X.shape == (225, 2)
    assert np.unique(y, return_counts=True)[1].tolist() == [200, 25]


def small(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    X[:10] += 4.0
    return RareTable(name, lambda: (X, np.repeat(["rare", "common"], [10, 50])))


def test_balanced_accuracy_is_measured_in_all_parts():
    table = small("a", 0)
    X, y = table.load()
    found = measure_table(X, y, 1, ["LinearSVC, balanced", "tree, weights"])
    assert found["LinearSVC, balanced"]["balanced"] > 95.0
    assert found["LinearSVC, balanced"]["cut"] == 0.0
    assert set(found["tree, weights"]) == {"balanced", "accuracy", "cut"}


def made(**balanced):
    names = dict.fromkeys(METHODS, 80.0) | balanced
    return {name: {"balanced": v, "accuracy": v, "cut": 0.0} for name, v in names.items()}


def test_trees_are_compared_with_the_better_machine_and_the_default_follows_the_rule(monkeypatch):
    told = {
        "a": made(**{"SVC, balanced": 85.0, "tree, weights": 84.0}),
        "b": made(**{"tree, weights": 85.0}),
    }
    assert compare(told, "tree").tolist() == [-5.0, 0.0]
    monkeypatch.setattr(svm_tree_rare, "measure_table", lambda X, y, repeats: told[y[0]])
    tables = [
        RareTable(name, lambda n=name: (np.zeros((4, 1)), np.repeat([n, "z"], [1, 3])))
        for name in told
    ]
    monkeypatch.setattr(RareTable, "encoded", lambda table: table.load())
    rare, default = rare_sections(1, tables)
    rows = {row[0]: row[1:] for row in rare.table.rows}
    assert rows["a"][:3] == ["1 of 4", "80.0", "85.0"]
    assert rows["*within 2 points*"][3] == "1 of 2"
    assert "within 2 points of the better machine on 1 of 2 tables" in rare.verdict
    assert default.table.rows[0][1:] == ["+4.5 ± 0.5"] * 3
    assert default.verdict.startswith("So the default is balanced weights.")


def test_tables_that_cannot_be_downloaded_are_skipped_with_a_word(monkeypatch, capsys):
    def fail(_):
        raise OSError("no way out")

    monkeypatch.setattr(rare_classes, "download", fail)
    keel_tables.cache_clear()
    assert rare_sections(1) == []
    assert "cannot be downloaded (no way out); they are skipped" in capsys.readouterr().out
