"""
A scorecard of five rules
=========================

A machine on one card: add up the points, and compare them with a threshold.

Clinicians and credit analysts have used such cards for decades, since they can be worked out by hand. `ScoreRules`
makes the card that comes closest to a machine of yours.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from clearmargin import ScoreRules
from clearmargin.datasets import load_cleveland

X, y = load_cleveland(return_X_y=True)
machine = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
card = ScoreRules(machine, max_rules=5, random_state=0).fit(X, y)
print(card.scorecard_)

# %%
# It is not proved, as rules of `RuleExtractor` are: here and there it says something else than the machine.

print(f"card and machine agree on {card.fidelity_:.1%} of {len(X)} patients")

# %%
# One patient, point by point:

print(card.explain(X.iloc[[0]]))
