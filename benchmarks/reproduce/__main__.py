"""Print the published numbers beside ours."""

from __future__ import annotations

from benchmarks.reproduce import fung_planes, fung_tables


def main() -> None:
    """Print every section."""
    for module in (fung_planes, fung_tables):
        print(module.section().to_markdown())


if __name__ == "__main__":
    main()
