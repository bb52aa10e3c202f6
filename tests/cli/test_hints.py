"""What a command advises can be done: each message that names an option is followed."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clearmargin
from clearmargin.cli.option_names import for_command_line

GOOD = "".join(f"{30 + k},{20.5 + k % 7},{'well' if k < 10 else 'ill'}\n" for k in range(20))
HEAD = "age,bmi,outcome\n"
# Quickly: no search for nu, and no figures for cases that were not seen.
RULES = "rules {} --target outcome --nu 1 --cv none"


@pytest.fixture
def tables(folder):
    """Tables with all kinds of trouble."""
    write = lambda name, text: (folder / name).write_bytes(text.encode("latin-1"))
    write("gaps.csv", HEAD + GOOD + ",32.5,ill\n63,?,ill\n")
    write("stray.csv", HEAD + GOOD + "abc,32.5,ill\n")
    write("latin.csv", ("größe,bmi,outcome\n" + GOOD))
    write("three.csv", HEAD + GOOD + "70,20.5,dead\n71,20.5,dead\n72,21.5,dead\n")
    write("commas.csv", "age;bmi;outcome\n" + GOOD.replace(",", ";").replace(".5", ",500"))
    write("good.csv", HEAD + GOOD)
    write("rare.csv", HEAD + GOOD.replace("well", "ill").replace("ill", "well", 1))
    write("few.csv", HEAD + "".join(GOOD.splitlines(keepends=True)[5:15]))
    copy = "".join(f"{line},{line.rpartition(',')[2]}\n" for line in GOOD.splitlines())
    write("copy.csv", "age,bmi,outcome,copy\n" + copy)
    (folder / "taken.rules").write_text("bmi > 3 => ill\n")
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(24, 12)).round(3), columns=[f"c{k}" for k in range(12)])
    wide["outcome"] = np.where(wide.sum(axis=1) > 0, "ill", "well")
    wide.to_csv(folder / "wide.csv", index=False)
    dates = pd.read_csv(folder / "good.csv").assign(day=pd.date_range("2024-01-01", periods=20))
    dates.to_parquet(folder / "dates.parquet")
    return folder


# What is typed, what is said, and what is typed then.
HINTS = [
    (RULES.format("gaps.csv"), "--missing drop", [RULES.format("gaps.csv") + " --missing drop"]),
    (
        RULES.format("gaps.csv"),
        "--missing impute",
        [RULES.format("gaps.csv") + " --missing impute"],
    ),
    (
        RULES.format("stray.csv"),
        "add --na abc",
        [RULES.format("stray.csv") + " --na abc --missing drop"],
    ),
    (
        RULES.format("stray.csv"),
        "add --categories age",
        [RULES.format("stray.csv") + " --categories age"],
    ),
    (
        RULES.format("latin.csv"),
        "--encoding cp1252",
        [RULES.format("latin.csv") + " --encoding cp1252"],
    ),
    (
        RULES.format("latin.csv"),
        "--encoding latin-1",
        [RULES.format("latin.csv") + " --encoding latin-1"],
    ),
    (
        "recourse three.csv --target outcome --nu 1 --cv none --row 1 --actionable age",
        "name a class: --goal dead",
        [
            "recourse three.csv --target outcome --nu 1 --cv none --row 1 --actionable age --goal dead"
        ],
    ),
    (
        "score rare.csv --target outcome --certify --cv none",
        "try --balanced",
        ["score rare.csv --target outcome --certify --cv none --balanced"],
    ),
    (
        RULES.format("dates.parquet"),
        "--drop day",
        [RULES.format("dates.parquet") + " --drop day"],
    ),
    (RULES.format("commas.csv"), "--decimal ,", [RULES.format("commas.csv") + " --decimal ,"]),
    (
        "rank three.csv --target outcome",
        "choose one with --positive",
        ["rank three.csv --target outcome --positive ill --top 4 --bottom 4"],
    ),
    (
        RULES.format("good.csv") + " --out taken.rules",
        "add --force",
        [RULES.format("good.csv") + " --out taken.rules --force"],
    ),
    (
        "check taken.rules --target outcome",
        "--data FILE",
        ["check taken.rules --data good.csv --target outcome"],
    ),
    (
        "export taken.rules --to xlsx",
        "--out rules.xlsx",
        ["export taken.rules --to xlsx --out rules.xlsx"],
    ),
    (
        RULES.format("good.csv") + " --max-features 1",
        "leave out --nu",
        [RULES.format("good.csv").replace(" --nu 1", " --max-features 1")],
    ),
    (
        "advise good.csv --target outcome --advice taken.rules --tune --mu 2",
        "leave out --mu",
        ["advise good.csv --target outcome --advice taken.rules --tune"],
    ),
    (
        "explain gaps.csv --target outcome --nu 1 --cv none --missing drop --row 21",
        "try --missing impute",
        ["explain gaps.csv --target outcome --nu 1 --cv none --missing impute --row 21"],
    ),
    (
        "rank few.csv --target outcome",
        "--top 0.05 of 10 rows is not even one row; give a larger share or a number of rows",
        [
            "rank few.csv --target outcome --top 3 --bottom 3",
            "rank few.csv --target outcome --top 0.3 --bottom 0.3",
        ],
    ),
    (
        "rank copy.csv --target outcome --top 4 --bottom 4",
        "leave it out with --drop 'copy'",
        ["rank copy.csv --target outcome --top 4 --bottom 4 --drop copy"],
    ),
]


@pytest.mark.parametrize(("typed", "said", "then"), HINTS, ids=[f"{t} / {s}" for t, s, _ in HINTS])
@pytest.mark.usefixtures("tables")
def test_following_a_message_leads_somewhere(run, clearmargin, typed, said, then):
    answer = run(*shlex.split(typed))
    assert answer.code == 2
    assert said in answer.err
    for words in then:
        clearmargin(*shlex.split(words))


@pytest.mark.usefixtures("tables")
def test_a_warning_names_the_option_and_not_the_parameter(clearmargin):
    command = ("rules", "wide.csv", "--target", "outcome", "--cv", "none", "--max-rules", "1")
    said = clearmargin(*command, "--nu", "10")
    assert "warning: the plane has 9 features with a weight" in said.err
    assert "fewer and better rules: --max-features 8" in said.err
    assert "LPSVCCV" not in said.err
    followed = clearmargin(*command, "--max-features", "8")
    assert "features with a weight" not in followed.err
    assert "'clearmargin score --certify'" in said.err
    clearmargin("score", *command[1:5], "none", "--certify")
    distilled = clearmargin(*command, "--nu", "10", "--distil", "8")
    assert "features with a weight" not in distilled.err


def test_a_category_is_one_feature_in_the_warning_about_many(clearmargin, folder):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        rng.normal(size=(120, 7)).round(3), columns=[f"c{k}" for k in range(7)]
    ).assign(plan=rng.choice(["basic", "plus", "pro"], 120))
    score = table.filter(like="c").sum(axis=1) + 3 * table["plan"].map(
        {"basic": -1, "plus": 0, "pro": 1}
    )
    table.assign(outcome=np.where(score > 0, "ill", "well")).to_csv(
        folder / "plans.csv", index=False
    )
    said = clearmargin(
        *[
            "rules",
            "plans.csv",
            "--target",
            "outcome",
            "--cv",
            "none",
            "--max-rules",
            "1",
            "--nu",
            "10",
        ]
    )
    assert "The model uses 8 of 8 features" in said.out
    assert "features with a weight" not in said.err


@pytest.mark.usefixtures("tables")
def test_advice_that_contradicts_itself_is_sent_to_the_command_that_checks(
    clearmargin, run, folder
):
    (folder / "both.rules").write_text("bmi >= 22 => ill\nbmi >= 23 => well\n")
    said = clearmargin(
        *["advise", "good.csv", "--target", "outcome", "--advice", "both.rules", "--cv", "none"]
    )
    assert "'clearmargin check' with --data and --target tells all" in said.err
    assert "check_advice" not in said.err
    checked = run(*["check", "both.rules", "--data", "good.csv", "--target", "outcome"])
    assert "error: rule 1 says ill and rule 2 says well" in checked.out


def test_what_is_wrong_with_the_rows_of_a_fold_is_not_said_of_all_rows(clearmargin, folder):
    ill = {3, 11, 14, 18, 20, 22}
    rows = [f"{k},{k % 5 + 10 * (k in ill)},{'ill' if k in ill else 'well'}" for k in range(24)]
    (folder / "late.csv").write_text("\n".join(["day,bmi,outcome", *rows]))
    command = ("rules", "late.csv", "--target", "outcome", "--time", "day", "--cv", "2")
    said = clearmargin(*command, "--max-features", "1")
    assert "is not known: in fold 1, which trains on 8 of 24 rows: --max-features" in said.err


def test_no_warning_speaks_of_parameters_of_python():
    # All options of all commands; a message that names another one has to be taught to `for_command_line`.
    options = [
        "nu",
        "mu",
        "lam",
        "top",
        "bottom",
        "max_features",
        "min_leverage",
        "max_size",
        "positive",
        "refine",
    ]
    sources = Path(clearmargin.__file__).parent
    for path in sorted(sources.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "warnings.warn(" not in text or "/plot/" in str(path):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "warn":
                continue
            parts = getattr(node.args[0], "values", [node.args[0]])
            message = "".join(str(p.value) if isinstance(p, ast.Constant) else "3" for p in parts)
            shown = for_command_line(message, options)
            left = re.findall(r"(?<![\w-])[a-z_]+=\S+", shown)
            assert not left, f"{path.name}: {shown}"


def test_values_and_rules_that_look_like_parameters_stay():
    assert for_command_line("column 'stop=3' is odd", ["top"]) == "column 'stop=3' is odd"
    assert (
        for_command_line("min_leverage must be a number", ["min_leverage"])
        == "--min-leverage must be a number"
    )
