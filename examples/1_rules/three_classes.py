"""
Three classes
=============

Rules come out of linear classifiers of more than two classes, too. Each is proved against all other classes.
"""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from clearmargin import RuleExtractor

iris = load_iris(as_frame=True)
X, y = iris.data, iris.target_names[iris.target]
model = LogisticRegression(max_iter=1000).fit(X, y)
extractor = RuleExtractor(model, max_rules=6).fit(X, y)

for label, trace in extractor.trace_.items():
    print(f"{label}: {trace.kept} rules cover {trace.covered} of {trace.points} flowers")

# %%
# Most of them have a condition on every feature, since a rule has to keep two other classes away.

print(extractor.rules_.describe())
