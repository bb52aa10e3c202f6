"""What no rule speaks of: how many rows, which ones, and in what they differ from the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.language.words import finite
from clearmargin.report.case_facts import row_name
from clearmargin.report.measured import Measured
from clearmargin.rules import FeatureSpace
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["uncovered_facts"]

Facts = dict[str, Any]

# As many as people look at; the table itself has all of them.
_MOST_ROWS, _MOST_FEATURES = 20, 8


def uncovered_facts(
    space: FeatureSpace, classes: tuple[Label, ...], X: Any, measured: Measured
) -> Facts:
    """Describe the rows that no rule covers.

    Parameters
    ----------
    space : FeatureSpace
        The features of the rules.
    classes : tuple of labels
        The classes.
    X : table
        The rows.
    measured : Measured
        What rules and model say about them.

    Returns
    -------
    dict
        Counts; the first rows with their names; the features in which uncovered rows differ most from covered ones.
    """
    bare = ~measured.covered
    says = measured.machine_says
    rows = np.flatnonzero(bare)
    by_class = measured.true if measured.true is not None else says
    return {
        "rows": len(rows),
        "of": len(bare),
        "missing": int(np.count_nonzero(bare & measured.missing)),
        "classes": []
        if by_class is None
        else [
            {
                "class": label,
                "rows": int(np.count_nonzero(bare & (by_class == k))),
                "of": int(np.count_nonzero(by_class == k)),
            }
            for k, label in enumerate(classes)
        ],
        "model_right": None
        if says is None or measured.true is None
        else int(np.count_nonzero(bare & (says == measured.true))),
        "first": [{"row": row + 1, "name": row_name(X, row)} for row in rows[:_MOST_ROWS].tolist()],
        "typical": _typical(space, measured.table, bare),
    }


def _typical(space: FeatureSpace, table: FloatArray, bare: BoolArray) -> list[Facts]:
    """Medians, or most common categories, of uncovered and covered rows, the most different features first."""
    if not bare.any() or bare.all():
        return []
    facts, sizes = [], []
    for j, name in enumerate(space.names):
        column = table[:, j]
        known = np.isfinite(column)
        inside, outside = column[known & ~bare], column[known & bare]
        if not len(inside) or not len(outside):
            continue
        kinds = space.categories[j]
        if kinds is None:
            spread = float(np.subtract(*np.percentile(column[known], [90, 10])))
            pair: list[Any] = [finite(np.median(outside)), finite(np.median(inside))]
            sizes.append(abs(pair[0] - pair[1]) / spread if spread else 0.0)
        else:
            shares = [
                np.bincount(part[part >= 0].astype(np.intp), minlength=len(kinds)) / len(part)
                for part in (outside, inside)
            ]
            pair = [kinds[int(share.argmax())] for share in shares]
            sizes.append(0.5 * float(np.abs(shares[0] - shares[1]).sum()))
        facts.append(
            {"feature": name, "unit": space.units[j], "uncovered": pair[0], "covered": pair[1]}
        )
    order = np.argsort(-np.array(sizes), kind="stable")
    return [facts[i] for i in order[:_MOST_FEATURES].tolist() if sizes[i] > 0]
