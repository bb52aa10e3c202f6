"""The facts that a report shows of a RankContrast, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.language.words import finite
from clearmargin.rankings.contrast import RankContrast, worth_showing
from clearmargin.rules.rule import as_label

__all__ = ["contrast_facts"]

Facts = dict[str, Any]

# The table of the contrast itself, `properties_`, has all of them.
_MAX_PROPERTIES, _MAX_ATTRIBUTES = 40, 8


def contrast_facts(contrast: RankContrast) -> Facts:
    """Collect what a report shows of a fitted contrast.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.

    Returns
    -------
    dict
        Sizes of the ends, the properties worth showing with their figures, and the values of the attributes that differ
        most.
    """
    shown = worth_showing(contrast)
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    classes = getattr(contrast, "classes_", None)
    return {
        "rows": contrast.n_rows_,
        "top": n_top,
        "bottom": n_bottom,
        "top_ties": int(contrast.top_ties_),
        "bottom_ties": int(contrast.bottom_ties_),
        "positive": None if classes is None else as_label(classes[-1]),
        "auc": finite(contrast.auc_) if hasattr(contrast, "auc_") else None,
        "held_out_auc": finite(getattr(contrast, "held_out_auc_", np.nan)),
        "held_out_how": f"{len(contrast.folds_)} {contrast.folds_.how}"
        if hasattr(contrast, "folds_")
        else "",
        "held_out_note": contrast.folds_.note if hasattr(contrast, "folds_") else "",
        "min_leverage": float(contrast.min_leverage_),
        "largest_leverage": n_top * n_bottom / (n_top + n_bottom) ** 2,
        "found": len(contrast._properties),
        "worth_showing": len(shown),
        "has_labels": hasattr(contrast, "folds_") and contrast.bins != "supervised",
        "properties": [
            {
                "property": row["property"],
                "side": row["side"],
                **{name: int(row[name]) for name in ("top_count", "bottom_count")},
                **{name: finite(row[name]) for name in ("leverage", "low", "high", "holm")},
                "confirmed": bool(row["confirmed"]),
            }
            for row in shown[:_MAX_PROPERTIES]
        ],
        "attributes": _attributes(contrast),
    }


def _attributes(contrast: RankContrast) -> list[Facts]:
    rows = contrast._histograms.rows()
    names = list(dict.fromkeys(row["attribute"] for row in rows))[:_MAX_ATTRIBUTES]
    return [
        {
            "attribute": name,
            "values": [
                {
                    "property": row["property"],
                    "top": float(row["top_percent"]),
                    "bottom": float(row["bottom_percent"]),
                }
                for row in rows
                if row["attribute"] == name
            ],
        }
        for name in names
    ]
