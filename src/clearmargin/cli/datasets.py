"""`clearmargin datasets` tells what data are inside the package, and writes them as CSV."""

from __future__ import annotations

import argparse

from clearmargin.cli.command_options import OUTPUT, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import DataError

# As in `datasets.by_name`, which --help does not import.
NAMES = "wbc, ionosphere, cleveland, pima"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = f"{NAMES}; it is described in full"
    add_options(parser, "DATASET", *OUTPUT, DATASET=names, out=".csv, the data")
    parser.epilog = (
        "example: clearmargin datasets wbc --out wbc.csv\n"
        "         clearmargin rules wbc.csv --target class --positive malignant"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print a line for each data set, or the description of one, or write one to a file."""
    from clearmargin.datasets.by_name import (
        DATASETS,
        dataset_csv,
        dataset_facts,
        load_dataset,
    )

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".csv"])
    name = arguments.dataset
    if name is None:
        if out is not None:
            raise DataError(f"--out writes one data set; name it: {NAMES}")
        entries = [dataset_facts(name, load_dataset(name)) for name in DATASETS]
        lines = [
            f"{e['name']:<12} {e['rows']:>4} x {e['features']:<3} {e['title']}" for e in entries
        ]
        console.result("\n".join(lines), {"datasets": entries})
        return
    data = load_dataset(name)
    entry = {**dataset_facts(name, data), "description": data.DESCR, "file": arguments.out}
    if out is None:
        console.result(data.DESCR.rstrip("\n"), entry)
        return
    from clearmargin.rules.file_writing import write_text_atomically

    with writing(out):
        write_text_atomically(out, dataset_csv(data), overwrite=arguments.force)
    console.result("", entry)
    classes = " or ".join(data.target_names)
    console.say(f"{entry['title']} is in {out}; the last column, class, is {classes}.")
