"""Commands work on files in an environment without pandas, and say the same as with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

import clearmargin

pytestmark = pytest.mark.usefixtures("no_folds")

COMMANDS = (
    "rules gaps.csv --target outcome --missing impute --nu 1 --cv 2 --save-model m.json --out r.rules --force",
    "rules gaps.parquet --target outcome --missing drop --nu 1 --json",
    "predict gaps.csv --model m.json",
    "predict gaps.parquet --rules r.rules --json",
    "rank gaps.csv --target outcome --top 0.3 --bottom 0.3 --out p.csv --force",
    "score gaps.csv --target outcome --missing impute --model m.json --out card.csv --force",
    "recourse gaps.csv --target outcome --missing impute --model m.json --row 20 --actionable age --json",
    "compare r.rules --data gaps.csv --target outcome --json",
)
FILES = ("m.json", "r.rules", "p.csv", "card.csv")
# Hides pandas, and runs the commands that stand in the arguments.
SCRIPT = """
import contextlib, io, json, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from clearmargin.cli.main import main
import clearmargin.recipes.unseen
clearmargin.recipes.unseen.FOLDS = 0
said = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command.split())
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


def written(folder):
    return {name: (folder / name).read_text() for name in FILES}


def test_without_pandas_commands_say_the_same_of_categories_and_missing_values(folder, run):
    head, *lines = (folder / "patients.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    rows[2][1], rows[5][2], rows[7][2] = "", "?", "NA"
    (folder / "gaps.csv").write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    stored = pyarrow.csv.read_csv(
        "gaps.csv",
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=["", "?", "NA"], strings_can_be_null=True
        ),
    )
    pyarrow.parquet.write_table(stored, "gaps.parquet")
    expected = [list(run(*command.split())) for command in COMMANDS]
    files = written(folder)
    source = str(Path(clearmargin.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(COMMANDS)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for command, (code, out, err), (code_with, out_with, err_with) in zip(
        COMMANDS, json.loads(done.stdout), expected, strict=True
    ):
        assert (code, err) == (code_with, err_with), command
        assert code == 0, (command, err)
        assert out == out_with, command
    assert written(folder) == files
