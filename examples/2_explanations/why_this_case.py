"""
Why did this case get its class?
================================

An explanation is a rule that holds for the case, with a score, a proof and what speaks for it.
"""

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
svm = LPSVC(nu=0.0025).fit(X, y)
extractor = RuleExtractor(svm, criterion="coverage", bounds=(1, 10)).fit(X, y)

case = X.iloc[[0]]
print(extractor.explain(case).text)

# %%
# The parts of the sentence can be used by themselves:

why = extractor.explain(case)
print(why.label, why.rule.proof, f"score {why.margin:.2f}", f"confidence {why.confidence:.2f}")

# %%
# The *central* box leaves as much room as it can on all sides of the case. Read it as "the class would be the same if".

print(extractor.explain(case, "central").text)

# %%
# Where no rule fires, one is made for the case, and the explanation says so. Look at the shares before you trust it:
# few rows are in the box, and the case is near the plane. This biopsy is benign; the machine is wrong.

stray = X.iloc[[6]]
print(extractor.explain(stray).text)
print("really", y.iloc[6])
