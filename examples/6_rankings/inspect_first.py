"""
What to inspect first
=====================

A thousand components, ranked by how likely they are to fail. What have the fifty at the top in common that the fifty
at the bottom have not?
"""

import numpy as np
import pandas as pd

from clearmargin import RankContrast
from clearmargin.plot import plot_leverage

# The components are made up, so that the truth is known: old and short ones fail more often, and those of
# manufacturer B.
rng = np.random.default_rng(0)
stock = pd.DataFrame({"age": rng.integers(1, 31, 1000)})
stock["length"] = rng.choice([500, 1000, 1500, 2000, 2500], 1000)
stock["manufacturer"] = rng.choice(["A", "B", "C"], 1000)
maker = stock["manufacturer"].map({"A": 0.0, "B": 1.2, "C": 0.3})
risk = 0.06 * stock["age"] - 0.001 * stock["length"] + maker - 1.5
failed = (risk + rng.logistic(size=1000) > 0).to_numpy()

contrast = RankContrast(bins={"age": [10, 20]}).fit(stock, failed)
found = contrast.properties_[["property", "top_count", "bottom_count", "confirmed"]]
print(f"{contrast.top_index_.size} components at each end of the list")
print(found.head(6).to_string(index=False))

# %%
# *Confirmed* (a check mark in the figure) means that labels agree which the ranking had not seen. What is not confirmed
# is not refuted: the labels may have been too few.

plot_leverage(contrast, most=8)
