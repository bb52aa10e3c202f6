"""The ten electrical components of the paper on YSVM, the smallest ranking there is."""

from __future__ import annotations

import numpy as np

from clearmargin.datasets.bunch import Contents, Loaded
from clearmargin.datasets.info import Feature

# Table 1 of the paper: rank, série, age, taille, fabriquant. The 90 in the middle are not printed.
_TABLE = (
    (1, "15B25", 2, 500, "B"),
    (2, "13B28", 8, 500, "B"),
    (3, "58C25", 12, 1000, "C"),
    (4, "88A25", 1, 500, "A"),
    (5, "18B22", 17, 500, "B"),
    (96, "63A11", 27, 500, "A"),
    (97, "12A25", 2, 2000, "A"),
    (98, "15A54", 8, 2000, "A"),
    (99, "55A95", 12, 2000, "A"),
    (100, "41B77", 25, 2500, "B"),
)
_TOP_SIZE = 5


def make_components(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Return ten ranked electrical components: the five likeliest to fail, and the five least."""
    rank, serial, age, length, manufacturer = zip(*_TABLE, strict=True)
    contents = Contents(
        name="components",
        features=(
            Feature("age", None, "integer"),
            Feature("length", None, "integer"),
            Feature("manufacturer", None, "category"),
        ),
        X=np.array(list(zip(age, length, manufacturer, strict=True)), dtype=object),
        y=np.array(rank, dtype=np.int64),
        target_names=("rank",),
        citation=(
            "A. Salleb-Aouissi, B. Huang and D. Waltz, Vers des machines à vecteurs de support "
            "« actionnables » : une approche fondée sur le classement, EGC 2009, Table 1"
        ),
        target_column="rank",
        extras={
            "side": np.array(["top" if r <= _TOP_SIZE else "bottom" for r in rank], dtype=object),
            "serial": np.array(serial, dtype=object),
        },
    )
    return contents.deliver(return_X_y=return_X_y, as_frame=as_frame)
