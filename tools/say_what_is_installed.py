"""Say what `make` is about to install, and that it takes a while.

python tools/say_what_is_installed.py VENV [EXTRA]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def announcement(venv: str, extra: str = "") -> str:
    """Name the packages that are asked for, without those that come with them."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    requested = [*project["dependencies"], *_of_extra(project["optional-dependencies"], extra)]
    names = dict.fromkeys(re.split(r"[<>=!~;\[ ]", line)[0] for line in requested)
    return (
        f"Installing clearmargin into {venv}, with {', '.join(names)} and what these need.\n"
        "This happens once. What is not in pip's cache is downloaded, which takes some minutes on a slow line."
    )


def _of_extra(extras: dict[str, list[str]], extra: str) -> list[str]:
    """The packages of an extra and of the extras that it names."""
    packages: list[str] = []
    for line in extras.get(extra, []):
        named = re.fullmatch(r"clearmargin\[(.*)\]", line)
        packages += (
            [line]
            if named is None
            else [entry for name in named[1].split(",") for entry in _of_extra(extras, name)]
        )
    return packages


if __name__ == "__main__":
    sys.stdout.write(f"{announcement(*sys.argv[1:])}\n")
