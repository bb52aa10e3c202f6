"""What the tests of checked advice share: a small table, and a look at a single finding."""

from __future__ import annotations

import pandas as pd

ROWS = pd.DataFrame({"age": [20, 30, 40, 50], "colour": ["red", "blue", "red", "green"]})
CLASSES = ["a", "a", "b", "b"]


def only(report, kind):
    (finding,) = [finding for finding in report.findings if finding.kind == kind]
    return finding
