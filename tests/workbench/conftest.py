"""The workbench in this process, over an empty folder, and with a project that was worked on."""

from collections.abc import Iterator

import pytest
from tests.workbench.serving import Client, Worked, served, worked_on


@pytest.fixture(scope="session")
def worked(tmp_path_factory) -> Iterator[Worked]:
    with served(tmp_path_factory.mktemp("worked")) as client:
        yield worked_on(client)


@pytest.fixture
def client(tmp_path) -> Iterator[Client]:
    with served(tmp_path) as running:
        yield running
