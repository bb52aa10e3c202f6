"""
What does a risk formula favour?
================================

A list may come from anywhere: a formula, a committee, another program. `RankContrast.fit_ranking` takes its scores and
says what sets the ends of the list apart.
"""

from clearmargin import RankContrast
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_rank_histograms

X, y = load_pima(return_X_y=True)
points = 2 * (X["glucose"] >= 126) + (X["bmi"] >= 30) + (X["age"] >= 45) + X["pregnancies"] / 100

contrast = RankContrast(max_size=1).fit_ranking(X, points)
columns = ["property", "top_count", "bottom_count", "leverage"]
print(contrast.properties_[columns].head(6).round(2).to_string(index=False))

# %%
# Without labels nothing is confirmed: these properties are about the formula, not about the illness.

plot_rank_histograms(contrast, most=4)
