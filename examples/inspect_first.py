"""What sets the components that are likeliest to fail apart from those that are least likely to.

    python examples/inspect_first.py                 prints
    python examples/inspect_first.py contrast.png    also draws

The components are made up, with the columns of `make_components`.
"""

# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from clearmargin import RankContrast
from clearmargin.plot import plot_leverage


def make_stock(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw components; old and short ones fail more often, and those of manufacturer B."""
    rng = np.random.default_rng(seed)
    stock = pd.DataFrame({"age": rng.integers(1, 31, rows)})
    stock["length"] = rng.choice([500, 1000, 1500, 2000, 2500], rows)
    stock["manufacturer"] = rng.choice(["A", "B", "C"], rows)
    maker = stock["manufacturer"].map({"A": 0.0, "B": 1.2, "C": 0.3})
    risk = 0.06 * stock["age"] - 0.001 * stock["length"] + maker - 1.5
    return stock, (risk + rng.logistic(size=rows) > 0).to_numpy()


def main(path: str | None = None) -> None:
    """Rank the stock by a linear machine, and contrast the ends of the list."""
    stock, failed = make_stock(1000, seed=0)
    contrast = RankContrast(bins={"age": [10, 20]}).fit(stock, failed)

    found = contrast.properties_[["property", "top_count", "bottom_count", "confirmed"]]
    print(f"{contrast.top_index_.size} components at each end of the list")
    print(found.head(4).to_string(index=False))
    if path is not None:
        plot_leverage(contrast, most=8).figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
