"""The examples of the gallery run, say what their prose says, and use public names alone."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.py"))
PUBLIC = {
    f"clearmargin{part}" for part in ("", ".dask", ".datasets", ".export", ".plot", ".report")
}
# What the prose of an example claims about what it prints, and whether it draws.
SAYS = {
    "few_and_short_rules": "at most two conditions",
    "how_many_rules": "figure",
    "regions_in_two_features": r"agree on all 752 women: True",
    "rules_of_a_plane": r"(\d+) rules, \1 of them proved",
    "rules_on_new_rows": r"the class of the machine in 100.0%",
    "three_classes": r"then virginica\. \(proved",
    "fewest_conditions": r"Proved for every case.*6 conditions are proved.*rows not used to find it",
    "which_cases_to_look_at": "figure",
    "why_this_case": r"malignant \(score.*really benign",
    "a_card_of_five_cuts": "if the points sum to",
    "a_card_with_proof": r"0 of them otherwise than the machine.*agree: True.*The card is that of a plane",
    "rules_with_points": r"points of what holds.*right on 8.*kept with",
    "how_many_cuts": "figure",
    "compare_extractors": "two boxes, machine elsewhere",
    "is_this_rule_true_of_the_machine": r"small: refuted.*tidy: proved",
    "proof_around_a_case": "proved; holds",
    "rules_of_an_rbf_machine": r"4 observed rules .*4 proved rules ",
    "rules_of_any_classifier": "the forest itself",
    "rare_class": r"one machine: 0% of the rare class",
    "rules_of_a_tree": "^True$",
    "a_formula_of_your_own": "age >= 43",
    "inspect_first": r"age >= 20 +45 +0 +True",
    "what_would_change_the_answer": "feasible: False, verified: True",
    "advice_before_and_after": "high: refined from the data, proved",
    "check_before_training": "is outside the range of the data",
    "rules_from_another_hospital": "machine of rules alone",
    "thirty_cases_and_two_rules": r"small: kept as it was, proved.*large: kept as it was, proved",
    "three_sites_one_machine": r"the same: True.*with own patients",
    "when_cases_grow": "figure",
    "a_report_to_send": "biopsies.html",
    "keep_rules_and_models": r"rules equal: True.*model equal: True",
    "rules_in_a_database": "same as here: True",
    "rules_without_this_package": "^True$",
    "categories": "home is parents or rent",
    "larger_than_memory": r"the bit: \[True, True\].*the same: True",
    "missing_values": r"glucose 117.*^True$",
    "pipeline_and_search": "features with a weight",
}
DRAWS = re.compile(r"\bplot_\w+\(|plt\.subplots")


def load(path: Path) -> ModuleType:
    """A script as a module, without running it."""
    spec = spec_from_file_location(f"script_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _no_windows():
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    plt.close("all")
    mpl.use(before)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_does_what_its_prose_says_and_leaves_nothing_behind(
    path, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    said = capsys.readouterr()
    assert not said.err
    claim = SAYS[path.stem]
    if claim != "figure":
        assert re.search(claim, said.out, re.MULTILINE | re.DOTALL)
    assert bool(plt.get_fignums()) == bool(DRAWS.search(path.read_text(encoding="utf-8")))
    assert not list(tmp_path.iterdir())


def test_the_gallery_is_large_enough_and_each_example_is_checked():
    assert len(EXAMPLES) >= 20
    assert sorted(SAYS) == sorted(path.stem for path in EXAMPLES)
    for folder in {path.parent for path in EXAMPLES}:
        assert (folder / "GALLERY_HEADER.rst").is_file()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_titled_and_uses_public_names_alone(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, line, *_ = ast.get_docstring(tree).splitlines()
    assert line == "=" * len(title)
    assert 20 <= len(text.splitlines()) <= 60
    imported = [
        name
        for node in ast.walk(tree)
        for name in (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        if name.startswith("clearmargin")
    ]
    assert imported
    assert set(imported) <= PUBLIC


def test_two_sites_compares_all_models(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["two_sites.py", "--splits", "2"])
    load(ROOT / "benchmarks" / "two_sites.py").main()
    said = capsys.readouterr().out
    assert said.startswith("mean of 2 splits: ")
    for model in ("rules alone", "own patients alone", "both", "site A's model"):
        (row,) = [line for line in said.splitlines() if line.startswith(f"{model}  ")]
        shares = [float(share) for share in re.findall(r"(0\.\d{3}) \+-", row)]
        # Half of the patients are ill, so that a coin would be right in half of the cases.
        assert len(shares) == 3
        assert min(shares) > 0.5


def test_pictures_of_the_readme_exist_and_are_small():
    tool = load(ROOT / "tools" / "draw_readme_picture.py")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^\]]+\]\((?!https?:)([^)]+)\)", text)
    assert ROOT / picture == tool.PICTURE
    content = tool.PICTURE.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(content) <= tool.LARGEST
    assert tool.EXAMPLE.is_file()
