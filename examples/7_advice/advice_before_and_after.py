"""
Advice before and after
=======================

An expert calls every woman with a glucose of 110 and a body mass index of 28 ill. Some of forty cases contradict that.
The bound moves, and the rule is right more often.
"""

from clearmargin import AdviceSVC
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_advice

women, test = load_pima(return_X_y=True)
known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a missing value
X, y = women.loc[known, ["glucose", "bmi"]][:40], test[known][:40]

advice = """
high: glucose >= 110 and bmi >= 28 => tested_positive
low: glucose <= 100 and bmi <= 30 => tested_negative
"""
# Bounds may move where cases contradict a rule, as long as it keeps half of its cases and is right on more of them.
model = AdviceSVC(advice, refine="translate", nu=0.1).fit(X, y)
print(model.outcome_[0])

# %%
# Thin: the bounds before training. Thick: after it. A refined rule is not a better machine; it is one that the
# expert can look at again.

plot_advice(model)
