"""What an explanation shows in a notebook."""

from __future__ import annotations

import pandas as pd

from clearmargin import LPSVC, RuleExtractor


def test_an_explanation_is_shown_with_what_speaks_for_it_and_names_stay_text():
    X = pd.DataFrame({"<b>age</b>": [1.0, 2.0, 5.0, 6.0]})
    extractor = RuleExtractor(LPSVC(nu=10)).fit(X, ["a&b", "a&b", "c", "c"])
    explanation = extractor.explain(X.iloc[[0]])
    shown = explanation._repr_html_()
    assert "&lt;b&gt;age&lt;/b&gt;" in shown
    assert "a&amp;b" in shown
    assert "<b>" not in shown
    for name in explanation.parts:
        assert f">{name}</td>" in shown
