"""Scripts and style sheets: all that pages load, and nothing else."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from clearmargin.workbench.static_files import StaticFiles

FILES = StaticFiles()


def test_every_file_that_a_template_asks_for_is_there():
    folder = resources.files("clearmargin") / "templates" / "workbench"
    asked = {
        name
        for entry in folder.iterdir()
        for name in re.findall(r'script\("([^"]+)"\)', entry.read_text("utf-8"))
    }
    assert asked
    for name in asked | {"style.css", "workbench.css"}:
        assert FILES.address(name) == f"/static/{FILES.digest}/{name}"
        content, media = FILES.get(FILES.digest, name)
        assert content
        assert media.startswith("text/javascript" if name.endswith(".js") else "text/css")


def test_every_module_that_a_module_imports_is_there():
    folder = resources.files("clearmargin") / "workbench" / "static"
    for entry in folder.iterdir():
        if entry.name.endswith(".js"):
            for name in re.findall(r'from "\./([^"]+)"', entry.read_text("utf-8")):
                assert FILES.get(FILES.digest, name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../pages.py",
        "pages.py",
        "page.html",
        "workbench/rules.html",
        "rules.js/",
        "RULES.JS",
    ],
)
def test_nothing_else_can_be_had(name):
    assert FILES.get(FILES.digest, name) is None
    with pytest.raises(KeyError):
        FILES.address(name)


def test_an_old_address_leads_nowhere():
    assert FILES.get("0" * 16, "rules.js") is None
    assert FILES.get("", "rules.js") is None


def test_files_of_scripts_hold_nothing_that_the_policy_forbids():
    for name in ("rules.js", "page.js", "bars.js", "editor.js", "case.js"):
        content = FILES.get(FILES.digest, name)[0].decode()
        assert "innerHTML" not in content
        assert "eval(" not in content
        assert "http://" not in content.replace("http://www.w3.org/", "")
        assert "https://" not in content
