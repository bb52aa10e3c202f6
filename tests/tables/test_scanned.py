"""Files as partitions: the same rows whatever the format and the blocks, and errors that name file, row and column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearmargin import LPSVC, ProximalSVC, scan
from clearmargin.exceptions import DataError
from clearmargin.tables import files
from clearmargin.tables import scanned as scanning
from clearmargin.tables.part_survey import held_table
from clearmargin.tables.partitions import joined_blocks, row_keys

WRITE = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, row_group_size=70),
    "feather": lambda frame, path: frame.to_feather(path),
}


def frame_of(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"])
    frame["n"] = rng.integers(0, 50, rows)
    frame["word"] = rng.choice(["red", "blue", None], rows)
    frame["y"] = np.where(frame["a"] > frame["b"], "ill", "well")
    frame.loc[::17, "b"] = np.nan
    return frame


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(scanning, "_PART_ROWS", 64)
    monkeypatch.setattr(scanning, "TEXT_BYTES", 2_000)


@pytest.fixture(params=[True, False], ids=["held", "read in every pass"])
def held(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(scanning, "HELD_BYTES", 0)


def write_folder(frame, folder, form, files=3):
    cuts = np.linspace(0, len(frame), files + 1).astype(int)
    for k in range(files):
        part = frame.iloc[cuts[k] : cuts[k + 1]].reset_index(drop=True)
        WRITE[form](part, folder / f"part-{k}.{form}")


def rows_of(parts):
    """All rows as a data frame, with the numbers of the rows as index."""
    found = parts.map(
        lambda part: pd.DataFrame({name: part.values(name) for name in part.columns}, part.rows)
    )
    return pd.concat(found)


@pytest.mark.parametrize("form", WRITE)
def test_a_folder_has_the_rows_of_its_files_in_order(form, small_parts, held, tmp_path):
    frame = frame_of()
    write_folder(frame, tmp_path, form)
    for table in (scan(tmp_path, "y"), scan(f"{tmp_path}/*.{form}", "y")):
        assert table.names == ("a", "b", "n", "word")
        for _ in range(2):
            found = rows_of(table)
            assert len(table.lengths) > 3
            assert found.index.tolist() == list(range(300))
            for name in ("a", "b", "n"):
                np.testing.assert_array_equal(found[name], frame[name])
            for name in ("word", "y"):
                assert found[name].fillna("none").tolist() == frame[name].fillna("none").tolist()


@pytest.mark.parametrize("form", WRITE)
def test_surveys_are_those_of_the_table_in_memory(form, small_parts, tmp_path):
    frame = frame_of()
    write_folder(frame, tmp_path, form)
    found, whole = scan(tmp_path, "y").survey(), held_table(frame, "y").survey()
    assert found.n_rows == 300
    assert [(c.label, c.n_rows) for c in found.classes] == [
        (c.label, c.n_rows) for c in whole.classes
    ]
    for name, column in found.columns.items():
        other = whole.columns[name]
        assert (column.low, column.high, column.is_whole) == (other.low, other.high, other.is_whole)
        assert (column.n_missing, column.categories) == (other.n_missing, other.categories)
        assert column.is_numeric == other.is_numeric
        assert (column.counts or {}) == (other.counts or {})
    assert found.columns["b"].missing.endswith(f"part-0.{form}, row 1")
    assert found.columns["n"].is_whole
    assert not found.columns["a"].is_whole


def test_samples_do_not_depend_on_files_formats_and_blocks(small_parts, held, tmp_path):
    frame = frame_of()[["a", "y"]]
    expected = np.flatnonzero(row_keys(np.arange(300)) < 0.4)
    for form in WRITE:
        folder = tmp_path / form
        folder.mkdir()
        write_folder(frame, folder, form, files=2)
        sample = scan(folder, "y").sample(0.4)
        found = rows_of(sample)
        assert found.index.tolist() == expected.tolist()
        np.testing.assert_array_equal(found["a"], frame["a"].to_numpy()[expected])
        assert rows_of(sample.sample(0.1)).index.tolist() == [
            k for k in expected if row_keys(np.array([k])) < 0.1
        ]
        blocks = scan(folder, "y").blocks(np.array(["ill", "well"])).sample(0.4)
        np.testing.assert_array_equal(blocks.X[:, 0], found["a"])
        np.testing.assert_array_equal(blocks.rows, expected)
        assert (blocks.y > 0).tolist() == (found["y"] == "well").tolist()


def test_blocks_are_numbers_column_after_column_and_single_precision_is_widened(tmp_path):
    frame = frame_of()[["a", "n", "y"]].astype({"a": np.float32})
    frame.to_parquet(tmp_path / "t.parquet")
    table = scan(tmp_path / "t.parquet", "y")
    blocks = table.blocks(np.array(["ill", "well"]), (3.0, 0.5)).map(lambda block: block)
    assert all(block.X.flags.f_contiguous for block in blocks)
    whole = joined_blocks(blocks, table.names)
    np.testing.assert_array_equal(whole.X[:, 0], frame["a"].to_numpy().astype(np.float64))
    assert set(whole.cost[whole.y > 0]) == {0.5}


@pytest.mark.parametrize("form", WRITE)
def test_a_proximal_machine_of_files_is_that_of_memory_up_to_rounding(form, small_parts, tmp_path):
    frame = frame_of().drop(columns="word").dropna()
    write_folder(frame, tmp_path, form)
    table = scan(tmp_path, "y")
    X, y = frame.drop(columns="y"), frame["y"]
    for balanced in (False, True):
        found = ProximalSVC(balanced=balanced).fit(table)
        whole = ProximalSVC(balanced=balanced).fit(X, y)
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
        assert found.classes_.tolist() == ["ill", "well"]
        assert found.feature_names_in_.tolist() == ["a", "b", "n"]
        assert (whole.predict(table) == whole.predict(X)).all()


def spoiled(column, row, value):
    frame = frame_of().drop(columns="word").fillna(0.0)
    frame[column] = frame[column].astype(object if isinstance(value, str) else float)
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (spoiled("a", 150, np.nan), r"X contains NaN in .*part-1\.\w+, row 51, column 'a'"),
        (frame_of().drop(columns="word"), r"part-0\.\w+, row 1, column 'b'; 18 such values"),
        (frame_of().fillna({"b": 0.0}), r"column 'word' holds texts \(.*row \d+: '\w+'\), and"),
        (frame_of()[["a", "y"]].assign(y="ill"), "'y' holds only one class, 'ill'"),
        (
            frame_of()[["a", "y"]].assign(y=lambda f: f["y"].mask(f.index == 299, "dead")),
            r"3 classes \('dead', 'ill', 'well'\); 'dead' is in 1 row\(s\), the first of them .*part-2\.\w+, row 100",
        ),
        (
            frame_of()[["a", "y"]].assign(y=lambda f: f["y"].mask(f.index == 150)),
            r"the target 'y' is missing in 1 row\(s\), the first of them .*part-1\.\w+, row 51",
        ),
        (frame_of()[["a"]].assign(y=lambda f: np.arange(len(f)) % 3), "3 classes"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_errors_name_file_row_and_column(form, frame, message, tmp_path):
    write_folder(frame, tmp_path, form)
    with pytest.raises(DataError, match=message):
        ProximalSVC().fit(scan(tmp_path, "y"))


def test_an_infinity_is_named(tmp_path):
    write_folder(spoiled("a", 120, np.inf), tmp_path, "parquet")
    with pytest.raises(
        DataError, match=r"infinity \(inf\) in .*part-1.parquet, row 21, column 'a'"
    ):
        ProximalSVC().fit(scan(tmp_path, "y"))


def test_a_file_may_hold_one_class_only(tmp_path):
    frame = frame_of()[["a", "n", "y"]].sort_values("y", kind="stable")
    write_folder(frame, tmp_path, "parquet")
    found = ProximalSVC().fit(scan(tmp_path, "y"))
    whole = ProximalSVC().fit(frame[["a", "n"]], frame["y"])
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)


def test_a_file_without_rows_is_passed_over_and_a_table_without_rows_is_refused(tmp_path):
    frame = frame_of()[["a", "n", "y"]]
    write_folder(frame, tmp_path, "parquet", files=2)
    frame[:0].to_parquet(tmp_path / "part-00.parquet")
    assert scan(tmp_path, "y").shape == (300, 2)
    with pytest.raises(DataError, match=r"part-00.parquet has no rows"):
        scan(tmp_path / "part-00.parquet", "y").survey()


def test_a_stray_text_in_csv_names_line_and_column(small_parts, tmp_path):
    frame = spoiled("n", 250, "many")
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"t.csv, line 252: 'many' in column 'n' is not a number"):
        scan(tmp_path / "t.csv", "y").survey()


def test_columns_of_other_types_in_another_file_are_named(tmp_path):
    frame = frame_of()[["a", "y"]]
    frame.to_parquet(tmp_path / "a.parquet")
    frame.assign(a="big").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(
        DataError, match=r"'a' holds numbers \(.*a.parquet, row 1: .*b.parquet, row 1: 'big'\)"
    ):
        scan(tmp_path, "y").survey()
    frame.rename(columns={"a": "aa"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b.parquet has no column 'a'; did you mean 'aa'"):
        scan(tmp_path, "y").survey()


def test_what_only_a_whole_file_can_tell_is_read_whole(small_parts, tmp_path):
    frame = frame_of()
    late = frame.assign(n=lambda f: f["n"].astype(object).mask(f.index < 250, None))
    late.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "z.csv.gz", index=False)
    found = scan(tmp_path / "t.csv", "y").survey().columns["n"]
    assert found.is_numeric
    assert found.n_missing == 250
    assert scan(tmp_path / "z.csv.gz", "y").survey().n_rows == 300
    text = late.to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "t.csv").write_text(text)
    assert scan(tmp_path / "t.csv", "y").survey().columns["a"].is_numeric


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda folder: scan(folder / "none.csv"), "there is no file"),
        (lambda folder: scan(f"{folder}/*.json"), "no file matches"),
        (lambda folder: scan(folder / "empty"), "holds no table"),
        (lambda folder: scan(folder / "t.csv", "z"), "has no column 'z'"),
        (lambda folder: scan(folder / "t.csv", "y", columns=["a", "y"]), "cannot be a feature"),
        (lambda folder: scan(folder / "t.csv", "y", drop=["zz"]), "has no column 'zz'"),
        (lambda folder: scan(folder / "t.csv", "y", columns=["bb"]), "did you mean 'b'"),
        (lambda folder: scan(folder / "t.csv", "y", columns=["a"]).select(["b"]), "no column 'b'"),
        (lambda folder: scan(folder / "cut.parquet"), "damaged Parquet"),
        (lambda folder: ProximalSVC().fit(scan(folder / "t.csv")), "the table has no target"),
        (lambda folder: ProximalSVC().fit(scan(folder / "t.csv", "y"), [1]), "y must be left out"),
        (lambda folder: scan(folder / "t.csv", "a").survey().two_classes(), "classes"),
    ],
)
def test_what_cannot_be_scanned_is_said(call, message, tmp_path):
    frame_of().to_csv(tmp_path / "t.csv", index=False)
    frame_of().to_parquet(tmp_path / "cut.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "cut.parquet").read_bytes()[:-9])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=message):
        call(tmp_path)


def test_a_file_that_changes_between_passes_is_an_error(small_parts, tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "HELD_BYTES", 0)
    # Of a file that is not larger than its head only the head is looked at.
    monkeypatch.setattr(files, "HEAD_BYTES", 1_000)
    frame = frame_of()
    frame.to_feather(tmp_path / "t.feather")
    frame.to_csv(tmp_path / "u.csv", index=False)
    table = scan([tmp_path / "t.feather", tmp_path / "u.csv"], "y")
    assert table.shape == (600, 4)
    frame[:299].to_csv(tmp_path / "u.csv", index=False)
    with pytest.raises(DataError, match=r"changed while it was read; try again"):
        table.map(len)


def test_chosen_columns_and_categories(tmp_path):
    frame_of().to_parquet(tmp_path / "t.parquet")
    table = scan(tmp_path / "t.parquet", "y", columns=["n", "a"], categories=["n"])
    assert table.names == ("n", "a")
    assert table.survey().columns["n"].categories[:2] == ("0", "1")
    assert table.select(["a"]).map(lambda part: list(part.columns))[0] == ["a", "y"]


@pytest.mark.parametrize("form", WRITE)
@pytest.mark.parametrize("class_weight", [None, "balanced", {"ill": 3.0}])
def test_a_plane_of_files_is_that_of_memory_to_the_bit(
    form, class_weight, small_parts, held, tmp_path
):
    frame = frame_of().drop(columns="word").dropna()
    write_folder(frame, tmp_path, form)
    X, y = frame.drop(columns="y"), frame["y"]
    found = LPSVC(nu=0.05, class_weight=class_weight).fit(scan(tmp_path, "y"))
    whole = LPSVC(nu=0.05, class_weight=class_weight).fit(X, y)
    assert found.coef_.tolist() == whole.coef_.tolist()
    assert found.intercept_.tolist() == whole.intercept_.tolist()
    assert found.objective_ == whole.objective_
    assert found.classes_.tolist() == whole.classes_.tolist()


def test_a_plane_of_single_precision_is_that_of_the_widened_values(tmp_path):
    frame = frame_of()[["a", "n", "y"]].astype({"a": np.float32})
    frame.to_parquet(tmp_path / "t.parquet")
    found = LPSVC(nu=0.05).fit(scan(tmp_path / "t.parquet", "y"))
    wide = frame.astype({"a": np.float64})
    whole = LPSVC(nu=0.05).fit(wide[["a", "n"]], wide["y"])
    assert found.coef_.tolist() == whole.coef_.tolist()
    assert (
        found.predict(scan(tmp_path / "t.parquet", "y")).tolist()
        == whole.predict(wide[["a", "n"]]).tolist()
    )
