"""
When cases grow, advice matters less
====================================

With ten or twenty cases two rules help a lot. With eighty they hardly matter. `AdviceBlendSVC` weighs rules against
cases, so that you need not know beforehand.
"""

import warnings

from matplotlib import pyplot as plt

from clearmargin import AdviceBlendSVC, ProximalSVC
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
X_new, y_new = X[200:], y[200:]
advice = """
small: uniformity_of_cell_size <= 3 and bare_nuclei <= 1 => benign
large: uniformity_of_cell_size >= 6 => malignant
"""
sizes, with_rules, without = (10, 20, 40, 80), [], []
for size in sizes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few cases do not span the range of every rule
        blend = AdviceBlendSVC(advice, repeats=1).fit(X[:size], y[:size])
    with_rules.append(blend.score(X_new, y_new))
    without.append(ProximalSVC().fit(X[:size], y[:size]).score(X_new, y_new))
    print(f"{size:3d} cases: {with_rules[-1]:.1%} right with rules, {without[-1]:.1%} without")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(sizes, with_rules, "o-", label="cases and rules")
ax.plot(sizes, without, "s--", label="cases alone")
ax.set(xlabel="cases", ylabel="new cases right")
ax.legend()
