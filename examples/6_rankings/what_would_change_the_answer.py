"""
What would change the answer?
=============================

The cheapest change of one case, among those that you allow, after which the model would predict another class.

It is about the model only. What a change does to the patient is not in the table.
"""

from clearmargin import LPSVC, recourse
from clearmargin.datasets import load_pima

X, y = load_pima(return_X_y=True)
svm = LPSVC(nu=0.01).fit(X, y)
patient = X.iloc[[0]]
print(patient[["glucose", "bmi", "age"]].iloc[0].to_dict(), svm.predict(patient)[0])

# %%
# Only glucose and body mass index may change, and only downwards. One unit of the latter counts as five of the former.

allowed = {"glucose": "decrease", "bmi": "decrease"}
costs = {"glucose": 1, "bmi": 5}
answer = recourse(svm, patient, actionable=allowed, X=X, costs=costs, n_alternatives=1)
print(answer)

# %%
# The answer is verified by the model itself. Where nothing that is allowed is enough, that is proved, too:

stuck = recourse(svm, patient, actionable={"blood_pressure": "decrease"}, X=X)
print(f"feasible: {stuck.feasible}, verified: {stuck.verified}")
