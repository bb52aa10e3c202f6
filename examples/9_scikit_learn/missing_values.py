"""
Missing values
==============

Impute in the pipeline. Rules then know what a missing value counts as, and explanations say where one was imputed.
"""

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_pima

X, y = load_pima(return_X_y=True)
X = X[["glucose", "bmi", "age"]].astype(float)
X[["glucose", "bmi"]] = X[["glucose", "bmi"]].replace(0, np.nan)  # zeros stand for missing values
print(X.isna().sum().to_dict())

steps = SimpleImputer(strategy="median"), StandardScaler(), LPSVC(nu=0.1)
model = make_pipeline(*steps).fit(X, y)
extractor = RuleExtractor(model, criterion="coverage", max_rules=4).fit(X, y)
print(extractor.rules_.to_text())

# %%
# A woman whose glucose was not measured:

unknown = X[X.glucose.isna()].iloc[[0]]
print(extractor.explain(unknown).text)

# %%
# Rules predict what the pipeline predicts, also on these rows:

print((extractor.predict(X) == model.predict(X)).all())
