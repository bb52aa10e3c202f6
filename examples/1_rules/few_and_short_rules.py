"""
Few rules, short rules
======================

Fewer and shorter rules are easier to read, and cover less. See how much before you set a limit.
"""

import pandas as pd

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
svm = LPSVC(nu=0.0025).fit(X, y)

limits = {
    "no limit": {},
    "two rules": {"max_rules": 2},
    "at least ten rows per rule": {"min_coverage": 10},
    "at most two conditions": {"max_conditions": 2},
}
found = {}
for name, options in limits.items():
    extractor = RuleExtractor(svm, criterion="coverage", bounds=(1, 10), **options).fit(X, y)
    found[name] = {
        "rules": len(extractor.rules_),
        "conditions per rule": sum(rule.n_conditions for rule in extractor.rules_)
        / len(extractor.rules_),
        "rows covered": extractor.rules_.covers(X).any(axis=1).mean(),
    }
print(pd.DataFrame(found).T.round(2).to_string())

# %%
# The last of them, with at most two conditions each. A condition such as ``4 <= x <= 8`` counts once.

print(extractor.rules_.describe())
