"""What is said of strangers' tables follows from the records, and these from the folds."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from benchmarks.quote import BEGIN_STRANGERS, END
from benchmarks.stranger_rules import __main__ as command
from benchmarks.stranger_rules import run, section
from benchmarks.stranger_rules.askers import draw_around
from benchmarks.stranger_rules.cases import fewest_by_sorting
from benchmarks.stranger_rules.claims import claims, claims_table
from benchmarks.stranger_rules.folds import N_FOLDS, parts_of
from benchmarks.stranger_rules.learners import OURS, PEERS, PLAIN, TOPIC, learn, score
from benchmarks.stranger_rules.proofs import (
    card_seconds,
    dense_machine,
    draw_rows,
    measure_proofs,
    points_in_cells,
)
from benchmarks.stranger_rules.records import EARLIER, Record, Records, over_tables, with_earlier
from benchmarks.stranger_rules.run import FULL, PARTS, QUICK, Plan, tables_of
from benchmarks.stranger_rules.section import page_sections, table_section, write_results
from benchmarks.strangers import Stranger

from clearmargin import ScoreRules


def table():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": np.where(rng.random(60) < 0.5, "x", "y")})
    X["n"] = rng.integers(0, 5, size=60)
    X.loc[3, "a"], X.loc[5, "b"] = np.nan, np.nan
    return X, np.where(rng.normal(size=60) + 2 * X["a"].fillna(0) > 0, "yes", "no")


STRANGER = Stranger("small", "here", "missing values", table)


# Folds


def test_folds_are_disjoint_and_numbers_have_no_gaps():
    parts = parts_of(STRANGER, range(N_FOLDS))
    assert sum(len(part.y_test) for part in parts) == 60
    for part in parts:
        assert part.numbers_train.shape == (len(part.y_train), 4)
        assert part.names == ("a", "n", "b_x", "b_y")
        assert np.isfinite(part.numbers_train).all()
        assert part.classes == ("no", "yes")
    assert sum(part.X_test.isna().sum().sum() for part in parts) == 2


def test_learners_of_scikit_learn_are_judged_on_held_out_rows():
    part = parts_of(STRANGER, [0])[0]
    found = learn(part, ["tree, 15 leaves", "boosted stumps, 15", "SVC, balanced"])
    assert [record.method for record in found] == [
        "tree, 15 leaves",
        "boosted stumps, 15",
        "SVC, balanced",
    ]
    assert all(0.5 <= record.figures["accuracy"] <= 1 for record in found)
    assert found[0].figures["rules"] <= 15
    assert found[1].figures["rules"] == 15


def test_who_gives_no_scores_has_no_auc():
    figures = score(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), None)
    assert figures["accuracy"] == 0.75
    assert figures["balanced accuracy"] == pytest.approx(5 / 6)
    assert np.isnan(figures["AUC"])


# Rows that are drawn


def test_drawn_rows_stay_within_ranges_whole_numbers_and_categories():
    X, _ = table()
    rows = draw_rows(X, 500, 0)
    assert rows["a"].between(X["a"].min(), X["a"].max()).all()
    assert set(rows["b"]) == {"x", "y"}
    assert (rows["n"] == rows["n"].round()).all()
    assert not rows.isna().any(axis=None)
    numbers = X[["n", "a"]].dropna().to_numpy()
    around = draw_around(numbers, 300, 0)
    assert (around[:, 0] == np.rint(around[:, 0])).all()
    assert (around >= numbers.min(axis=0)).all()
    assert (around <= numbers.max(axis=0)).all()


def test_points_stay_in_the_cells_of_their_rows():
    part = parts_of(STRANGER, [0])[0]
    X = part.X_train
    card = (
        ScoreRules(dense_machine(part), certify=True, max_rules=12).fit(X, part.y_train).scorecard_
    )
    moved = points_in_cells(card, X)
    assert (moved["b"].fillna("") == X["b"].fillna("")).all()
    assert (moved["a"] != X["a"]).any()
    for one, other in zip(card.totals(X), card.totals(moved), strict=True):
        assert (one == other).all()


def test_more_cuts_prove_more_and_no_point_contradicts_the_machine():
    part = parts_of(STRANGER, [0])[0]
    found = {record.method: record.figures for record in measure_proofs(part, 500)}
    shares = [found[f"card, {n} cuts"]["proved"] for n in (10, 100)]
    assert 0 < shares[0] <= shares[1]
    assert found["card, 100 cuts"]["wrong rows"] == found["card, 100 cuts"]["contradictions"] == 0
    # Half as many points in the cells of proved rows as are drawn within the ranges.
    assert found["card, 100 cuts"]["points"] >= 250
    assert found["boxes, 100 rules"]["proved"] >= found["boxes, 10 rules"]["proved"] > 0
    assert card_seconds(5)[0].figures["seconds"] > 0


def test_sorting_counts_what_a_search_over_all_subsets_counts():
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=5), 0.3
    lower, upper = np.zeros(5), np.ones(5)
    X = rng.random((40, 5))
    found = fewest_by_sorting(w, b, lower, upper, X)
    for x, count in zip(X, found, strict=True):
        side = 1.0 if x @ w + b > 0 else -1.0
        worst = np.where(side * w > 0, lower, upper)
        sizes = []
        for subset in range(2**5):
            fixed = np.array([subset >> j & 1 for j in range(5)], dtype=bool)
            if side * (np.where(fixed, x, worst) @ w + b) > 0:
                sizes.append(fixed.sum())
        assert count == min(sizes)


# Records


def made(values, method="m", measure="accuracy", topic=TOPIC):
    return [
        Record(topic, name, fold, method, {measure: value})
        for name, by_fold in values.items()
        for fold, value in enumerate(by_fold)
    ]


def test_differences_are_over_tables_on_the_folds_that_both_have():
    records = Records(
        made({"a": [0.9, 0.7], "b": [0.6, 0.6]}) + made({"a": [0.8], "b": [0.7, 0.7]}, "other")
    )
    found = records.difference(TOPIC, "m", "other", "accuracy")
    # Of table a only the first fold counts.
    assert (found.mean, found.tables) == (pytest.approx(0.0), 2)
    assert found.error == pytest.approx(0.1)
    assert (found.ahead, found.behind) == (1, 1)
    assert records.mean(TOPIC, "m", "accuracy") == pytest.approx(0.7)


def test_the_best_of_others_is_chosen_table_by_table():
    records = Records(
        made({"a": [0.9], "b": [0.6]})
        + made({"a": [0.8], "b": [0.9]}, "one")
        + made({"a": [0.7], "b": [0.5]}, "two")
    )
    found = records.difference_to_best(TOPIC, "m", ["one", "two"], "accuracy")
    assert found.mean == pytest.approx((0.1 - 0.3) / 2)
    assert records.nearest(TOPIC, "m", ["one", "two"], "accuracy") == "one"
    assert records.means(TOPIC, "m", "one", "accuracy") == pytest.approx((0.75, 0.85))


def test_nothing_compared_is_not_measured():
    assert over_tables([]).in_points() == "not measured"
    assert over_tables([0.012]).in_points() == "+1.2"


def test_records_come_back_from_their_file(tmp_path):
    records = Records([*made({"a": [0.9, 0.7]}), Record(TOPIC, "a", 0, "slow", reason="stopped")])
    records.save(tmp_path / "r.json")
    assert list(Records.load(tmp_path / "r.json")) == list(records)
    assert len(json.loads((tmp_path / "r.json").read_text())) == 3
    assert records.reasons(TOPIC, "slow") == ["stopped"]
    assert records.methods(TOPIC) == ["m"]


def test_a_method_has_one_record_of_a_fold():
    with pytest.raises(ValueError, match="two records"):
        Records(made({"a": [0.9]}) * 2)


# Pages


def whole():
    """Records of all topics: ours is right on 90 %, all others on 85 %."""
    figures = {"balanced accuracy": 0.8, "AUC": 0.9, "rules": 15.0, "conditions": 30.0}
    found = []
    for name in (*OURS, *PLAIN, *PEERS):
        for one, gain in (("a", 0.0), ("b", 0.01)):
            right = (0.9 if name in OURS else 0.85) + gain
            found.append(
                Record(TOPIC, one, 0, name, {"accuracy": right, "seconds": 1.0, **figures})
            )
    for size in (10, 20, 50, 100):
        for name, share in ((f"card, {size} cuts", 0.6), (f"boxes, {size} rules", 0.2)):
            more = {"points": 1e6, "contradictions": 0.0} if name == "card, 100 cuts" else {}
            found.append(Record("proof", "a", 0, name, {"proved": share, "seconds": 0.1, **more}))
    found.append(Record("proof, speed", "1,000 x 60", 0, "card, 100 cuts", {"seconds": 0.5}))
    for kind in ("linear", "RBF"):
        for name in ("ScoreRules, 15 cuts", "tree, 15 leaves, drawn rows"):
            said = {"fidelity": 0.9, "accuracy": 0.8, "seconds": 0.1}
            found.append(Record("fidelity", "a", 0, f"{name} ({kind})", said))
        for name, seconds in (("explain, measured", 0.001), ("alibi anchors", 0.1)):
            said = {"conditions": 2.0, "coverage": 0.3, "precision": 0.98, "cases": 5.0}
            said["seconds"] = seconds
            found.append(Record("explain", "a", 0, f"{name} ({kind})", said))
    said = {"conditions": 3.0, "sorting": 3.0, "more than sorting": 1.0, "features": 9.0}
    found.append(Record("explain, proved", "a", 0, "explain, proved", {**said, "cases": 10.0}))
    speed = {"seconds": 1.0, "cases a second": 2e4}
    found.append(Record("explain, speed", "10,000 x 20", 0, "explain, proved", speed))
    way = {"lines": 40.0, "seconds": 12.0, "answered": 1.0, "accuracy": 0.75}
    found.append(Record("default way", "credit", 0, "clearmargin rules", way))
    found.append(Record("default way", "credit", 0, "LinearSVC, all columns", {"accuracy": 0.755}))
    solved = {"seconds": 1.0, "gap": 1e-7}
    found.append(Record("program", "1,000 x 20", 0, "RuleSVC, the whole program", solved))
    return Records(found)


def test_what_is_missed_is_said():
    found = {claim.text: claim for claim in claims(whole())}
    missed = [text for text, claim in found.items() if claim.met is False]
    assert missed == [
        "proved explanations: more conditions than sorting needs",
        "the default way on a credit table of 1,000 x 20 with 13 categorical columns",
    ]
    assert found["RuleSVC, 15 rules, against a tree of 15 leaves"].met
    assert found["card: contradictions inside proved cells"].measured == "0 of 1,000,000 points"
    assert sum(row[-1] == "MISSED" for row in claims_table(list(found.values())).rows) == 2


def test_fewer_points_than_wanted_meet_nothing():
    records = Records(
        record
        for record in whole()
        if not (record.topic == "proof" and "card, 100" in record.method)
    )
    more = Records(
        [
            *records,
            Record("proof", "a", 0, "card, 100 cuts", {"proved": 0.6, "points": 10.0}),
        ]
    )
    found = {claim.text: claim.met for claim in claims(more)}
    assert found["card: contradictions inside proved cells"] is None


def test_the_page_has_all_sections_with_findings(tmp_path, monkeypatch):
    records = whole()
    found = page_sections(records)
    assert [one.title for one in found] == [
        "What rules must show on strangers' tables",
        "What to choose for a table of one's own",
        "Learning rules on strangers' tables",
        "Cards with proof",
        "Imitating a machine that all may ask",
        "Explaining cases on strangers' tables",
    ]
    assert all(one.finding for one in found)
    assert table_section(records).table.rows[1][0] == "b"
    monkeypatch.setattr(section, "RESULTS", tmp_path / "s.json")
    monkeypatch.setattr(section, "PAGE", tmp_path / "S.md")
    monkeypatch.setattr(section, "README", tmp_path / "README.md")
    monkeypatch.setattr(section, "DOCUMENTATION", tmp_path / "measured.md")
    for name in ("README.md", "measured.md"):
        (tmp_path / name).write_text(f"above\n{BEGIN_STRANGERS}\n{END}\nbelow\n{END}\n")
    said = Record(EARLIER, "all", 0, "all", reason="Measured in an earlier run: EBM.")
    write_results(Records([*records, said]))
    text = (tmp_path / "S.md").read_text()
    assert "MISSED" in text
    assert "no part in tuning. Measured in an earlier run: EBM.\n" in text
    quoted = (tmp_path / "README.md").read_text()
    assert "- [Cards with proof](benchmarks/STRANGERS.md#cards-with-proof): a card of 100" in quoted
    assert quoted.endswith(f"{END}\nbelow\n{END}\n")
    told = (tmp_path / "measured.md").read_text()
    assert "## What to choose for a table of one's own\n\nComputed on 2 tables" in told
    assert "- *Cards with proof*: a card of 100" in told
    assert len(Records.load(tmp_path / "s.json")) == len(records) + 1


# Plans


def test_a_plan_takes_each_so_manieth_table(monkeypatch):
    listed = [Stranger(str(k), "", "", table) for k in range(10)]
    monkeypatch.setattr(run, "judging_tables", lambda: listed)
    monkeypatch.setattr(run, "tuning_tables", lambda: listed[:2])
    assert [one.name for one in tables_of(Plan(every=4))] == ["0", "4", "8"]
    assert [one.name for one in tables_of(Plan(tuning=True))] == ["0", "1"]
    assert set(QUICK.parts) | {"program"} == set(FULL.parts) == set(PARTS)
    assert set(QUICK.peer_folds) <= set(PEERS) == set(FULL.peer_folds)


def test_sides_can_be_measured_at_different_times(tmp_path, monkeypatch, capsys):
    plans = []

    def measured(plan):
        plans.append(plan)
        return Records(made({"a": [0.9]}, method="ours" if "ours" in plan.sides else "theirs"))

    monkeypatch.setattr(command, "measure", measured)
    first, both = tmp_path / "first.json", tmp_path / "both.json"
    command.main(["--side", "peers", "--peers", "EBM", "--parts", "rules", "--save", str(first)])
    command.main(["--side", "ours", "--folds", "2", "--add", str(first), "--save", str(both)])
    assert plans[0].peer_folds == {"EBM": FULL.peer_folds["EBM"]}
    assert (plans[0].sides, plans[1].sides, plans[1].folds) == (["peers"], ["ours"], 2)
    found = list(Records.load(both))
    assert [record.method for record in found[:2]] == ["ours", "theirs"]
    said = "Measured in an earlier run on the same folds: theirs."
    assert [record.reason for record in found[2:]] == [said]
    # Once, however often records are put together.
    again = with_earlier(Records(found[:1]), found[1:])
    assert [record.reason for record in again if record.topic == EARLIER] == [said]
    assert with_earlier(again, []) is again
    assert capsys.readouterr().out == ""


def failing(part):
    raise ValueError(f"no rules for {part.table}")


def test_a_measurement_that_fails_is_said_and_loses_nothing_else(monkeypatch, capsys):
    part = parts_of(STRANGER, [1])[0]
    monkeypatch.setattr(run, "tables_of", lambda plan: [])
    monkeypatch.setattr(run, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    jobs = [(failing, (part,)), (lambda: made({"a": [0.5]}), ())]
    monkeypatch.setattr(run, "_jobs", lambda *_: jobs)
    found = list(run.measure(Plan(sides=["ours"])))
    assert [record.topic for record in found] == ["failed", TOPIC]
    assert found[0].reason == "failing, small, fold 2: ValueError: no rules for small"
    assert "no rules for small" in capsys.readouterr().err
