"""The server dies in mid-training, and is started again."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.workbench.server_client import PATIENCE
from tests.workbench.stories.driving import go_to, judged, text_of, trained
from tests.workbench.stories.watched_tabs import Tabs

from clearmargin.workbench.project_file import ProjectFile

pytestmark = pytest.mark.posix

KEPT = "late_is_late: late >= 2 => default\n"
WRITTEN = "unfinished: age >= 60 and income >"


@contextmanager
def started(project: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The real command, in a session of its own; the address that it prints."""
    command = [sys.executable, "-m", "clearmargin", "workbench", str(project), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/open\?token=\S+", line)
            assert found is not None, line
            yield process, found[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def port_of(address: str) -> int:
    return int(re.findall(r":(\d+)/", address)[0])


def wait_until_nothing_is_left(group: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("work goes on although the server is gone")


def test_a_server_killed_in_mid_training_has_lost_nothing_when_it_is_started_again(
    browser, credit_file, tmp_path
):
    project = tmp_path / "credit.clearmargin"
    shutil.copy(credit_file, project)
    with started(project) as (process, address):
        tabs = Tabs(browser, port_of(address))
        # What the browser itself says of a server that does not answer.
        tabs.watch.expected.append(r"net::ERR_(CONNECTION|INCOMPLETE|EMPTY)")
        other = tabs.open(address)
        trained(other)
        with other.expect_response(lambda answer: answer.url.endswith("/draft")):
            other.locator("#text").fill(WRITTEN)
        page = tabs.contexts[0].new_page()
        page.goto(re.sub(r"\?.*", "", other.url))
        trained(page)
        page.get_by_label("Machine", exact=True).select_option("columns")
        page.locator("#text").fill(KEPT)
        page.keyboard.press("Control+s")
        page.keyboard.type("before the crash")
        page.keyboard.press("Enter")
        page.get_by_role("progressbar", name="training").wait_for()
        process.kill()
        process.wait(PATIENCE)
        wait_until_nothing_is_left(process.pid)
        write_without_server(page)
        tabs.close()

    with ProjectFile.open(project, writing=False) as file:
        assert file.verify() == []
    with started(project) as (_, address):
        tabs = Tabs(browser, port_of(address))
        page = tabs.open(address)
        expect(page.locator("#jobs")).to_contain_text("training: stopped when the workbench ended")
        assert text_of(page) == KEPT
        go_to(page, "History")
        expect(page.locator("#v2")).to_contain_text("before the crash")
        go_to(page, "Rules")
        page.get_by_text("unfinished text").click()
        expect(page.locator(".drafts pre").filter(has_text=WRITTEN)).to_be_visible()
        page.get_by_role("button", name="train again").click()
        expect(page.locator("#machine-now")).to_have_text(re.compile("^now .* rules with points"))
        expect(page.locator("#jobs .job")).to_have_count(0)
        page.reload()
        judged(page)
        expect(page.locator("#jobs")).to_be_empty()
        page.get_by_text("unfinished text").click()
        page.get_by_role("link", name="go on with it").first.click()
        expect(page.locator("#text")).to_have_value(WRITTEN)
        tabs.close()


def write_without_server(page) -> None:
    """What is typed stays in the tab, and the page says what is the matter."""
    page.locator("#text").fill(f"{KEPT}# typed into the void\n")
    expect(page.locator("#news")).to_contain_text("The workbench does not answer")
    assert text_of(page).endswith("# typed into the void\n")
