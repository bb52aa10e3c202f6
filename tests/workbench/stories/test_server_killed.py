"""The server dies in mid-training, and is started again."""

import os
import re
import signal

import pytest
from playwright.sync_api import expect
from tests.seams import ProjectFile
from tests.workbench.serving import PATIENCE, Client, command, until
from tests.workbench.stories.conftest import Tabs, go_to, text_of, trained

pytestmark = pytest.mark.posix

KEPT = "late_is_late: late >= 2 => default\n"
WRITTEN = "unfinished: age >= 60 and income >"


def is_over(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


# Two starts of the command.
def test_a_server_killed_in_mid_training_has_lost_nothing_when_it_is_started_again(
    browser, client, credit_home, tmp_path
):
    project = tmp_path / "credit.clearmargin"
    project.write_bytes(client.get(f"{credit_home}/export/project").body)
    with command(project) as running:
        tabs = Tabs(browser, Client(running.client.port))
        # What the browser itself says of a server that does not answer.
        tabs.expected.append(r"net::ERR_(CONNECTION|CONTENT|INCOMPLETE|EMPTY)")
        other = tabs.open(running.address)
        trained(other)
        with other.expect_response(lambda answer: answer.url.endswith("/draft")):
            other.locator("#text").fill(WRITTEN)
        page = other.context.new_page()
        page.goto(re.sub(r"\?.*", "", other.url))
        trained(page)
        page.get_by_label("Machine", exact=True).select_option("columns")
        page.locator("#text").fill(KEPT)
        page.keyboard.press("Control+s")
        page.keyboard.type("before the crash")
        page.keyboard.press("Enter")
        page.get_by_role("progressbar", name="training").wait_for()
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(PATIENCE)
        until(lambda: is_over(running.process.pid), "the end of its work")
        # What is typed stays in the tab, and the page says what is the matter.
        page.locator("#text").fill(f"{KEPT}# typed into the void\n")
        expect(page.locator("#news")).to_contain_text("The workbench does not answer")
        assert text_of(page).endswith("# typed into the void\n")
        tabs.check()
        page.context.close()
    with ProjectFile.open(project, writing=False) as file:
        assert file.verify() == []
    with command(project) as running:
        tabs = Tabs(browser, Client(running.client.port))
        page = tabs.open(running.address)
        expect(page.locator("#jobs")).to_contain_text("training: stopped when the workbench ended")
        assert text_of(page) == KEPT
        go_to(page, "History")
        expect(page.locator("#v2")).to_contain_text("before the crash")
        go_to(page, "Rules")
        page.get_by_role("button", name="train again").click()
        page.get_by_role("progressbar", name="training").wait_for()
        page.get_by_text("unfinished text").click()
        expect(page.locator(".drafts pre").filter(has_text=WRITTEN)).to_be_visible()
        tabs.check()
        page.context.close()
