"""The pieces of the pages about advice: draws, votes, spoilt advice, and what a cell passes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.page import Section, Table, write_page
from benchmarks.reproduce import advice_no_worse, advice_pima
from benchmarks.reproduce.advice_cases import (
    CORRUPTIONS,
    advised,
    corrupted,
    error,
    mean_and_se,
    quiet,
    vote,
)
from benchmarks.reproduce.advice_settings import (
    GROUPS,
    TIES,
    by_precision,
    hindsight_section,
    settings_at,
    settings_sections,
)
from scipy import stats

from clearmargin.datasets import load_pima
from clearmargin.exceptions import ClearmarginWarning

NAMES = ["pima", "cleveland", "linear", "curved"]


def pima():
    X, y = load_pima(return_X_y=True)
    return X, np.asarray(y, dtype=object)


def test_the_vote_of_the_six_rules_errs_on_187_of_768():
    X, y = pima()
    assert error(vote(advised("pima").rules, X, y), y) == pytest.approx(100 * 187 / 768)


def test_ties_go_to_the_majority_of_the_training_labels():
    rules = advised("pima").rules
    X, _ = pima()
    # R1 says negative and R6 says positive.
    tie = X[(X.glucose < 126) & (X.diabetes_pedigree > 0.5) & (X.age > 31)]
    for majority in rules.classes:
        labels = np.array([*rules.classes, majority], dtype=object)
        assert set(vote(rules, tie, labels)) == {majority}


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("pima", 356, 412), ("cleveland", 200, 97), ("linear", 300, 2000), ("curved", 300, 2000)],
)
def test_draws_have_the_sizes_of_the_protocol(name, train, test):
    data = advised(name)
    drawn = data.draw(3)
    assert (len(drawn.X), len(drawn.y)) == (train, train)
    assert (len(drawn.X_test), len(drawn.y_test)) == (test, test)
    assert data.largest == train


@pytest.mark.parametrize("name", ["pima", "cleveland"])
def test_no_row_is_in_both_parts(name):
    data = advised(name)
    drawn = data.draw(0)
    assert sorted([*drawn.X.index, *drawn.X_test.index]) == list(range(len(data.reference)))


@pytest.mark.parametrize("name", NAMES)
def test_the_first_ten_points_have_two_of_each_class(name):
    for run in range(20):
        _, counts = np.unique(advised(name).draw(run).y[:10], return_counts=True)
        assert counts.min() >= 2
        assert len(counts) == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_the_same_each_time_and_unlike_the_next(name):
    draw = advised(name).draw
    assert draw(1).X.equals(draw(1).X)
    assert not np.array_equal(draw(1).X.to_numpy(), draw(2).X.to_numpy())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_spoilt_advice_has_as_many_rules_and_votes_worse(name, how):
    data = advised(name)
    drawn = data.draw(0)
    spoilt = corrupted(data.rules, how, data.reference)
    assert len(spoilt) == len(data.rules)
    assert spoilt != data.rules
    if not how.startswith("bounds"):
        good, bad = (
            error(vote(rules, drawn.X_test, drawn.y), drawn.y_test)
            for rules in (data.rules, spoilt)
        )
        assert bad > good


def test_advice_that_is_not_spoilt_stays_what_it_was():
    data = advised("pima")
    same = corrupted(data.rules, "as given", data.reference)
    assert [(r.region, r.label) for r in same] == [(r.region, r.label) for r in data.rules]


def test_flipping_changes_all_classes_or_every_second():
    data = advised("pima")
    was = [rule.label for rule in data.rules]
    for how, share in (("all classes flipped", 6), ("half flipped", 3)):
        now = [rule.label for rule in corrupted(data.rules, how, data.reference)]
        assert sum(a != b for a, b in zip(was, now, strict=True)) == share


def test_bounds_move_by_a_standard_deviation_but_codes_stay():
    data = advised("cleveland")
    spread = data.reference.to_numpy().std(axis=0)
    names = list(data.reference.columns)
    moved = corrupted(data.rules, "bounds + 1 sd", data.reference)
    for before, after in zip(data.rules, moved, strict=True):
        for j in before.region.bounded:
            step = 0.0 if names[j].startswith(("exang", "thal_", "cp_")) else spread[j]
            low, high = before.region.lower[j] + step, before.region.upper[j] + step
            assert (after.region.lower[j], after.region.upper[j]) == (low, high)


@pytest.mark.parametrize("name", NAMES)
def test_conditions_on_other_variables_name_none_of_their_own(name):
    data = advised(name)
    moved = corrupted(data.rules, "other variables", data.reference)
    for before, after in zip(data.rules, moved, strict=True):
        assert len(after.region.bounded) == len(before.region.bounded)
        assert not set(after.region.bounded) & set(before.region.bounded)


def test_weights_follow_precision_and_average_one():
    X, y = pima()
    weights = [rule.weight for rule in by_precision(advised("pima").rules, X, y)]
    assert np.mean(weights) == pytest.approx(1.0)
    # Precision .80 .85 .58 .69 .82 .59: R2 is the best of them, R3 the worst.
    assert (int(np.argmax(weights)), int(np.argmin(weights))) == (1, 2)


def test_only_the_expected_warnings_are_silent():
    import warnings

    with quiet():
        warnings.warn("the advice deserves a look: ...", ClearmarginWarning, stacklevel=1)
        with pytest.raises(ClearmarginWarning):
            warnings.warn("something else", ClearmarginWarning, stacklevel=1)


def test_mean_and_standard_error():
    assert mean_and_se(np.array([1.0, 3.0])) == (2.0, 1.0)


def test_published_values_stand_beside_ours():
    assert advice_pima.published("slp", 10) == 26.8
    assert advice_pima.published("sqp", 100) == 22.5
    assert advice_pima.published("slp", 200) is None
    assert advice_pima.published("blend", 10) is None
    values = [30.0 + 0.5 * (k % 5) for k in range(20)]
    errors = {(m, 10): values for m in advice_pima.METHODS if m != "sqp"}
    section = advice_pima.curves_section(errors, [10])
    row = dict(zip(section.table.header, section.table.rows[0], strict=True))
    # By scipy, independently: the interval of the mean, and of a difference to a mean of ten such draws.
    low, high = stats.t.interval(0.95, 19, loc=31.0, scale=stats.sem(values))
    assert row["KBSVM"] == f"31.0 ± {(high - low) / 2:.1f} (36.2)"
    assert (row["blend"], row["sqp"]) == (f"31.0 ± {(high - low) / 2:.1f}", "-")
    told = advice_pima.differences_section(errors, [10])
    half = stats.t.ppf(0.975, 19) * np.std(values, ddof=1) * (1 / 20 + 1 / 10) ** 0.5
    assert (
        f"KBSVM differs from the published KBSVM at 10 (-5.2 ± {half:.1f}) points" in told.verdict
    )
    assert told.table.rows[1][3] == "-5.2"


def test_few_draws_are_shown_to_give_other_curves():
    values = [30.0] * 10 + [32.0] * 10
    errors = {(m, 10): values for m in advice_pima.METHODS}
    section = advice_pima.ten_draws_section(errors, [10])
    assert section.table.rows == [["10", *["30.0 to 32.0"] * 4]]
    assert "may lie up to 2.0 points from another" in section.verdict


def test_a_gain_is_firm_where_its_interval_has_no_zero():
    errors = {
        ("plain SVM", 10): [30.0, 32.0, 34.0],
        ("rules alone", 10): [24.0, 26.1, 28.0],
        ("blend", 10): [25.0, 27.1, 28.9],
    }
    section = advice_pima.gains_section(errors, [10])
    assert "blend at 10 (-5.0)" in section.verdict
    assert "slp at none" in section.verdict
    assert "In these 3 draws" in section.verdict
    assert "at 10 (+1.0 ± 0.1) points" in section.verdict


def test_differences_between_settings_are_taken_on_the_same_runs():
    names = {name for group in GROUPS.values() for name in group}
    errors = {(name, 20): [30.0, 40.0] for name in names} | {(TIES, 20): [31.0, 41.0]}
    tables = {s.title: s for s in settings_sections(errors, [20])}
    assert tables["How much to trust the rules: mu"].table.rows[-1] == [
        TIES,
        "36.0 ± 5.0 (+1.0 ± 0.0)",
    ]


def test_hindsight_takes_the_setting_with_the_lowest_mean():
    errors = {
        ("KBSVM 1 1", 10): [30.0, 32.0],
        ("KBSVM 1 10", 10): [28.0, 30.0],
        ("slp 1 1 0.1", 10): [27.0, 29.0],
        ("joint", 10): [33.0, 33.0],
    }
    main = {(name, 10): [31.0, 31.0] for name in ("KBSVM", "slp", "rules alone")}
    section = hindsight_section(errors, main, [10], lambda *_: "26.8")
    assert section.table.rows[0][2:4] == ["29.0 ± 1.0", "1 10"]
    assert "28.0 at 10 points (published 26.8" in section.verdict


def test_a_cell_passes_within_its_standard_error():
    cell = advice_no_worse.Cell(
        vote=[24.0, 24.0], svm=[30.0, 32.0], blend=[24.0, 26.0], trust=[1, 1]
    )
    assert cell.better() == cell.vote
    assert cell.excess(cell.better()) == (1.0, 1.0, 1.0)
    assert cell.row(cell.better(), 1.0)[-2:] == ["pass", "pass"]
    assert cell.row(cell.better(), 0.9)[-2:] == ["**FAIL**", "**FAIL**"]


def test_failures_are_counted_and_named():
    good = advice_no_worse.Cell([24.0, 24.0], [30.0, 32.0], [22.0, 24.0], [0.9, 0.9])
    bad = advice_no_worse.Cell([24.0, 24.0], [30.0, 32.0], [29.0, 30.0], [0.9, 0.9])
    cells = {
        ("pima", "as given", 10): good,
        ("pima", "as given", 20): bad,
        ("pima", "half flipped", 50): bad,
    }
    (section,) = advice_no_worse.clean_sections(cells)
    assert section.verdict.startswith("1 of 2 sizes pass")
    assert "fails at 20" in section.verdict
    assert advice_no_worse.corrupted_section(cells).verdict.startswith("1 of 1 cells")
    summary = advice_no_worse.summary(cells, advice_no_worse.QUICK)
    assert summary.table.rows[0][1:4] == ["2", "1", "1"]
    assert "Pima, as given, 20 points (+5.50; standard error 0.50, paired 0.50)" in summary.verdict


def test_each_method_has_an_error_for_a_tiny_part():
    found = advice_pima.errors_at(0, 20, slow=False)
    assert set(found) == set(advice_pima.METHODS) - set(advice_pima.SLOW)
    assert all(0 < value < 100 for value in found.values())


def test_each_setting_has_an_error_for_a_tiny_part():
    assert set(settings_at(0, 20)) >= {name for group in GROUPS.values() for name in group}


def test_a_quick_run_writes_its_page(tmp_path, capsys):
    page = tmp_path / "page.md"
    advice_no_worse.main(["--quick", "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# No worse than rules or data\n")
    assert "| Pima | half flipped " in text
    assert "written: " in capsys.readouterr().out


def test_a_page_says_what_it_is(tmp_path):
    page = tmp_path / "page.md"
    section = Section("Title", "Why?", Table(["a", "b"], [["1", "22"]]), "So.")
    write_page([section], page, "Head", "Intro.")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Head\n\nIntro.\n")
    assert "| a | b  |\n|---|----|\n| 1 | 22 |" in text
