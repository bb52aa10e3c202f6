"""`clearmargin datasets` tells what data are inside the package."""

from __future__ import annotations

import argparse
from typing import Any

from clearmargin.exceptions import DataError

__all__ = ["LOADERS", "add_arguments", "run"]

LOADERS = {
    "wbc": "load_wbc",
    "ionosphere": "load_ionosphere",
    "cleveland": "load_cleveland",
    "pima": "load_pima",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(LOADERS)}: describe it in full")
    parser.epilog = "example: clearmargin datasets wbc"


def run(arguments: argparse.Namespace) -> None:
    """Print a line for each data set, or the description of one."""
    if arguments.name is not None:
        print(load(arguments.name).DESCR)
        return
    for name in LOADERS:
        data = load(name)
        rows, columns = data.data.shape
        title = data.DESCR.splitlines()[0].lstrip("# ")
        print(f"{name:<12} {rows:>4} x {columns:<3} {title}")


def load(name: str) -> Any:
    """Load a data set by its short name, as arrays."""
    from clearmargin import datasets
    from clearmargin.core.space import nearest_name

    if name not in LOADERS:
        raise DataError(f"unknown data set {name!r}{nearest_name(name, LOADERS)}")
    return getattr(datasets, LOADERS[name])(as_frame=False)
