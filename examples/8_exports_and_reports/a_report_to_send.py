"""
A report to send to a colleague
===============================

One page about what a machine learned: its rules, how good they are on rows that were held out, example cases, and what
is not covered. The HTML file runs no script and loads nothing.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc
from clearmargin.report import report

X, y = load_wbc(return_X_y=True)
extractor = RuleExtractor(LPSVC(nu=0.0025), max_rules=4)
made = report(extractor, X, y, cv=3, random_state=0, title="Biopsies: what the machine learned")

with TemporaryDirectory() as folder:
    page = made.save(Path(folder, "biopsies.html"))
    print(f"{page.name}: {page.stat().st_size // 1000} kB")

# %%
# In short:

for sentence in made.to_dict()["learned"]:
    print("-", sentence)
