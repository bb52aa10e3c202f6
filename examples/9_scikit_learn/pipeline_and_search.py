"""
Pipelines and searches
======================

The classifiers work wherever one of scikit-learn does. Rules come out of the whole pipeline, in the units of the table.
"""

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), LPSVC())
search = GridSearchCV(pipeline, {"lpsvc__nu": [0.003, 0.01, 0.03]}, cv=5).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}")

svm = search.best_estimator_[-1]
print("features with a weight:", X.columns[svm.coef_[0] != 0].tolist())
print(f"certified: no plane is better by more than {svm.gap_:.0e}")

# %%
# The search is handed over as it is. The bounds are scores from 1 to 10, not scaled values.

extractor = RuleExtractor(search, criterion="coverage", max_rules=2, bounds=(1, 10)).fit(X, y)
print(extractor.rules_.describe())
