from __future__ import annotations

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc


def test_the_price_of_short_rules_is_reported():
    X, y = load_wbc(return_X_y=True)
    svm = LPSVC(nu=0.0025).fit(X, y)
    short = RuleExtractor(svm, max_conditions=2, bounds=(1, 10)).fit(X, y)
    free = RuleExtractor(svm, bounds=(1, 10)).fit(X, y)
    assert max(rule.n_conditions for rule in short.rules_) <= 2
    for label, trace in short.trace_.items():
        # Whole numbers between two rules are shared out in the end, which may bring in a row more.
        assert 0 <= free.trace_[label].covered - trace.unlimited <= 2
        assert trace.unlimited > trace.covered
        assert free.trace_[label].unlimited is None
