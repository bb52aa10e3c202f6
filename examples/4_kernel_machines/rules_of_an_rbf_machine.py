"""
Rules of an RBF machine
=======================

Boxes that grow from support vectors until they meet the surface of the machine.

They are *observed*: what the machine predicts on the rows at hand. With ``certify=True`` every rule is
proved. Such rules are never wrong about the machine, and cover less.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clearmargin import SupportVectorRules
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_regions

women, test = load_pima(return_X_y=True)
known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a missing value
X, y = women.loc[known, ["glucose", "bmi"]], test[known]
machine = make_pipeline(StandardScaler(), SVC()).fit(X, y)

for certify in (False, True):
    extractor = SupportVectorRules(machine, max_rules=4, certify=certify).fit(X, y)
    rules = extractor.rules_
    scores = rules.score(X, y, model=machine)
    print(f"{len(rules)} {rules[0].proof} rules cover {scores.coverage:.0%} of the rows", end=", ")
    print(f"and say what the machine predicts on {scores.fidelity:.1%} of these")

# %%
# The rules with proof:

plot_regions(rules, X, y)
