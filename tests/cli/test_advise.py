"""`clearmargin advise` and `clearmargin check` on a table of credits with categories."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

PURPOSES = ("new car", "used car", "retraining", "other")


@pytest.fixture
def credits_table(folder, no_folds):
    """Credits for one of four purposes, which the rules do not name."""
    rng = np.random.default_rng(2)
    age, months = rng.integers(19, 75, 160), rng.integers(4, 60, 160)
    purpose = rng.choice(PURPOSES, 160)
    score = 0.04 * (age - 40) - 0.05 * (months - 30) + np.where(purpose == "used car", 1.0, 0.0)
    score -= np.where(purpose == "other", 1.0, 0.0)
    label = np.where(score + rng.normal(0, 0.4, 160) > 0, "good", "bad")
    rows = zip(age, months, purpose, label, strict=True)
    lines = [f"{a},{m},{p},{c}" for a, m, p, c in rows]
    (folder / "credits.csv").write_text("age,months,purpose,class\n" + "\n".join(lines) + "\n")
    (folder / "expert.rules").write_text("young: age < 25 => bad\nold: age > 60 => good\n")
    return ("credits.csv", "--target", "class", "--advice", "expert.rules")


def test_worst_cases_have_one_purpose_whole_years_and_lie_inside_of_the_rule(
    credits_table, clearmargin
):
    said = clearmargin("advise", *credits_table, "--json")
    rules = json.loads(said.out)["outcome"]
    assert {rule["standing"] for rule in rules} <= {"proved", "uncontradicted", "contradicted"}
    failing = [rule for rule in rules if rule["standing"] != "proved"]
    assert failing
    for rule in failing:
        words = rule["guarantee"]
        assert "purpose_" not in words
        assert len(re.findall(r"purpose = ", words)) == 1
        age = re.search(r"age = (\S+)", words).group(1)
        assert age == {"young": "24", "old": "61"}[rule["name"]]
        assert rule["agreed_after"] <= rule["covered_after"]
        assert rule["standing_text"] in rule["text"]


def test_cross_validation_chooses_how_much_rules_count_unless_a_cost_is_set(
    credits_table, clearmargin, folder
):
    said = clearmargin("advise", *credits_table, "--save-model", "chosen.json")
    facts = json.loads((folder / "chosen.json").read_text(encoding="utf-8"))["facts"]
    assert facts["trained_by"] == "AdviceSVCCV"
    assert f"cross-validation chose how much counts: --lam {facts['lam']:g} for a row" in said.err
    for words in (("--mu", "1"), ("--lam", "2"), ("--refine", "translate")):
        said = clearmargin("advise", *credits_table, *words, "--save-model", f"{words[1]}.json")
        facts = json.loads((folder / f"{words[1]}.json").read_text(encoding="utf-8"))["facts"]
        assert facts["trained_by"] == "AdviceSVC"
        assert "cross-validation chose" not in said.err


def test_swapped_rules_do_no_harm_by_default(credits_table, clearmargin, folder):
    (folder / "swapped.rules").write_text("young: age < 25 => good\nold: age > 60 => bad\n")
    right = json.loads(clearmargin("advise", *credits_table, "--json").out)
    swapped = clearmargin("advise", *credits_table[:4], "swapped.rules", "--json")
    harm = right["model"]["accuracy"] - json.loads(swapped.out)["model"]["accuracy"]
    assert harm < 0.03


def test_rules_are_refined_as_published_on_request(credits_table, clearmargin, run):
    ours = clearmargin("advise", *credits_table, "--refine", "translate", "--json")
    theirs = clearmargin("advise", *credits_table, "--refine", "translate", "--published", "--json")
    assert json.loads(ours.out)["outcome"] != json.loads(theirs.out)["outcome"]
    said = run("advise", *credits_table, "--published")
    assert said.code == 2
    assert "--published says how rules are refined; name a way, too: --refine sqp" in said.err


def test_each_rule_may_have_its_cost_of_change(credits_table, clearmargin, run, folder):
    options = ("--refine", "translate", "--change-cost", "0.01")
    free = json.loads(clearmargin("advise", *credits_table, *options, "--json").out)["outcome"]
    assert [rule["change_cost"] for rule in free] == [0.01, 0.01]
    moved = next(rule["name"] for rule in free if rule["verdict"] == "refined")
    options = (*options, "--change-cost", f"{moved}=inf", "--save-model", "fixed.json")
    fixed = json.loads(clearmargin("advise", *credits_table, *options, "--json").out)["outcome"]
    for rule in fixed:
        assert (rule["change_cost"], rule["before"] == rule["after"]) == (
            (None, True) if rule["name"] == moved else (0.01, rule["unmoved"])
        )
    facts = json.loads((folder / "fixed.json").read_text(encoding="utf-8"))["facts"]
    assert f"{moved}=inf" in facts["change_cost"]
    said = run("advise", *credits_table, "--refine", "slp", "--change-cost", "old=dear")
    assert said.code == 2
    assert "--change-cost old=dear: 'dear' is not a number; write 0.5, or NAME=0.5" in said.err
    said = run("advise", *credits_table, "--refine", "slp", "--change-cost", "od=2")
    assert said.code == 2
    assert "names 'od', and the advice has no such rule; did you mean 'old'?" in said.err


def test_rules_that_share_rows_fail_the_check(credits_table, folder, run):
    (folder / "touching.rules").write_text("age <= 40 => bad\nage >= 40 => good\n")
    said = run("check", "touching.rules", "--data", "credits.csv", "--target", "class")
    assert said.code == 2
    assert "error: rule 1 says bad and rule 2 says good where age = 40 (" in said.out
