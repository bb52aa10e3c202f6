"""The comparison of rules with those of peers: plans, processes, and peers that are slow or absent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread, current_thread

import numpy as np
import pytest
from benchmarks.peers.anchors import Anchor, Anchors
from benchmarks.peers.environment import Absent
from benchmarks.peers.run import Outcome
from benchmarks.quality import budget, others, ours
from benchmarks.quality.budget import ladder
from benchmarks.quality.folds import folds, machine_fields, write_problem
from benchmarks.quality.jobs import Job, shared
from benchmarks.quality.judge import Answer
from benchmarks.quality.measure import assemble, measure_fold, start_cards
from benchmarks.quality.others import answer_from, any_rule, explained_from, peer_answers
from benchmarks.quality.ours import answers, too_large
from benchmarks.quality.plan import FULL, QUICK, Plan, plan_for
from benchmarks.quality.tables import panel_section

from clearmargin.exceptions import DataError, InvalidValueError

from .cases import fold_of, small


def half_absent(problems):
    """A peer that says what the machine said most often, and one that gives up on every second problem."""
    found = []
    for problem in problems:
        with np.load(problem) as given:
            default = int(np.median(given["y_train"]))
            rows = len(given["X_test"])
        found.append(Answer(np.full(rows, default), np.zeros(rows, bool), 0, 0, 0.1))
    return {
        "lazy": found,
        "slow": [said if k % 2 else "stopped after 1 s" for k, said in enumerate(found)],
        "gone": ["no such package"] * len(found),
    }


def test_ours_and_peers_meet_on_the_same_folds(tmp_path):
    parts = [list(folds(small(), kind, 1))[:2] for kind in ("linear", "RBF")]
    # One measured fold stands for all of them, since only the places matter here.
    once = measure_fold(parts[0][0], Plan(leaves=(4,)))
    found = [[once] * 2] * 2
    problems = [tmp_path / f"{k}.npz" for k in range(4)]
    for path, fold in zip(problems, [fold for part in parts for fold in part], strict=True):
        write_problem(fold, path)
    answered = half_absent(problems)
    with ThreadPoolExecutor(1) as pool:
        cards = [each.result() for each in start_cards(parts, answered, pool)]
    assert [list(each) for each in cards] == [[0]] * 4
    panels = assemble(parts, found, answered, cards)
    assert [(each.data, each.teacher) for each in panels] == [("small", "linear"), ("small", "RBF")]
    for each in panels:
        rows = {row.name: row for row in each.rows}
        assert len(rows["lazy"].pairs) == 2
        # A default alone may be met by nothing but a default alone.
        assert all(rival.rules == 0 for _, rival in rows["lazy"].pairs)
        assert all(rival.rules == 0 for _, rival in rows["lazy"].card_pairs)
        assert rows["ScoreRules, 5 cuts"].is_weighted
        assert not rows["SurrogateRules, boxes"].is_weighted
        assert len(rows["slow"].pairs) == 1
        assert rows["gone"].known == []
        assert rows["gone"].reasons == ["no such package"] * 2
        for peer, rival in rows["scikit-learn tree, 16 leaves"].pairs:
            assert rival.size <= peer.size
        for peer, rival in rows["scikit-learn tree, 16 leaves"].card_pairs:
            assert 0 < rival.rules <= peer.rules
        assert "slow [1 of 2 folds]" in panel_section(each).to_markdown()


def test_an_absent_peer_gives_its_reason_and_a_present_one_its_answer():
    assert answer_from(Absent("imodels", "no network")) == "no network"
    outcome = Outcome(
        peer="p",
        method="m",
        version="1",
        predicted=np.array([0, 1]),
        score=None,
        fires=None,
        overlap=np.array([True, False]),
        overlap_means="",
        n_rules=3,
        n_conditions=4,
        weighted=True,
        linear_terms=2,
        seconds=0.5,
        note="",
    )
    answer = answer_from(outcome)
    assert answer.fires.all()
    assert (answer.overlap, answer.rules, answer.is_weighted) == (0.5, 3, True)
    assert answer.linear_terms == 2


@pytest.mark.parametrize("kind", ["linear", "RBF"])
def test_a_machine_written_as_numbers_decides_as_it_did(kind):
    fold = fold_of(kind)
    given = machine_fields(fold)
    if kind == "linear":
        scores = fold.X_test @ given["w"] + given["b"]
    else:
        Z = (fold.X_test - given["mean"]) / given["scale"]
        squares = ((Z[:, None] - given["sv"][None]) ** 2).sum(axis=2)
        scores = np.exp(-given["gamma"] * squares) @ given["dual"] + given["b"]
    np.testing.assert_allclose(scores, fold.model.decision_function(fold.X_test), atol=1e-9)


def test_an_anchor_is_open_below_and_an_absent_one_gives_its_reason():
    assert explained_from(Absent("alibi", "no network")) == "no network"
    anchor = Anchor(3, np.array([1.0, -np.inf]), np.array([2.0, np.inf]), 0.9, 0.2, 1, 0.5)
    (said,) = explained_from(Anchors("alibi", "1", (anchor,), ""))
    assert said.lower[0] > 1.0
    assert np.isneginf(said.lower[1])
    assert (said.row, said.label, said.is_proved) == (3, 1, False)


def test_a_slow_peer_is_asked_on_its_first_folds_only(monkeypatch, tmp_path):
    def told(peer, method, problems, folder, seconds):
        return [Absent(peer, path.stem) for path in problems]

    monkeypatch.setattr(others, "run", told)
    monkeypatch.setattr(others, "METHODS", {"p": ("slow", "fast")})
    monkeypatch.setattr(others, "SURROGATES", ("p",))
    paths = [tmp_path / f"{k}.npz" for k in range(4)]
    places = [("D", 0), ("D", 1), ("E", 0), ("E", 1)]
    plan = Plan(first_folds={"slow": 1, "slow on E": 0})
    found = peer_answers(paths, places, tmp_path, plan)
    skipped, later = "only the first 1 folds were asked", "left to the full run"
    assert found == {"p slow": ["0", skipped, later, later], "p fast": ["0", "1", "2", "3"]}


def test_rules_that_vote_are_judged_a_second_time_by_any_of_them():
    said = Answer(np.array([0, 0, 1]), np.array([True, False, True]), 2, 4, 0.1, is_weighted=True)
    again = any_rule(said)
    assert again.predicted.tolist() == [1, 0, 1]
    assert (again.is_weighted, again.rules, again.overlap) == (False, 2, 0.0)
    assert any_rule("stopped") == "stopped"


def test_a_slow_method_of_ours_is_skipped_with_the_reason():
    fold = fold_of()
    name = "RuleExtractor, overlapping, 16 rules"
    reason = QUICK.skips(name, "small", 3)
    assert QUICK.skips(name, "small", 2) is None
    found = answers(fold, full=False, skipped={name: reason})
    assert found[name] == found[f"{name}, one class"] == "only the first 3 folds were asked"


def test_a_plan_keeps_everything_but_its_sets():
    plan = plan_for(["wbc"], full=True)
    assert plan.names == ("wbc",)
    assert (plan.repetitions, plan.n_explained, plan.full) == (FULL.repetitions, 50, True)
    assert plan_for(None, full=True) is FULL


def test_methods_that_would_take_hours_say_so():
    assert too_large("RuleExtractor, overlapping", np.zeros((3_000, 50))) is not None
    assert too_large("RuleExtractor, volume", np.zeros((3_000, 50))) is None
    assert too_large("RuleExtractor, overlapping, 16 rules", np.zeros((3_000, 50))) is None
    assert too_large("RuleExtractor, coverage", np.zeros((700, 9))) is None
    assert "10 columns" in too_large("SupportVectorRules, certified", np.zeros((5, 11)))


@pytest.mark.parametrize("kind", [DataError, InvalidValueError])
def test_a_method_that_refuses_or_fails_does_so_in_all_its_forms(monkeypatch, kind):
    def refuse(method, *_):
        raise kind("no rule covers 2 training points")

    monkeypatch.setattr(ours, "rules_of", refuse)
    found = answers(fold_of(), full=False)
    assert set(found.values()) == {f"{kind.__name__}: no rule covers 2 training points"}
    assert "SurrogateRules, local, one class" in found


def test_a_candidate_that_fails_leaves_the_others_and_is_heard_of(monkeypatch, capsys):
    known = budget.rules_of

    def fail(method, *given):
        if "boxes" in method.name:
            raise InvalidValueError("box 17 is empty")
        return known(method, *given)

    monkeypatch.setattr(budget, "rules_of", fail)
    steps = ladder(fold_of(), leaves=(4,))
    assert steps.choose(5).method.endswith("4 leaves")
    assert "small, fold 0, SurrogateRules, boxes: box 17 is empty" in capsys.readouterr().err


def test_a_free_process_takes_what_has_not_begun_from_the_end():
    held, entered = Event(), Event()

    def wait():
        entered.set()
        held.wait(10)
        return current_thread().name

    with ThreadPoolExecutor(1, "first") as first, ThreadPoolExecutor(1, "second") as second:
        jobs = [Job(first, wait), *(Job(first, lambda: current_thread().name) for _ in range(4))]
        entered.wait(10)
        with shared(jobs, second):
            # The first process is busy: the other one does all the rest.
            names = [job.result().split("_")[0] for job in jobs[1:]]
            held.set()
            names.insert(0, jobs[0].result().split("_")[0])
    assert names == ["first", "second", "second", "second", "second"]


def test_whoever_waits_for_a_job_gets_it_though_it_is_moved_meanwhile():
    held, found = Event(), []

    with ThreadPoolExecutor(1, "first") as first, ThreadPoolExecutor(1, "second") as second:
        busy = Job(first, held.wait, 10)
        job = Job(first, lambda: current_thread().name)
        waiting = Thread(target=lambda: found.append(job.result()))
        waiting.start()
        assert job.move(second)
        waiting.join(10)
        held.set()
        assert busy.result()
        assert not job.move(first)
    assert found[0].startswith("second")


def test_the_error_of_a_moved_job_is_that_of_its_work():
    held = Event()

    def fail():
        raise ValueError("no luck")

    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        jobs = [Job(first, held.wait, 10), Job(first, fail)]
        with shared(jobs, second):
            with pytest.raises(ValueError, match="no luck"):
                jobs[1].result()
            held.set()
