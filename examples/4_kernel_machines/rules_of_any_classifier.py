"""
Rules of any classifier
=======================

A forest has neither a plane nor support vectors. `SurrogateRules` asks it for predictions only, so that any classifier
will do. The rules are observed, not proved.
"""

from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from clearmargin import SurrogateRules
from clearmargin.datasets import load_pima

X, y = load_pima(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
forest = RandomForestClassifier(n_estimators=50, min_samples_leaf=10, random_state=0)
forest.fit(X_train, y_train)

for leaves in (4, 8, 16):
    surrogate = SurrogateRules(forest, max_rules=leaves, random_state=0)
    surrogate.fit(X_train, y_train)
    same = (surrogate.predict(X_test) == forest.predict(X_test)).mean()
    right = surrogate.score(X_test, y_test)
    print(
        f"{len(surrogate.rules_):2d} rules: as the forest on {same:.0%} of new rows, {right:.0%} right"
    )

print(f"the forest itself: {forest.score(X_test, y_test):.0%} right")

# %%
# The smallest set:

small = SurrogateRules(forest, max_rules=4, random_state=0).fit(X_train, y_train)
print(small.rules_.describe())
