"""Jobs: their ends in all ways, progress, the queue, and that nothing is left of them."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.progress import Step
from clearmargin.workbench import job_process
from clearmargin.workbench import jobs as module
from clearmargin.workbench.events import Events
from clearmargin.workbench.job_process import describe_death, fraction, start_method
from clearmargin.workbench.jobs import Jobs
from clearmargin.workbench.project_file import ProjectFile

HERE = Path(__file__).parent
SERVER = HERE / "job_server.py"
METHODS = sorted({start_method(), "spawn"})
# Seconds: far longer than anything here takes, on a busy machine too.
PATIENCE = 60


class Told(Events):
    """Events that remember all that was published, and when."""

    def __init__(self):
        super().__init__()
        self.bodies: list[dict] = []
        self.times: list[float] = []

    def publish(self, what, body, **rest):
        self.times.append(time.perf_counter())
        self.bodies.append({"what": what, **body})
        return super().publish(what, body, **rest)

    def states(self, job) -> list[str]:
        """The states of a job, each once."""
        found = [body["state"] for body in self.bodies if body["id"] == job.id]
        return [state for n, state in enumerate(found) if n == 0 or found[n - 1] != state]


@pytest.fixture
def file(tmp_path):
    with ProjectFile.create(tmp_path / "a.clearmargin", name="a", made_by="a test") as opened:
        yield opened


@pytest.fixture
def make(file, monkeypatch):
    """Makes jobs of functions in `job_functions.py`, and closes them."""
    # Processes look for modules where the server does.
    monkeypatch.syspath_prepend(HERE)
    with contextlib.ExitStack() as undo:

        def made(**options):
            told = Told()
            options = {"function": "job_functions:run", **options}
            jobs = undo.enter_context(Jobs(file, told, **options))
            return SimpleNamespace(jobs=jobs, told=told, file=file)

        yield made


@pytest.fixture
def bench(make):
    return make()


@pytest.fixture(params=METHODS)
def each_bench(make, request):
    return make(method=request.param)


def end_of(bench, kind, given=None, on_done=None):
    """Run a job to its end."""
    job = bench.jobs.start(kind, given or {}, on_done)
    ended = bench.jobs.wait(job.id, PATIENCE)
    assert ended.ended is not None
    return ended


def until(condition):
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)
    return found


def pid_in(path: Path) -> int:
    """The process number that a job writes when it begins."""
    return int(until(lambda: path.exists() and path.read_text(encoding="ascii")))


def is_gone(pid: int) -> bool:
    """Whether a process is neither running nor a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def is_dead(pid: int) -> bool:
    """Whether a process has ended; one whose parent died first is a zombie for as long as the system likes."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            == "Z"
        )
    except FileNotFoundError:
        return is_gone(pid)


def started(bench, path, kind="forever"):
    """A job that runs and never ends, and its process."""
    job = bench.jobs.start(kind, {"file": str(path), "child": f"{path}.child"})
    return job, pid_in(path)


# The answer


def test_an_answer_is_handed_over_before_the_job_is_done(each_bench):
    taken = []

    def on_done(job, answer):
        taken.append((job.state, each_bench.file.job(job.id).state, answer["given"]))

    given = {"größe": "a\nb\u2028😀\0", "list": [1, 2.5, None, {"deep": True}]}
    job = end_of(each_bench, "echo", given, on_done)
    assert taken == [("running", "running", given)]
    assert (job.state, job.progress, job.error, job.input) == ("done", 1.0, None, given)
    assert job.started <= job.ended
    assert each_bench.told.states(job) == ["waiting", "running", "done"]


def test_start_returns_the_job_while_it_waits(bench):
    job = bench.jobs.start("echo", {})
    assert (job.kind, job.state, job.progress) == ("echo", "waiting", 0.0)
    assert bench.jobs.wait(job.id, PATIENCE).state == "done"


def test_an_event_tells_the_whole_state(bench):
    job = end_of(bench, "echo")
    assert bench.told.bodies[-1] == {
        "what": "job",
        "id": job.id,
        "kind": "echo",
        "state": "done",
        "progress": 1.0,
        "message": "",
        "error": None,
    }


def test_a_large_answer_comes_whole(bench):
    answers = []
    end_of(bench, "large", {"n": 3_000_000}, lambda job, answer: answers.append(answer))
    assert answers == [{"text": "é" * 3_000_000}]


def our_children():
    """The processes that are left; joblib keeps those that other tests have started."""
    found = multiprocessing.active_children()
    return [child for child in found if not type(child).__name__.startswith("Loky")]


def test_many_jobs_one_after_another_leave_nothing_behind(bench):
    end_of(bench, "echo")
    gc.collect()
    descriptors, threads = n_descriptors(), threading.active_count()
    pids = []
    for n in range(15):
        job = end_of(bench, "echo", {"n": n}, lambda job, answer: pids.append(answer["pid"]))
        assert job.state == "done"
    assert len(set(pids)) == 15
    until(lambda: all(is_gone(pid) for pid in pids))
    until(lambda: threading.active_count() <= threads)
    assert not our_children()
    gc.collect()
    assert n_descriptors() <= descriptors


def n_descriptors() -> int:
    folder = Path("/dev/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


# Progress


def test_progress_is_told_and_written(bench, capsys):
    begun = time.perf_counter()
    job = bench.jobs.start("steps", {"n": 4, "seconds": 0.3})
    written = []
    while bench.jobs.wait(job.id, 0.02).ended is None:
        now = bench.file.job(job.id)
        written.append((now.progress, now.message))
    told = [(body["progress"], body["message"]) for body in bench.told.bodies]
    expected = [(n / 4, f"folds {n}/4") for n in (1, 2, 3, 4)]
    assert [each for each in told if each[1]] == expected
    assert {each for each in written if each[1]} & set(expected)
    first = next(
        at for at, body in zip(bench.told.times, bench.told.bodies, strict=True) if body["progress"]
    )
    with capsys.disabled():
        sys.stdout.write(f" [first progress after {1e3 * (first - begun):.0f} ms] ")
    assert first - begun < PATIENCE


def test_progress_is_told_ten_times_a_second_and_written_twice(bench, monkeypatch):
    writings = []
    update = bench.file.update_job

    def counted(number, **changed):
        writings.append(changed)
        return update(number, **changed)

    monkeypatch.setattr(bench.file, "update_job", counted)
    begun = time.monotonic()
    end_of(bench, "steps", {"n": 1000, "seconds": 0.001})
    seconds = time.monotonic() - begun
    running = [body for body in bench.told.bodies if body["state"] == "running"]
    assert 2 <= len(running) <= 3 + 10 * seconds
    # One for the beginning and one for the end.
    assert 3 <= len(writings) <= 3 + 2 * seconds


def test_the_last_step_before_a_silence_is_told(bench, tmp_path):
    job = bench.jobs.start("burst_then_wait", {"file": str(tmp_path / "go")})
    until(lambda: bench.told.bodies[-1]["message"] == "folds 49/50")
    (tmp_path / "go").touch()
    assert bench.jobs.wait(job.id, PATIENCE).state == "done"


def test_a_task_within_another_counts_for_its_step(bench, tmp_path):
    job = bench.jobs.start("nested", {"file": str(tmp_path / "go")})
    until(lambda: bench.told.bodies[-1]["progress"] == 0.625)
    assert bench.told.bodies[-1]["message"] == "folds 1/2: search 25 %, 3 rules so far"
    (tmp_path / "go").touch()
    assert bench.jobs.wait(job.id, PATIENCE).state == "done"


@pytest.mark.parametrize(
    ("step", "share"),
    [
        (Step("a", 0, 0), 0.0),
        (Step("a", 3, 2), 1.0),
        (Step("a", 1, 2, within=Step("b", 2, 2)), 1.0),
        (Step("a", 1, 2, within=Step("b", 0.25, 0.5, 1, "rules")), 0.5),
        (Step("a", 1, 2, within=Step("b", 1, 2, within=Step("c", 0, 4))), 0.1875),
    ],
)
def test_a_share_lies_between_nothing_and_everything(step, share):
    assert fraction(step) == pytest.approx(share)


def test_of_a_task_of_nothing_only_the_title_is_said():
    assert job_process._in_words(Step("search", 0, 0, 0, "rules")) == "search"


# Errors


def test_an_error_of_ours_is_said_in_its_words(each_bench, caplog):
    job = end_of(each_bench, "refused")
    assert (job.state, job.error) == ("failed", "the column 'größe' has\nno numbers")
    assert each_bench.told.bodies[-1]["error"] == job.error
    assert each_bench.told.states(job) == ["waiting", "running", "failed"]
    assert not caplog.records


def test_an_unexpected_error_is_called_a_bug(bench, caplog):
    job = end_of(bench, "broken", {"zero": 0})
    assert job.state == "failed"
    assert job.error == (
        "internal error: this is a bug in clearmargin: ZeroDivisionError: division by zero"
    )
    # In the log is the place, and nothing that could be a value of a case.
    assert caplog.messages == [
        f"job {job.id} (broken) failed: ZeroDivisionError at job_functions.py:{line_of('1 / given')}"
    ]


def line_of(text: str) -> int:
    lines = (HERE / "job_functions.py").read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, start=1) if text in line)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("stopped", "the work was cancelled"),
        ("out_of_memory", "the data do not fit into memory; try fewer rows or columns"),
        ("no_file", "nowhere.csv: no such file or directory"),
        ("surrogates", r"no file '\udcff.csv'"),
        ("no_dict", "TypeError: a job answers with a dict, not with list"),
        ("not_a_number", "ValueError: Out of range float values are not JSON compliant"),
        ("leave", "SystemExit: 3"),
        ("no_such_kind", "KeyError: 'no_such_kind'"),
    ],
)
def test_whatever_is_raised_ends_in_words(bench, kind, error):
    job = end_of(bench, kind, {"file": "nowhere.csv"})
    assert job.state == "failed"
    assert error in job.error
    assert ("a bug in clearmargin" in job.error) == ("Error: " in error or "Exit" in error)


def test_an_error_that_quotes_everything_is_cut(bench):
    job = end_of(bench, "long_error")
    assert len(job.error) < 2100
    assert job.error.endswith("xxx ...")


def test_work_that_cannot_be_imported_is_an_error_in_words(make):
    job = end_of(make(function="no_such_module:run"), "echo")
    assert job.state == "failed"
    assert "ModuleNotFoundError: No module named 'no_such_module'" in job.error


def test_an_answer_that_is_not_taken_makes_the_job_fail(bench, caplog):
    def refuse(job, answer):
        raise DataError("there is no version 7 any more")

    def stumble(job, answer):
        raise KeyError("case 7")

    assert end_of(bench, "echo", {}, refuse).error == "there is no version 7 any more"
    assert not caplog.records
    job = end_of(bench, "echo", {}, stumble)
    assert job.state == "failed"
    assert job.error == "internal error: this is a bug in clearmargin: KeyError: 'case 7'"
    assert "KeyError at test_jobs.py" in caplog.text
    assert "case 7" not in caplog.text
    assert end_of(bench, "echo").state == "done"


# Processes that die


@pytest.mark.posix
@pytest.mark.parametrize(
    ("name", "words"),
    [("SIGKILL", "killed (SIGKILL), as the system does"), ("SIGSEGV", "crashed (SIGSEGV)")],
)
def test_a_process_that_dies_makes_the_job_fail_in_words(each_bench, name, words, tmp_path):
    job, pid = started(each_bench, tmp_path / "pid")
    os.kill(pid, getattr(signal, name))
    job = each_bench.jobs.wait(job.id, PATIENCE)
    assert job.state == "failed"
    assert words in job.error
    assert "the job can be started again" in job.error
    assert end_of(each_bench, "echo").state == "done"


def test_a_process_that_leaves_without_a_word_makes_the_job_fail(each_bench):
    job = end_of(each_bench, "vanish", {"code": 7})
    assert job.error == (
        "the process of this job ended without an answer (exit code 7). Nothing of the project is lost; the job can be "
        "started again"
    )


@pytest.mark.posix
def test_a_death_is_noticed_though_a_child_holds_the_pipe(bench, tmp_path):
    job = bench.jobs.start("forked", {"child": str(tmp_path / "child")})
    child = pid_in(tmp_path / "child")
    assert "exit code 7" in bench.jobs.wait(job.id, PATIENCE).error
    until(lambda: is_dead(child))


@pytest.mark.posix
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended without an answer (exit code 0)"),
        (-signal.SIGABRT, "crashed (SIGABRT)"),
        (-signal.SIGTERM, "was ended from outside (SIGTERM)"),
        (-200, "was ended from outside (signal 200)"),
    ],
)
def test_a_death_is_described(code, words):
    assert words in describe_death(code)


def test_a_process_that_cannot_be_started_makes_the_job_fail(bench, monkeypatch):
    def refuse(self):
        raise OSError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(job_process.JobProcesses, "take", refuse)
        job = end_of(bench, "echo")
    assert job.state == "failed"
    assert job.error.startswith("no process can be started for this job: ")
    assert "Resource temporarily unavailable" in job.error
    assert end_of(bench, "echo").state == "done"


@pytest.mark.posix
def test_a_process_that_answers_and_does_not_leave_is_ended(bench, monkeypatch):
    monkeypatch.setattr(job_process, "_LEAVING", 0.3)
    pids = []
    job = bench.jobs.start("lingering_thread", {}, lambda job, answer: pids.append(answer["pid"]))
    assert bench.jobs.wait(job.id, PATIENCE).state == "done"
    until(lambda: is_gone(pids[0]))


@pytest.mark.posix
def test_nobody_waits_for_a_process_that_takes_its_time_to_leave(make, monkeypatch):
    monkeypatch.setattr(job_process, "_LEAVING", 600.0)
    bench = make(limit=1)
    pids = []
    job = bench.jobs.start("lingering_thread", {}, lambda job, answer: pids.append(answer["pid"]))
    assert bench.jobs.wait(job.id, PATIENCE).state == "done"
    assert not is_gone(pids[0])
    # Its place is taken until it has left.
    other = bench.jobs.start("echo", {})
    assert bench.jobs.wait(other.id, 0.2).state == "waiting"
    os.kill(pids[0], signal.SIGKILL)
    assert bench.jobs.wait(other.id, PATIENCE).state == "done"


# Cancelling


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["forever", "deaf"])
def test_cancelling_kills_the_process_at_once(each_bench, kind, tmp_path, capsys):
    job, pid = started(each_bench, tmp_path / "pid", kind)
    begun = time.perf_counter()
    cancelled = each_bench.jobs.cancel(job.id)
    seconds = time.perf_counter() - begun
    assert is_gone(pid)
    with capsys.disabled():
        sys.stdout.write(f" [cancelled in {1e3 * seconds:.0f} ms] ")
    assert seconds < 1.0
    assert cancelled.state == "cancelled"
    assert cancelled.error is None
    assert each_bench.told.states(job) == ["waiting", "running", "cancelled"]
    assert end_of(each_bench, "echo").state == "done"


@pytest.mark.posix
def test_cancelling_kills_what_the_process_has_started(bench, tmp_path):
    job, pid = started(bench, tmp_path / "pid", "child")
    child = pid_in(tmp_path / "pid.child")
    assert bench.jobs.cancel(job.id).state == "cancelled"
    until(lambda: is_gone(pid) and is_dead(child))


@pytest.mark.posix
def test_what_a_dead_process_has_started_is_ended(bench, tmp_path):
    given = {"child": str(tmp_path / "child"), "file": str(tmp_path / "pid"), "ends": True}
    job = bench.jobs.start("child", given)
    child = pid_in(tmp_path / "child")
    assert bench.jobs.wait(job.id, PATIENCE).state == "failed"
    until(lambda: is_dead(child))


def test_a_job_that_waits_is_taken_out_of_the_queue(make, tmp_path):
    bench = make(limit=1)
    gate = str(tmp_path / "go")
    jobs = [bench.jobs.start("until", {"file": gate}) for _ in range(3)]
    assert bench.jobs.cancel(jobs[1].id).state == "cancelled"
    assert bench.jobs.wait(jobs[1].id, PATIENCE).started is None
    (tmp_path / "go").touch()
    ends = [bench.jobs.wait(job.id, PATIENCE).state for job in jobs]
    assert ends == ["done", "cancelled", "done"]
    assert bench.told.states(jobs[1]) == ["waiting", "cancelled"]


def test_a_job_is_cancelled_while_its_process_is_being_started(bench, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    taken = []
    take = job_process.JobProcesses.take

    def slow(self):
        reached.set()
        go_on.wait(PATIENCE)
        taken.append(take(self))
        return taken[-1]

    monkeypatch.setattr(job_process.JobProcesses, "take", slow)
    job = bench.jobs.start("echo", {})
    reached.wait(PATIENCE)
    begun = time.monotonic()
    assert bench.jobs.cancel(job.id).state == "cancelled"
    assert time.monotonic() - begun < 1.0
    go_on.set()
    until(lambda: not bench.jobs._runs)
    assert is_gone(taken[0].pid)
    assert bench.told.states(job) == ["waiting", "cancelled"]
    assert bench.file.job(job.id).state == "cancelled"


def test_it_is_too_late_to_cancel_once_the_answer_is_taken_in(bench, monkeypatch):
    monkeypatch.setattr(module, "_CANCEL", 0.05)
    reached, go_on = threading.Event(), threading.Event()

    def on_done(job, answer):
        reached.set()
        go_on.wait(PATIENCE)

    job = bench.jobs.start("echo", {}, on_done)
    reached.wait(PATIENCE)
    assert bench.jobs.cancel(job.id).state == "running"
    go_on.set()
    assert bench.jobs.wait(job.id, PATIENCE).state == "done"


def test_a_job_that_has_ended_stays_as_it_is(bench):
    job = end_of(bench, "echo")
    assert bench.jobs.cancel(job.id) == job
    assert bench.jobs.wait(job.id) == job


def test_who_takes_the_answer_may_start_and_cancel_jobs(bench):
    followers = []

    def on_done(job, answer):
        bench.jobs.cancel(job.id)
        followers.append(bench.jobs.start("echo", {"after": job.id}))

    assert end_of(bench, "echo", {}, on_done).state == "done"
    assert bench.jobs.wait(followers[0].id, PATIENCE).state == "done"


def test_a_job_that_there_is_not_is_refused(bench):
    with pytest.raises(InvalidValueError, match="there is no job 99 in this project"):
        bench.jobs.cancel(99)
    with pytest.raises(InvalidValueError, match="there is no job 99 in this project"):
        bench.jobs.wait(99)


def test_jobs_that_many_threads_start_and_cancel_all_end(bench, tmp_path):
    ended = []

    def start_and_cancel(n):
        job = bench.jobs.start("forever", {"file": str(tmp_path / str(n))})
        time.sleep(0.02 * n)
        bench.jobs.cancel(job.id)
        ended.append(bench.jobs.wait(job.id, PATIENCE).state)

    threads = [threading.Thread(target=start_and_cancel, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert ended == ["cancelled"] * 8
    until(lambda: not bench.jobs._runs)
    texts = [path.read_text(encoding="ascii") for path in tmp_path.glob("[0-9]")]
    # Some are killed before they could write who they are.
    assert all(is_gone(int(text)) for text in texts if text)


# The queue


def test_as_many_run_at_once_as_are_allowed_first_come_first_served(make, tmp_path):
    bench = make(limit=2)
    jobs = [bench.jobs.start("until", {"file": str(tmp_path / str(n))}) for n in range(4)]

    def states():
        return [bench.file.job(job.id).state for job in jobs]

    until(lambda: states() == ["running", "running", "waiting", "waiting"])
    (tmp_path / "1").touch()
    until(lambda: states() == ["running", "done", "running", "waiting"])
    for n in range(4):
        (tmp_path / str(n)).touch()
    assert [bench.jobs.wait(job.id, PATIENCE).state for job in jobs] == ["done"] * 4
    running = set()
    for body in bench.told.bodies:
        (running.add if body["state"] == "running" else running.discard)(body["id"])
        assert len(running) <= 2


def test_a_limit_of_nothing_is_refused(file):
    with pytest.raises(InvalidValueError, match="at least one job has to run at once, not 0"):
        Jobs(file, Events(), limit=0)


def test_input_that_is_no_plain_data_is_refused_and_others_go_on(bench):
    with pytest.raises(InvalidValueError, match="the input of a job is not plain data"):
        bench.jobs.start("echo", {"set": {1}})
    assert end_of(bench, "echo").state == "done"


# The end


@pytest.mark.posix
def test_closing_ends_everything(make, tmp_path):
    for method in METHODS:
        bench = make(method=method, limit=2)
        paths = [tmp_path / f"{method} {n}" for n in range(4)]
        kinds = ["deaf", "child", "forever", "forever"]
        given = [{"file": str(path), "child": f"{path} child"} for path in paths]
        jobs = [bench.jobs.start(*each) for each in zip(kinds, given, strict=True)]
        pids = [pid_in(path) for path in paths[:2]]
        child = pid_in(tmp_path / f"{method} 1 child")
        begun = time.perf_counter()
        bench.jobs.close()
        assert time.perf_counter() - begun < 10
        assert [bench.file.job(job.id).state for job in jobs] == ["stopped"] * 4
        assert [bench.told.states(job)[-1] for job in jobs] == ["stopped"] * 4
        assert all(is_gone(pid) for pid in pids)
        until(lambda child=child: is_dead(child))
        assert not our_children()
        # A thread that has done all its work may take a moment to end.
        until(lambda: not [one for one in threading.enumerate() if one.name.startswith("job ")])
        with pytest.raises(InvalidValueError, match="the project is being closed"):
            bench.jobs.start("echo", {})
        bench.jobs.close()


def test_an_answer_that_is_being_taken_in_is_waited_for(bench):
    reached, taken = threading.Event(), []

    def on_done(job, answer):
        reached.set()
        time.sleep(0.2)
        taken.append(answer)

    job = bench.jobs.start("echo", {}, on_done)
    reached.wait(PATIENCE)
    bench.jobs.close()
    assert taken
    assert bench.file.job(job.id).state == "done"


def test_who_takes_the_answer_may_close(bench):
    job = end_of(bench, "echo", {}, lambda job, answer: bench.jobs.close())
    assert job.state == "done"


def test_a_file_that_cannot_be_written_stops_nothing(bench, monkeypatch, caplog):
    def refuse(number, **changed):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(bench.file, "update_job", refuse)
        job = bench.jobs.start("steps", {"n": 2})
        bench.jobs.wait(job.id, PATIENCE)
    last = bench.told.bodies[-1]
    assert last["state"] == "failed"
    assert last["error"].startswith("the end of this job (done) cannot be written: ")
    assert "No space left on device" in caplog.text
    assert "Traceback" not in caplog.text
    assert end_of(bench, "echo").state == "done"


# A spare process


@pytest.mark.posix
def test_a_spare_process_is_taken_replaced_and_ended(make):
    bench = make(method="spawn")
    processes = bench.jobs._processes
    spare, pids = processes._spare, []
    end_of(bench, "echo", {}, lambda job, answer: pids.append(answer["pid"]))
    assert pids == [spare.pid]
    other = until(lambda: processes._spare)
    assert other.pid != spare.pid
    bench.jobs.close()
    assert is_gone(other.pid)


@pytest.mark.posix
def test_a_spare_process_that_died_is_not_taken(make):
    bench = make(method="spawn")
    spare = bench.jobs._processes._spare
    os.kill(spare.pid, signal.SIGKILL)
    until(lambda: not spare.is_alive())
    assert end_of(bench, "echo").state == "done"
    assert is_gone(spare.pid)


# The process and its surroundings


@pytest.mark.posix
def test_a_process_is_out_of_reach_of_the_terminal_and_lets_others_go_first(each_bench):
    answers = []
    end_of(each_bench, "surroundings", {}, lambda job, answer: answers.append(answer))
    assert answers[0].pop("niceness") >= os.nice(0)
    assert answers == [{"ignores": True, "blocks": True, "leads": True}]
    # The thread that has started it can be interrupted as before.
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_on_macos_processes_are_not_forked(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert start_method() == "spawn"


def begin_server(tmp_path, kind, how, **options):
    words = [tmp_path / "a.clearmargin", kind, tmp_path / "pid", how]
    return subprocess.Popen(
        [sys.executable, SERVER, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def state_of_first(tmp_path):
    with ProjectFile.open(tmp_path / "a.clearmargin") as opened:
        return opened.job(1).state


@pytest.mark.posix
def test_the_interrupt_key_ends_the_server_without_a_traceback(tmp_path):
    # The key is sent to the whole group of the terminal: the server, what it forks from, its jobs.
    with begin_server(tmp_path, "forever", "wait", start_new_session=True) as server:
        pid = pid_in(tmp_path / "pid")
        assert server.stdout.readline() == "ready\n"
        os.killpg(server.pid, signal.SIGINT)
        out, err = server.communicate(timeout=PATIENCE)
    assert (out, err, server.returncode) == ("closed\n", "", 0)
    until(lambda: is_dead(pid))
    assert state_of_first(tmp_path) == "stopped"


@pytest.mark.posix
def test_a_job_does_not_outlive_a_server_that_was_killed(tmp_path):
    with begin_server(tmp_path, "child", "wait") as server:
        pid, child = pid_in(tmp_path / "pid"), pid_in(tmp_path / "pid.child")
        server.kill()
        until(lambda: is_dead(pid))
        # It takes no notice of being asked, and nobody is left who could do more.
        os.kill(child, signal.SIGKILL)
        server.communicate(timeout=PATIENCE)
    assert state_of_first(tmp_path) == "stopped"


@pytest.mark.posix
def test_a_program_that_closes_nothing_ends_all_the_same(tmp_path):
    with begin_server(tmp_path, "forever", "leave") as server:
        out, err = server.communicate(timeout=PATIENCE)
    assert (out, err, server.returncode) == ("", "", 0)
    until(lambda: is_dead(pid_in(tmp_path / "pid")))
    assert state_of_first(tmp_path) == "stopped"


@pytest.mark.posix
def test_the_package_is_imported_ahead_and_not_what_lies_in_the_current_folder(tmp_path):
    # People keep tables in folders that have all kinds of files.
    folder = tmp_path / "tables"
    folder.mkdir()
    for name in ("random", "numpy", "socket", "statistics"):
        code = f"open({str(tmp_path / 'imported')!r}, 'a').write('{name} ')"
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    kind = "is_preloaded" if start_method() == "forkserver" else "echo"
    with begin_server(tmp_path, kind, "work", cwd=folder) as server:
        out, err = server.communicate(timeout=PATIENCE)
    assert (out, err) == ("done None\n", "")
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("name", job_process.PRELOADED)
def test_what_is_imported_ahead_exists(name):
    # Nobody would be told of a wrong name: jobs would only begin later.
    assert importlib.util.find_spec(name) is not None


def test_the_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    with job_process._undisturbed():
        pass
    assert os.environ["PYTHONSAFEPATH"] == ""
    monkeypatch.delenv("PYTHONSAFEPATH")
    with job_process._undisturbed():
        pass
    assert "PYTHONSAFEPATH" not in os.environ
