"""
How many rules are worth having?
================================

The first rules cover most of the rows. The curve shows what each further one adds.
"""

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_ionosphere
from clearmargin.plot import plot_coverage

X, y = load_ionosphere(return_X_y=True)
svm = LPSVC(nu=0.05).fit(X, y)
extractor = RuleExtractor(svm, min_coverage=2, max_rules=None).fit(X, y)

for label, trace in extractor.trace_.items():
    print(f"{label}: {trace.kept} rules cover {trace.covered} of {trace.points} rows")

# %%
# Rules are sorted by the rows that they cover. Where the curve is flat, a rule covers a handful of rows, and you may
# want to do without it: ``max_rules`` limits the number, ``min_coverage`` the rows of each.

plot_coverage(extractor)
