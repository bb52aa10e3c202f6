"""Check that no package of ``src`` has grown: ``python tools/check_size.py [--write]``.

Code lines (no docstrings, comments or blank lines) and files are compared with the table ``[tool.clearmargin.size]``
of ``pyproject.toml``. A package may be 5 % above its entry, the sum may not be above it at all. ``--write`` puts the
present numbers into the table, and is refused where the sum would rise.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOLERANCE = 1.05
HEADER = "[tool.clearmargin.size]\n"


def code_lines(text: str) -> int:
    """Count the lines of a Python source that are neither docstring nor comment nor blank."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            string = node.body[0]
            documented.update(range(string.lineno, (string.end_lineno or string.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in documented
        for number, line in enumerate(text.splitlines(), start=1)
    )


def measure(package: Path) -> dict[str, int]:
    """Count the code lines of each package, of modules at the top, and of all; and the files."""
    lines: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        lines[parts[0] if len(parts) > 1 else "top"] += code_lines(path.read_text(encoding="utf-8"))
    total = sum(lines.values())
    return {**dict(sorted(lines.items())), "total": total, "files": len([*package.rglob("*.py")])}


def main() -> int:
    """Compare, or write the table anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="put the present numbers into the table"
    )
    wants_writing = parser.parse_args().write
    settings = ROOT / "pyproject.toml"
    text = settings.read_text(encoding="utf-8")
    allowed = tomllib.loads(text)["tool"]["clearmargin"]["size"]
    now = measure(ROOT / "src" / "clearmargin")
    slack = dict.fromkeys(("total", "files"), 1.0)
    grown = {
        name: count
        for name, count in now.items()
        if count > allowed.get(name, 0) * slack.get(name, TOLERANCE)
    }
    if wants_writing and not grown.keys() & slack.keys():
        table = "".join(f"{name} = {count}\n" for name, count in now.items())
        section = re.escape(HEADER) + r"(?:\w+ = \d+\n)*"
        settings.write_text(re.sub(section, HEADER + table, text), encoding="utf-8")
        return 0
    for name, count in grown.items():
        print(f"{name}: {count} code lines, {allowed.get(name, 0)} allowed by pyproject.toml")
    if not grown:
        print(f"{now['total']:,} code lines in {now['files']} files: within pyproject.toml")
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main())
