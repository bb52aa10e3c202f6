"""Peers in environments of their own: made once, absent with a reason, watched while they work.

No peer and no network is needed: environments are made from requirements that ask for nothing or cannot be met, and a
worker of the tests' own stands for the peers'."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers import __main__ as page
from benchmarks.peers import environment, run, worker
from benchmarks.peers.environment import Absent, Installed

from .cases import problem

ROOT = Path(__file__).parents[2]


WORK = sorted((ROOT / "benchmarks" / "peers" / "work").glob("*.py"))


REQUIREMENTS = sorted((ROOT / "benchmarks" / "peers" / "requirements").glob("*.txt"))


# Says its class by the first column; what else it does is in the name of the problem.
FAKE = """
import os, signal, sys, time
from benchmarks.peers.work.protocol import Method, covers, serve
from benchmarks.peers.work import protocol

protocol.version = lambda peer: "1.2.3"

def train(problem):
    print("a peer that talks")
    deed = problem.names[0]
    if deed == "raises":
        raise KeyError("no such bin")
    if deed == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if deed == "leaves":
        sys.exit("I have had enough")
    while deed == "works":
        pass
    while deed == "sleeps":
        time.sleep(1)
    return [[(0, ">", 0.0)], [(0, ">", 1.0), (0, ">", 0.5), (1, "<=", 2.0)]]

def read(rules, problem):
    fired = covers(rules, problem.X_test)
    return {
        "predicted": fired.any(axis=1).astype(int), "score": None, "fires": fired.any(axis=1),
        "overlap": fired.sum(axis=1) > 1, "overlap_means": "both", "n_rules": len(rules),
        "n_conditions": protocol.count_conditions(rules), "weighted": False, "linear_terms": 0,
        "note": os.environ["PYTHONHASHSEED"] + os.environ["OMP_NUM_THREADS"],
    }

serve("fake", {"RIPPER": Method(train, read)})
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Environments and requirements below a folder of the test's own."""
    (tmp_path / "requirements").mkdir()
    monkeypatch.setattr(environment, "FOLDER", tmp_path / "environments")
    monkeypatch.setattr(environment, "REQUIREMENTS", tmp_path / "requirements")
    # pip looks into an empty folder instead of the network.
    (tmp_path / "wheels").mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path


@pytest.fixture
def peer(tmp_path, monkeypatch):
    """A worker in place of wittgenstein's, in the tests' own environment."""
    script = tmp_path / "fake.py"
    script.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(run, "python_of", lambda _: Path(sys.executable))

    def work(command, *rest, **options):
        assert command[1:3] == ["-m", "benchmarks.peers.work.wittgenstein"]
        # As -m does: the project's root is where modules are looked for.
        code = f"import sys; sys.path.insert(0, ''); exec(open({str(script)!r}).read())"
        return worker.work([command[0], "-c", code, *command[3:]], *rest, **options)

    monkeypatch.setattr(run, "work", work)
    return script


# Environments


def test_an_environment_is_made_once(place, monkeypatch):
    (place / "requirements" / "nothing.txt").write_text("# nothing\n")
    first = environment.installed("nothing")
    assert isinstance(first, Installed)
    assert first.seconds > 0
    said = subprocess.run(
        [first.python, "-c", "import sys; print(sys.prefix)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(said.stdout.strip()) == place / "environments" / "nothing"
    monkeypatch.setattr(environment, "_make", lambda *_: pytest.fail("made again"))
    assert environment.installed("nothing") == first
    assert environment.python_of("nothing") == first.python


def test_an_environment_is_made_anew_when_the_requirements_change(place, monkeypatch):
    made = []
    monkeypatch.setattr(
        environment, "_make", lambda where, python, text: made.append(where) or _touch(python)
    )
    text = place / "requirements" / "nothing.txt"
    for content, times in (("# nothing", 1), ("# nothing", 1), ("# nothing at all", 2)):
        text.write_text(content)
        assert isinstance(environment.python_of("nothing"), Path)
        assert len(made) == times


def test_an_installation_that_fails_says_why_and_is_not_tried_again(place, monkeypatch):
    (place / "requirements" / "missing.txt").write_text("no-such-package-anywhere==1.0\n")
    absent = environment.python_of("missing")
    assert absent == Absent(
        "missing", "No matching distribution found for no-such-package-anywhere==1.0"
    )
    monkeypatch.setattr(environment, "_make", lambda *_: pytest.fail("tried again"))
    assert environment.python_of("missing") == absent


def test_a_failed_environment_is_not_taken_for_a_made_one(place, monkeypatch):
    (place / "requirements" / "late.txt").touch()
    monkeypatch.setattr(environment, "_make", lambda _, python, text: _touch(python) or "no")
    assert environment.python_of("late") == Absent("late", "no")
    monkeypatch.setattr(environment, "_failed", {})  # as in the next run
    assert environment.python_of("late") == Absent("late", "no")
    monkeypatch.setattr(environment, "_failed", {})
    monkeypatch.setattr(environment, "_make", lambda _, python, text: _touch(python))
    assert isinstance(environment.python_of("late"), Path)


def test_an_installation_that_takes_too_long_is_stopped(place, monkeypatch):
    monkeypatch.setattr(environment, "LIMIT", 0.5)
    start = time.monotonic()
    said = environment._call(["sleep", "60"], 0.5)
    assert said == "not installed within 0.5 s"
    assert time.monotonic() - start < 30


def test_a_command_that_fails_silently_is_said_to(place):
    said = environment._call([sys.executable, "-c", "raise SystemExit(3)"], 60)
    assert said is not None
    assert said.endswith("ended with 3")


def test_warnings_are_not_taken_for_the_error(place):
    code = "print('ERROR: the reason'); print('WARNING: an index'); raise SystemExit(1)"
    assert environment._call([sys.executable, "-c", code], 60) == "the reason"


def test_an_unknown_peer_is_absent_and_the_known_ones_are_named(place):
    absent = environment.python_of("nobody")
    assert isinstance(absent, Absent)
    assert "'nobody'" in absent.reason
    assert "imodels" in absent.reason


def test_all_are_made_some_at_a_time_each_once(place, monkeypatch):
    running, most, made = set(), [], []

    def make(where, python, requirements):
        running.add(where.name)
        most.append(len(running))
        time.sleep(0.05)
        running.discard(where.name)
        made.append(where.name)
        return "no" if where.name == "c" else _touch(python)

    for name in "abcd":
        (place / "requirements" / f"{name}.txt").touch()
    monkeypatch.setattr(environment, "_make", make)
    answers = environment.install_all(jobs=2, peers="abcd")
    assert list(answers) == ["a", "b", "c", "d"]
    assert sorted(made) == ["a", "b", "c", "d"]
    assert max(most) == 2
    assert answers["c"] == Absent("c", "no")
    assert isinstance(answers["d"], Installed)


def test_two_who_ask_for_the_same_environment_make_it_once(place, monkeypatch):
    made = []

    def make(where, python, requirements):
        made.append(where)
        time.sleep(0.1)
        return _touch(python)

    (place / "requirements" / "a.txt").touch()
    monkeypatch.setattr(environment, "_make", make)
    threads = [threading.Thread(target=environment.python_of, args=("a",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_the_table_says_what_is_there_and_why_not(place, monkeypatch, capsys):
    kept = {p.stem: p.read_text() for p in REQUIREMENTS}
    for name, text in kept.items():
        (place / "requirements" / f"{name}.txt").write_text(text)
    there = place / "environments" / "alibi"
    _touch(there / "bin" / "python")
    (there / "big").write_bytes(b"x" * 3_000_000)
    answers = {p: Absent(p, "no wheel") for p in environment.PEERS}
    answers["alibi"] = Installed("alibi", there / "bin" / "python", 4.2)
    monkeypatch.setattr(page, "install_all", lambda: answers)
    monkeypatch.setattr(page, "FOLDER", place / "environments")
    page.main()
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines()]
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]]
        for cells in lines[2 : 2 + len(answers)]
    }
    assert rows["alibi"] == ["0.9.6", "yes", "4.2", "3"]
    assert rows["orange"] == ["3.40.0", "no wheel", "-", "-"]
    assert set(rows) == set(environment.PEERS)


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_requirements_are_pinned_and_begin_with_the_peer(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith(("#", "--"))]
    assert all(line.count("==") == 1 and " " not in line for line in lines)
    names = [line.split("==")[0].lower() for line in lines]
    assert len(set(names)) == len(names)
    assert path.stem in names[0]


def test_every_peer_has_requirements_and_a_worker():
    assert {path.stem for path in REQUIREMENTS} == set(environment.PEERS)
    assert set(environment.PEERS) <= {path.stem for path in WORK}
    assert set(run.METHODS) <= set(environment.PEERS)


def test_what_runs_in_the_environments_imports_nothing_of_ours_but_the_protocol():
    for path in [*WORK, ROOT / "benchmarks" / "__init__.py"]:
        text = path.read_text()
        assert "clearmargin." not in text
        for line in text.splitlines():
            if line.startswith(("from benchmarks", "import benchmarks")):
                assert line.startswith("from benchmarks.peers.work.")


# Workers


def test_answers_come_back_as_arrays(tmp_path, peer):
    (outcome,) = run.run("wittgenstein", "RIPPER", [problem(tmp_path, "a")], tmp_path / "out", 60)
    assert isinstance(outcome, run.Outcome)
    assert (outcome.peer, outcome.method, outcome.version) == ("wittgenstein", "RIPPER", "1.2.3")
    np.testing.assert_array_equal(outcome.predicted, [0, 1, 1, 1])
    np.testing.assert_array_equal(outcome.fires, [False, True, True, True])
    np.testing.assert_array_equal(outcome.overlap, [False, False, True, False])
    assert outcome.predicted.dtype == np.int64
    assert outcome.fires.dtype == np.bool_
    assert outcome.score is None
    assert (outcome.n_rules, outcome.n_conditions) == (2, 3)
    assert outcome.seconds >= 0
    assert outcome.note == "01"  # hashes are the same in each run, and there is one thread


def test_one_problem_that_fails_leaves_the_others_alone(tmp_path, peer):
    deeds = ["first", "raises", "dies", "leaves", "works", "last"]
    problems = [problem(tmp_path, deed) for deed in deeds]
    outcomes = run.run("wittgenstein", "RIPPER", problems, tmp_path / "out", 0.5)
    reasons = {d: o.reason for d, o in zip(deeds, outcomes, strict=True) if isinstance(o, Absent)}
    assert reasons == {
        "raises": "KeyError: 'no such bin'",
        "dies": "ended by SIGSEGV",
        "leaves": "I have had enough",
        "works": "stopped after 0.5 s",
    }
    assert all(o.peer == "wittgenstein" for o in outcomes)


def test_a_worker_that_waits_is_stopped_by_the_clock(tmp_path, peer, monkeypatch):
    monkeypatch.setattr(worker, "PATIENCE", 1.0)
    monkeypatch.setattr(worker, "GRACE", 0.5)
    (absent,) = run.run("wittgenstein", "RIPPER", [problem(tmp_path, "sleeps")], tmp_path, 0.5)
    assert absent == Absent("wittgenstein", "stopped after 1 s on the clock")


def test_where_no_cpu_time_is_told_the_clock_counts(tmp_path, peer, monkeypatch):
    monkeypatch.setattr(worker, "_cpu_seconds", lambda _: None)
    (absent,) = run.run("wittgenstein", "RIPPER", [problem(tmp_path, "works")], tmp_path, 0.5)
    assert absent == Absent("wittgenstein", "stopped after 0.5 s on the clock")


def test_a_peer_that_cannot_be_loaded_is_absent_from_all_problems(tmp_path, peer):
    peer.write_text("import no_such_module_anywhere")
    problems = [problem(tmp_path, name) for name in "abc"]
    outcomes = run.run("wittgenstein", "RIPPER", problems, tmp_path / "out", 60)
    reason = "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    assert outcomes == [Absent("wittgenstein", reason)] * 3


def test_a_peer_that_is_never_ready_is_stopped(tmp_path, peer, monkeypatch):
    monkeypatch.setattr(worker, "LOAD_LIMIT", 0.3)
    peer.write_text("import time; time.sleep(60)")
    (absent,) = run.run("wittgenstein", "RIPPER", [problem(tmp_path, "a")], tmp_path / "out", 60)
    assert absent == Absent("wittgenstein", "not ready: stopped after 0.3 s on the clock")


def test_a_peer_that_is_not_installed_is_absent_from_all_problems(tmp_path, monkeypatch):
    absent = Absent("imodels", "no wheel")
    monkeypatch.setattr(run, "python_of", lambda _: absent)
    problems = [problem(tmp_path, name) for name in "ab"]
    assert run.run("imodels", "FIGS", problems, tmp_path, 60) == [absent, absent]


def test_an_unknown_method_is_refused_and_the_known_ones_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no method 'FIGS'.*wittgenstein: RIPPER"):
        run.run("wittgenstein", "FIGS", [], tmp_path, 60)


def test_problems_of_the_same_name_are_refused(tmp_path, peer):
    one = problem(tmp_path, "a")
    with pytest.raises(ValueError, match="different names"):
        run.run("wittgenstein", "RIPPER", [one, one], tmp_path / "out", 60)


def test_old_answers_do_not_stand_for_new_ones(tmp_path, peer):
    path = problem(tmp_path, "a")
    run.run("wittgenstein", "RIPPER", [path], tmp_path / "out", 60)
    answer = tmp_path / "out" / "wittgenstein-RIPPER" / "a.json"
    assert answer.is_file()
    peer.write_text("raise SystemExit('gone')")
    (absent,) = run.run("wittgenstein", "RIPPER", [path], tmp_path / "out", 60)
    assert absent == Absent("wittgenstein", "gone")
    assert not answer.exists()


def test_one_that_gives_up_is_not_asked_again(tmp_path):
    code = (
        "import sys\nfor word in ('ready', 'begin', 'end', 'begin'): print(word, flush=True)\n"
        "open(sys.argv[1] + '/asked', 'a').write('x')\nsys.exit('too much')"
    )
    problems = [problem(tmp_path, name) for name in "abcd"]
    command = [sys.executable, "-c", code]
    answers = worker.work(command, problems, tmp_path / "out", 60, gives_up=True)
    assert answers == [tmp_path / "out" / "a.json", "too much", "too much", "too much"]
    assert (tmp_path / "out" / "asked").read_text() == "x"
