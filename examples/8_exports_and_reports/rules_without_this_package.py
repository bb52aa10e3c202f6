"""
Rules without this package
==========================

`to_python` writes a module that imports nothing, for a machine on which nothing can be installed.
"""

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc
from clearmargin.export import export, to_python

X, y = load_wbc(return_X_y=True)
rules = RuleExtractor(LPSVC(nu=0.0025), max_rules=4, bounds=(1, 10)).fit(X, y).rules_
source = to_python(rules, name="biopsy", default="benign")
print(source.partition("\n\n")[0])

# %%
# It predicts what the rules predict here:

module = {}
exec(source, module)
rows = X.to_dict("records")
print(module["biopsy_many"](rows) == rules.predict(X, default="benign").tolist())

# %%
# Other forms have other readers: databases read SQL, programs JSON, people tables.

for form in ("sql", "json", "markdown"):
    print(f"{form}: {len(export(rules, form).splitlines())} lines")
print(export(rules, "markdown"))
