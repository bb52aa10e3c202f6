"""Columns of the open rows as typed arrays for the browser, which counts on them while a bound is dragged.

A block is the length of its header (4 bytes, little end first), the header as JSON, and the arrays one after the other,
each at a multiple of 8 bytes. Values are doubles, as the server has them, so that counts agree to the last row.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.language.prose import plain
from clearmargin.workbench.bench import Version

# Bars of a histogram.
_BARS = 20


def column_digest(version: Version) -> str:
    """Name the columns of a version; another task or another machine has another name."""
    trained = (
        "" if version.machine is None else json.dumps(version.machine.document, sort_keys=True)
    )
    key = f"{version.revision.task}:{trained}"
    return hashlib.sha256(key.encode()).hexdigest()[:24]


def column_block(version: Version) -> bytes:
    """Write the columns of a version."""
    opened = version.opened
    predictions = version.judge.predictions
    arrays: list[tuple[str, NDArray[Any]]] = [
        (f"x{j}", np.ascontiguousarray(opened.points[:, j], dtype="<f8"))
        for j in range(len(opened.space))
    ]
    arrays.append(("truth", opened.codes.astype(np.uint8)))
    arrays.append(("row", opened.rows.astype("<i4")))
    if predictions is not None:
        arrays.append(("machine", predictions.codes.astype(np.uint8)))
        arrays.append(("score", predictions.scores.astype("<f8")))
    places, blocks, offset = [], [], 0
    for name, array in arrays:
        content = array.tobytes()
        padding = -len(content) % 8
        places.append({"name": name, "type": array.dtype.str, "offset": offset, "n": len(array)})
        blocks.append(content + b"\0" * padding)
        offset += len(content) + padding
    header = {
        "rows": len(opened.codes),
        "classes": [plain(label) for label in opened.classes],
        "features": feature_facts(version),
        "arrays": places,
    }
    text = json.dumps(header, ensure_ascii=False).encode("utf-8")
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + b"".join(blocks)


def feature_facts(version: Version) -> list[dict[str, Any]]:
    """Describe each feature: name, unit, range or categories, and the edges of its histogram."""
    space, points = version.opened.space, version.opened.points
    facts = []
    for j, name in enumerate(space.names):
        categories = space.categories[j]
        fact: dict[str, Any] = {
            "name": name,
            "unit": space.units[j],
            "integer": bool(space.integer[j]),
            "categories": None if categories is None else list(categories),
        }
        if categories is None:
            fact |= {"edges": _edges(points[:, j], bool(space.integer[j]))}
        facts.append(fact)
    return facts


def _edges(values: NDArray[np.float64], is_whole: bool) -> list[float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return [0.0, 1.0]
    low, high = float(known.min()), float(known.max())
    if low == high:
        return [low - 0.5, high + 0.5]
    if is_whole and high - low < 2 * _BARS:
        return [low - 0.5 + k for k in range(int(high - low) + 2)]
    # A few far values must not push all others into one bar: the ends hold what is beyond the outer percents. Halves,
    # since the width of the widest ranges is no float.
    inner_low, inner_high = (float(q) for q in np.quantile(known / 2, [0.01, 0.99]))
    if inner_high - inner_low > 0 and (high / 2 - low / 2) > 3 * (inner_high - inner_low):
        inner = 2 * np.linspace(inner_low, inner_high, _BARS - 1)
        return sorted({low, *inner.tolist(), high})
    inner = 2 * np.linspace(low / 2, high / 2, _BARS + 1)
    return sorted({low, *inner[1:-1].tolist(), high})
