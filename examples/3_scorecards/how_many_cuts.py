"""
How many rules does a card need?
================================

More rules follow the machine more closely, on new rows up to a point. Choose where the curve flattens.
"""

from matplotlib import pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clearmargin import ScoreRules
from clearmargin.datasets import load_pima

X, y = load_pima(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
machine = make_pipeline(StandardScaler(), SVC()).fit(X_train, y_train)  # a curved machine will do

numbers, agreement = (2, 4, 8, 16), []
for number in numbers:
    card = ScoreRules(machine, max_rules=number, random_state=0).fit(X_train, y_train)
    agreement.append((card.predict(X_test) == machine.predict(X_test)).mean())
    print(f"{number:2d} rules: as the machine on {agreement[-1]:.1%} of {len(X_test)} new rows")

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(numbers, agreement, "o-")
ax.set(xlabel="rules on the card", ylabel="agrees with the machine", ylim=(0.5, 1))
