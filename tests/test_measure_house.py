"""The tool that measures walks through the code: calls, conversions of tables, lines, importers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

TOOL = Path(__file__).parents[1] / "tools" / "measure_house.py"
BUILDING = {
    "__init__.py": '"""A package."""\n',
    "__init__.pyi": "from . import shelf as shelf\nfrom .box import lid as lid\n",
    "shelf.py": "from clearmargin.box import lid\n\n\ndef reach(n):\n    return [lid(i) for i in range(n)]\n",
    "box/__init__.py": "",
    "box/lid.py": "# a comment\nMANY = [\n    1,\n]\n\n\n"
    'def lid(i):\n    """Lift.\n\n    Twice.\n    """\n    return i\n',
    "box/shelf.py": "from clearmargin import box\n",
}


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("measure_house", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def source(tmp_path):
    for name, text in BUILDING.items():
        path = tmp_path / "clearmargin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_calls_are_counted_by_function_module_and_depth(house, tmp_path):
    files = {
        "one.py": "def outer(n):\n    return inner(n)\n\n\ndef inner(n):\n    return other(n)\n"
    }
    files["two.py"] = "def other(n):\n    return max((k for k in range(n)), key=lambda k: -k)\n"
    space = {}
    for name, text in files.items():
        exec(compile(text, str(tmp_path / name), "exec"), space)
    walk = house.Walk(str(tmp_path))
    house.trace_calls(walk, lambda: [space["outer"](3), space["other"](2)])
    assert {function for _, function in walk.functions} == {"outer", "inner", "other"}
    assert {Path(module).name for module in walk.modules} == {"one.py", "two.py"}
    assert walk.depth == 4  # outer, inner, other, and what max calls
    assert sys.getprofile() is None


def test_the_profiler_goes_away_after_an_error(house, tmp_path):
    with pytest.raises(ZeroDivisionError):
        house.trace_calls(house.Walk(str(tmp_path)), lambda: 1 / 0)
    assert sys.getprofile() is None


def test_conversions_of_the_whole_frame_and_of_columns_are_counted(house):
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    with house.Conversions(frame.shape) as found:
        frame.to_numpy()
        np.asarray(frame)
        _ = frame.values
        for name in frame:
            frame[name].to_numpy()
        frame.iloc[:, 0]
        frame[["a"]].to_numpy()  # another table
        frame.iloc[0]  # a row
    assert (found.whole, found.columns, found.times) == (3, 3, 5)
    assert found.callers[f"to_numpy by {__name__}.{sys._getframe().f_code.co_name}"] == 1
    before = found.whole
    frame.to_numpy()
    assert found.whole == before


def test_code_lines_are_those_without_docstrings_comments_and_blank_lines(house):
    assert house.code_lines(BUILDING["box/lid.py"]) == 5
    assert house.code_lines("") == 0
    assert house.code_lines('x = """a\nb"""\n') == 2


def test_importers_are_found_through_packages_names_and_stubs(house, source):
    found = house.measure_source(source)
    assert found["one importer"] == ["clearmargin.shelf"]  # by the stub alone
    assert found["names twice"] == {"shelf.py": 2}
    assert (found["files"], found["rooms"]) == (5, 1)
    assert found["lines of stubs"] == 2
    imported = house.importers(
        {
            "p": "",
            "p.a": "import p.b\nfrom p.c import x\nfrom . import c",
            "p.b": "from p import a",
            "p.c": "",
        }
    )
    assert imported == {"p": set(), "p.a": {"p.b"}, "p.b": {"p.a"}, "p.c": {"p.a"}}


def test_the_tables_say_what_was_counted(house, source):
    walk = {"functions": 3, "modules": 2, "depth": 4, "conversions": 1, "whole": 1, "columns": 0}
    walk |= {"opened": 0, "loaded": 7, "rooms": ["rules"], "callers": {"to_numpy by here": 1}}
    text = house.walks_table({"rules": walk})
    assert "| RuleExtractor(LPSVC()).fit | 3 | 2 | 4 | 1 | 1, 0 | 0 | 7 | 1 |" in text
    assert "1 x to_numpy by here" in text
    table = house.source_table(house.measure_source(source), names=True)
    assert "| modules with one importer | 1 |" in table
    assert table.endswith("clearmargin.shelf")


def test_columns_of_a_table_that_is_no_data_frame_are_counted_when_they_are_read(house):
    from clearmargin.tables.table import Table

    columns = {"a": np.arange(4), "b": np.arange(4.0)}
    with house.Conversions((4, 2)) as found:
        for table in (Table.of_columns(columns), Table.of_columns(columns)):
            for rows in (np.arange(4), np.arange(2)):
                table.take(rows).numbers()
    assert (found.whole, found.columns, found.times) == (0, 4, 2)
    with house.Conversions((4, 2)) as found:
        Table.read(pd.DataFrame(columns)).numbers()
    assert found.columns == 2
