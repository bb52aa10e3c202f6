"""What is written to a project is there again, whole, whoever writes at the same time; the rest is refused in words."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import ClearmarginError, FileDamagedError, InvalidValueError
from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import JOB_STATES, Draft, ProjectFile

from .small_projects import TABLE, new_project, with_history, without_triggers

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
BODIES = st.dictionaries(TEXTS, PLAIN, max_size=4)


@pytest.fixture
def file(tmp_path):
    with new_project(tmp_path) as file:
        yield file


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One project for many examples, with a version."""
    with new_project(tmp_path_factory.mktemp("shared")) as file:
        with_history(file, ["age >= 60 => ill"])
        yield file


def reopened(file):
    file.close()
    return ProjectFile.open(file.path)


# Every table: what goes in comes out


def test_a_source_is_there_again_byte_by_byte(file):
    content = bytes(range(256)) * 50
    first = file.source()
    second = file.add_source("b.csv", content, reading={"sheet": 2}, rows=9, columns=np.int64(4))
    assert (first.id, first.name, first.rows, first.columns) == (1, "table.csv", 3, 3)
    assert first.sha256 == hashlib.sha256(TABLE).hexdigest()
    assert (second.id, second.size, second.columns) == (2, len(content), 4)
    with reopened(file) as again:
        assert again.source() == second
        assert again.source(1) == first
        assert again.source(3) is None
        assert again.source_bytes(1) == TABLE
        assert again.source_bytes(2) == content
        assert again.verify() == []


def test_an_empty_source_is_one_too(file):
    assert file.source_bytes(file.add_source("a", b"", reading={}, rows=0, columns=0).id) == b""


def test_a_source_takes_less_room_than_it_has_bytes(file):
    file.add_source("a.csv", b"61,31,yes\n" * 200_000, reading={}, rows=200_000, columns=3)
    file.close()
    assert file.path.stat().st_size < 300_000


def test_a_project_without_sources_and_tasks_says_none(tmp_path):
    with ProjectFile.create(tmp_path / "a", name="a", made_by="x") as file:
        assert file.source() is None
        assert file.task() is None
        assert file.task(1) is None
        assert file.drafts() == file.jobs() == file.events() == file.notes() == []
        with pytest.raises(InvalidValueError, match=r"has no source 1$"):
            file.source_bytes(1)
        with pytest.raises(InvalidValueError, match="has no source 1 to ask about"):
            file.add_task(1, {})
        assert file.verify() == []


def test_tasks_are_numbered_and_the_newest_one_is_given(file):
    new = file.add_task(1, {"target": "bmi", "ranges": {"age": [0, 120]}})
    with reopened(file) as again:
        assert again.task() == new
        assert again.task(2) == new
        assert again.task(1).body == {"target": "ill", "sealed": [2]}
        assert again.task(1).source == 1


def test_a_result_replaces_the_one_of_its_kind(file):
    with_history(file)
    file.put_result(1, "model", {"a": 1}, 0.5)
    file.put_result(1, "model", {"a": 2}, 0.5)
    file.put_result(1, "cv", {"right": 0.974}, np.float64(2.0))
    file.put_result(2, "cv", {"right": 0.5}, 1)
    with reopened(file) as again:
        assert again.result(1, "model") == {"a": 2}
        assert again.results(1) == {"cv": {"right": 0.974}, "model": {"a": 2}}
        assert again.result(3, "model") is None
        assert again.results(3) == {}


def test_each_tab_has_one_draft(file):
    with_history(file)
    file.put_draft("a", None, "age")
    file.put_draft("b", 2, "bmi")
    stored = file.put_draft("a", 1, "age >= 60")
    with reopened(file) as again:
        assert again.draft("a") == stored == Draft("a", 1, "age >= 60", stored.at)
        assert [draft.tab for draft in again.drafts()] == ["a", "b"]
        again.drop_draft("a")
        again.drop_draft("a")
        assert again.draft("a") is None
        assert [draft.text for draft in again.drafts()] == ["bmi"]


def test_notes_are_found_by_their_case(file):
    with_history(file)
    first = file.add_note(1, 56, "the expert", "looked at twice")
    second = file.add_note(np.int32(2), np.int64(7), "an auditor", "fine")
    with reopened(file) as again:
        assert again.notes() == [first, second]
        assert again.notes(7) == [second]
        assert again.notes(8) == []
        assert (second.id, second.revision, second.row) == (2, 2, 7)


def test_events_are_numbered_and_can_be_asked_for_from_any_place(file):
    made = [file.add_event("the expert", "opened", {"k": k}) for k in range(5)]
    with reopened(file) as again:
        assert again.events() == made
        assert [event.id for event in again.events(after=3)] == [4, 5]
        assert again.events(after=5) == []
        assert len({event.hash for event in made}) == 5


def test_meta_can_be_noted_and_the_project_renamed(file):
    assert file.meta("theme") is None
    file.set_meta("theme", "dark")
    file.set_meta("theme", "light")
    file.set_meta("name", "lung")
    with reopened(file) as again:
        assert again.meta("theme") == "light"
        assert again.name == "lung"


@pytest.mark.parametrize("key", ["id", "made_at", "made_by", "chain:event", "chain:revision"])
def test_what_the_history_rests_on_cannot_be_set(file, key):
    with pytest.raises(InvalidValueError, match=f"'{key}' of a project is written once"):
        file.set_meta(key, "x")


@given(name=TEXTS, body=BODIES, text=TEXTS)
def test_any_text_and_any_plain_data_come_back_as_they_were(shared, name, body, text):
    wanted = json.loads(json.dumps(body))
    source = shared.add_source(name, text.encode(), reading=body, rows=1, columns=1)
    assert shared.source(source.id) == source
    assert (source.name, source.reading) == (name, wanted)
    assert shared.source_bytes(source.id).decode() == text
    task = shared.add_task(source.id, body)
    assert shared.task() == task
    assert task.body == wanted
    shared.put_result(1, name, body, 0.1)
    assert shared.result(1, name) == wanted
    shared.put_draft(name, None, text)
    assert shared.draft(name).text == text
    event = shared.add_event(name, text, body)
    assert (event.who, event.what, event.body) == (name, text, wanted)
    assert shared.add_note(1, 3, name, text) == shared.notes(3)[-1]
    job = shared.add_job(name, body)
    assert shared.update_job(job.id, message=text, error=text).input == wanted
    assert shared.job(job.id).message == text
    assert shared.verify() == []


def test_times_are_in_universal_time_and_true(file):
    event = file.add_event("x", "y", {})
    at = datetime.fromisoformat(event.at)
    assert at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=5)


# Jobs


def test_a_job_goes_its_way(file):
    job = file.add_job("train", {"revision": 1})
    assert (job.id, job.kind, job.input) == (1, "train", {"revision": 1})
    assert (job.state, job.progress, job.message) == ("waiting", 0.0, "")
    assert job.started is job.ended is job.error is None
    running = file.update_job(1, state="running")
    assert running.started is not None
    assert running.ended is None
    half = file.update_job(1, progress=0.5, message="fold 3 of 5")
    assert (half.progress, half.message, half.started) == (0.5, "fold 3 of 5", running.started)
    failed = file.update_job(1, state="failed", error="no rows", ended="2030-01-01T00:00:00+00:00")
    assert failed.ended == "2030-01-01T00:00:00+00:00"
    with reopened(file) as again:
        assert again.job(1) == failed
        assert again.job(2) is None


def test_the_newest_jobs_come_first(file):
    for k in range(5):
        file.add_job("train", {"k": k})
    assert [job.input["k"] for job in file.jobs(limit=3)] == [4, 3, 2]
    assert len(file.jobs()) == 5


def test_what_ran_when_the_file_was_last_open_is_stopped(file):
    for state in JOB_STATES:
        file.update_job(file.add_job(state, {}).id, state=state)
    with reopened(file) as again:
        states = {job.kind: job.state for job in again.jobs()}
        assert states == {state: state for state in JOB_STATES} | {
            "waiting": "stopped",
            "running": "stopped",
        }
        stopped = again.stop_unfinished_jobs()
        assert [job.kind for job in stopped] == ["waiting", "running"]
        assert all(job.ended for job in stopped)
        last = again.add_job("late", {})
        assert [job.kind for job in again.stop_unfinished_jobs()] == ["waiting", "running", "late"]
        assert again.job(last.id).state == "stopped"


def test_a_reader_stops_no_jobs(file):
    file.add_job("train", {})
    with ProjectFile.open(file.path, writing=False) as reader:
        assert reader.jobs()[0].state == "waiting"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "x"}, "a job has no 'kind' that could change"),
        ({"state": "asleep"}, "a job cannot be 'asleep'; it is one of waiting, running"),
        ({"state": None}, "a job cannot be None"),
        ({"progress": float("nan")}, "must be a finite number"),
        ({"progress": "half"}, "must be a number, not 'half'"),
        ({"message": None}, "the message of a job must be a text"),
        ({"error": 3}, "the error of a job must be a text"),
    ],
)
def test_a_job_takes_only_what_it_can_be(file, changed, words):
    job = file.add_job("train", {})
    with pytest.raises(InvalidValueError, match=words):
        file.update_job(job.id, **changed)
    assert file.job(job.id) == job


def test_a_job_that_is_not_there_cannot_be_changed(file):
    with pytest.raises(InvalidValueError, match="has no job 7"):
        file.update_job(7, state="done")


# What is refused


REFUSED = {
    "a name that is none": lambda f: f.add_source(3, b"", reading={}, rows=1, columns=1),
    "rows that are no number": lambda f: f.add_source("a", b"", reading={}, rows="3", columns=1),
    "half a row": lambda f: f.add_source("a", b"", reading={}, rows=0.5, columns=1),
    "fewer rows than none": lambda f: f.add_source("a", b"", reading={}, rows=-1, columns=1),
    "data that are not plain": lambda f: f.add_task(1, {"x": np.int64(3)}),
    "a set": lambda f: f.add_task(1, {"x": {1}}),
    "keys of several kinds": lambda f: f.add_task(1, {"x": 1, 2: 3}),
    "no number": lambda f: f.put_result(1, "a", {"x": float("nan")}, 0.0),
    "no end": lambda f: f.put_result(1, "a", {"x": float("inf")}, 0.0),
    "a time that is none": lambda f: f.put_result(1, "a", {}, float("inf")),
    "a list": lambda f: f.add_event("x", "y", [1]),
    "half a character": lambda f: f.add_event("x", "y", {"\ud800": 1}),
    "half a character in a draft": lambda f: f.put_draft("tab", None, "age \udc00"),
    "half a character in a question": lambda f: f.draft("\ud800"),
    "a version that is not there": lambda f: f.put_draft("tab", 99, ""),
    "a result of no version": lambda f: f.put_result(99, "a", {}, 0.0),
    "a note on no version": lambda f: f.add_note(99, 1, "x", "y"),
    "a row beyond all tables": lambda f: f.add_note(1, 2**70, "x", "y"),
    "a question beyond all tables": lambda f: f.notes(2**70),
    "a source that cannot be": lambda f: f.source(2**70),
    "a source of another kind": lambda f: f.source([1]),
    "no text": lambda f: f.add_note(1, 1, "x", b"y"),
    "bytes for a key": lambda f: f.set_meta("theme", b"dark"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_stored_is_refused_and_leaves_nothing(file, case):
    with_history(file)
    before = list(file._connection.iterdump())
    with pytest.raises(
        InvalidValueError, match=r"must|cannot|is not plain data|nothing was written"
    ):
        REFUSED[case](file)
    assert list(file._connection.iterdump()) == before
    assert file.verify() == []


def deep(levels):
    inner = {}
    for _ in range(levels):
        inner = {"x": inner}
    return inner


def test_data_of_very_many_levels_are_refused(file):
    with pytest.raises(InvalidValueError, match="is not plain data that JSON can hold"):
        file.add_event("x", "y", deep(100_000))


@pytest.mark.parametrize(
    ("statement", "read"),
    [
        ("UPDATE task SET body = 'nonsense'", lambda f: f.task()),
        ("UPDATE task SET body = '[1]'", lambda f: f.task()),
        ("UPDATE source SET reading = x'00'", lambda f: f.source()),
        ("UPDATE event SET body = ''", lambda f: f.events()),
        ("UPDATE event SET what = CAST(x'ff' AS TEXT)", lambda f: f.events()),
        ("UPDATE revision SET settings = 'null'", lambda f: History(f).all()),
        ("UPDATE job SET input = '{'", lambda f: f.jobs()),
        ("UPDATE result SET body = '{'", lambda f: f.results(1)),
        ("UPDATE source SET content = 'text'", lambda f: f.source_bytes(1)),
    ],
)
def test_rows_that_cannot_be_read_are_told_in_words(file, statement, read):
    with_history(file)
    file.put_result(1, "cv", {}, 0.0)
    file.update_job(file.add_job("train", {}).id, state="done")
    file.close()
    with without_triggers(file.path) as connection:
        connection.execute(statement)
    with ProjectFile.open(file.path) as again:
        with pytest.raises(FileDamagedError, match=r"biopsies\.clearmargin is damaged"):
            read(again)
        assert isinstance(again.verify(), list)


@pytest.mark.parametrize("table", ["source", "task", "revision", "event"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET at = 'now'",
        "UPDATE OR REPLACE {} SET id = 1",
        "UPDATE {} SET id = id + 1",
        "DELETE FROM {}",
        "INSERT OR REPLACE INTO {} SELECT * FROM {} WHERE id = 1",
        "REPLACE INTO {} SELECT * FROM {} WHERE id = 1",
    ],
)
def test_the_history_is_only_added_to(file, table, statement):
    with_history(file, ["age >= 60 => ill"])
    before = [tuple(row) for row in file.rows(f"SELECT * FROM {table}")]
    with (
        pytest.raises(InvalidValueError, match=r"never changed|never removed|at the end only"),
        file.transaction() as connection,
    ):
        connection.execute(statement.replace("{}", table))
    assert [tuple(row) for row in file.rows(f"SELECT * FROM {table}")] == before
    assert len(before) == 1


def test_a_gap_in_the_numbers_cannot_be_made(file):
    with (
        pytest.raises(InvalidValueError, match="events are added at the end only"),
        file.transaction() as connection,
    ):
        connection.execute("INSERT INTO event VALUES (5, '', '', '', '{}', '', '')")


def test_a_full_disk_is_told_and_costs_nothing_that_was_there(file):
    pages = file.rows("PRAGMA page_count")[0][0]
    file.rows(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(ClearmarginError, match="look whether the disk is full"):
        file.add_source("a", np.random.default_rng(0).bytes(100_000), reading={}, rows=1, columns=1)
    file.rows(f"PRAGMA max_page_count = {pages + 10_000}")
    assert file.add_source("a", b"x", reading={}, rows=1, columns=1).id == 2
    assert file.verify() == []


# Transactions and threads


def test_a_transaction_is_written_as_a_whole_or_not_at_all(file):
    def fail():
        with file.transaction():
            file.put_draft("tab", None, "x")
            file.add_event("x", "y", {})
            raise KeyError("half way")

    with pytest.raises(KeyError, match="half way"):
        fail()
    assert file.drafts() == file.events() == []
    with file.transaction():
        file.put_draft("tab", None, "x")
        file.add_event("x", "y", {})
    assert len(file.drafts()) == len(file.events()) == 1
    assert file.verify() == []


def test_a_write_is_on_the_disk_before_it_returns(file):
    for k in range(3):
        file.add_event("x", "y", {"k": k})
        with ProjectFile.open(file.path, writing=False) as reader:
            assert reader.events()[-1].body == {"k": k}


def test_what_is_closed_says_so(file):
    file.close()
    file.close()
    for act in (file.drafts, file.verify, lambda: file.add_event("x", "y", {}), lambda: file.name):
        with pytest.raises(InvalidValueError, match=r"biopsies\.clearmargin was closed"):
            act()
    with pytest.raises(InvalidValueError, match=r"biopsies\.clearmargin was closed"):
        file.save_copy(file.path.with_name("copy"))
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]


def run_together(acts):
    """Run functions in threads that start at the same moment; what one of them raises is raised here."""
    errors = []
    gate = threading.Barrier(len(acts))

    def run(act):
        try:
            gate.wait()
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_write_and_read_at_once(file):
    with_history(file, ["age >= 60 => ill"])
    writers, rounds = 10, 12

    def work(k):
        for step in range(rounds):
            file.add_event(f"writer {k}", "did", {"step": step})
            file.put_draft(f"tab {k}", 1, f"{k} {step}")
            assert file.draft(f"tab {k}").text == f"{k} {step}"
            job = file.add_job("train", {"k": k})
            assert file.update_job(job.id, state="done", progress=1.0).input == {"k": k}
            assert file.add_note(1, k, "x", f"{step}") in file.notes(k)
            if step == 5:
                assert file.verify() == []

    run_together([lambda k=k: work(k) for k in range(writers)])
    events = [event for event in file.events() if event.what == "did"]
    assert len(events) == writers * rounds
    for k in range(writers):
        steps = [event.body["step"] for event in events if event.who == f"writer {k}"]
        assert steps == list(range(rounds))
        assert [note.text for note in file.notes(k)] == [str(step) for step in range(rounds)]
    assert len(file.drafts()) == writers
    assert len(file.jobs(limit=1000)) == writers * rounds
    assert file.verify() == []


def test_a_transaction_of_one_thread_holds_no_row_of_another(file):
    began, ends = threading.Event(), threading.Event()

    def first():
        with contextlib.suppress(KeyError), file.transaction():
            file.add_event("first", "x", {})
            began.set()
            ends.wait(0.2)
            raise KeyError("given up")

    def second():
        began.wait()
        file.add_event("second", "x", {})
        ends.set()

    run_together([first, second])
    assert [event.who for event in file.events()] == ["second"]
    assert file.verify() == []


def test_closing_waits_for_who_is_writing(file):
    began = threading.Event()

    def write():
        for k in itertools.count():
            try:
                with file.transaction():
                    file.add_event("x", "one", {"k": k})
                    began.set()
                    file.add_event("x", "two", {"k": k})
            except InvalidValueError:
                return

    def close():
        began.wait()
        file.close()

    run_together([write, write, close])
    with ProjectFile.open(file.path) as again:
        assert [event.what for event in again.events()] == ["one", "two"] * (
            len(again.events()) // 2
        )
        assert again.verify() == []


# Copies


def test_a_copy_is_the_same_project_and_can_be_made_while_others_write(file):
    with_history(file)
    copies = []

    def write():
        for k in range(30):
            file.add_event("x", "y", {"k": k})

    def copy():
        copies.extend(file.save_copy(file.path.with_name(f"copy {k}")) for k in range(5))

    run_together([write, copy])
    for path in copies:
        with ProjectFile.open(path) as again:
            assert again.id == file.id
            assert len(History(again).all()) == 4
            assert again.verify() == []


def test_a_copy_of_another_name_is_a_project_of_its_own(file):
    history = with_history(file)
    path = file.save_copy(file.path.with_name("lung.clearmargin"), name="lung")
    with ProjectFile.open(path) as copy:
        assert copy.name == "lung"
        assert copy.id != file.id
        assert History(copy).all() == history.all()
        assert copy.verify() == []
        History(copy).keep("", why="", author="", base=4, task=1, settings={})
    assert len(history.all()) == 4
    with pytest.raises(FileExistsError, match="exists already"):
        file.save_copy(path)
