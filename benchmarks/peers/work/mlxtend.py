"""Properties of the two ends of a ranking by the frequent patterns of mlxtend."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.peers.work.contrast import Answer, Table, serve

patterns: Any = importlib.import_module("mlxtend.frequent_patterns")


def mine(table: Table, algorithm: str) -> Answer:
    """Mine each end for what is frequent enough to reach the leverage, and count that in the other.

    The library's own way, an additional item for the end and `association_rules`, has to mine both ends at once, with
    half the support and many times the work.
    """
    search: Any = getattr(patterns, algorithm)
    frame, n = table.frame(), len(table.is_top)
    options: dict[str, Any] = {}
    if algorithm == "apriori":  # otherwise it holds all rows of all pairs
        options["low_memory"] = len(table.masks) ** 2 * n > 2**32
    answer = []
    for here, sign in ((table.is_top, 1), (~table.is_top, -1)):
        n_here, n_there = int(here.sum()), int((~here).sum())
        support = table.least * n * n / (n_here * n_there)
        sets = search(frame[here], min_support=support, max_len=table.max_size, **options)
        there = table.masks[:, ~here]
        for share, found in zip(sets["support"].tolist(), sets["itemsets"].tolist(), strict=True):
            items = tuple(sorted(found))
            count = int(np.logical_and.reduce(there[list(items)]).sum())
            leverage = (share * n_here * n_there - count * n_here) / n**2
            if leverage >= table.least:
                answer.append((items, sign * leverage))
    return answer


if __name__ == "__main__":
    serve("mlxtend", mine)
