"""
Regions in two features
=======================

With two features rules are rectangles that fill the corner under the plane. No rule crosses the line.

Between the rectangles and the line a strip is left in which no rule speaks. There the machine answers itself, so that
rules and machine together say the same as the machine alone.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_regions

women, test = load_pima(return_X_y=True)
known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a missing value
X, y = women.loc[known, ["glucose", "bmi"]], test[known]
# The machine sees scaled values; the rules come out in mg/dl and kg/m².
svm = make_pipeline(StandardScaler(), LPSVC(nu=0.1)).fit(X, y)
extractor = RuleExtractor(svm, criterion="coverage", max_rules=8).fit(X, y)

share = " and ".join(f"{part:.0%} of {name}" for name, part in extractor.coverage_.items())
print(f"{len(extractor.rules_)} rules cover {share}, of those that the machine gets right")
same = (extractor.predict(X) == svm.predict(X)).all()
print(f"rules and machine agree on all {len(X)} women: {same}")

# %%
# The classes overlap, and rules hold points of the other class: they repeat the machine, its mistakes as well.

plot_regions(extractor, X, y)
