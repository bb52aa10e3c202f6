"""What the workers share: they read problems, answer each with a file, and say on their output where they are.

A worker runs in the environment of its peer: nothing here but numpy and the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# A condition is (feature, operator, value); a rule is a sequence of them.
Condition = tuple[int, str, float]
Rule = Sequence[Condition]


class Problem(NamedTuple):
    """Rows with the labels that a teacher gave them, and rows to be judged."""

    X_train: Any
    y_train: Any
    X_test: Any
    names: list[str]
    seed: int
    rest: dict[str, Any]


class Method(NamedTuple):
    """How a peer learns from a problem, which is timed, and how what it has learned is read, which is not."""

    train: Callable[[Problem], Any]
    read: Callable[[Any, Problem], dict[str, Any]]


def load(path: Path) -> Problem:
    """Read a problem."""
    with np.load(path) as file:
        fields = dict(file)
    X_train, X_test = (np.asarray(fields.pop(name), float) for name in ("X_train", "X_test"))
    y_train = np.asarray(fields.pop("y_train")).astype(int)
    names = [str(name) for name in fields.pop("names")]
    return Problem(X_train, y_train, X_test, names, int(fields.pop("seed")), fields)


def count_conditions(rules: Sequence[Rule]) -> int:
    """Conditions of all rules, where bounds from the same side on the same feature within a rule count once."""
    return sum(len({_side(*condition) for condition in rule}) for rule in rules)


def _side(feature: int, operator: str, value: float) -> tuple[int, str, float]:
    # An equality is one condition, and so is each inequality; bounds are merged with others of their side.
    return (feature, operator[0], 0.0) if operator[0] in "<>" else (feature, operator, value)


def serve(peer: str, methods: dict[str, Method]) -> None:
    """Answer the problems of the command line: the method, the folder for answers, the problems.

    Forty rows are learned first: that loads what the peer loads when first used, so that it is not in the times.
    """
    name = sys.argv[1]
    method = methods[name]
    begun = {"method": name, "version": version(peer)}

    def rehearse() -> None:
        problem = example()
        method.read(method.train(problem), problem)

    def answer(path: Path, target: Path) -> None:
        problem = load(path)
        np.random.seed(problem.seed)  # noqa: NPY002 - the peers draw from it where they take no seed
        start = time.process_time()
        model = method.train(problem)
        seconds = time.process_time() - start
        write(target, begun | method.read(model, problem) | {"seconds": seconds})

    attend(rehearse, answer)


def attend(rehearse: Callable[[], None], answer: Callable[[Path, Path], None]) -> None:
    """Work through the problems of the command line; whatever the peer raises is an answer, too.

    Each stage is said on the output, which the peer, whatever it prints, does not get hold of: "ready" after the
    rehearsal, then for each problem "begin" before and "end" after it.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[2])
    rehearse()
    print("ready", file=out, flush=True)
    for path in map(Path, sys.argv[3:]):
        print("begin", file=out, flush=True)
        target = folder / f"{path.stem}.json"
        try:
            answer(path, target)
        except Exception as error:
            traceback.print_exc()
            said = str(error).strip().splitlines() or [""]
            write(target, {"error": f"{type(error).__name__}: {said[0]}".removesuffix(": ")})
        print("end", file=out, flush=True)


def write(target: Path, answer: dict[str, Any]) -> None:
    """Leave an answer, which is there as a whole or not at all."""
    part = target.with_suffix(".part")
    part.write_text(json.dumps(answer, default=_plain), encoding="utf-8")
    part.replace(target)


def _plain(value: Any) -> Any:
    return value.tolist()


def example() -> Problem:
    """Forty rows whose class is the sign of a sum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X @ [1.0, 0.5, 0.0] > 0).astype(int)
    return Problem(X[:40], y[:40], X[40:], ["a", "b", "c"], 0, {})
