"""How faithful few rules are to a machine, where peers may ask it about drawn rows as ours may."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.peers.environment import Absent
from benchmarks.peers.run import run
from benchmarks.stranger_rules.folds import Part
from benchmarks.stranger_rules.learners import PLAIN
from benchmarks.stranger_rules.records import Record
from clearmargin import RuleSVC, ScoreRules

__all__ = ["DRAWN", "MACHINES", "TOPIC", "ask_for_fidelity", "draw_around", "imitate"]

TOPIC = "fidelity"
# As many as ScoreRules draws by default.
DRAWN = 2_000
_SPREAD = 0.5
MACHINES: dict[str, Callable[[], Any]] = {
    "linear": lambda: LinearSVC(random_state=0, max_iter=20_000),
    "RBF": SVC,
}
# Who learns what the machine predicts: of the training rows, and of the drawn rows as well.
HERE = ("tree, 15 leaves", "boosted stumps, 15")
PEERS = {
    "ruleopt RUG, 15 rules": ("ruleopt", "RUG, 15 rules"),
    "imodels FIGS, 12 splits": ("imodels", "FIGS"),
}
FloatArray = NDArray[np.float64]


def machine_of(part: Part, kind: str) -> Any:
    """Train the machine that is to be imitated, on numbers."""
    return make_pipeline(StandardScaler(), MACHINES[kind]()).fit(part.numbers_train, part.y_train)


def draw_around(X: FloatArray, count: int, seed: int) -> FloatArray:
    """Draw rows around training rows, as `ScoreRules` does: moved by half a standard deviation, within the ranges.

    Parameters
    ----------
    X : ndarray
        Training rows.
    count, seed : int
        How many, and how.

    Returns
    -------
    ndarray
        Whole numbers where a column has no others.
    """
    rng = np.random.default_rng(seed)
    start = rng.integers(len(X), size=count)
    moves = rng.normal(size=(count, X.shape[1])) * X.std(axis=0) * _SPREAD
    rows = np.clip(X[start] + moves, X.min(axis=0), X.max(axis=0))
    is_whole = (np.rint(X) == X).all(axis=0)
    return np.asarray(np.where(is_whole, np.rint(rows), rows), dtype=np.float64)


def _with_drawn(part: Part, machine: Any) -> tuple[FloatArray, Any]:
    rows = np.vstack([part.numbers_train, draw_around(part.numbers_train, DRAWN, part.seed)])
    return rows, machine.predict(rows)


def _ours() -> dict[str, Callable[[Any], Any]]:
    return {
        "ScoreRules, 15 cuts": lambda machine: ScoreRules(machine, max_rules=15, random_state=0),
    }


def imitate(part: Part, kind: str) -> list[Record]:
    """Measure ours, trees and boosted stumps on one fold; with an asterisk, those that saw drawn rows as well.

    Parameters
    ----------
    part : Part
        The fold.
    kind : str
        A key of `MACHINES`.

    Returns
    -------
    list of Record
        Fidelity on held-out rows, by method and kind of machine.
    """
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = machine_of(part, kind)
        truth = machine.predict(part.numbers_test)
        said = machine.predict(part.numbers_train)
        if len(np.unique(said)) < 2:
            # Nothing to imitate.
            return []
        rows, answers = _with_drawn(part, machine)

        def note(name: str, model: Any, X: FloatArray, y: Any) -> None:
            start = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - start
            figures = {
                "fidelity": float(np.mean(model.predict(part.numbers_test) == truth)),
                "accuracy": float(np.mean(model.predict(part.numbers_test) == part.y_test)),
                "seconds": seconds,
            }
            name = f"{name} ({kind})"
            found.append(Record(TOPIC, part.table, part.number, name, figures))

        for name, make in _ours().items():
            note(name, make(machine), part.numbers_train, said)
        asked = RuleSVC(15, certify=False, random_state=0)
        note("RuleSVC, 15 rules, drawn rows", asked, rows, answers)
        for name in HERE:
            note(name, PLAIN[name](), part.numbers_train, said)
            note(f"{name}, drawn rows", PLAIN[name](), rows, answers)
    return found


def ask_for_fidelity(parts: list[Part], folder: Path, seconds: float) -> list[Record]:
    """Let peers imitate the machines of some folds, from training rows and with drawn rows as well.

    Parameters
    ----------
    parts : list of Part
        The folds.
    folder : Path
        Where problems and answers are kept meanwhile.
    seconds : float
        The longest that a peer may take over a fold, in processor time.

    Returns
    -------
    list of Record
        Also for those that did not answer, with the reason.
    """
    problems, places = [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, part in enumerate(parts):
            for kind in MACHINES:
                machine = machine_of(part, kind)
                plain = part.numbers_train, machine.predict(part.numbers_train)
                if len(np.unique(plain[1])) < 2:
                    continue
                truth = machine.predict(part.numbers_test)
                for more, (X, y) in (("", plain), (", drawn rows", _with_drawn(part, machine))):
                    problems.append(folder / f"fidelity-{k}-{kind}-{len(more)}.npz")
                    np.savez(
                        problems[-1],
                        X_train=X,
                        y_train=y,
                        X_test=part.numbers_test,
                        names=np.array(part.names),
                        seed=part.seed,
                    )
                    places.append((part, f"{more} ({kind})", truth))
    found = []
    for name, (peer, method) in PEERS.items():
        print(f"asking {name} to imitate {len(problems)} machines ...", flush=True)
        outcomes = run(peer, method, problems, folder, seconds)
        for (part, more, truth), outcome in zip(places, outcomes, strict=True):
            key = (TOPIC, part.table, part.number, f"{name}{more}")
            if isinstance(outcome, Absent):
                found.append(Record(*key, reason=outcome.reason))
                continue
            figures = {
                "fidelity": float(np.mean(outcome.predicted == truth)),
                "accuracy": float(np.mean(outcome.predicted == part.y_test)),
                "seconds": outcome.seconds,
                "rules": float(outcome.n_rules),
            }
            found.append(Record(*key, figures))
    return found
