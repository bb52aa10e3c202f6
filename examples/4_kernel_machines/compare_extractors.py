"""
Which extractor for this machine?
=================================

Several methods read rules out of a machine, and none is best at everything. Compare them on rows that neither the
machine nor the rules have seen.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clearmargin import SupportVectorRules, SurrogateRules, compare_extractors
from clearmargin.datasets import load_wbc
from clearmargin.plot import plot_extractors

X, y = load_wbc(return_X_y=True)
machine = make_pipeline(StandardScaler(), SVC())
candidates = {
    "boxes": SupportVectorRules(max_rules=10),
    "two boxes, machine elsewhere": SupportVectorRules(max_rules=2, fallback="estimator"),
    "tree": SurrogateRules(max_rules=12, n_generated=1000),
}
comparison = compare_extractors(machine, X, y, cv=2, extractors=candidates, random_state=0)
print(comparison)

# %%
# Read fidelity and coverage together: with ``fallback="estimator"`` the machine answers where no rule fires; for the
# fidelity its most frequent class stands there, since it would agree with itself.

plot_extractors(comparison)
