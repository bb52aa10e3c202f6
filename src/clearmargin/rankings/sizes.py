"""How many rows the ends of a ranking should have.

Taking the size with the most properties, as the paper does, favours the smallest ends, where chance alone makes
leverages large. So only properties count that also pass Holm's test at their size. Several sizes were looked at,
though, and whoever reports what was found at the best of them has to count that: corrections multiply by their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clearmargin.rankings.ends import end_size, find_ends

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AUTO_SIZES", "choose_size"]

FloatArray = NDArray[np.float64]

# Up to 27 %, where the difference between the ends is easiest to tell from chance.
AUTO_SIZES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.27)
# With fewer rows nothing passes Holm's test.
_LEAST = 5


def choose_size(
    scores: FloatArray, count: Callable[[float], tuple[int, int]]
) -> tuple[float, pd.DataFrame]:
    """Choose the share of the rows at each end.

    Parameters
    ----------
    scores : ndarray of shape (m,)
        The ranking.
    count : callable
        For a share, how many properties reach the least leverage, and how many of them pass Holm's test.

    Returns
    -------
    share : float
        The share with the most that pass; of equal ones the largest.
    sizes : DataFrame
        What was found at each share.
    """
    import pandas as pd

    find_ends(scores, 0.27, 0.27)  # says what is wrong with the scores
    usable = [
        q for q in AUTO_SIZES if len(scores) * q >= 1 and end_size(q, len(scores), "top") >= _LEAST
    ]
    usable = usable or [AUTO_SIZES[-1]]
    rows = [(q, end_size(q, len(scores), "top"), *count(q)) for q in usable]
    sizes = pd.DataFrame(rows, columns=["share", "rows", "above", "significant"])
    best = max(range(len(rows)), key=lambda k: (rows[k][3], rows[k][0]))
    sizes["chosen"] = np.arange(len(rows)) == best
    return usable[best], sizes
