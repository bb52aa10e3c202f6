"""What is exported has an example, importing stays cheap, and tests import nothing but public names and seams."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import clearmargin

PACKAGE = Path(clearmargin.__file__).parent
PACKAGES = sorted(
    ".".join(("clearmargin", *stub.parent.relative_to(PACKAGE).parts))
    for stub in PACKAGE.rglob("__init__.pyi")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_names_exist_and_have_an_example(package):
    module = import_module(package)
    assert set(module.__all__) <= {*dir(module), "__version__"}
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert ">>>" in (inspect.getdoc(value) or ""), f"{package}.{name} has no example"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = clearmargin.nothing


HEAVY = {"numpy", "scipy", "sklearn", "pandas", "highspy", "clarabel", "matplotlib", "starlette"}


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import clearmargin", set()),
        ("from clearmargin.cli.main import main; main(['--help']); main(['export', '--help'])", set()),
        ("from clearmargin import RuleSet, parse_rules; parse_rules('age > 5 => ill')", {"numpy"}),
        ("from clearmargin import RuleSVC, report; import clearmargin.recipes", HEAVY - {"starlette", "matplotlib"}),
    ],
)  # fmt: skip
def test_import_loads_only_what_it_needs(statement, allowed):
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.split(".")[0] for name in out.stdout.split()} & (HEAVY - allowed)


TESTS = Path(__file__).parents[1]
# Modules that are public though they are no packages.
MODULES = {"clearmargin.exceptions", "clearmargin.plot", "clearmargin.progress"}
IMPORT = re.compile(
    r"^ *(?:from (clearmargin[\w.]*) import (\([^)]*\)|.*)|import (clearmargin\.[\w.]+))",
    re.MULTILINE,
)


def is_public(module: str, name: str) -> bool:
    """Whether a name is exported by its package, or stands in a module that is public by itself."""
    if module in MODULES or f"{module}.{name}" in MODULES:
        return not name.startswith("_")
    spec = find_spec(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    return is_package and name in {"", *import_module(module).__all__}


def test_tests_import_public_names_alone_but_for_the_seams():
    private = []
    for path in sorted(TESTS.rglob("*.py")):
        for module, names, alone in IMPORT.findall(path.read_text(encoding="utf-8")):
            words = re.findall(r"(\w+)(?: as \w+)?", names.partition("#")[0]) or [""]
            private += [f"{path.name}: {module or alone}.{name}" for name in words
                        if not is_public(module or alone, name)]  # fmt: skip
    assert {line.partition(":")[0] for line in private} == {"seams.py"}
    assert 0 < len(private) <= 10
