"""
A table that does not fit
=========================

A folder of files is trained on in passes, some rows at a time; the plane is the one that memory gives.
Rules are found on a sample and counted on all rows.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np

import clearmargin.dask
from clearmargin import LPSVC, RuleExtractor, scan
from clearmargin.datasets import load_pima

X, y = load_pima(return_X_y=True)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for k in range(6):  # stands for files of many gigabytes
        part = slice(128 * k, 128 * (k + 1))
        X[part].assign(diabetes=y[part]).to_parquet(folder / f"{k}.parquet")

    table = scan(folder, target="diabetes")
    svm = LPSVC(nu=0.01).fit(table)
    rules = RuleExtractor(svm, max_rules=3).fit(table).rules_
    print(rules)
    print(rules.score(table).total)

    # %%
    # The same from a Dask data frame: here on the threads of this process, and after ``Client()`` on a cluster.

    ddf = dd.read_parquet(folder)
    there = clearmargin.dask.LPSVC(nu=0.01).fit(ddf[list(X.columns)], ddf["diabetes"])
    predicted = there.predict(ddf[list(X.columns)]).compute()
    on_dask = rules.score(clearmargin.dask.scan(ddf[list(X.columns)], ddf["diabetes"]))

# %%
# In memory it is the same plane, and each row gets the same class.

here = LPSVC(nu=0.01).fit(X, y)
same = [np.allclose(model.coef_, here.coef_, rtol=1e-9) for model in (svm, there)]
print("planes are the same:", same)
print("rules cover the same:", on_dask.total == rules.score(X, y).total)
print("classes are the same:", bool((predicted.to_numpy() == here.predict(X)).all()))
