"""`clearmargin datasets` tells what data are inside the package, and writes them as CSV."""

from __future__ import annotations

import argparse
import csv
import io
from typing import Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.exceptions import DataError

__all__ = ["LOADERS", "add_arguments", "load", "run"]

LOADERS = {
    "wbc": "load_wbc",
    "ionosphere": "load_ionosphere",
    "cleveland": "load_cleveland",
    "pima": "load_pima",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(LOADERS)}: describe it in full")
    parser.add_argument("--out", metavar="FILE", help="write the data to a .csv file")
    add_force(parser)
    parser.epilog = (
        "example: clearmargin datasets wbc --out wbc.csv\n"
        "         clearmargin rules wbc.csv --target class --positive malignant"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print a line for each data set, or the description of one, or write one to a file."""
    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".csv"])
    if arguments.name is None:
        if out is not None:
            raise DataError(f"--out writes one data set; name it: {', '.join(LOADERS)}")
        entries = [_entry(name) for name in LOADERS]
        lines = [
            f"{e['name']:<12} {e['rows']:>4} x {e['features']:<3} {e['title']}" for e in entries
        ]
        console.result("\n".join(lines), {"datasets": entries})
        return
    data = load(arguments.name)
    entry = {**_entry(arguments.name), "description": data.DESCR, "file": arguments.out}
    if out is None:
        console.result(data.DESCR.rstrip("\n"), entry)
        return
    from clearmargin.rules.files import write_text_atomically

    with writing(out):
        write_text_atomically(out, _as_csv(data), overwrite=arguments.force)
    console.result("", entry)
    classes = " or ".join(data.target_names)
    console.say(f"{entry['title']} is in {out}; the last column, class, is {classes}.")


def _entry(name: str) -> dict[str, Any]:
    data = load(name)
    rows, columns = data.data.shape
    return {
        "name": name,
        "rows": rows,
        "features": columns,
        "classes": list(data.target_names),
        "title": data.DESCR.splitlines()[0].lstrip("# "),
    }


def _as_csv(data: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.feature_names, "class"])
    for values, label in zip(data.data.tolist(), data.target.tolist(), strict=True):
        writer.writerow([*(int(v) if v.is_integer() else v for v in values), label])
    return text.getvalue()


def load(name: str) -> Any:
    """Load a data set by its short name, as arrays."""
    from clearmargin import datasets
    from clearmargin.rules.space import nearest_name

    if name not in LOADERS:
        raise DataError(f"unknown data set {name!r}{nearest_name(name, LOADERS)}")
    return getattr(datasets, LOADERS[name])(as_frame=False)
