"""Answers do not depend on the processor, the number of threads or the order of the rows."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from clearmargin.datasets import load_wbc

SCRIPT = Path(__file__).with_name("one_answer_fits.py")
# Katmai is what every x86-64 machine can run, and the one whose sums differ most from those of recent ones.
# OpenBLAS falls back to the nearest kernel that it has where a processor cannot run the one asked for.
PROCESSORS = {
    "as it is": {"OPENBLAS_NUM_THREADS": "1"},
    "old, two threads, plain numpy": {
        "OPENBLAS_CORETYPE": "Prescott",
        "OPENBLAS_NUM_THREADS": "2",
        "NPY_DISABLE_CPU_FEATURES": " ".join(
            np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
        ),
    },
    "of ten years ago": {"OPENBLAS_CORETYPE": "Sandybridge", "OPENBLAS_NUM_THREADS": "1"},
}
# Two other processors, each with an order of its own: none of them may matter.
ORDERS = {"as it is": ["0", "1"], "old, two threads, plain numpy": ["1"], "of ten years ago": ["2"]}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def tables() -> dict[str, np.ndarray]:
    """Whole numbers with many ties; numbers on scales apart, one of them a time in seconds."""
    X, y = load_wbc(return_X_y=True)
    rows = slice(0, 120)
    rng = np.random.default_rng(5)
    Z = rng.integers(-4_000, 4_000, size=(90, 4)) / 1024
    label = np.where(Z @ [1.0, -0.5, 0.25, 0.0] + rng.integers(-99, 99, 90) / 100 > 0, "yes", "no")
    return {
        "whole_X": X.to_numpy(dtype=np.float64)[rows, :6],
        "whole_y": np.where(y.to_numpy()[rows] == "malignant", "yes", "no"),
        "scales_X": Z * [1.0, 100.0, 0.01, 1.0] + [5.0, 0.0, 0.0, 2.0**30],
        "scales_y": label,
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, dict]:
    """What each processor found: one interpreter for each, two at once."""
    path = tmp_path_factory.mktemp("answers") / "tables.npz"
    np.savez(path, **tables())

    def ask(processor: str) -> dict:
        settings, orders = PROCESSORS[processor], ORDERS[processor]
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(path), *orders],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3_000:]
        return json.loads(done.stdout)

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(PROCESSORS, pool.map(ask, PROCESSORS), strict=True))


def has_same_rules(one: dict, other: dict) -> bool:
    """Whether rules are equal as text, and numbers of planes agree to 1e-9."""
    values = [np.array(answer.get("values", [])) for answer in (one, other)]
    scale = np.abs(values[0]).max(initial=0.0)
    return one | {"values": 0} == other | {"values": 0} and np.allclose(
        *values, rtol=1e-9, atol=1e-12 * scale
    )


def test_lpsvc_rulesvc_and_ruleextractor_in_any_row_order_have_the_same_rules(answers):
    different = [
        f"{name} on {table}: {processor}, order {k}"
        for table, found in answers["as it is"].items()
        for processor, other in answers.items()
        for k, order in enumerate(other[table]["orders"])
        for name, expected in found["orders"][0].items()
        if not has_same_rules(order[name], expected)
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


def test_other_estimators_on_each_processor_agree(answers):
    one, *others = answers.values()
    different = [
        f"{name} on {table}\n{answer}\n{other[table][part][name]}"
        for other in others
        for table, found in one.items()
        for part, is_same in (("rules", has_same_rules), ("close", is_close))
        for name, answer in found[part].items()
        if not is_same(answer, other[table][part][name])
    ]
    assert not different, "\n".join(different)


def test_is_close_sees_what_differs():
    one = {"rules": "a <= 3.5 => yes", "values": [1.0, 2.0]}
    assert is_close(one, {"rules": "a <= 3.5000000001 => yes", "values": [1.0, 2.0 + 1e-9]})
    for rules, value in (("a <= 3.5001", 2.0), ("b <= 3.5", 2.0), ("a <= 3.5", 2.1)):
        assert not is_close(one, {"rules": f"{rules} => yes", "values": [1.0, value]})
