"""
Why did this case get its class?
================================

An explanation is a rule that holds for the case, with a score and a proof.
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
print(why.label, why.rule.proof, f"score {why.margin:.2f}")

# %%
# Where no rule fires, `why` says which one is nearest, and the explanation says what is enough for the class. This
# biopsy is benign; the machine is wrong.

stray = X.iloc[[6]]
print(extractor.why(stray)[0])
print(extractor.explain(stray).text)
print("really", y.iloc[6])
