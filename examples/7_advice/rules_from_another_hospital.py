"""
Rules from another hospital
===========================

Patients' data must not leave site A. It sends rules instead, as text, and site B trains on them and a few
patients of its own.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC, AdviceSVC, RuleExtractor, check_advice
from clearmargin.datasets import load_cleveland

X, y = load_cleveland(target="disease", return_X_y=True)
X_a, y_a, X_b, y_b = X[:148], y[:148], X[148:], y[148:]
# What codes can be is known by definition; rules need not say it.
codes = {"sex": (0, 1), "cp": (1, 4), "fbs": (0, 1), "restecg": (0, 2), "exang": (0, 1)}
codes |= {"slope": (1, 3), "ca": (0, 3), "thal": (3, 7)}

svm = make_pipeline(StandardScaler(), LPSVC(nu=0.07)).fit(X_a, y_a)
extractor = RuleExtractor(svm, criterion="coverage", max_rules=6, bounds=codes).fit(X_a, y_a)
sent = extractor.rules_.to_text()
print("\n".join(line for line in sent.splitlines() if "=>" in line))

# %%
# Read the text before you send it. It holds no patient, but the lowest and highest values of some.

print([line for line in sent.splitlines() if line.startswith("feature age")])

# %%
# Site B looks at the rules on its own patients, and trains a machine on twenty of them that has to follow the rules:

vote = check_advice(sent, X_b, y_b).vote.stats
print(f"the rules speak of {vote.covered} of {len(X_b)} patients, right on {vote.accuracy:.0%}")
own = AdviceSVC(sent, mu=np.inf, where="everywhere").fit(X_b[:20], y_b[:20])
print(f"machine of rules and few patients: {own.score(X_b[20:], y_b[20:]):.0%} right", end=", ")
print(f"site A's own machine: {svm.score(X_b, y_b):.0%}")
