"""Tables that stories are told about."""

from __future__ import annotations

import csv
import io

import numpy as np


def credit_csv(rows: int = 300, seed: int = 7) -> str:
    """Loans: numbers, categories, missing values, and whether they were paid back."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.gamma(4.0, 900.0, rows), 0)
    age = rng.integers(19, 76, rows)
    debt = np.round(rng.beta(2, 4, rows), 3)
    late = rng.poisson(0.8, rows)
    home = rng.choice(["rent", "own", "family"], rows, p=[0.5, 0.35, 0.15])
    risk = (
        4.5 * (debt - 0.33) + 0.9 * late - 0.0008 * (income - 3500) - 0.8 * (home == "own") - 0.45
    )
    label = np.where(risk + rng.normal(0, 0.35, rows) > 0, "default", "paid")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["loan", "income", "age", "debt_ratio", "late", "home", "outcome"])
    for k in range(rows):
        shown = "" if rng.random() < 0.04 else debt[k]
        lives = "" if rng.random() < 0.02 else home[k]
        writer.writerow([f"L{k:04d}", int(income[k]), age[k], shown, late[k], lives, label[k]])
    return text.getvalue()
