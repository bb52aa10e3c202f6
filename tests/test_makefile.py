"""`make` says what it does while the user waits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.posix
ROOT = Path(__file__).parents[1]


def test_the_first_demo_says_what_it_installs_before_it_does():
    order = ["make", "--dry-run", "demo", "VENV=no-such-folder"]
    lines = subprocess.run(
        order, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    told = [line for line in lines if "say_what_is_installed" in line]
    installed = [line for line in lines if line.endswith("-e .")]
    assert len(told) == len(installed) == 1
    assert lines.index(told[0]) < lines.index(installed[0])
    assert "--quiet" not in installed[0]
    words = told[0].split()[1:]
    said = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert (
        "Installing clearmargin into no-such-folder, with numpy, scipy, scikit-learn, highspy, "
        in said
    )
    assert "is downloaded, which takes some minutes" in said
