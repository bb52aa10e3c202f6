"""
Thirty cases and two rules
==========================

Cases are few, and an expert is sure of two things. `AdviceSVC` learns from both, and says what became of each rule.
"""

from clearmargin import AdviceSVC
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
X_few, y_few, X_rest, y_rest = X[:30], y[:30], X[30:], y[30:]

advice = """
small: uniformity_of_cell_size <= 3 and bare_nuclei <= 1 and normal_nucleoli <= 7 => benign
large: uniformity_of_cell_size >= 6 => malignant
"""
model = AdviceSVC(advice).fit(X_few, y_few)
plain = AdviceSVC().fit(X_few, y_few)
print(f"{plain.score(X_rest, y_rest):.1%} of the other cases right without rules")
print(f"{model.score(X_rest, y_rest):.1%} with them")

# %%
# *Proved* means that the machine follows the rule for every case within the range of the data, not for these thirty
# only. With ``where="everywhere"`` and ``mu=inf`` a rule must hold.

print(model.outcome_)
