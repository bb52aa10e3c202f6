"""Make all environments and say what is in them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from benchmarks.page import Table
from benchmarks.peers.environment import FOLDER, PEERS, REQUIREMENTS, Absent, install_all


def size_of(folder: Path) -> int:
    """Bytes below a folder."""
    return sum(
        (Path(place) / name).lstat().st_size
        for place, _, names in os.walk(folder)
        for name in names
    )


def version_of(peer: str) -> str:
    """The version that the requirements pin; their first line is the peer itself."""
    text = (REQUIREMENTS / f"{peer}.txt").read_text(encoding="utf-8")
    found = re.search(r"^[^#\s=-][^\s=]*==(\S+)", text, re.MULTILINE)
    return found[1] if found else "-"


def main() -> None:
    """Print the table."""
    start = time.perf_counter()
    answers = install_all()
    seconds = time.perf_counter() - start
    table = Table(["peer", "version", "installed", "seconds", "MB"])
    for peer in PEERS:
        answer = answers[peer]
        if isinstance(answer, Absent):
            table.rows.append([peer, version_of(peer), answer.reason, "-", "-"])
        else:
            megabytes = f"{size_of(FOLDER / peer) / 1e6:.0f}"
            table.rows.append([peer, version_of(peer), "yes", f"{answer.seconds:.1f}", megabytes])
    print(table.to_markdown())
    print(
        f"\n{seconds:.1f} s, two at a time; what was there already took the time it says when it was made."
    )


if __name__ == "__main__":
    main()
