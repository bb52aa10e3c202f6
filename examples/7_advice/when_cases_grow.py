"""
When cases grow, advice matters less
====================================

With ten cases two rules help a lot. With eighty they hardly matter. `RuleSVC(rules=...)` weighs rules against cases, so
that you need not know beforehand.
"""

from matplotlib import pyplot as plt

from clearmargin import RuleSVC
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
X_new, y_new = X[200:], y[200:]
advice = """
small: uniformity_of_cell_size <= 3 and bare_nuclei <= 1 => benign
large: uniformity_of_cell_size >= 6 => malignant
"""
sizes, with_rules, without = (10, 20, 40, 80), [], []
for size in sizes:
    for rules, scores in ((advice, with_rules), (None, without)):
        model = RuleSVC(rules=rules, cv=3, random_state=0).fit(X[:size], y[:size])
        scores.append(model.score(X_new, y_new))
    print(f"{size:3d} cases: {with_rules[-1]:.1%} right with rules, {without[-1]:.1%} without")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(sizes, with_rules, "o-", label="cases and rules")
ax.plot(sizes, without, "s--", label="cases alone")
ax.set(xlabel="cases", ylabel="new cases right")
ax.legend()
