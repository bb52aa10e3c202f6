"""
Rules with points
=================

A support vector machine whose features are rules: what it learns is a short list, and the list is the machine.

No model stands behind the rules. The points of those that hold for a patient are added up, and the sum decides.
"""

from clearmargin import RuleSVC
from clearmargin.datasets import load_cleveland

X, y = load_cleveland("disease", return_X_y=True)
svm = RuleSVC(max_rules=6, points=True).fit(X, y)
print(svm.scorecard_)

# %%
# How often that is right on patients who were not seen (a little too high, as the best of several settings):

print(f"right on {svm.cv_score_:.1%} of patients not seen")

# %%
# One patient: which rules hold, what they add up to, and what would flip the class.

print(svm.explain(X.iloc[[0]]))

# %%
# What an expert knows goes in as rules, which need not be right. Each is believed as far as the data allow.

advised = RuleSVC(rules="oldpeak > 2 and ca > 0 => disease\nchol < 180 => disease").fit(X, y)
print(advised.outcome_)
