"""Numbers are written in one way throughout a report."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from clearmargin import LPSVC
from clearmargin.language.printer import format_number
from clearmargin.language.words import number_text, ratio_text, share_text
from clearmargin.report import report


def test_measured_numbers_look_as_in_rules():
    for value in (3.0, -3.0, 1234567.0, -0.5, 0.25, 12340.0, 1e20):
        assert number_text(value) == format_number(value)
    assert number_text(-54321.6) == "-54320"


def test_shares_have_at_most_one_decimal_and_only_all_are_a_hundred_percent():
    for part in range(384):
        assert ratio_text(part / 383) == share_text(part, 383)
    assert ratio_text(1.0) == "100 %"
    assert ratio_text(0.99999) == "99.9 %"


def test_a_page_has_one_minus_one_decimal_in_percent_and_values_without_commas():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(50_000, 20_000, 80), "change": rng.normal(-3, 2, 80)})
    y = np.where(X["income"] / 20_000 + X["change"] > 0, "good", "bad")
    made = report(LPSVC(nu=1.0), X, y, cv=2)
    for text in (
        made.to_markdown(),
        re.sub(r"<[^>]*>", " ", made.to_html().partition("</style>")[2]),
    ):
        assert "−" not in text
        assert not re.findall(r"\d\.\d\d+ %|\d\.0 %", text)
        assert not re.findall(r"income[^|<]{0,30}\d,\d{3}", text)
