"""
What rules say of new rows
==========================

Figures on the rows that a machine was trained on flatter it. Hold some back, and ask the rules about those.
"""

from sklearn.model_selection import train_test_split

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
svm = LPSVC(nu=0.005).fit(X_train, y_train)
extractor = RuleExtractor(svm, criterion="coverage", max_rules=6).fit(X_train, y_train)

scores = extractor.rules_.score(X_test, y_test, model=svm)
print(f"the rules cover {scores.coverage:.1%} of {len(X_test)} new rows")
print(f"on these they are right in {scores.accuracy:.1%}")
print(f"and give the class of the machine in {scores.fidelity:.1%}")

# %%
# Rule by rule:

for rule, stats in zip(extractor.rules_, scores.rules, strict=True):
    print(f"{stats.covered:3d} rows, {stats.correct:3d} right: {rule}")

# %%
# Where no rule fires the machine answers (``fallback="estimator"``). With ``"abstain"`` nobody does, and these rows can
# be given to a person.

extractor.set_params(fallback="abstain")
left = [label is None for label in extractor.predict(X_test)]
print(f"{sum(left)} of {len(X_test)} new rows are left to a person")
