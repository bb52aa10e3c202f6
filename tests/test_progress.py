"""Progress: bars on stderr where somebody looks at slow work, observers, and work that is cancelled."""

from __future__ import annotations

import contextvars
import threading

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from clearmargin import (
    LPSVC,
    LPSVCCV,
    AdviceBlendSVC,
    AdviceSVCCV,
    RuleExtractor,
    SurrogateRules,
    compare_extractors,
    progress,
)
from clearmargin.exceptions import CancelledError
from clearmargin.progress import Step, advance, observe, part, task


def test_a_bar_counts_the_steps(capsys):
    with task("folds", 4, show=True):
        for _ in range(4):
            advance()
    shown = capsys.readouterr()
    assert shown.err.endswith("\rfolds [########################] 4/4, 0 s left \n")
    assert not shown.out


@pytest.mark.parametrize("show", [False, "auto"])
def test_nothing_is_written_where_nobody_looks(capsys, show):
    with task("folds", 2, show=show):
        advance()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_quick_work_shows_no_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with task("folds", 2):
        advance()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_slow_work_shows_a_bar_unless_somebody_observes_it(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("clearmargin.progress._PATIENCE", 0.0)
    with task("folds", 2):
        advance()
    assert "folds [############............] 1/2" in capsys.readouterr().err
    with observe(lambda step: None), task("folds", 2):
        advance()
    assert capsys.readouterr().err == ""


def test_work_that_finds_something_says_how_much_is_done_and_found(capsys, monkeypatch):
    monkeypatch.setattr("clearmargin.progress._PAUSE", 0.0)
    with task("search", 2.0, "rules", show=True):
        advance(0.5, 1)
        advance(0.5, 2)
        for _ in range(10):
            advance(0.1)
    shown = capsys.readouterr().err
    assert "search [######..................] 25 %, 1 rules so far" in shown
    assert shown.endswith("search [########################] 100 %, 3 rules so far \n")


def test_a_bar_is_not_redrawn_all_the_time(capsys):
    with task("search", 1.0, "rules", show=True):
        for _ in range(10_000):
            advance(1e-4)
    assert capsys.readouterr().err.count("\r") < 100


def test_a_part_counts_for_its_share_and_an_inner_task_for_itself():
    told = []
    with observe(told.append), task("search", 1.0, "rules", show=False):
        with part(0.5), part(0.25):
            advance(1.0, 3)
        with part(0.5, counts=False), part(0.5):
            advance(1.0, 3)
        with task("folds", 2):
            advance()
    outer = Step("search", 0.375, 1.0, 3, "rules")
    assert told == [
        Step("search", 0.125, 1.0, 3, "rules"),
        outer,
        Step("folds", 1, 2, within=outer),
    ]


def test_of_bars_within_bars_the_outer_one_is_shown(capsys):
    with task("outer", 1, show=True):
        with task("inner", 1.0, "rules", show=True):
            advance()
        # A thread has its own context, and the same terminal.
        thread = threading.Thread(target=lambda: shown_task("thread"))
        thread.start()
        thread.join()
        advance()
    shown_task("next")
    shown = capsys.readouterr().err
    assert "inner" not in shown
    assert "thread" not in shown
    assert "outer [########################] 1/1" in shown
    assert "next [########################] 1/1" in shown


def shown_task(title):
    with task(title, 1, show=True):
        advance()


def test_an_observer_can_be_a_bar(capsys):
    with observe("bar"):
        with task("folds", 1):
            advance()
        with task("quiet", 1, show=False):
            advance()
    assert "folds [########################] 1/1" in capsys.readouterr().err
    with task("folds", 1):
        advance()
    assert capsys.readouterr().err == ""


def stopped_half_way():
    with task("search", 1.0, "rules", show=True):
        advance(0.5, 1)
        raise KeyboardInterrupt


def test_an_interruption_ends_the_line_and_goes_on(capsys):
    with pytest.raises(KeyboardInterrupt):
        stopped_half_way()
    assert capsys.readouterr().err.endswith("50 %, 1 rules so far \n")
    shown_task("next")
    assert "next [########################] 1/1" in capsys.readouterr().err


def test_another_thread_cancels():
    started, go_on = threading.Event(), threading.Event()
    ended = []

    def work():
        with observe() as observer:
            observers.append(observer)
            try:
                with task("folds", 2):
                    advance()
                    started.set()
                    go_on.wait(5)
                    advance()
            except CancelledError as error:
                ended.append(str(error))

    observers: list[progress.Observer] = []
    thread = threading.Thread(target=work)
    thread.start()
    started.wait(5)
    observers[0].cancel()
    go_on.set()
    thread.join()
    assert ended == ["the work was cancelled"]


def test_work_outside_of_a_task_is_cancelled_too():
    with observe() as observer:
        advance()
        observer.cancel()
        with pytest.raises(CancelledError, match="the work was cancelled"):
            advance()


def test_a_step_of_nothing_shows_no_time_left(capsys):
    with task("folds", 2, show=True):
        advance(0.0)
        assert "s left" not in capsys.readouterr().err


def test_cancelled_results_of_any_iterator_are_left():
    taken = []

    def results(observer):
        for k in range(3):
            taken.append(k)
            observer.cancel()
            yield k

    with observe() as observer, pytest.raises(CancelledError):
        progress.collect(results(observer), "folds", 3)
    with observe() as observer, pytest.raises(CancelledError):
        progress.collect(map(int, results(observer)), "folds", 3)
    assert taken == [0, 0]


def test_observers_see_the_work_of_their_own_context_alone():
    told = []
    outside = contextvars.copy_context()
    with observe(told.append):
        outside.run(shown_quietly)
        contextvars.copy_context().run(shown_quietly)
    shown_quietly()
    assert told == [Step("folds", 1, 1)]


def shown_quietly():
    with task("folds", 1, show=False):
        advance()


def table(m=60):
    X = np.random.default_rng(0).normal(size=(m, 3))
    return X, X @ [1.0, 2.0, 3.0] > 0


ESTIMATORS = {
    "RuleExtractor": lambda: RuleExtractor(LPSVC()),
    "LPSVCCV": lambda: LPSVCCV(cv=3),
    "AdviceSVCCV": lambda: AdviceSVCCV("x0 > 1 => True", cv=3, lams=[1.0], mus=[1.0]),
    "AdviceBlendSVC": lambda: AdviceBlendSVC("x0 > 1 => True"),
}


class Stop:
    """A callback that cancels at a step."""

    def __init__(self, at=1):
        self.at, self.steps = at, []

    def __call__(self, step):
        self.steps.append(step)
        if len(self.steps) == self.at:
            raise CancelledError("enough")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_cancelled_fit_leaves_the_estimator_as_it_was(name, capsys):
    X, y = table()
    new = ESTIMATORS[name]()
    before = dict(vars(new))
    stop = Stop(at=2)
    with observe(stop), pytest.raises(CancelledError, match="enough"):
        new.fit(X, y)
    assert len(stop.steps) == 2
    assert vars(new) == before
    fitted = ESTIMATORS[name]().fit(X, y)
    before = dict(vars(fitted))
    with observe(Stop()), pytest.raises(CancelledError):
        fitted.fit(-X, y)
    assert vars(fitted) == before
    assert capsys.readouterr() == ("", "")


def test_a_comparison_is_cancelled_within_a_fold():
    X, y = table()
    rules = {"tree": SurrogateRules(DecisionTreeClassifier(max_depth=2)), "plane": RuleExtractor()}
    stop = Stop()
    with observe(stop), pytest.raises(CancelledError, match="enough"):
        compare_extractors(LPSVC(), X, y, cv=2, extractors=rules)
    assert stop.steps[0].title == "extraction"
    assert str(stop.steps[0].within) == "comparison 0/2"
