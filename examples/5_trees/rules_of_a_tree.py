"""
A tree of machines as a list of rules
=====================================

A tree of support vector machines says exactly what it predicts as an ordered list: the first rule that covers a case
decides.
"""

from clearmargin import SVMTreeClassifier
from clearmargin.datasets import make_imbalanced

X, y = make_imbalanced(random_state=0)
tree = SVMTreeClassifier(loss="minority", random_state=0).fit(X, y)
exact = tree.exact_rules_
print(f"{tree.n_leaves_} leaves, {len(exact)} rules; the first of them:")
print(exact[0])

# %%
# The list and the tree never disagree, on rows that neither has seen as well:

X_new, y_new = make_imbalanced(2024, random_state=1)
print((exact.predict(X_new) == tree.predict(X_new)).all())

# %%
# Rules of intervals are easier to read, and only come close to the tree:

print(tree.rules_.describe())
print(f"they agree with it on {(tree.predict_by_rules(X_new) == tree.predict(X_new)).mean():.1%}")
