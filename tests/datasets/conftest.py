"""Where independent copies of the data sets may be, and a line in the summary when they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

COPIES = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def copies():
    return COPIES


def pytest_terminal_summary(terminalreporter):
    if not COPIES.is_dir():
        terminalreporter.write_line(
            "data sets: no independent copies in ../shared/data; the shipped values were compared "
            "with the digests recorded for the copies only"
        )
