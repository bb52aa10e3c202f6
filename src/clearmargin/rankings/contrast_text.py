"""What a fitted RankContrast says: as text for people, as HTML for notebooks, and as the facts that a report shows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from clearmargin.language.words import finite
from clearmargin.rankings.ranking import FEWEST_ROWS
from clearmargin.rules.rule import as_label

Facts = dict[str, Any]

_MEANING = """\
leverage   share of the rows at both ends that have the property and are at the top, less what chance would give; from
           -{most:.3g} (all of the bottom, none of the top) to {most:.3g}. In brackets a 95 % interval.
holm       whether the ends of this ranking differ in it by more than chance, all possible properties counted. It says
           nothing about the label: a ranking of noise has such properties, too.
confirmed  found on {found}, and the labels of the {others} agree. It says that property and label go
           together, not that one brings about the other."""
_NO_FOLDS = "Nothing is confirmed: there are no folds, so that no labels are held out."
_SEEN = "Nothing is confirmed: the ranking was trained before and may have seen all labels."


def describe_contrast(contrast: Any, most: int = 20) -> str:
    """Tell what a fitted contrast found."""
    rows = _rows(contrast, most)
    width = max((len(row[0]) for row in rows), default=8)
    lines = [
        f"  {name:<{width}}  {top} against {bottom}  {value}  holm {p}  {'confirmed' if is_confirmed else ''}".rstrip()
        for name, top, bottom, value, p, is_confirmed in rows
    ]
    return "\n".join([*_head(contrast, most), *lines, _meaning(contrast)])


def contrast_html(contrast: Any, most: int = 20) -> str:
    """Show in a notebook what a fitted contrast found."""
    from clearmargin.templates import html_table, render_macro

    rows = [(*row, "yes" if is_confirmed else "") for *row, is_confirmed in _rows(contrast, most)]
    titles = ("property", "top", "bottom", "leverage", "holm", "confirmed")
    # A term and its meaning, with the line breaks of text for terminals taken out.
    meaning = re.sub(r"\n +", " ", _meaning(contrast)).split("\n")
    terms = [re.sub(" {2,}", ": ", term, count=1) for term in meaning]
    return (
        render_macro("notebook.html", "lines", items=_head(contrast, most))
        + (html_table(titles, rows, numbers=(1, 2, 3, 4), named=True) if rows else "")
        + render_macro("notebook.html", "lines", items=terms)
    )


def _rows(contrast: Any, most: int) -> list[tuple[str, str, str, str, str, bool]]:
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    return [
        (
            row["property"],
            f"{row['top_count']}/{n_top}",
            f"{row['bottom_count']}/{n_bottom}",
            f"{row['leverage']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]",
            f"{row['holm']:.2g}",
            row["confirmed"],
        )
        for row in reportable_properties(contrast)[:most]
    ]


def property_rows(contrast: Any) -> list[dict[str, Any]]:
    """Return what is known of each property that a fitted contrast found."""
    columns = contrast._properties
    plain = (values if isinstance(values, list) else values.tolist() for values in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]


def reportable_properties(contrast: Any) -> list[dict[str, Any]]:
    """Return the properties that add something to the others."""
    return [row for row in property_rows(contrast) if row["shown"]]


def _head(contrast: Any, most: int) -> list[str]:
    """Return what was compared, how much was found, and what stands in the way of confirming it."""
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    n_found = len(contrast._properties["items"])
    n_shown = len(reportable_properties(contrast))
    head = [
        f"The top {n_top} and the bottom {n_bottom} of {len(contrast.scores_)} rows differ by at least "
        f"{contrast.min_leverage_:.3g} in leverage in {n_found} properties; of the {n_shown} that add "
        f"something to the others, {min(most, n_shown)} are listed."
    ]
    if contrast.n_rows_ > len(contrast.scores_):
        head.append(f"They were drawn from {contrast.n_rows_} rows.")
    for side, ties in (("top", contrast.top_ties_), ("bottom", contrast.bottom_ties_)):
        if ties:
            head.append(f"{ties} more rows have the same score as the last one of the {side}.")
    if contrast._sizes is not None:
        how = ", by the leverage in cross-validation" * ("score" in contrast._sizes[0])
        head.append(
            f"The size was chosen among {len(contrast._sizes)}{how}; corrections count all of them."
        )
    if contrast.n_rows_ < FEWEST_ROWS:
        head.append("So few rows describe themselves alone: nothing can be confirmed.")
    elif hasattr(contrast, "classes_") and contrast.n_rows_ < 2 * FEWEST_ROWS:
        head.append(
            f"Fewer than {2 * FEWEST_ROWS} rows cannot be halved: nothing can be confirmed."
        )
    if contrast.cv is None and hasattr(contrast, "model_"):
        head.append(_NO_FOLDS)
    elif hasattr(contrast, "model_") and not hasattr(contrast, "folds_"):
        # Of rows too few to be halved it was said above.
        head += [_SEEN] if contrast.n_rows_ >= 2 * FEWEST_ROWS else []
    return head


def _meaning(contrast: Any) -> str:
    """Return what the columns mean and do not mean, a paragraph each."""
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    largest = n_top * n_bottom / (n_top + n_bottom) ** 2
    folds = getattr(contrast, "folds_", None)
    halves = folds is None or folds.how == "random halves"
    words = (
        ("one half of the rows", "other half")
        if halves
        else ("the training rows of a fold", "others")
    )
    return _MEANING.format(most=largest, found=words[0], others=words[1])


# The table of the contrast itself, `properties_`, has all of them.
_MAX_PROPERTIES, _MAX_ATTRIBUTES = 40, 8


def contrast_facts(contrast: Any) -> Facts:
    """Collect what a report shows of a fitted contrast."""
    shown = reportable_properties(contrast)
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    classes = getattr(contrast, "classes_", None)
    return {
        "rows": len(contrast.scores_),
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
        "found": len(contrast._properties["items"]),
        "worth_showing": len(shown),
        "has_labels": hasattr(contrast, "folds_"),
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


def _attributes(contrast: Any) -> list[Facts]:
    of_attribute: dict[str, list[Facts]] = {}
    for row in contrast._histograms():
        value = {"top": row["top_percent"], "bottom": row["bottom_percent"]}
        of_attribute.setdefault(row["attribute"], []).append({"property": row["property"], **value})
    named = list(of_attribute.items())[:_MAX_ATTRIBUTES]
    return [{"attribute": name, "values": values} for name, values in named]
