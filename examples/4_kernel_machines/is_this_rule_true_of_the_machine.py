"""
Is this rule true of the machine?
=================================

A guideline says something about the class. Does the machine follow it everywhere, or only on the rows at hand?

`certify` proves it, or finds a witness: a case that the rule covers, and to which the machine gives another class.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clearmargin import FeatureSpace, certify, parse_rules
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
X = X[["clump_thickness", "uniformity_of_cell_size", "bare_nuclei"]]
machine = make_pipeline(StandardScaler(), SVC()).fit(X, y)
space = FeatureSpace.from_data(X)

guideline = parse_rules(
    """
    small: uniformity_of_cell_size <= 2 and bare_nuclei <= 2 => benign
    tidy: clump_thickness <= 5 and uniformity_of_cell_size <= 2 and bare_nuclei <= 2 => benign
    """,
    space=space,
    classes=["benign", "malignant"],
)
scores = guideline.score(X, y, model=machine)
for rule, stats in zip(guideline, scores.rules, strict=True):
    answer = certify(machine, rule.region, rule.label, space=space)
    print(f"{rule.name}: {answer.status}", end="; ")
    print(f"the machine agrees on {stats.agreed} of {stats.covered} rows")
    if answer.witness is not None:
        witness = X.iloc[[0]] * 0 + answer.witness
        print(f"  but not here: {witness.iloc[0].round(1).to_dict()}")
