"""
Rules of a plane
================

A sparse plane between benign and malignant biopsies, as a table of intervals.

The machine keeps five of nine features. Each of its rules is *proved*: wherever the conditions hold, the machine gives
the class of the rule, not only on the rows of the table.
"""

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc
from clearmargin.plot import plot_rules

X, y = load_wbc(return_X_y=True)
svm = LPSVC(nu="cv", cv=10, max_features=5).fit(X, y)  # chooses how sparse the plane is
# Scores are from 1 to 10 by definition, so that rules need not say it.
extractor = RuleExtractor(svm, criterion="coverage", max_rules=10, bounds=(1, 10)).fit(X, y)
rules = extractor.rules_

proved = sum(rule.proof == "proved" for rule in rules)
covered = rules.covers(X).any(axis=1).mean()
print(f"{len(rules)} rules, {proved} of them proved, cover {covered:.1%} of {len(X)} biopsies")

# %%
# A row of the figure is a rule. A full dot is a bound that belongs to the rule, an arrow means that there is none.

plot_rules(extractor)

# %%
# The same rules in sentences:

print(rules.describe())
