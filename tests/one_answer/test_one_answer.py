"""Answers do not depend on the processor, the number of threads or the order of the rows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from clearmargin.datasets import load_wbc

SCRIPT = Path(__file__).with_name("answers.py")
# Katmai is what every x86-64 machine can run, and the one whose sums differ most from those of recent ones.
# OpenBLAS falls back to the nearest kernel that it has where a processor cannot run the one asked for.
PROCESSORS = {
    "as it is": {"OPENBLAS_NUM_THREADS": "1"},
    "old, two threads": {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "2"},
    "Haswell, plain numpy": {
        "OPENBLAS_CORETYPE": "Haswell",
        "OPENBLAS_NUM_THREADS": "2",
        "NPY_DISABLE_CPU_FEATURES": " ".join(
            name for name in __cpu_dispatch__ if __cpu_features__.get(name)
        ),
    },
}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def tables() -> dict[str, np.ndarray]:
    """Whole numbers with many ties; numbers on scales apart, one of them a time in seconds."""
    X, y = load_wbc(return_X_y=True)
    rows = slice(0, 160)
    rng = np.random.default_rng(5)
    Z = rng.integers(-4_000, 4_000, size=(120, 4)) / 1024
    label = np.where(Z @ [1.0, -0.5, 0.25, 0.0] + rng.integers(-99, 99, 120) / 100 > 0, "yes", "no")
    return {
        "whole_X": X.to_numpy(dtype=np.float64)[rows, :6],
        "whole_y": np.where(y.to_numpy()[rows] == "malignant", "yes", "no"),
        "scales_X": Z * [1.0, 100.0, 0.01, 1.0] + [5.0, 0.0, 0.0, 2.0**30],
        "scales_y": label,
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, dict]:
    """What each processor found."""
    path = tmp_path_factory.mktemp("answers") / "tables.npz"
    np.savez(path, **tables())

    def ask(settings: dict[str, str]) -> dict:
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(path), "2"],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3_000:]
        return json.loads(done.stdout)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(PROCESSORS, pool.map(ask, PROCESSORS.values()), strict=True))


def everything(answers: dict[str, dict], part: str):
    """Yield each estimator's answers: one list of (processor, answer) for each estimator and table."""
    tables = answers["as it is"]
    for table in tables:
        for name in tables[table][part]:
            yield (
                f"{name} on {table}",
                [(p, found[table][part][name]) for p, found in answers.items()],
            )


def test_planes_and_rules_of_a_given_plane_are_the_same_to_the_bit_in_any_order(answers):
    different = []
    for table, found in answers["as it is"].items():
        for name, expected in found["orders"][0].items():
            for processor, other in answers.items():
                for k, order in enumerate(other[table]["orders"]):
                    if order[name] != expected:
                        different.append(f"{name} on {table}: {processor}, order {k}")
    assert not different, "\n".join(different)


def test_the_plane_of_cross_validation_is_the_same_to_the_bit(answers):
    different = [
        f"{what}: {processor}"
        for what, found in everything(answers, "bits")
        for processor, answer in found
        if answer != found[0][1]
    ]
    assert not different, "\n".join(different)


def is_close(one: dict, other: dict) -> bool:
    """Whether words are equal and numbers agree to 1e-8."""
    words, numbers = zip(*(_taken_apart(answer) for answer in (one, other)), strict=True)
    if words[0] != words[1]:
        return False
    scale = max((abs(v) for v in numbers[0]), default=1.0)
    return bool(np.allclose(numbers[0], numbers[1], rtol=1e-8, atol=1e-10 * scale))


def _taken_apart(answer: dict) -> tuple[list[str], list[float]]:
    text = json.dumps({key: value for key, value in answer.items() if key != "values"})
    values = [float(value) for value in answer.get("values", [])]
    return NUMBER.split(text), values + [float(number) for number in NUMBER.findall(text)]


def test_all_others_have_the_same_structure_and_agree_to_eight_digits(answers):
    different = []
    for what, found in everything(answers, "close"):
        for processor, answer in found:
            if not is_close(found[0][1], answer):
                different.append(f"{what}: {processor}\n{found[0][1]}\n{answer}")
    assert not different, "\n".join(different)


def test_what_differs_is_seen():
    one = {"rules": "a <= 3.5 => yes", "values": [1.0, 2.0]}
    assert is_close(one, {"rules": "a <= 3.5000000001 => yes", "values": [1.0, 2.0 + 1e-9]})
    assert not is_close(one, {"rules": "a <= 3.5001 => yes", "values": [1.0, 2.0]})
    assert not is_close(one, {"rules": "b <= 3.5 => yes", "values": [1.0, 2.0]})
    assert not is_close(one, {"rules": "a <= 3.5 => yes", "values": [1.0, 2.1]})
