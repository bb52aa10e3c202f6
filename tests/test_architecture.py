"""The shape of the code: sizes, layers in the small, public names, cheap imports."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import clearmargin

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
LONGEST_FUNCTION = 60
PACKAGES = [
    "rules",
    "language",
    "solvers",
    "models",
    "lp_svm",
    "rule_base",
    "plane_rules",
    "scorecards",
    "advice",
    "chunks",
    "kernel_rules",
    "kernel_rules.baselines",
    "svm_trees",
    "rankings",
    "explanations",
    "compare",
    "export",
    "report",
    "plot",
    "datasets",
    "dask",
    "recipes",
]

# The names people rely on. Adding one is a decision, removing one breaks somebody.
PUBLIC = [
    "Box",
    "CategorySets",
    "CertifiedScorecard",
    "ChunkSummary",
    "ChunkedRuleSVC",
    "Domain",
    "Explanation",
    "FeatureSpace",
    "HalfSpace",
    "Hyperplane",
    "Interval",
    "LPSVC",
    "LPSVCCV",
    "AdviceBlendSVC",
    "RankContrast",
    "recourse",
    "search_properties",
    "AdviceSVC",
    "AdviceSVCCV",
    "check_advice",
    "Polyhedron",
    "ProximalSVC",
    "Rule",
    "RuleExtractor",
    "RuleFeatures",
    "RuleSVC",
    "RuleScores",
    "RuleSet",
    "RuleStats",
    "__version__",
    "dask",
    "datasets",
    "exceptions",
    "explain",
    "explain_many",
    "export",
    "SVMTreeClassifier",
    "ScoreRules",
    "Scorecard",
    "SupportVectorRules",
    "SurrogateRules",
    "certify",
    "compare_extractors",
    "grow_box",
    "load_model",
    "report",
    "save_model",
    "scan",
    "format_rules",
    "parse_rules",
    "plot",
]


def code_lines(node: ast.AST) -> int:
    """Lines of a function without its docstring."""
    body = node.body
    doc = body[0] if ast.get_docstring(node) else None
    documentation = doc.end_lineno - doc.lineno + 1 if doc else 0
    return node.end_lineno - node.lineno + 1 - documentation


def test_functions_can_be_held_in_the_head():
    # A file is one idea, of any length; a function is what has to be understood at once.
    long = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and code_lines(node) > LONGEST_FUNCTION
    ]
    assert not long


def test_no_file_is_called_after_nothing():
    vague = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert not [path for path in SOURCES if path.name in vague]


def test_the_public_names_are_these():
    assert sorted(clearmargin.__all__) == sorted(PUBLIC)
    assert set(PUBLIC) - {"__version__"} <= set(dir(clearmargin))
    for name in PUBLIC:
        assert getattr(clearmargin, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No clearmargin attribute nothing"):
        _ = clearmargin.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_public_is_documented_with_an_example(package):
    module = import_module(f"clearmargin.{package}")
    for name in module.__all__:
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        text = inspect.getdoc(value) or ""
        assert text, f"{name} has no docstring"
        assert ">>>" in text, f"{name} has no example"


def imported_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in out.stdout.split()}


def test_reading_models_and_searching_boxes_need_no_scikit_learn():
    loaded = imported_by(
        "import clearmargin.models.model_document, clearmargin.recipes.large_tables"
    )
    assert not {"scipy", "sklearn", "highspy", "clarabel"} & loaded


def test_importing_the_package_loads_nothing_heavy():
    assert not imported_by("import clearmargin") & {"numpy", "scipy", "sklearn", "pandas"}


def test_values_and_the_rule_language_need_numpy_alone():
    heavy = {"scipy", "sklearn", "pandas", "highspy", "clarabel", "matplotlib"}
    assert not imported_by("from clearmargin import RuleSet, parse_rules") & heavy


def test_a_report_on_a_plane_loads_no_rankings_trees_kernels_or_advice():
    code = (
        "import sys; from clearmargin import LPSVC; from clearmargin.report import report; "
        "report(LPSVC(), [[0.0], [1.0], [4.0], [5.0]], ['no', 'no', 'yes', 'yes'], cv=2).to_html(); "
        "print(' '.join(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {"rankings", "svm_trees", "kernel_rules", "advice", "scorecards", "compare"}
    assert not {f"clearmargin.{room}" for room in rooms} & set(out.stdout.split())


def test_the_help_loads_nothing_heavy():
    words = (["--help"], ["export", "--help"])
    statement = f"from clearmargin.cli.main import main; [main(typed) for typed in {words}]"
    assert not imported_by(statement) & {"numpy", "scipy", "sklearn", "pandas"}


def test_only_the_workbench_needs_a_server():
    server = {"starlette", "uvicorn", "multipart", "python_multipart"}
    statement = "import clearmargin.recipes.found_rules, clearmargin.cli.main as cli; cli.main(['workbench', '--help'])"
    assert not imported_by(statement) & server
