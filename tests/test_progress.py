"""Progress: bars on stderr where somebody looks at slow work, observers, and work that is cancelled."""

import contextvars
import gc
import threading
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone

from clearmargin import LPSVC, RuleExtractor, RuleSVC, compare_extractors, progress, scan
from clearmargin.exceptions import CancelledError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, 2.0, 3.0] > 0


class Stop:
    """A callback that cancels at a step."""

    def __init__(self, at=1, error=CancelledError):
        self.at, self.error, self.steps = at, error, []

    def __call__(self, step):
        self.steps.append(step)
        if len(self.steps) == self.at:
            raise self.error("enough")


@pytest.mark.parametrize("new", [RuleExtractor(LPSVC()), RuleSVC(max_rules=3, cv=3)])
def test_cancelled_fit_leaves_the_estimator_as_it_was(new, capsys):
    told = []
    with progress.observe(told.append):
        fitted = clone(new).fit(X, Y)
    assert len(told) >= 2
    for estimator, at in ((new, len(told)), (fitted, 1)):
        before = dict(vars(estimator))
        with progress.observe(stop := Stop(at)), pytest.raises(CancelledError, match="enough"):
            estimator.fit(X, Y)
        assert len(stop.steps) == at
        assert vars(estimator) == before
    assert capsys.readouterr() == ("", "")


def test_stopped_work_of_several_processes_leaves_no_results_behind():
    # Each starts processes anew: some 3 s.
    for fit, error in (
        (LPSVC("cv").fit, KeyboardInterrupt),
        (partial(compare_extractors, LPSVC(), n_jobs=2), CancelledError),
    ):
        stopped = pytest.raises(error, match="enough")
        with parallel_config(n_jobs=2), progress.observe(Stop(1, error)), stopped:
            fit(X, Y)
        gc.collect()  # joblib warns of results that nobody takes


def test_bars_are_drawn_where_they_are_asked_for_and_the_outer_one_alone(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    RuleExtractor(LPSVC()).fit(X, Y)  # too quick for a bar
    assert capsys.readouterr().err == ""
    rules = {"plane": RuleExtractor(), "other": RuleExtractor(max_rules=2)}
    with progress.observe("bar"):
        compare_extractors(LPSVC(), X, Y, cv=2, extractors=rules)
    shown = capsys.readouterr().err
    assert shown.endswith(" \n")
    assert "2/2" in shown
    assert "extraction" not in shown
    with progress.observe(told := Stop(10**6)):
        compare_extractors(LPSVC(), X, Y, cv=2, extractors=rules)
    inner = next(step for step in told.steps if step.within)
    assert (inner.title, inner.within.done, inner.within.total) == ("extraction", 0, 2)
    assert all(0 <= step.done <= step.total for step in told.steps)


def test_observers_see_their_own_context_and_cancel_from_another_thread(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{k},{k > 20}\n" for k in range(40)))
    told, outside = Stop(10**6), contextvars.copy_context()
    with progress.observe(told):
        outside.run(lambda: LPSVC().fit(scan(tmp_path / "t.csv", "y")))
        assert not told.steps
        LPSVC().fit(scan(tmp_path / "t.csv", "y"))
    assert told.steps
    started, go_on, ended = threading.Event(), threading.Event(), []

    def work(observed):
        with progress.observe(lambda _: (started.set(), go_on.wait(5))) as observer:
            observed.append(observer)
            with pytest.raises(CancelledError):
                RuleExtractor().fit(X, Y)
            ended.append(True)

    thread = threading.Thread(target=work, args=[observed := []])
    thread.start()
    started.wait(5)
    observed[0].cancel()
    go_on.set()
    thread.join()
    assert ended
