"""Peers in environments of their own: made once, absent with a reason, watched while they work.

No peer and no network is needed: environments are made from requirements that ask for nothing or cannot be met, and a
worker of the tests' own stands for the peers'.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.page import Table
from benchmarks.peers import __main__ as page
from benchmarks.peers import anchors, environment, run, worker
from benchmarks.peers.environment import Absent, Installed
from benchmarks.peers.work import contrast, protocol
from benchmarks.speed import leverage
from hypothesis import given
from hypothesis import strategies as st

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


def problem(folder: Path, deed: str, stem: str | None = None) -> Path:
    path = folder / f"{stem or deed}.npz"
    X = np.array([[-1.0, 0.0], [0.7, 0.0], [2.0, 0.0], [2.0, 3.0]])
    np.savez(path, X_train=X, y_train=[0, 1, 1, 1], X_test=X, names=np.array([deed, "b"]), seed=7)
    return path


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
    rows = {cells[1].strip(): [cell.strip() for cell in cells[2:-1]] for cells in lines[2:8]}
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


# Rules as the workers read them

conditions = st.tuples(
    st.integers(0, 2), st.sampled_from(["<=", "<", ">", ">="]), st.sampled_from([-1.0, 0.0, 0.5])
)


@given(st.lists(st.lists(conditions, max_size=5), max_size=4), st.integers(0, 9))
def test_covers_is_what_python_says_of_each_row(rules, seed):
    X = np.random.default_rng(seed).choice([-1.0, 0.0, 0.5, 1.0], size=(6, 3))
    said = [[all(eval(f"{x[j]} {op} {v}") for j, op, v in rule) for rule in rules] for x in X]
    assert protocol.covers(rules, X).tolist() == said


@given(st.lists(conditions, max_size=6))
def test_a_rule_has_as_many_conditions_as_its_box_has_finite_ends(rule):
    lower, upper = np.full(3, -np.inf), np.full(3, np.inf)
    for feature, operator, value in rule:
        if operator[0] == "<":
            upper[feature] = min(upper[feature], value)
        else:
            lower[feature] = max(lower[feature], value)
    ends = np.isfinite(lower).sum() + np.isfinite(upper).sum()
    assert protocol.count_conditions([rule]) == ends
    assert protocol.count_conditions([rule, rule]) == 2 * ends


def test_equalities_count_each():
    rule = [(0, "==", 1.0), (1, "!=", 1.0), (1, "!=", 2.0), (1, "!=", 2.0)]
    assert protocol.count_conditions([rule]) == 3


def test_rules_differ_where_both_classes_fire():
    fired = np.array([[True, True, False], [True, False, True], [False, False, False]])
    assert protocol.differ(fired, [1, 1, 0]).tolist() == [False, True, False]


# What the workers make of a peer's model


@pytest.fixture
def reader(monkeypatch):
    """Import the worker of a peer where the peer itself is not installed."""

    def load(peer, **stands_for):
        name = f"benchmarks.peers.work.{peer}"
        monkeypatch.setitem(sys.modules, peer, SimpleNamespace(**stands_for))
        # Set before it is deleted, so that what is imported here is forgotten after the test.
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
        return importlib.import_module(name)

    return load


def asked(y_train=(0, 1), rows=2):
    y = np.array(y_train)
    return protocol.Problem(np.zeros((len(y), 1)), y, np.zeros((rows, 1)), ["a"], 0, {})


def stump(feature, threshold):
    return SimpleNamespace(tree_=SimpleNamespace(feature=[feature], threshold=[threshold]))


class Boosted:
    def __init__(self, *estimators):
        self.estimators_ = estimators

    def predict(self, X):
        return np.zeros(len(X))

    decision_function = predict


def test_stumps_that_repeat_a_cut_count_once(reader):
    imodels = reader("imodels")
    # The last one did not find a cut.
    model = Boosted(stump(0, 0.5), stump(1, 0.5), stump(0, 0.5), stump(0, 0.75), stump(-2, -2.0))
    said = imodels.read_boosted_rules(model, asked())
    assert (said["n_rules"], said["n_conditions"]) == (3, 3)
    assert said["fires"].all()
    assert said["overlap"].all()
    assert said["note"].startswith("stumps: 4;")


def test_one_cut_however_often_repeated_is_no_sum(reader):
    imodels = reader("imodels")
    said = imodels.read_boosted_rules(Boosted(stump(0, 0.5), stump(0, 0.5)), asked())
    assert said["n_rules"] == 1
    assert said["fires"].all()
    assert not said["overlap"].any()


def leaf(share):
    return SimpleNamespace(left=None, right=None, value=np.array([1 - share, share]))


def split(feature, threshold, left, right):
    return SimpleNamespace(feature=feature, threshold=threshold, left=left, right=right)


class Figs:
    def __init__(self, *trees):
        self.trees_, self.complexity_ = trees, 3

    def predict(self, X):
        return np.zeros(len(X))

    def predict_proba(self, X):
        return np.zeros((len(X), 2))


# Everything right of the first cut is of class 1, though cut twice more.
BRANCHED = split(0, 0.5, leaf(0.1), split(1, 2.0, leaf(0.6), split(0, 0.7, leaf(0.9), leaf(1.0))))


def test_leaves_side_by_side_of_one_class_are_one_rule_of_a_single_tree(reader):
    imodels = reader("imodels")
    assert imodels.merged_leaves(BRANCHED) == [((0, "<=", 0.5),), ((0, ">", 0.5),)]
    said = imodels.read_figs(Figs(BRANCHED), asked())
    assert (said["n_rules"], said["n_conditions"], said["weighted"]) == (2, 2, False)


def test_leaves_of_one_class_that_are_not_side_by_side_stay_apart(reader):
    imodels = reader("imodels")
    tree = split(0, 0.5, leaf(0.9), split(1, 2.0, leaf(0.1), leaf(0.9)))
    assert set(imodels.merged_leaves(tree)) == {
        ((0, "<=", 0.5),),
        ((0, ">", 0.5), (1, "<=", 2.0)),
        ((0, ">", 0.5), (1, ">", 2.0)),
    }


def test_a_tree_of_one_class_is_one_rule_without_conditions(reader):
    imodels = reader("imodels")
    assert imodels.merged_leaves(leaf(0.3)) == [()]
    assert imodels.merged_leaves(split(0, 0.5, leaf(0.1), leaf(0.2))) == [()]


def test_leaves_of_trees_that_are_summed_are_not_merged(reader):
    imodels = reader("imodels")
    said = imodels.read_figs(Figs(BRANCHED, split(1, 0.0, leaf(0.1), leaf(0.2))), asked())
    assert (said["n_rules"], said["n_conditions"], said["weighted"]) == (6, 10, True)


def test_sizes_of_imodels_are_those_of_their_names(reader):
    made = []

    class Learner:
        def __init__(self, **options):
            made.append(options)

        def fit(self, X, y):
            return self

    imodels = reader("imodels", BoostedRulesClassifier=Learner, FIGSClassifier=Learner)
    assert tuple(imodels.METHODS) == run.METHODS["imodels"]
    for name in ("BoostedRules", "BoostedRules, 5 stumps", "BoostedRules, 30 stumps"):
        imodels.METHODS[name].train(asked())
    for name in ("FIGS", "FIGS, 6 splits"):
        imodels.METHODS[name].train(asked())
    sizes = [{k: v for k, v in options.items() if k != "random_state"} for options in made]
    assert sizes == [{}, {"n_estimators": 5}, {"n_estimators": 30}, {}, {"max_rules": 6}]


class Ripper:
    """Its rules, for the class it was told, fire on the first row only."""

    def __init__(self, random_state):
        rule = SimpleNamespace(conds=[SimpleNamespace(val="1 - 2"), SimpleNamespace(val="<3")])
        self.ruleset_ = SimpleNamespace(rules=[rule])

    def fit(self, X, y, pos_class):
        self.described = pos_class

    def predict(self, X):
        return [True, False]

    def predict_proba(self, X):
        return np.array([[0.1, 0.9], [0.7, 0.3]])


@pytest.mark.parametrize(
    ("y_train", "described", "predicted", "score"),
    [
        ([0, 0, 1], 1, [1, 0], [0.9, 0.3]),
        ([0, 1], 1, [1, 0], [0.9, 0.3]),
        ([0, 1, 1], 0, [0, 1], [0.1, 0.7]),
    ],
)
def test_ripper_describes_the_rarer_class(reader, y_train, described, predicted, score):
    wittgenstein = reader("wittgenstein", RIPPER=Ripper)
    model = wittgenstein.ripper(asked(y_train))
    assert model.described == described
    said = wittgenstein.read_ripper(model, asked(y_train))
    assert said["predicted"].tolist() == predicted
    assert said["score"].tolist() == score
    assert said["fires"].tolist() == [True, False]
    assert (said["n_rules"], said["n_conditions"]) == (1, 3)
    assert f"for class {described}," in said["note"]


# Anchors


def answer_with(tmp_path, monkeypatch, content, reason=None):
    """What is made of an answer of alibi, and of a reason why there is not more."""
    path = problem(tmp_path, "a")
    monkeypatch.setattr(anchors, "python_of", lambda _: Path(sys.executable))

    def work(command, problems, folder, seconds):
        target = folder / "a.json"
        if content is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(content))
        return [reason or target]

    monkeypatch.setattr(anchors, "work", work)
    (found,) = anchors.run_anchors([path], tmp_path / "out", 60)
    return found


ANCHOR = {
    "row": 3,
    "lower": [None, 0.25],
    "upper": [1.5, None],
    "precision": 0.97,
    "coverage": 0.2,
    "predicted": 1,
    "seconds": 0.5,
}


def test_an_anchor_is_unbounded_where_it_has_no_condition(tmp_path, monkeypatch):
    content = {"version": "0.9.6", "anchors": [ANCHOR]}
    found = answer_with(tmp_path, monkeypatch, content)
    assert (found.version, found.note) == ("0.9.6", "")
    (anchor,) = found.anchors
    np.testing.assert_array_equal(anchor.lower, [-np.inf, 0.25])
    np.testing.assert_array_equal(anchor.upper, [1.5, np.inf])
    assert (anchor.row, anchor.precision, anchor.predicted) == (3, 0.97, 1)


def test_anchors_found_before_time_was_up_are_kept(tmp_path, monkeypatch):
    content = {"version": "0.9.6", "anchors": [ANCHOR]}
    found = answer_with(tmp_path, monkeypatch, content, "stopped after 5 s")
    assert len(found.anchors) == 1
    assert found.note == "stopped after 5 s"


def test_without_an_anchor_alibi_is_absent(tmp_path, monkeypatch):
    late = answer_with(tmp_path, monkeypatch, None, "stopped after 5 s")
    assert late == Absent("alibi", "stopped after 5 s")
    failed = answer_with(tmp_path, monkeypatch, {"error": "ValueError: no"})
    assert failed == Absent("alibi", "ValueError: no")


# Contrasts


def test_tables_reach_the_miners_as_they_are(tmp_path):
    data = leverage.ends(30, 6, 3)
    data.save(tmp_path / "t.npz")
    table, memory = contrast.read(tmp_path / "t.npz")
    np.testing.assert_array_equal(table.masks, data.masks)
    np.testing.assert_array_equal(table.is_top, data.is_top)
    assert (table.max_size, memory) == (3, leverage.MEMORY)
    assert table.least == pytest.approx(leverage.MIN_LEVERAGE)
    np.testing.assert_array_equal(table.frame().to_numpy().T, data.masks)


def by_brute_force(data):
    """All conjunctions of two properties, by the definition of leverage."""
    found = {}
    n, p = len(data.is_top), len(data.masks)
    for items in [(i,) for i in range(p)] + [(i, j) for i in range(p) for j in range(i + 1, p)]:
        holds = np.logical_and.reduce(data.masks[list(items)])
        value = (holds & data.is_top).sum() / n - holds.sum() * data.is_top.sum() / n**2
        if abs(value) >= leverage.MIN_LEVERAGE - leverage.SLACK:
            found[items] = value
    return found


def test_our_miner_is_timed_on_what_the_definition_says():
    data = leverage.ends(60, 12, 2)
    timed = leverage.our_time(data)
    assert timed.seconds > 0
    expected = by_brute_force(data)
    assert leverage._agree(timed.found, list(expected.items()))
    (first, *rest) = expected.items()
    assert not leverage._agree(timed.found, rest)
    assert not leverage._agree(timed.found, [(first[0], first[1] + 1e-6), *rest])


def measured(monkeypatch, answers):
    """A row of tables with answers of the peers by name and size."""
    monkeypatch.setattr(leverage, "peer_times", lambda name, *_: answers[name])
    return leverage.measure(60, 12, 5)


def test_absent_peers_are_said_with_the_reason(monkeypatch):
    absent = {
        name: [Absent(package, "no wheel")] * 3 for name, (package, _) in leverage.PEERS.items()
    }
    found = measured(monkeypatch, absent)
    assert [row[4:] for row in found.rows] == [["absent"] * 4 + ["-"]] * 3
    assert not found.factors
    said = leverage._verdict({(60, 50): found}, 1.0)
    assert "Absent: mlxtend (no wheel)." in said
    assert "Absent: pysubgroup (no wheel)." in said
    assert "Measured with" not in said
    assert "no peer" in leverage._finding({(60, 50): found}, 1.0)


def test_the_better_peer_is_compared_and_limits_stand_for_more(monkeypatch):
    ours = [leverage.our_time(leverage.ends(60, 12, size)) for size in leverage.SIZES]
    quick = [leverage.Time(1.0, one.found, "mlxtend 9") for one in ours]
    slow = [leverage.Time(2.0, one.found, "pysubgroup 8") for one in ours]
    answers = {
        "pysubgroup DFS": [slow[0], ">5 s", ">5 s"],
        "pysubgroup Apriori": [">5 s"] * 3,
        "mlxtend apriori": [quick[0], quick[1], ">10 GB"],
        "mlxtend fpgrowth": [Absent("mlxtend", "ValueError: no")] * 3,
    }
    found = measured(monkeypatch, answers)
    assert [row[4:8] for row in found.rows] == [
        ["2.0 s", ">5 s", "1.0 s", "absent"],
        [">5 s", ">5 s", "1.0 s", "absent"],
        [">5 s", ">5 s", ">10 GB", "absent"],
    ]
    assert [row[8].startswith("**>") for row in found.rows] == [False, False, True]
    assert found.factors[4] > found.factors[3] > 0
    said = leverage._verdict({(60, 50): found}, 61.0)
    assert "Measured with mlxtend 9 and pysubgroup 8." in said
    assert "(required: a minute; **missed**)" in said


def test_a_peer_that_finds_other_properties_is_not_compared(monkeypatch):
    wrong = [leverage.Time(1.0, [((0,), 0.5)], "x")] * 3
    with pytest.raises(AssertionError, match="found other properties"):
        measured(monkeypatch, dict.fromkeys(leverage.PEERS, wrong))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"version": "1", "met": "memory"}, [">10 GB"] * 3),
        ({"error": "TypeError: no"}, [Absent("mlxtend", "TypeError: no")] * 3),
        (
            {"version": "1", "seconds": 0.5, "found": [[[0, 2], 0.1]]},
            [leverage.Time(0.5, [((0, 2), 0.1)], "mlxtend 1")] * 3,
        ),
        ("stopped after 5 s", [">5 s"] * 3),
        ("ended by SIGKILL", [Absent("mlxtend", "ended by SIGKILL")] * 3),
    ],
)
def test_answers_of_miners_are_times_limits_or_absences(tmp_path, monkeypatch, content, expected):
    def work(command, problems, folder, seconds, *, gives_up):
        assert gives_up
        if isinstance(content, str):
            return [content] * len(problems)
        target = tmp_path / "answer.json"
        target.write_text(json.dumps(content))
        return [target] * len(problems)

    monkeypatch.setattr(leverage, "python_of", lambda _: Path(sys.executable))
    monkeypatch.setattr(leverage, "work", work)
    tables = [leverage.ends(20, 6, size) for size in leverage.SIZES]
    assert leverage.peer_times("mlxtend apriori", tables, tmp_path, 5) == expected


def test_a_page_without_peers_is_a_page(monkeypatch):
    monkeypatch.setattr(leverage, "python_of", lambda package: Absent(package, "no network"))
    monkeypatch.setattr(leverage, "large", lambda: (["-"] * 9, 0.5))
    real = leverage.ends
    monkeypatch.setattr(leverage, "ends", lambda rows, properties, size: real(40, 12, size))
    section = leverage.section(full=False)
    assert isinstance(section.table, Table)
    assert len(section.table.rows) == 10
    assert {len(row) for row in section.table.rows} == {len(section.table.header)}
    assert not section.ratios
    assert "no network" in section.to_markdown()
