"""What a contrast says, in words and numbers for people."""

from __future__ import annotations

from typing import Any

from clearmargin.rankings.ends import FEWEST_ROWS

__all__ = ["describe_contrast"]

_MEANING = """\
leverage   share of the rows at both ends that have the property and are at the top, less what chance would give; from
           -{most:.3g} (all of the bottom, none of the top) to {most:.3g}. In brackets a 95 % interval.
holm       whether the ends of this ranking differ in it by more than chance, all possible properties counted. It says
           nothing about the label: a ranking of noise has such properties, too.
confirmed  found on {found}, and the labels of the {others} agree. It says that property and label go
           together, not that one brings about the other."""
_UNCONFIRMED = (
    "Nothing is confirmed: there are no folds or too few rows, or the ranking was trained before and may have seen all "
    "labels."
)


def describe_contrast(contrast: Any, most: int = 20) -> str:
    """Say what a fitted contrast found.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.
    most : int, default 20
        Most properties to list.

    Returns
    -------
    str
        A head, a table of the properties that are worth showing, and what its columns mean.
    """
    frame = contrast.properties_
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    shown = frame[frame["shown"]]
    head = [
        f"The top {n_top} and the bottom {n_bottom} of {len(contrast.scores_)} rows differ by at least "
        f"{contrast.min_leverage_:.3g} in leverage in {len(frame)} properties; {min(most, len(shown))} of "
        f"{len(shown)} worth showing are listed."
    ]
    for side, ties in (("top", contrast.top_ties_), ("bottom", contrast.bottom_ties_)):
        if ties:
            head.append(f"{ties} more rows have the same score as the last one of the {side}.")
    if hasattr(contrast, "sizes_") and contrast.top == "auto":
        head.append(
            f"The size was chosen among {len(contrast.sizes_)}; corrections count all of them."
        )
    if len(contrast.scores_) < FEWEST_ROWS:
        head.append("So few rows describe themselves alone: nothing can be confirmed.")
    elif hasattr(contrast, "classes_") and len(contrast.scores_) < 2 * FEWEST_ROWS:
        head.append(
            f"Fewer than {2 * FEWEST_ROWS} rows cannot be halved: nothing can be confirmed."
        )
    if contrast.bins == "supervised":
        head.append("Bins were cut by the labels, so that no labels are left to confirm anything.")
    elif hasattr(contrast, "model_") and not hasattr(contrast, "folds_"):
        head.append(_UNCONFIRMED)
    lines = []
    width = max((len(text) for text in shown["property"][:most]), default=8)
    for row in shown[:most].itertuples():
        mark = "confirmed" if row.confirmed else ""
        lines.append(
            f"  {row.property:<{width}}  {row.top_count}/{n_top} against {row.bottom_count}/{n_bottom}  "
            f"{row.leverage:+.3f} [{row.low:+.3f}, {row.high:+.3f}]  holm {row.holm:.2g}  {mark}".rstrip()
        )
    largest = n_top * n_bottom / (n_top + n_bottom) ** 2
    folds = getattr(contrast, "folds_", None)
    halves = folds is None or folds.how == "random halves"
    words = (
        ("one half of the rows", "other half")
        if halves
        else ("the training rows of a fold", "others")
    )
    return "\n".join(
        [*head, *lines, _MEANING.format(most=largest, found=words[0], others=words[1])]
    )
