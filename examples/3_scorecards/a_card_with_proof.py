"""
A card with proof
=================

Points at least and points at most: a card that is never wrong about a linear machine, and says where it does not know.

A linear machine adds up one term a feature. Within an interval of the feature the term is never less than at its one
end and never more than at its other end. Written as points, rounded outwards, these are the two columns of the card.
"""

from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from clearmargin import ScoreRules
from clearmargin.datasets import load_cleveland
from clearmargin.plot import plot_card

X, y = load_cleveland(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
machine = make_pipeline(StandardScaler(), LinearSVC()).fit(X_train, y_train)
card = ScoreRules(machine, certify=True, max_rules=20).fit(X_train, y_train)
plot_card(card)

# %%
# Where the points at least reach the upper threshold, or the points at most stay below the lower one, the class is
# proved. On patients that had no part in it, not one proved class differs from what the machine predicts.

proved = card.scorecard_.prove(X_test)
known = [label is not None for label in proved]
wrong = (proved[known] != machine.predict(X_test)[known]).sum()
print(
    f"{sum(known)} of {len(X_test)} new patients proved, {wrong} of them otherwise than the machine"
)

# %%
# Between the thresholds, and outside of the ranges on the card, the machine is asked. So the card predicts what the
# machine predicts, for everybody:

print(f"card and machine agree: {(card.predict(X_test) == machine.predict(X_test)).all()}")

# %%
# One patient, line by line:

print(card.explain(X_test.iloc[[known.index(True)]]))

# %%
# A plane of thirteen features needs many lines. Distilled to four features it needs few, and the first thing that the
# card says is how often that plane and the machine agree.

few = ScoreRules(machine, certify=True, max_rules=12, max_features=4).fit(X_train, y_train)
print(few.scorecard_)
