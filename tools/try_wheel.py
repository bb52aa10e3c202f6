"""Install the wheel into an empty environment without pandas, and try what a new user would.

python tools/try_wheel.py DIST

Only what the wheel itself asks for is installed; the command line and the Python interface run outside of the
repository, so that a module or a data file that the wheel lacks is noticed. Where a command says that it reads tables
with pandas, the extra that it names is installed, and the command has to work then.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# Optional packages: with one of them around, its absence would not be tried.
_OPTIONAL = ("pandas", "matplotlib", "polars", "xlsxwriter")
_TABLE = Path(__file__).parents[1] / "src/clearmargin/datasets/data/wbc.csv"
_COMMANDS = (
    "--version",
    "--debug",
    "demo --out demo.html",
    "datasets wbc --out wbc.csv",
)
_ON_TABLES = (
    "rules wbc.csv --target class --nu 1 --out wbc.rules --save-model wbc.json",
    "check wbc.rules",
    "predict wbc.csv --rules wbc.rules --out by_rules.csv",
    "predict wbc.csv --model wbc.json --out by_model.csv",
    "explain wbc.csv --target class --model wbc.json --row 1",
    "report wbc.csv --target class --model wbc.json --out wbc.html",
    "export wbc.rules --to sql --out wbc.sql",
    "export wbc.rules --to python --out wbc_rules.py",
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
        for command in _COMMANDS:
            _run([binaries / "clearmargin", *command.split()], folder)
        if _asks_for_frames([binaries / "clearmargin", *_ON_TABLES[0].split()], folder):
            extra = f"{wheels[0].resolve()}[frames]"
            _run([binaries / "python", "-m", "pip", "install", "--quiet", extra], folder)
        for command in _ON_TABLES:
            _run([binaries / "clearmargin", *command.split()], folder)
        by_rules, by_model = (Path(folder, f"by_{name}.csv") for name in ("rules", "model"))
        rows = _TABLE.read_text(encoding="utf-8").count("\n") - 1
        for predicted in (by_rules, by_model):
            if len(predicted.read_text(encoding="utf-8").splitlines()) != rows + 1:
                raise SystemExit(f"{predicted.name} has not one line for each of {rows} rows")
    sys.stdout.write(f"{wheels[0].name} works in an empty environment\n")


def _asks_for_frames(words: list[object], folder: str) -> bool:
    """Try a command on a table, and tell whether it asks for pandas in the words that users are promised."""
    tried = subprocess.run(  # noqa: S603 - our own words
        [str(word) for word in [*words, "--quiet"]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode == 0:
        for name in ("wbc.rules", "wbc.json"):
            Path(folder, name).unlink()
        return False
    if tried.returncode != 2 or not tried.stderr.endswith("pip install clearmargin[frames]\n"):
        raise SystemExit(f"exit code {tried.returncode}: {tried.stderr}")
    sys.stdout.write(tried.stderr)
    return True


def _run(words: list[object], folder: str) -> None:
    sys.stdout.write(f"$ {Path(str(words[0])).name} {' '.join(map(str, words[1:]))}\n")
    sys.stdout.flush()
    subprocess.run([str(word) for word in words], cwd=folder, check=True)  # noqa: S603 - our own words


if __name__ == "__main__":
    main(Path(sys.argv[1]))
