"""How commands read tables: separators, marks, encodings, gaps, files, folders, large files, without pandas."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clearmargin
from clearmargin import LPSVC, RuleSet, load_model

QUICK = ("--target", "outcome", "--cv", "none")
TRAIN = (*QUICK, "--nu", "1", "--out", "m.json", "--force")


def rules_of(ask, name, *words):
    return ask("rules", name, *QUICK, *words)["model"]["document"]


def test_a_table_is_read_alike_from_every_form(ask, folder):
    expected = rules_of(ask, "patients.csv", "--drop", "patient")
    text = (folder / "patients.csv").read_text()
    table = pyarrow.csv.read_csv("patients.csv")
    pyarrow.parquet.write_table(table, "t.parquet")
    pyarrow.feather.write_feather(table, "t.feather")
    Path("t.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("marks.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    marks = str.maketrans(",.", ";,")
    Path("semi.csv").write_text(text.translate(marks))
    Path("bars.csv").write_text(text.translate(str.maketrans(",.", "|,")))
    Path("wide.csv").write_text(text, encoding="utf-16")
    for words in (
        *("t.parquet", "t.feather", "t.csv.gz", "marks.csv", "semi.csv", "wide.csv"),
        *("semi.csv --separator semicolon --decimal ,", "bars.csv --separator bar --decimal ,"),
        "wide.csv --encoding utf-16",
    ):
        assert rules_of(ask, *words.split(), "--drop", "patient") == expected, words


def test_columns_that_mean_nothing_are_left_out(ask, folder):
    frame = pd.DataFrame({"row": range(100, 124), "name": [f"n{k}" for k in range(24)]})
    frame = frame.assign(empty=None, measure=[(7 * k) % 24 for k in range(24)])
    frame = frame.assign(kind=["a", "b"] * 12, outcome=["no", "yes"] * 12)
    frame.to_csv("t.csv", index=False)
    told = ask("train", "t.csv", *TRAIN)
    assert told["features"] == ["measure", "kind"]
    for note, name in zip(told["notes"], ("row", "name", "empty"), strict=False):
        assert f"'{name}'" in note
    told = ask("train", "t.csv", *TRAIN, "--categories", "name", "--drop", "row,empty")
    assert told["features"] == ["name", "measure", "kind"]


def gappy(folder):
    frame = pd.read_csv("patients.csv")
    frame.loc[2, "age"], frame.loc[5, "smoker"], frame.loc[7, "outcome"] = np.nan, np.nan, np.nan
    frame.to_csv("gaps.csv", index=False)
    return frame


def test_missing_values_are_dropped_or_filled_as_asked(ask, run, folder):
    frame = gappy(folder)
    words = ("gaps.csv", *TRAIN, "--drop", "patient")
    assert run("train", *words).code == 2
    assert ask("train", *words, "--missing", "drop")["rows"] == 21
    assert ask("train", *words, "--missing", "impute")["rows"] == 23
    told = ask("rules gaps.csv --target outcome --drop patient --model m.json --out f.json")
    assert told["data"]["rows_used"] == 23
    known = frame[frame["outcome"].notna()]
    fill = {"age": known["age"].median(), "smoker": "no", "bmi": known["bmi"].median()}
    assert load_model("m.json").fill == pytest.approx(fill)
    # Words that mean no value are gaps, too.
    text = Path("patients.csv").read_text().replace("P-03,33", "P-03,n.a.")
    Path("words.csv").write_text(text.replace("P-05,35", "P-05,?"))
    dropped = ask("train", "words.csv", *TRAIN[:-2], "n.json", "--missing", "drop", "--na", "n.a.")
    assert dropped["rows"] == 22
    # The rules know without the model what a missing value counts as.
    predicted = ask("predict gaps.csv --rules f.json")["predictions"]
    filled = frame.fillna({name: fill[name] for name in ("age", "smoker")})
    by_hand = RuleSet.load("f.json").predict(filled).tolist()
    assert [entry["class"] for entry in predicted] == by_hand
    by_model = ask("predict gaps.csv --model m.json")["predictions"]
    assert None not in [entry["class"] for entry in by_model]


LARGE = 120_000


def test_rules_of_a_folder_too_large_for_memory_are_counted_on_all_rows(ask, folder):
    # Takes some seconds: a table counts as large from 100,000 rows.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(LARGE, 2)).round(3), columns=["a", "b"])
    noise = 0.3 * rng.normal(size=LARGE)
    frame["y"] = np.where(frame["a"] - 2 * frame["b"] + noise > 0.5, "ill", "well")
    Path("parts").mkdir()
    for k in range(3):
        part = frame[LARGE // 3 * k : LARGE // 3 * (k + 1)]
        part.to_parquet(f"parts/{k}.parquet", index=False)
    told = ask("train parts --target y --nu 0.05 --out m.json")
    model = load_model("m.json")
    X, y = frame[["a", "b"]], frame["y"]
    assert told["rows"] == pytest.approx(20_000, rel=0.01)
    assert told["model"]["accuracy"] == pytest.approx((model.predict(X) == y).mean(), abs=0.01)
    whole = make_pipeline(StandardScaler(), LPSVC(0.05)).fit(X[:20_000], y[:20_000])
    assert (model.predict(X) == whole.predict(X)).mean() > 0.99
    told = ask("rules parts/*.parquet --target y --model m.json --out r.json")
    rules = RuleSet.load("r.json")
    inside = rules.covers(X)
    for rule, covered in zip(rules, inside.T, strict=True):
        assert rule.stats.rows == LARGE
        assert rule.stats.covered == covered.sum()
        assert rule.stats.correct == (y[covered] == rule.label).sum()
        assert set(model.predict(X[covered])) == {rule.label}
    trained = ask("rules parts --target y --cv none")
    assert {rule["stats"]["rows"] for rule in trained["model"]["document"]["rules"]} == {LARGE}
    assert trained["data"]["rows"] == trained["model"]["rows"] == LARGE
    predicted = ask("predict parts/1.parquet --model m.json --out p.csv")
    assert predicted["rows"] == LARGE // 3
    assert (pd.read_csv("p.csv")["class"] == model.predict(X[40_000:80_000])).all()


def test_a_page_and_a_ranking_of_a_large_table_are_made_of_a_sample(ask, folder):
    # Takes some seconds: a table counts as large from 100,000 rows.
    rng = np.random.default_rng(1)
    x = rng.normal(size=100_500).round(3)
    frame = pd.DataFrame({"x": x, "y": np.where(x + 0.2 * rng.normal(size=len(x)) > 0, 1, 0)})
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), "t.parquet")
    words = "t.parquet --target y --cv none"
    told = ask("rules t.parquet --target y --report r.html")
    assert abs(told["data"]["rows_used"] - 5_000) < 50
    assert told["notes"]
    assert 0.9 < told["evaluation"]["models"][0]["accuracy"]["value"] < 0.99
    ranked = ask(f"rank {words} --positive 1 --top 0.1 --bottom 0.1 --max-size 1")
    assert ranked["auc"] > 0.97


# Hides pandas and polars, and runs the commands that stand in the arguments.
HIDDEN = """
import contextlib, io, json, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from importlib.metadata import entry_points
(script,) = entry_points(group="console_scripts", name="clearmargin")
main = script.load()
said = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command.split())
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""
COMMANDS = (
    "rules gaps.csv --target outcome --cv 2 --save-model m.json --out r.rules --report r.html --force",
    "train gaps.parquet --target outcome --missing drop --nu 1 --cv none --out n.json --force --json",
    "predict gaps.csv --model m.json",
    "predict gaps.parquet --rules r.rules --json",
    "rank gaps.csv --target outcome --top 0.3 --bottom 0.3 --max-size 1 --cv none --out p.csv --force",
    "rules gaps.csv --target outcome --as scorecard --cv none --out card.json --force",
    "recourse gaps.csv --target outcome --missing impute --model m.json --row 20 --actionable age --json",
    "compare r.rules --data gaps.csv --target outcome --json",
)


def test_commands_say_the_same_without_pandas(run, folder):
    frame = gappy(folder)
    frame.dropna(subset=["outcome"]).to_csv("gaps.csv", index=False)
    stored = pyarrow.csv.read_csv(
        "gaps.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    pyarrow.parquet.write_table(stored, "gaps.parquet")
    files = ("m.json", "r.rules", "p.csv", "card.json", "r.html")
    expected = [list(run(*command.split())) for command in COMMANDS]
    assert [code for code, _, _ in expected] == [0] * len(COMMANDS), expected
    written = [Path(name).read_text() for name in files]
    source = str(Path(clearmargin.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, json.dumps(COMMANDS)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [code for code, _, _ in found] == [0] * len(COMMANDS), found
    assert found == expected
    assert [Path(name).read_text() for name in files] == written
