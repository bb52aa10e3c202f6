"""
Rules in a database
===================

`to_sql` writes rules as a CASE expression or a view. The database then gives each row what `RuleSet.predict` gives it,
on the bounds, beside them, and where a value is missing.
"""

import sqlite3

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc
from clearmargin.export import to_sql

X, y = load_wbc(return_X_y=True)
extractor = RuleExtractor(LPSVC(nu=0.0025), max_rules=4, bounds=(1, 10)).fit(X, y)
rules = extractor.rules_
print(to_sql(rules))

# %%
# That is standard SQL. Databases differ in how they read numbers and what they think of missing values, so name yours.
# A view adds the class to a table. Rows that no rule covers get the default.

connection = sqlite3.connect(":memory:")
X.to_sql("biopsies", connection, index=False)
view = to_sql(rules, dialect="sqlite", form="view", table="biopsies", default="benign")
connection.executescript(view)
found = [row[0] for row in connection.execute("SELECT prediction FROM biopsies_rules")]
connection.close()
print("same as here:", found == rules.predict(X, default="benign").tolist())
