"""
A rare class
============

One case in eleven is of class 2. A machine may then always predict class 1. A tree of machines finds the rare class,
layer by layer, and stays readable.
"""

from sklearn.svm import SVC

from clearmargin import SVMTreeClassifier
from clearmargin.datasets import make_imbalanced
from clearmargin.plot import plot_svm_tree

X, y = make_imbalanced(random_state=0)
X_new, y_new = make_imbalanced(2024, random_state=1)
rare = y_new == "class_2"
models = {
    "one machine": SVC(kernel="poly", degree=2, C=0.1),
    "one, classes weighted": SVC(class_weight="balanced"),
    "tree of machines": SVMTreeClassifier(loss="minority", C=0.1, max_layers=None),
}
for name, model in models.items():
    predicted = model.fit(X, y).predict(X_new)
    found, spared = (predicted[rare] == "class_2").mean(), (predicted[~rare] == "class_1").mean()
    print(f"{name}: {found:.0%} of the rare class right, {spared:.0%} of the other")

# %%
# Weights are the simpler way, and find more of the rare class here. They pay for it with false alarms. Which of the two
# is worse is for you to say.

tree = models["tree of machines"]
plot_svm_tree(tree)

# %%
# Rules of intervals come close to the tree:

print(tree.rules_.describe())
print(f"they agree with it on {(tree.predict_by_rules(X_new) == tree.predict(X_new)).mean():.1%}")
