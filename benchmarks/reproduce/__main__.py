"""Print the published numbers beside ours."""

from __future__ import annotations

from benchmarks.reproduce import (
    advice_no_worse,
    advice_pima,
    certify_table,
    extractors,
    fung_planes,
    fung_tables,
    svm_trees,
    ysvm_tables,
)


def main() -> None:
    """Print every section; the long tables go to pages of their own."""
    for module in (fung_planes, fung_tables):
        print(module.section().to_markdown())
    for section in ysvm_tables.sections():
        print(section.to_markdown())
    # These take minutes each, and write pages of their own.
    for script in (certify_table, svm_trees, extractors, advice_pima, advice_no_worse):
        script.main([])


if __name__ == "__main__":
    main()
