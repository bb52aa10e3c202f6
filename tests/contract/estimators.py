"""One cheap configuration of each public estimator, and a table that all of them can learn from."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.svm import SVC, LinearSVC

import clearmargin as cm

RNG = np.random.default_rng(2)
X = pd.DataFrame({"age": RNG.integers(20, 80, 60).astype(float), "bmi": RNG.normal(26, 4, 60)})
Y = np.where(X["age"] + 2 * X["bmi"] + 4 * RNG.normal(size=60) > 102, "ill", "well")
THREE = np.where(X["age"] > 60, "old", np.where(X["age"] > 40, "mid", "young"))

# What scikit-learn's checks try: their tables have unnamed columns, so that no rule can name one.
CHECKED: tuple[Any, ...] = (
    cm.AdviceSVC(),
    cm.LPSVC(),
    cm.RankContrast(top=0.3, bottom=0.3, max_size=1),
    cm.RuleExtractor(LinearSVC(), max_features=1),
    cm.RuleSVC(max_rules=3, cv=2),
    cm.ScoreRules(cm.LPSVC(), n_generated=50, certify=True),
    cm.SupportVectorRules(SVC(random_state=0)),
    cm.SurrogateRules(SVC(random_state=0), n_generated=100, fallback="estimator"),
    cm.SVMTreeClassifier(C=1.0, max_layers=3),
)

# What the tests of this directory try on the table above.
ESTIMATORS: dict[str, Any] = {
    "AdviceSVC": cm.AdviceSVC("age > 50 => ill"),
    "AdviceSVC-refined": cm.AdviceSVC("age > 50 => ill", refine="translate"),
    "LPSVC": cm.LPSVC(),
    "LPSVC-cv": cm.LPSVC("cv", cv=2),
    "RankContrast": cm.RankContrast(top=0.3, bottom=0.3, max_size=1),
    "RuleExtractor": cm.RuleExtractor(cm.LPSVC()),
    "RuleSVC": cm.RuleSVC(max_rules=3, cv=2),
    "ScoreRules": cm.ScoreRules(SVC(random_state=0), max_rules=3, n_generated=50),
    "ScoreRules-certified": cm.ScoreRules(cm.LPSVC(), n_generated=50, certify=True),
    "SupportVectorRules": cm.SupportVectorRules(SVC(random_state=0)),
    "SurrogateRules": cm.SurrogateRules(SVC(random_state=0), n_generated=100),
    "SVMTreeClassifier": cm.SVMTreeClassifier(C=1.0, max_layers=3),
}
