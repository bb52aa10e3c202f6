"""What displays of rankings share: the fitted contrast, the colours of its ends, and how they are called."""

from __future__ import annotations

from typing import Any

from clearmargin.drawing.canvas import class_colours
from clearmargin.exceptions import InvalidValueError

__all__ = ["BOTTOM_COLOUR", "TOP_COLOUR", "check_most", "end_names", "fitted_contrast"]

# Blue and light orange: printed in grey they are dark and light.
TOP_COLOUR, _, _, _, BOTTOM_COLOUR = class_colours(range(5)).values()


def fitted_contrast(estimator: Any) -> Any:
    """A fitted RankContrast; an error says what else was given."""
    from sklearn.utils.validation import check_is_fitted

    if isinstance(estimator, type) or not hasattr(estimator, "fit_ranking"):
        given = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise InvalidValueError(f"contrast must be a fitted RankContrast, not {given}")
    check_is_fitted(estimator, "properties_")
    return estimator


def check_most(most: Any) -> int:
    """Take a whole number from 1."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InvalidValueError(f"most must be a whole number from 1, not {most!r}")
    return most


def end_names(n_top: int, n_bottom: int) -> tuple[str, str]:
    """The names of both ends with their numbers of rows.

    Examples
    --------
    >>> end_names(38, 27)
    ('Top (n = 38)', 'Bottom (n = 27)')
    """
    return f"Top (n = {n_top})", f"Bottom (n = {n_bottom})"
