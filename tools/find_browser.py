"""Find a browser of the Chromium family for the tests of the workbench, or install one.

python tools/find_browser.py [--install]

It is looked for in this order: `$CLEARMARGIN_BROWSER`; on the path; where macOS and Windows keep programs; the one of
`playwright install chromium`. With --install, root on Debian gets Chromium by apt-get. The path is printed; without a
browser the exit code is 1, and what installs one is said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["NoBrowserError", "find_browser"]

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "msedge",
    "microsoft-edge",
)
# Where programs are that are on no path.
PLACES = {
    "darwin": (
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "win32": (
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
        r"C:\Program Files\Microsoft\Edge\Application\msedge.exe",
    ),
}
ADVICE = (
    "no browser of the Chromium family was found, which the tests of the workbench need. Install one:\n"
    "  Debian, Ubuntu   sudo apt-get install chromium\n"
    "  anywhere         {python} -m playwright install --with-deps chromium\n"
    "or say where it is: CLEARMARGIN_BROWSER=/path/to/chrome"
)


class NoBrowserError(RuntimeError):
    """There is no browser; the message says what installs one."""


def find_browser(install: bool = False) -> str:
    """Return the path of a browser.

    Parameters
    ----------
    install : bool, default False
        Whether to install one where there is none and that can be done.

    Returns
    -------
    str
        The path of a program.

    Raises
    ------
    NoBrowserError
        If there is none.
    """
    named = os.environ.get("CLEARMARGIN_BROWSER")
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoBrowserError(f"CLEARMARGIN_BROWSER={named} is no program that can be run")
        return found
    for found in _candidates():
        return found
    if install and _install_by_apt(subprocess.run):
        for found in _candidates():
            return found
    raise NoBrowserError(ADVICE.format(python=sys.executable))


def _candidates() -> Iterator[str]:
    for name in NAMES:
        found = shutil.which(name)
        # What Ubuntu calls chromium-browser may be a script that says to install a snap.
        if found is not None and _can_run(found):
            yield found
    for place in (*PLACES.get(sys.platform, ()), _of_playwright()):
        if place and Path(place).is_file():
            yield place


def _can_run(program: str) -> bool:
    """Check that a browser says its version; on Windows it would open a window instead."""
    if sys.platform == "win32":
        return True
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _of_playwright() -> str:
    """Where Playwright would have its own browser; empty without Playwright."""
    # In a process of its own, since tests may have Playwright running in this one.
    script = (
        "from playwright.sync_api import sync_playwright as start\n"
        "with start() as playwright: print(playwright.chromium.executable_path)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def _install_by_apt(run: Callable[..., subprocess.CompletedProcess[bytes]]) -> bool:
    """Install Chromium as root on Debian; return whether that has worked."""
    is_root = getattr(os, "geteuid", lambda: 1)() == 0
    apt = shutil.which("apt-get")
    if not is_root or apt is None:
        return False
    sys.stderr.write("Installing chromium by apt-get, for the tests of the workbench\n")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = run([apt, *words], stdout=sys.stderr, env=quiet, check=False)
        if done.returncode != 0:
            return False
    return True


def main(argv: list[str] | None = None) -> int:
    """Print the path of a browser, or say what installs one."""
    parser = argparse.ArgumentParser(description="Find a browser for the tests of the workbench.")
    parser.add_argument("--install", action="store_true", help="install one if there is none")
    try:
        found = find_browser(parser.parse_args(argv).install)
    except NoBrowserError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{found}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
