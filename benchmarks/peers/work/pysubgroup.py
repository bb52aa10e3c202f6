"""Properties of the two ends of a ranking by pysubgroup: weighted relative accuracy, which is leverage."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.peers.work.contrast import Answer, Table, serve

ps: Any = importlib.import_module("pysubgroup")


def mine(table: Table, algorithm: str) -> Answer:
    """Search once for each end."""
    frame = table.frame()
    space = [ps.EqualitySelector(name, True) for name in frame.columns]
    frame["is_top"] = table.is_top
    answer = []
    for is_top in (True, False):
        task = ps.SubgroupDiscoveryTask(
            frame,
            ps.BinaryTarget("is_top", is_top),
            space,
            ps.WRAccQF(),
            result_set_size=10**9,
            depth=table.max_size,
            min_quality=table.least,
        )
        for quality, group, *_ in getattr(ps, algorithm)().execute(task).results:
            items = tuple(sorted(int(one.attribute_name) for one in group.selectors))
            answer.append((items, float(quality) if is_top else -float(quality)))
    return answer


if __name__ == "__main__":
    serve("pysubgroup", mine)
