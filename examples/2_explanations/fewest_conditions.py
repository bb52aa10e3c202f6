"""
The fewest conditions, proved or measured
=========================================

`explain` says why any model gives a case its class, and what that is worth: proved for every case within the ranges, or
measured on rows that had no part in finding it.
"""

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from clearmargin import LPSVC, explain, explain_many
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
case = X.iloc[0]

# %%
# A sparse plane is proved with a few conditions. Whatever the other features are, the class is the same:

sparse = LPSVC(nu=0.0025).fit(X, y)
print(explain(sparse, case, X))

# %%
# A dense plane can be proved, too, but the proof has more conditions than anybody reads. So they are measured, on rows
# that were not used to find them, with the exact lower bound of how often they are true:

dense = LogisticRegression(max_iter=1000).fit(X, y)
print(explain(dense, case, X, guarantee="proved").n_conditions, "conditions are proved")
print(explain(dense, case, X))

# %%
# Any model with `predict` is explained in this way:

forest = RandomForestClassifier(random_state=0).fit(X, y)
print(explain(forest, case, X))

# %%
# A whole table takes a moment. How many conditions do the proofs of the two planes have?

for model in (sparse, dense):
    counts = [why.n_conditions for why in explain_many(model, X, X, guarantee="proved")]
    print(type(model).__name__, sum(counts) / len(counts))
