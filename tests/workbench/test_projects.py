"""The projects of a folder: made under safe names, listed with their troubles, opened once."""

from __future__ import annotations

import shutil
import threading

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.benches import as_csv, patients
from tests.workbench.test_project_table import as_parquet

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.workbench.bench import open_table
from clearmargin.workbench.project_file import ProjectFile, ProjectInUseError
from clearmargin.workbench.project_table import NotThereError
from clearmargin.workbench.projects import SUFFIX, Projects, _free_path, create_project

TABLE = as_csv(patients(30))


@pytest.fixture
def projects(tmp_path):
    opened = Projects(tmp_path, "the expert")
    yield opened
    opened.close()


def test_a_project_holds_its_table_as_it_came(tmp_path):
    path = create_project(tmp_path, "ward 3.csv", TABLE, author="a doctor", sealed_share=0.25)
    with ProjectFile.open(path, writing=False) as file:
        source = file.source()
        assert file.source_bytes(source.id) == TABLE
        assert (source.name, source.rows, source.columns) == ("ward 3.csv", 30, 4)
        assert file.name == "ward 3.csv"
        assert (file.meta("sealed_share"), file.meta("made_by")) == ("0.25", "a doctor")
        assert 0 <= int(file.meta("seed")) < 2**20
    assert path.name == "ward-3.clearmargin"


@given(name=st.text(max_size=80))
def test_the_name_of_a_file_is_safe_whatever_a_table_is_called(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp()
    path = _free_path(folder, name)
    assert path.parent == folder
    assert path.name.endswith(SUFFIX)
    stem = path.name.removesuffix(SUFFIX)
    assert 1 <= len(stem) <= 64
    assert all(char.isascii() and (char.isalnum() or char in "._-") for char in stem)
    assert not stem.startswith((".", "-"))


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("../a/b.csv", "a-b"),
        (".hidden.csv", "hidden"),
        ("\N{GREEK SMALL LETTER ALPHA}.csv", "project"),
        ("", "project"),
        ("CON", "CON"),
        ("a" * 200, "a" * 60),
    ],
)
def test_names_that_cannot_be_files(tmp_path, name, stem):
    assert _free_path(tmp_path, name).name == f"{stem}{SUFFIX}"


def test_projects_of_one_name_are_told_apart(tmp_path):
    made = [create_project(tmp_path, "t.csv", TABLE, author="a").name for _ in range(3)]
    assert made == ["t.clearmargin", "t-2.clearmargin", "t-3.clearmargin"]


def test_projects_of_one_name_can_be_made_at_the_same_time(tmp_path):
    made, failed = [], []

    def make():
        try:
            made.append(create_project(tmp_path, "t.csv", TABLE, author="a"))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(set(made)) == 8


def test_not_all_rows_of_a_small_table_are_sealed(tmp_path):
    for _ in range(12):
        path = create_project(tmp_path, "t.csv", b"x,y\n1,a\n", author="a", sealed_share=0.5)
        with ProjectFile.open(path, writing=False) as file:
            assert len(open_table(file).open_rows) == 1


@pytest.mark.parametrize("share", [-0.1, 0.6])
def test_nothing_is_made_where_something_is_wrong(tmp_path, share):
    with pytest.raises(InvalidValueError, match="the sealed share is"):
        create_project(tmp_path, "t.csv", TABLE, author="a", sealed_share=share)
    with pytest.raises(DataError, match=r"t\.csv is empty"):
        create_project(tmp_path, "t.csv", b"", author="a")
    assert list(tmp_path.iterdir()) == []


def test_columns_of_dates_are_left_out_and_that_is_known_later(tmp_path, projects):
    frame = {
        **patients(40),
        "when": pd.date_range("2024-01-01", periods=40),
    }
    project = projects.create("t.parquet", as_parquet(frame), 0.2)
    bench = projects.bench(project)
    assert bench.file.source().reading == {"drop": ["when"]}
    assert "when" not in bench.table.table.columns
    assert tmp_path.joinpath("t.clearmargin").exists()


def test_what_is_listed(tmp_path, projects):
    project = projects.create("patients.csv", TABLE, 0.2)
    (tmp_path / "broken.clearmargin").write_bytes(b"not a project")
    (tmp_path / "folder.clearmargin").mkdir()
    (tmp_path / "other.csv").write_bytes(TABLE)
    listed = {entry["file"]: entry for entry in projects.listed()}
    assert set(listed) == {"patients.clearmargin", "broken.clearmargin", "folder.clearmargin"}
    good = listed["patients.clearmargin"]
    assert (good["id"], good["name"], good["rows"], good["columns"]) == (
        project,
        "patients.csv",
        30,
        4,
    )
    assert (good["versions"], good["problem"]) == (0, None)
    for name in ("broken", "folder"):
        assert listed[f"{name}.clearmargin"]["id"] is None
        assert listed[f"{name}.clearmargin"]["problem"]


def test_the_last_change_comes_first(projects):
    first, second = (projects.create(f"{name}.csv", TABLE, 0.0) for name in "ab")
    bench = projects.bench(first)
    bench.jobs.close()
    bench.jobs.start = lambda *_: None
    bench.set_task({"target": "state"}, why="begun")
    bench.file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    listed = projects.listed()
    assert [entry["id"] for entry in listed] == [first, second]
    assert (listed[0]["versions"], listed[0]["why"]) == (1, "begun")


def test_a_project_is_opened_once_and_found_by_its_id(tmp_path):
    path = create_project(tmp_path, "t.csv", TABLE, author="a")
    projects = Projects(tmp_path, "the expert")
    try:
        project = projects.find(path)
        assert projects.bench(project) is projects.bench(project)
        others = Projects(tmp_path, "somebody else")
        with pytest.raises(ProjectInUseError, match=r"t\.clearmargin"):
            others.bench(project)
        # It can be looked at all the same.
        assert others.listed()[0]["problem"] is None
    finally:
        projects.close()
    again = Projects(tmp_path, "the expert")
    try:
        assert again.bench(project).file.id == project
    finally:
        again.close()


@pytest.mark.parametrize("project", ["", "nothing", "../t", "0" * 32])
def test_a_project_that_is_not_there_is_said_so(projects, project):
    projects.create("t.csv", TABLE, 0.2)
    with pytest.raises(NotThereError, match="there is no such project in this folder"):
        projects.bench(project)


def test_a_duplicate_is_a_project_of_its_own(projects):
    first = projects.create("t.csv", TABLE, 0.2)
    bench = projects.bench(first)
    bench.jobs.close()
    bench.jobs.start = lambda *_: None
    bench.set_task({"target": "state"})
    second = projects.duplicate(first)
    assert second != first
    copy = projects.bench(second)
    assert copy.file.name == "copy of t.csv"
    assert copy.head.text == bench.head.text
    assert copy.table.sealed_rows.tolist() == bench.table.sealed_rows.tolist()
    copy.jobs.close()
    copy.jobs.start = lambda *_: None
    copy.keep("age >= 3 => ill", why="only here", base=1)
    assert bench.head.id == 1


@pytest.mark.parametrize("is_open", [False, True])
def test_a_file_that_was_copied_outside_is_not_taken_for_the_first(tmp_path, projects, is_open):
    project = projects.create("t.csv", TABLE, 0.2)
    if is_open:
        projects.bench(project)
    shutil.copy(tmp_path / "t.clearmargin", tmp_path / "backup.clearmargin")
    listed = {entry["file"]: entry for entry in projects.listed()}
    assert listed["t.clearmargin"]["id"] == project
    assert "is a copy of t.clearmargin" in listed["backup.clearmargin"]["problem"]
    assert projects.bench(project).file.path.name == "t.clearmargin"


def test_a_file_that_was_moved_is_found_again(tmp_path, projects):
    project = projects.create("t.csv", TABLE, 0.2)
    (tmp_path / "t.clearmargin").rename(tmp_path / "u.clearmargin")
    assert [entry["problem"] for entry in projects.listed()] == [None]
    assert projects.bench(project).file.path.name == "u.clearmargin"


def test_a_data_set_of_the_package_is_a_project(projects):
    bench = projects.bench(projects.create_example("wbc", 0.2))
    assert bench.file.name == "wbc.csv"
    assert "class" in bench.table.table.columns
    with pytest.raises(DataError, match="unknown data set 'wbcc'; did you mean 'wbc'"):
        projects.create_example("wbcc", 0.2)
