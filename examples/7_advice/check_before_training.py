"""
Check rules before training
===========================

`check_advice` finds what nothing could follow, and what the data speak against. It trains nothing.
"""

from clearmargin import check_advice
from clearmargin.datasets import load_pima

X, y = load_pima(return_X_y=True)

# %%
# Two rules that contradict each other. The region is a premise, and can be pasted into a rule.

advice = """
high: glucose >= 126 and bmi >= 30 => tested_positive
slim: bmi <= 31 => tested_negative
"""
print(check_advice(advice))

# %%
# Mended, and counted on data. The last line is the vote: what the rules predict without any machine.

print(check_advice(advice.replace("bmi <= 31", "bmi < 30"), X, y))

# %%
# Rules that look reasonable, and are not:

doubtful = """
old: age >= 60 => tested_positive
far: glucose >= 300 => tested_positive
"""
for finding in check_advice(doubtful, X, y).findings:
    print(f"{finding.severity}: {finding.message}")
