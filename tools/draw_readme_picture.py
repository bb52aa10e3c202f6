"""Draw the picture of the README by running an example of the gallery.

Usage: ``python tools/draw_readme_picture.py``, with clearmargin, pandas and matplotlib installed.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "1_rules" / "rules_of_a_plane.py"
PICTURE = ROOT / "docs" / "_static" / "rules_of_a_plane.png"
LARGEST = 80_000  # bytes; a picture lives in the history of the repository for ever


def draw(picture: Path) -> None:
    """Run the example without a window, and save its last figure; refuse one that is too large for a page."""
    mpl.use("Agg")
    runpy.run_path(str(EXAMPLE))
    plt.gcf().savefig(picture, dpi=100)
    size = picture.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{picture} has {size} bytes; draw less, or smaller, to keep {LARGEST}")


if __name__ == "__main__":
    draw(PICTURE)
