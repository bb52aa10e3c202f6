"""
Keep rules and models in files
==============================

Rules are text that people edit and git compares. A linear model is a JSON file without pickles, which can be opened
without fear.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from clearmargin import LPSVC, RuleExtractor, RuleSet, load_model, save_model
from clearmargin.datasets import load_wbc

X, y = load_wbc(return_X_y=True)
svm = LPSVC(nu=0.0025).fit(X, y)
rules = RuleExtractor(svm, max_rules=4, bounds=(1, 10)).fit(X, y).rules_

with TemporaryDirectory() as folder:
    text = rules.save(Path(folder, "biopsies.rules"))
    data = rules.save(Path(folder, "biopsies.json"))
    model = save_model(svm, Path(folder, "model.json"), X=X)
    print(text.read_text(encoding="utf-8"))
    # What is read back is equal, to the last bit; figures and proofs are kept in JSON.
    print("rules equal:", RuleSet.load(text) == rules == RuleSet.load(data))
    loaded = load_model(model)

# %%
# The loaded model predicts what the other predicted:

print("model equal:", (loaded.predict(X) == svm.predict(X)).all())
