"""The workbench on a free port of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.workbench.server_client import Workbench, running_workbench


@pytest.fixture
def workbench(tmp_path) -> Iterator[Workbench]:
    """The workbench over an empty folder."""
    with running_workbench(tmp_path) as running:
        yield running
