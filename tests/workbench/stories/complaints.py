"""What axe-core has to complain of on a page."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

AXE = Axe()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LIGHT = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}}
# In the dark only colours are others.
DARK = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}


def complaints(page: Page) -> list[str]:
    """What axe-core finds on a page in either theme."""
    found, grounds = [], []
    for theme, options in (("light", LIGHT), ("dark", DARK)):
        page.emulate_media(color_scheme=theme)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        grounds.append(ground)
        for violation in AXE.run(page, options=options).response["violations"]:
            places = [node["target"] for node in violation["nodes"]]
            found.append(f"{theme}: {violation['id']}, {violation['help']}: {places}")
    page.emulate_media(color_scheme="light")
    assert len(set(grounds)) == 2, "the page is the same in the dark"
    return found
