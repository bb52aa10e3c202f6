"""What a notebook shows of a contrast: its table once it is fitted, scikit-learn's diagram before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from clearmargin import RankContrast

EVIL = "<script>alert('x')</script>"


def in_notebook(contrast):
    """Ask as notebooks do: first for a bundle, of which they show the HTML."""
    return contrast._repr_mimebundle_(include=None, exclude=None)["text/html"]


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({EVIL: rng.normal(size=200), "b\u202ec": rng.choice([EVIL, "q"], 200)})
    return RankContrast(max_size=1).fit(X, X[EVIL] + 2 * (X["b\u202ec"] == "q") > 1)


def test_a_fitted_contrast_shows_the_properties_that_it_describes(pima):
    html = in_notebook(pima)
    assert html == pima._repr_html_()
    head, *lines = pima.describe().splitlines()
    assert f"<p>{head}</p>" in html
    n_listed = sum(" against " in line for line in lines)
    assert n_listed > 0
    assert html.count('scope="row"') == n_listed
    confirmed = pima.properties_.query("shown")["confirmed"][:20].sum()
    assert html.count(">yes</td>") == confirmed > 0
    assert "<p>holm: whether the ends of this ranking differ in it by more than chance" in html
    assert html.count("<table") == html.count("</table>") == 1


def test_a_contrast_that_found_nothing_shows_no_table(empty):
    assert "0 properties" in in_notebook(empty)
    assert "<table" not in in_notebook(empty)


def test_names_in_a_contrast_cannot_become_markup(hostile):
    html = in_notebook(hostile)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html


def test_a_contrast_that_is_not_fitted_shows_what_scikit_learn_shows_of_an_estimator():
    for html in (in_notebook(RankContrast()), RankContrast()._repr_html_()):
        assert "sk-top-container" in html
        assert "RankContrast" in html


def test_scikit_learn_can_be_told_to_show_text(pima):
    with config_context(display="text"):
        assert list(pima._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(pima, "_repr_html_")
    assert hasattr(pima, "_repr_html_")
