"""The runner and the page that it writes."""

from __future__ import annotations

import json
import re

import benchmarks.__main__ as runner
import pytest
from benchmarks.page import Ratio, Section, Table, contents, write_page
from benchmarks.quote import BEGIN, END

from benchmarks import baseline

from .cases import section

# The page.


def test_the_page_is_the_same_for_the_same_sections(tmp_path):
    sections = [section("One", "it is fast."), section("Two: again?", "it is slow.")]
    write_page(sections, tmp_path / "a.md")
    write_page(sections, tmp_path / "b.md")
    text = (tmp_path / "a.md").read_text()
    assert text == (tmp_path / "b.md").read_text()
    assert "* [Two: again?](#two-again): it is slow." in text


def test_a_page_without_findings_has_no_list(tmp_path):
    write_page([section("One")], tmp_path / "a.md")
    assert "[One]" not in (tmp_path / "a.md").read_text()
    assert contents([section("One")]) == "* [One](#one)"


def test_neighbours_without_a_finding_share_a_line_of_the_list():
    listed = [
        section("A", "good."),
        section("B, one"),
        section("C"),
        section("D", "bad."),
        section("E"),
    ]
    assert contents(listed).splitlines() == [
        "* [A](#a): good.",
        "* [B, one](#b-one), [C](#c)",
        "* [D](#d): bad.",
        "* [E](#e)",
    ]


def test_a_picture_stands_before_the_table_and_an_empty_table_is_left_out():
    found = section()
    found.picture = "pictures/a.svg"
    text = found.to_markdown()
    assert text.index("![Speed](pictures/a.svg)") < text.index("| what")
    assert "|" not in Section("A", "Q?", Table([]), "V.").to_markdown()


# The runner.


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """The runner with one fast section, writing where nobody minds; call it with words and the ratio it measures."""

    def run(*words, ratio=2.0):
        measure = lambda full: [section("One", f"full is {full}.", a=Ratio(ratio))]
        monkeypatch.setattr(
            runner, "SECTIONS", (("one", measure), ("two", lambda full: [section("Two")]))
        )
        return runner.main(words)

    kept = {name: getattr(baseline, name) for name in ("read", "write")}
    path = tmp_path / "baseline.json"
    monkeypatch.setattr(baseline, "read", lambda sizes: kept["read"](sizes, path))
    monkeypatch.setattr(baseline, "write", lambda sizes, found: kept["write"](sizes, found, path))
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    for name in ("README", "DOCUMENTATION"):
        path_of_text = tmp_path / f"{name}.md"
        path_of_text.write_text(f"# Ours\n\n{BEGIN}\n{END}\n")
        monkeypatch.setattr(runner, name, path_of_text)
    monkeypatch.setattr(runner, "one_thread", lambda: None)
    return run


def test_regressions_are_loud_and_fail_only_when_asked(bench, capsys, tmp_path):
    assert bench("--set-baseline") == 0
    assert bench("--strict", ratio=1.9) == 0
    capsys.readouterr()
    assert bench(ratio=1.0) == 0
    assert "! WORSE 2.00 times: One: a (baseline 2, now 1)" in capsys.readouterr().out
    assert "**worse 2.00 times**" in (tmp_path / "RESULTS.md").read_text()
    assert bench("--strict", ratio=1.0) == 1


def test_some_sections_are_printed_and_nothing_is_written(bench, capsys, tmp_path):
    bench("--only", "one")
    assert "## One" in (out := capsys.readouterr().out)
    assert "## Two" not in out
    assert not (tmp_path / "RESULTS.md").exists()


def test_quick_and_full_write_the_page_and_have_baselines_of_their_own(bench, tmp_path):
    bench("--set-baseline", ratio=2.0)
    assert "full is False." in (tmp_path / "RESULTS.md").read_text()
    bench("--full", "--set-baseline", ratio=3.0)
    assert "full is True." in (tmp_path / "RESULTS.md").read_text()
    stored = json.loads((tmp_path / "baseline.json").read_text())
    assert stored == {"quick": {"One: a": 2.0}, "full": {"One: a": 3.0}}


def test_a_quick_run_leaves_the_page_of_the_last_full_run_and_names_it(bench, tmp_path):
    bench()
    assert "RESULTS_FULL.md" not in (tmp_path / "RESULTS.md").read_text()
    bench("--full")
    full = (tmp_path / "RESULTS.md").read_text()
    assert (tmp_path / "RESULTS_FULL.md").read_text() == full
    bench()
    assert (tmp_path / "RESULTS_FULL.md").read_text() == full
    quick = (tmp_path / "RESULTS.md").read_text()
    assert "full is False." in quick
    assert "its last run is kept in [RESULTS_FULL.md](RESULTS_FULL.md)" in quick


def test_setting_the_baseline_of_some_sections_keeps_the_others(bench, tmp_path):
    bench("--set-baseline", ratio=2.0)
    bench("--only", "two", "--set-baseline")
    assert json.loads((tmp_path / "baseline.json").read_text()) == {"quick": {"One: a": 2.0}}
    bench("--only", "one", "--set-baseline", ratio=4.0)
    assert json.loads((tmp_path / "baseline.json").read_text()) == {"quick": {"One: a": 4.0}}


def test_two_runs_differ_in_their_durations_only(bench, tmp_path):
    pages = []
    for _ in range(2):
        bench()
        text = (tmp_path / "RESULTS.md").read_text()
        pages.append(re.sub(r"in [\d.]+ minutes, of which \*\w+\* took [\d.]+", "", text))
    assert pages[0] == pages[1]


def test_a_missing_package_costs_its_section_only():
    def lacking(full):
        raise ModuleNotFoundError("No module named 'cvxpy'", name="cvxpy")

    (found,) = runner.measured("sqp", lacking, full=False)
    assert found.title == "Not measured: sqp"
    assert "`cvxpy` is not installed" in found.finding


def test_a_missing_module_of_ours_is_an_error():
    def lacking(full):
        raise ModuleNotFoundError("No module named 'benchmarks.gone'", name="benchmarks.gone")

    with pytest.raises(ModuleNotFoundError):
        runner.measured("gone", lacking, full=False)


def run_with(monkeypatch, measure, *words):
    """Run one good section, the one given and another good one."""
    good = ("one", lambda full: [section("One", "good.", a=Ratio(2.0))])
    last = ("last", lambda full: [section("Last", "also good.")])
    monkeypatch.setattr(runner, "SECTIONS", (good, ("odd", measure), last))
    return runner.main(words)


def failing(error):
    def measure(full):
        raise error

    return measure


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("two\n  lines."), "ValueError: two lines."),
        (AssertionError(), "AssertionError: no text."),
        (
            ModuleNotFoundError("No module named 'benchmarks.gone'", name="benchmarks.gone"),
            "ModuleNotFoundError: No module named 'benchmarks.gone'.",
        ),
    ],
    ids=["error", "without text", "module of ours"],
)
def test_a_section_that_fails_leaves_the_others_and_is_said_loudly(
    bench, monkeypatch, capsys, tmp_path, error, said
):
    assert run_with(monkeypatch, failing(error)) == 1
    page = (tmp_path / "RESULTS.md").read_text()
    expected = f"* [Not measured: odd](#not-measured-odd): the measurement failed with {said}\n"
    assert expected in page
    assert "* [One](#one): good." in page
    assert "* [Last](#last): also good." in page
    out, err = capsys.readouterr()
    assert "Traceback" in err
    assert out.rstrip().splitlines()[-2] == "! FAILED, so not measured: odd"


def test_a_ratio_that_is_none_costs_its_section_only(bench, monkeypatch, tmp_path):
    assert run_with(monkeypatch, lambda full: [section("Odd", "bad.", a=Ratio(0.0))]) == 1
    page = (tmp_path / "RESULTS.md").read_text()
    assert "failed with ValueError: the ratio 'Odd: a' is 0.0" in page
    assert "## Odd" not in page


def test_a_missing_package_is_no_failure(bench, monkeypatch, capsys):
    lacking = failing(ModuleNotFoundError("No module named 'cvxpy'", name="cvxpy"))
    assert run_with(monkeypatch, lacking) == 0
    assert "FAILED" not in capsys.readouterr().out


def test_an_interrupt_still_stops_the_run(bench, monkeypatch, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_with(monkeypatch, failing(KeyboardInterrupt()))
    assert not (tmp_path / "RESULTS.md").exists()


def test_a_failure_keeps_what_the_baseline_says_of_its_section(bench, monkeypatch, tmp_path):
    run_with(monkeypatch, lambda full: [section("Odd", a=Ratio(5.0))], "--set-baseline")
    run_with(monkeypatch, failing(ValueError("x")), "--set-baseline")
    stored = json.loads((tmp_path / "baseline.json").read_text())
    assert stored == {"quick": {"One: a": 2.0, "Odd: a": 5.0}}


def test_the_page_opens_with_what_words_mean_and_where_to_look():
    text = runner.introduction([section("What to choose")], {"one": 60.0}, "full")
    opening, technical, _ = text.split("\n\n")
    assert all(f"*{word}*" in opening for word in ("machine", "peer", "faithful", "cut", "card"))
    assert opening.endswith("Look at [What to choose](#what-to-choose) first.")
    assert technical.startswith("Written by `make bench-full`")
    without = runner.introduction([section("One")], {"one": 60.0}, "full")
    assert "Look at the list of findings first." in without


def test_an_unknown_section_is_refused(capsys):
    with pytest.raises(SystemExit):
        runner.arguments(["--only", "nonsense"])
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


def test_names_of_sections_differ():
    listed = [name for name, _ in runner.SECTIONS]
    assert len(set(listed)) == len(listed)
    assert listed[:3] == ["quality", "strangers", "certificates"]
