"""
Three sites, one machine
========================

Three hospitals may send rules, but no patients. `ChunkedRuleSVC` summarises each of them as a file of rules; whoever
gets the files trains one machine of all, or one of their own patients and the rules of the others.
"""

import numpy as np

from clearmargin import ChunkedRuleSVC
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
site = np.arange(len(y)) % 4  # the fourth part is for testing
X_new, y_new = X[site == 3], y[site == 3]
sent = [
    ChunkedRuleSVC().summarize(X[site == k], y[site == k], name=f"site {k + 1}") for k in range(3)
]
print(sent[0])
print(sent[0].rules[0])

# %%
# Files merge in any order, and the machine is the same, to the bit:

one, other = ChunkedRuleSVC(), ChunkedRuleSVC()
one.fit_summary(sent[0].merge(sent[1], sent[2]))
other.fit_summary(sent[2].merge(sent[1]).merge(sent[0]))
print(f"{one.score(X_new, y_new):.1%} right;", "the same:", (one.coef_ == other.coef_).all())

# %%
# The first site has 20 patients with a diagnosis, and takes the rules of the other two:

X_few, y_few = X[site == 0][:20], y[site == 0][:20]
own = ChunkedRuleSVC().fit_summary(sent[1].merge(sent[2]), X_few, y_few)
print(f"{own.score(X_new, y_new):.1%} right with own patients and the rules of the others")

# %%
# What became of the rules of the others in the machine of the first site:

print({verdict: own.outcome_.verdicts.count(verdict) for verdict in set(own.outcome_.verdicts)})
