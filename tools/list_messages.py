"""Write the texts of all errors and warnings into one file: ``python tools/list_messages.py [--check]``.

A change of wording is reviewed as a difference of that file, and no test asserts a sentence. ``--check`` compares only.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "clearmargin"
LISTED = ROOT / "tests" / "messages.txt"


def text_of(node: ast.expr) -> str:
    """Give the text of a literal, with {} for what is filled in; of anything else nothing."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages() -> Iterator[str]:
    """Give each message of the sources as a line: the module, what is raised, and the text."""
    for path in sorted(SOURCES.rglob("*.py")):
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "warn" or name.endswith(("Error", "Warning")):
                text = "; ".join(filter(None, map(text_of, node.args)))
                if " " in text:
                    found.add(
                        f"{path.relative_to(SOURCES).as_posix()}: {name}: {' '.join(text.split())}"
                    )
        yield from sorted(found)


def main() -> int:
    """Write the list, or compare it."""
    text = "".join(f"{line}\n" for line in messages())
    if "--check" not in sys.argv[1:]:
        LISTED.write_text(text, encoding="utf-8")
        return 0
    if LISTED.read_text(encoding="utf-8") == text:
        return 0
    print(
        "tests/messages.txt is not what the sources say: run `make messages` and look at the difference"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
