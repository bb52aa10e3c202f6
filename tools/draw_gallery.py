"""Draw the pictures of `docs/gallery.md` by running the examples.

Usage: ``python tools/draw_gallery.py [--out DIR]``, with clearmargin, pandas and matplotlib installed.

An example that is shown in the gallery has a picture of the same name in ``docs/_static/gallery``. To add one, write
``examples/NAME.py``, add NAME to `SHOWN` and a section to the page. A picture that is too large for a page is refused.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "_static" / "gallery"
SHOWN = (
    "rules_of_a_plane",
    "regions_in_two_features",
    "advice_before_and_after",
    "inspect_first",
    "proof_around_a_case",
    "rare_class",
)
LARGEST = 80_000  # bytes; pictures live in the history of the repository for ever


def draw(name: str, folder: Path) -> Path:
    """Run an example by itself, without a window, and return its picture.

    Parameters
    ----------
    name : str
        Of the example, one of `SHOWN`.
    folder : Path
        Where the picture goes.

    Returns
    -------
    Path
        The picture.
    """
    picture = folder / f"{name}.png"
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), str(picture)]
    subprocess.run(command, check=True, env={**os.environ, "MPLBACKEND": "Agg"})  # noqa: S603 - ours
    size = picture.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{picture} has {size} bytes; draw less, or smaller, to keep {LARGEST}")
    return picture


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=PICTURES, help="where the pictures go")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHOWN:
        print(f"== {name}")  # noqa: T201 - the examples print as well
        draw(name, folder.resolve())


if __name__ == "__main__":
    main()
