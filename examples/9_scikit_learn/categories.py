"""
Categories by name
==================

Encode categories in the pipeline, and rules call them by name.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin import LPSVC, RuleExtractor

# Made-up loans: older applicants with a higher income and a home of their own repay.
rng = np.random.default_rng(0)
loans = pd.DataFrame({"age": rng.integers(18, 90, 400), "income": rng.integers(10, 80, 400)})
loans["home"] = rng.choice(["own", "rent", "parents"], 400)
worth = loans.home.map({"own": 1.0, "rent": -0.8, "parents": -0.3})
worth += 0.05 * (loans.age - 50) + 0.08 * (loans.income - 40) + rng.normal(0, 0.4, 400)
answer = np.where(worth > 0, "repays", "defaults")

encode = make_column_transformer((StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["home"]))
model = make_pipeline(encode, LPSVC(nu=0.1)).fit(loans, answer)
extractor = RuleExtractor(model, criterion="coverage", max_rules=4).fit(loans, answer)
print(extractor.rules_.describe())

# %%
# An explanation of one applicant:

print(extractor.explain(loans.iloc[[0]]).text)
