"""A rare class: a machine that never sees it, one that sees it too often, and a tree of machines.

python examples/rare_class.py             prints
python examples/rare_class.py tree.png    also draws
"""

# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import sys

from sklearn.svm import SVC

from clearmargin import SVMTreeClassifier
from clearmargin.datasets import make_imbalanced
from clearmargin.plot import plot_svm_tree


def main(path: str | None = None) -> None:
    """Train all on 168 and 16 points, count what they find of the rare class, draw the tree."""
    X, y = make_imbalanced(random_state=0)
    X_new, y_new = make_imbalanced(2024, random_state=1)
    rare = y_new == "class_2"
    plain = SVC(kernel="poly", degree=2, C=0.1).fit(X, y)
    weighted = SVC(class_weight="balanced").fit(X, y)
    tree = SVMTreeClassifier(loss="minority", random_state=0).fit(X, y)

    models = {"one machine": plain, "one, classes weighted": weighted, "tree of machines": tree}
    for name, model in models.items():
        found = (model.predict(X_new[rare]) == "class_2").mean()
        spared = (model.predict(X_new[~rare]) == "class_1").mean()
        print(f"{name}: {found:.0%} of the rare class right, {spared:.0%} of the other")
    if path is not None:
        plot_svm_tree(tree).figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
