"""Install the wheel into an empty environment without pandas, and try what a new user would.

python tools/try_wheel.py DIST

Only what the wheel itself asks for is installed; the command line and the Python interface run outside of the
repository, so that a module or a data file that the wheel lacks is noticed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# Optional packages: with one of them around, its absence would not be tried.
_OPTIONAL = ("pandas", "matplotlib", "polars")
_TABLE = Path(__file__).parents[1] / "src/clearmargin/datasets/data/wbc.csv"
_COMMANDS = (
    "--version",
    "--debug",
    "demo --out demo.html",
    "datasets wbc --out wbc.csv",
    "rules wbc.csv --target class --nu 1 --out wbc.rules --save-model wbc.json",
    "check wbc.rules",
    "predict wbc.csv --rules wbc.rules --out by_rules.csv",
    "predict wbc.csv --model wbc.json --out by_model.csv",
    "explain wbc.csv --target class --model wbc.json --row 1",
    "report wbc.csv --target class --model wbc.json --out wbc.html",
    "export wbc.rules --to sql --out wbc.sql",
    "export wbc.rules --to python --out wbc_rules.py",
    "rules patients.csv --target outcome --missing impute --nu 1 --cv 2 --out ill.rules --save-model ill.json",
    "predict patients.csv --model ill.json --out ill.csv",
    "rank patients.csv --target outcome --top 0.25 --bottom 0.25 --out ends.csv",
    "score patients.csv --target outcome --missing drop --model ill.json --out card.csv",
    "tree patients.csv --target outcome --missing drop --cv none",
    "recourse patients.csv --target outcome --missing drop --model ill.json --row 42 --actionable age",
)
# Categories, and missing values in both kinds of columns.
_PATIENTS = "age,smoker,outcome\n" + "".join(
    f"{'?' if k % 11 == 5 else 30 + k},{('no', 'yes', 'ex', '')[k % 4]},{'ill' if k > 22 else 'well'}\n"
    for k in range(48)
)
_PYTHON = f"""
import importlib.util
for name in {_OPTIONAL!r}:
    assert importlib.util.find_spec(name) is None, name + " is installed, so that its absence is not tried"

import clearmargin
from clearmargin import AdviceSVC, LPSVC, RankContrast, RuleExtractor, ScoreRules, parse_rules
from clearmargin.datasets import load_wbc
from clearmargin.export import to_python, to_sql
from clearmargin.report import report

assert "site-packages" in clearmargin.__file__, clearmargin.__file__
data = load_wbc(as_frame=False)
X, y = data.data, data.target
extractor = RuleExtractor(LPSVC(nu=1.0)).fit(X, y)
assert parse_rules(extractor.rules_.to_text(), space=extractor.rules_.space) == extractor.rules_
assert extractor.explain(X[0]).text
assert "<html" in report(extractor, X, y).to_html()
assert "CASE" in to_sql(extractor.rules_) and "def " in to_python(extractor.rules_)
assert ScoreRules(LPSVC(nu=1.0)).fit(X, y).scorecard_
assert (AdviceSVC(advice="x0 >= 9 => malignant").fit(X, y).predict(X) == y).mean() > 0.9
print("rules, explanation, report, exports, scorecard and advice on arrays:", len(extractor.rules_), "rules")
"""


def main(dist: Path) -> None:
    """Install and try; the first thing that fails ends it, with its output above."""
    wheels = sorted(dist.glob("clearmargin-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(
            f"{dist} has {len(wheels)} wheels of clearmargin, and one is tried; run `make dist`"
        )
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "venv")
        venv.create(environment, with_pip=True)
        binaries = environment / ("Scripts" if sys.platform == "win32" else "bin")
        _run([binaries / "python", "-m", "pip", "install", "--quiet", wheels[0].resolve()], folder)
        Path(folder, "try_arrays.py").write_text(_PYTHON, encoding="utf-8")
        _run([binaries / "python", "try_arrays.py"], folder)
        Path(folder, "patients.csv").write_text(_PATIENTS, encoding="utf-8")
        for command in _COMMANDS:
            _run([binaries / "clearmargin", *command.split()], folder)
        by_rules, by_model = (Path(folder, f"by_{name}.csv") for name in ("rules", "model"))
        rows = _TABLE.read_text(encoding="utf-8").count("\n") - 1
        for predicted in (by_rules, by_model):
            if len(predicted.read_text(encoding="utf-8").splitlines()) != rows + 1:
                raise SystemExit(f"{predicted.name} has not one line for each of {rows} rows")
        if "age" not in Path(folder, "ends.csv").read_text(encoding="utf-8"):
            raise SystemExit("ends.csv says nothing of age")
    sys.stdout.write(f"{wheels[0].name} works in an empty environment\n")


def _run(words: list[object], folder: str) -> None:
    sys.stdout.write(f"$ {Path(str(words[0])).name} {' '.join(map(str, words[1:]))}\n")
    sys.stdout.flush()
    subprocess.run([str(word) for word in words], cwd=folder, check=True)  # noqa: S603 - our own words


if __name__ == "__main__":
    main(Path(sys.argv[1]))
