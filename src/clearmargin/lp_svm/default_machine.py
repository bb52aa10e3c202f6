"""The machine that is trained where nobody chooses one, in Python and on the command line."""

from __future__ import annotations

from typing import Any

from clearmargin.lp_svm.lpsvc import LPSVC
from clearmargin.lp_svm.lpsvccv import LPSVCCV

__all__ = ["FOLDS", "MAX_FEATURES", "default_machine"]

FOLDS = 10
# In n dimensions the largest box on a plane has n!/n^n of a corner's volume: 4 % at 5, 0.2 % at 8, 0.04 % at 10.
MAX_FEATURES = 8


def default_machine(
    smallest_class: int, *, max_features: int | None = None, cv: Any = None, **options: Any
) -> LPSVC | LPSVCCV:
    """Make the default support vector machine, not yet trained.

    Parameters
    ----------
    smallest_class : int
        How many rows the smallest class has; every fold needs one of every class.
    max_features : int, optional
        Maximum number of features; 8 by default.
    cv : int, splitter or iterable, optional
        Other folds than up to ten stratified ones.
    **options : dict
        More parameters of `LPSVCCV`; without folds, `class_weight` alone counts.

    Returns
    -------
    LPSVCCV or LPSVC
        `LPSVCCV(rule="1se", max_features=8, scale=True, allow_constant=False)` with up to ten folds, and `LPSVC()`
        where a class has a single row.

    Examples
    --------
    >>> default_machine(50).max_features, default_machine(3).cv, type(default_machine(1)).__name__
    (8, 3, 'LPSVC')
    """
    folds = min(FOLDS, smallest_class)
    if folds < 2:
        return LPSVC(class_weight=options.get("class_weight"))
    return LPSVCCV(
        cv=folds if cv is None else cv,
        rule="1se",
        max_features=MAX_FEATURES if max_features is None else max_features,
        # Where nothing beats a constant plane, there is still a plane to look at, and a warning.
        allow_constant=False,
        scale=True,
        **options,
    )
