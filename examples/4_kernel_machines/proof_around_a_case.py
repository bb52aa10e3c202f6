"""
A proof around a case
=====================

A kernel machine has no plane. But around one woman, the star, there is a box in which the machine is proved to predict
the same class everywhere.
"""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clearmargin import FeatureSpace, Rule, RuleSet, certify, grow_box
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_regions

women, test = load_pima(return_X_y=True)
known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a missing value
X, y = women.loc[known, ["glucose", "bmi"]], test[known]
machine = make_pipeline(StandardScaler(), SVC()).fit(X, y)

case = X.iloc[[0]]
label = machine.predict(case)[0]
space = FeatureSpace.from_data(X)
box = grow_box(machine, case, space=space)
rules = RuleSet([Rule(box, label)], space, machine.classes_.tolist())
print(rules.describe())
print(f"{certify(machine, box, label).status}; holds {box.contains(X.to_numpy()).sum()} women")

# %%
# The proof is about the machine. Some of the women in the box were tested negative, and the machine is wrong about them
# all the same.

ax = plot_regions(rules, X, y, show_numbers=False)
along, up = np.meshgrid(np.linspace(*ax.get_xlim(), 200), np.linspace(*ax.get_ylim(), 200))
grid = pd.DataFrame(np.column_stack([along.ravel(), up.ravel()]), columns=X.columns)
score = machine.decision_function(grid).reshape(along.shape)
line = ax.contour(along, up, score, levels=[0.0], colors="black", linewidths=1.5)
ax.clabel(line, fmt={0.0: "machine"})
ax.plot(*case.to_numpy()[0], "*", color="black", markersize=14)
