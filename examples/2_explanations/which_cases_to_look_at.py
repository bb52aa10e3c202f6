"""
Which cases should somebody look at?
====================================

Explain a whole table at once, and sort it by confidence.
"""

from matplotlib import pyplot as plt

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
svm = LPSVC(nu=0.0025).fit(X, y)
extractor = RuleExtractor(svm, criterion="coverage", bounds=(1, 10)).fit(X, y)
many = extractor.explain_many(X)

for row in many.confidence.argsort()[:5]:
    why = many[row]
    print(f"row {row}: {why.label} with confidence {why.confidence:.2f}, really {y.iloc[row]}")

# %%
# The confidence is the mean of four shares, and no probability. But the cases that the machine gets wrong are mostly at
# its low end:

right = svm.predict(X) == y
print(f"mean confidence {many.confidence[right].mean():.2f} where it is right", end=", ")
print(f"{many.confidence[~right].mean():.2f} where it is wrong")

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.hist([many.confidence[right], many.confidence[~right]], bins=20, stacked=True)
ax.legend(["predicted correctly", "predicted wrongly"])
ax.set(xlabel="confidence", ylabel="biopsies")
