from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from clearmargin.exceptions import FileDamagedError, InvalidValueError
from clearmargin.rules import FeatureSpace, Polyhedron
from clearmargin.scorecards import CertifiedFeature, CertifiedScorecard


def _space(**changes):
    options = {
        "names": ["age", "job", "rate"],
        "lower": [20.0, -np.inf, 0.0],
        "upper": [80.0, np.inf, 1.0],
        "integer": [True, False, False],
        "categories": [None, ["clerk", "king", "smith"], None],
        "fill": [45.0, None, None],
    }
    return FeatureSpace(**{**options, **changes})


def _card(**changes) -> CertifiedScorecard:
    options = {
        "features": [
            CertifiedFeature(0, [0, 5, 3], [4, 9, 3], cuts=[50.0], missing=2),
            CertifiedFeature(1, [0, 6], [0, 7], sets=[[0, 2], [1]]),
            CertifiedFeature(2, [0], [0], cuts=[]),
        ],
        "thresholds": (4, 11),
        "space": _space(),
        "classes": ["well", "ill"],
        "relations": Polyhedron([[1.0, 0.0, 1.0]], [80.5]),
        "unit": 0.25,
    }
    return CertifiedScorecard(**{**options, **changes})


ROWS = pd.DataFrame(
    {
        "age": [60, 30, 60, np.nan, 60, 90, 80, 49.5],
        "job": ["king", "smith", "clerk", "king", "queen", "king", "king", "clerk"],
        "rate": [0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.9, 0.5],
    }
)


def test_points_are_added_up_and_compared_with_both_thresholds():
    # Proved, proved, between, age missing that a relation needs, unknown category, above the range, not related, not
    # whole.
    expected = ["ill", "well", None, None, None, None, None, None]
    assert _card().prove(ROWS).tolist() == expected
    low, high, inside = _card().totals(ROWS)
    assert low.tolist() == [11, 0, 5, 0, 0, 0, 0, 0]
    assert high.tolist() == [16, 4, 9, 0, 0, 0, 0, 0]
    assert inside.tolist() == [True, True, True, False, False, False, False, False]
    low, high, inside = _card(relations=None).totals(ROWS.iloc[[3, 6]])
    assert (low.tolist(), high.tolist(), inside.tolist()) == ([9, 11], [10, 16], [True, True])
    assert _card().prove_codes(ROWS).tolist() == [1, 0, -1, -1, -1, -1, -1, -1]


def test_the_classes_keep_their_type():
    card = _card(classes=[0, 1])
    assert card.prove(ROWS).dtype == object
    assert card.prove(ROWS).tolist()[:3] == [1, 0, None]


def test_a_card_prints_its_lines_with_points_at_least_and_at_most():
    assert str(_card(about="Of a distilled plane.")).splitlines() == [
        "Of a distilled plane.",
        'ill is proved if the points "at least" sum to 11 or more',
        'well is proved if the points "at most" sum to 4 or less; else ask the machine',
        "                     at least  at most",
        "  age  20 to 49             0        4",
        "       50 to 80             5        9",
        "       missing              3        3",
        "  job  clerk, smith         0        0",
        "       king                 6        7",
        "Proved where, besides, rate is within 0 to 1, age + rate <= 80.5.",
    ]
    assert "nowhere" in _card(thresholds=(4, 99)).summary().splitlines()[0]
    assert "nowhere" in _card(thresholds=(-1, 11)).summary().splitlines()[1]


def test_a_feature_of_categories_without_a_line_must_be_known():
    job = CertifiedFeature(1, [0], [0], sets=[[0, 1, 2]])
    card = _card(features=[job], thresholds=(0, 1), relations=None)
    assert card.conditions() == "Proved where, besides, job is a known category."
    assert card.prove(ROWS).tolist()[3:5] == ["well", None]


def test_a_case_is_explained_by_its_lines():
    ill, well, between, missing, unknown, above, unrelated, _ = (
        str(_card().explain(ROWS.iloc[k])).splitlines() for k in range(8)
    )
    assert ill == [
        "ill is proved: at least 11 points, and 11 are enough",
        "  job is king: at least 6 points towards ill",
        "  age 50 to 80: at least 5 points towards ill",
    ]
    assert well == [
        "well is proved: at most 4 points, and up to 4 are enough",
        "  job is smith: at most 0 points towards ill",
        "  age 20 to 49: at most 4 points towards ill",
    ]
    assert between == [
        "nothing is proved: 5 to 9 points; well is proved up to 4, ill from 11 on",
        "  age 50 to 80: 5 to 9 points towards ill",
        "  job is clerk: 0 points towards ill",
    ]
    assert "  age is missing: 3 points towards ill" in missing
    assert unknown[0] == "nothing is proved: job has a category that the machine does not know"
    assert above[0] == "nothing is proved: age 90 is not within 20 to 80"
    assert unrelated[0] == "nothing is proved: not age + rate <= 80.5"
    told = _card().explain({"rate": 0.5, "job": "clerk", "age": 60}, "well")
    assert str(told).startswith("well, not proved: 5 to 9 points")
    assert (told.label, told.is_proved) == ("well", False)


def test_ends_of_ranges_are_printed_short_and_inwards_and_lines_of_a_case_hold_it():
    low, high = 1.1263382099502577, 95.85312907369482
    space = FeatureSpace(["a", "b"], [low, 2.0**30 + 0.123456], [high, 2.0**30 + 0.9])
    parts = [
        CertifiedFeature(0, [0, 1], [1, 2], cuts=[6.782]),
        CertifiedFeature(1, [0], [0], cuts=[]),
    ]
    card = CertifiedScorecard(parts, (0, 1), space, ["no", "yes"])
    assert [line[1] for line in card.lines()] == ["1.127 to 6.782", "6.782 to 95.85"]
    assert "b is within 1073741824.13 to 1073741824.9" in card.conditions()
    assert "a 1.1263382099502577 to 6.782" in str(card.explain([low, 2.0**30 + 0.5]))
    # Other cases get the line as the card has it.
    assert "a 1.127 to 6.782" in str(card.explain([1.127, 2.0**30 + 0.5]))
    assert "a 6.782 to 95.85:" in str(card.explain([50.0, 2.0**30 + 0.5]))
    assert (
        card.prove([[low, 2.0**30 + 0.5]]).tolist() == card.prove([[2.0, 2.0**30 + 0.5]]).tolist()
    )


def test_a_card_comes_back_from_json_and_pickle():
    card = _card(about="first")
    assert CertifiedScorecard.from_dict(json.loads(json.dumps(card.to_dict()))) == card
    assert pickle.loads(pickle.dumps(card)) == card
    assert _card(unit=0.5) != card
    assert repr(card) == "<CertifiedScorecard: 2 cuts over 3 features>"


def test_markdown_html_and_frame_show_the_same_lines():
    space = FeatureSpace(["a|<b>"], [0.0], [1.0])
    part = CertifiedFeature(0, [0, 1], [1, 2], cuts=[0.5])
    card = CertifiedScorecard([part], (0, 1), space, ["no", "<i>"], about="<u>")
    assert r"| a\|<b> | 0 to 0.5 | 0 | 1 |" in card.to_markdown().splitlines()
    html = card._repr_html_()
    assert all(tag not in html for tag in ("<b>", "<i>", "<u>"))
    assert "a|&lt;b&gt;" in html
    assert card.to_frame()["at most"].tolist() == [1, 2]
    assert "Proved where" in _card().to_markdown()
    assert "Proved where" in _card()._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"at_least": [0], "at_most": [1, 1], "cuts": [1.0]}, "there are 2 cells, but 1 points"),
        ({"at_least": [2, 0], "at_most": [1, 1], "cuts": [1.0]}, "must not exceed"),
        ({"at_least": [0.5], "at_most": [1], "cuts": []}, "whole numbers"),
        ({"at_least": [0], "at_most": [2.0**60], "cuts": []}, "whole numbers"),
        ({"at_least": [0, 0], "at_most": [1, 1], "cuts": [1.0], "sets": [[0], [1]]}, "either cuts"),
        ({"at_least": [0, 0, 0], "at_most": [1, 1, 1], "cuts": [2.0, 1.0]}, "ascend"),
        ({"at_least": [0], "at_most": [1], "cuts": [], "missing": 3}, "cannot be in cell 3"),
    ],
)
def test_cells_that_make_no_sense_are_refused(arguments, said):
    with pytest.raises(InvalidValueError, match=said):
        CertifiedFeature(0, **arguments)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classes": ["a"]}, "two classes"),
        ({"thresholds": (4, 4)}, "4 points cannot prove both"),
        ({"unit": 0.0}, "positive"),
        ({"features": ["age"]}, "must be CertifiedFeature, not str"),
        ({"features": [CertifiedFeature(9, [0], [0], cuts=[])]}, "there are 3 features"),
        ({"features": [CertifiedFeature(2, [0], [0], cuts=[])] * 2}, "'rate' has cells twice"),
        ({"features": [CertifiedFeature(1, [0], [0], cuts=[])]}, "'job' is no number"),
        ({"features": [CertifiedFeature(0, [0], [0], sets=[[0]])]}, "'age' is a number"),
        ({"features": [CertifiedFeature(1, [0], [0], sets=[[0, 0]])]}, "at most once"),
        ({"features": [CertifiedFeature(0, [0, 0], [0, 0], cuts=[90.0])]}, "within its range"),
        ({"features": [CertifiedFeature(0, [0, 0], [0, 0], cuts=[50.5])]}, "whole numbers"),
        ({"space": _space(upper=[np.inf, np.inf, 1.0])}, "'age' has no range"),
        ({"relations": Polyhedron([[1.0]], [1.0])}, "over 1 features, and there are 3"),
    ],
)
def test_cards_that_make_no_sense_are_refused(changes, said):
    with pytest.raises(InvalidValueError, match=said):
        _card(**changes)


def test_damaged_data_is_named():
    data = _card().to_dict()
    for broken, said in (
        ([], "no scorecard with proof: about, cells"),
        ({k: v for k, v in data.items() if k != "cells"}, "cells missing"),
        ({**data, "cells": [{}]}, "cannot be read"),
        ({**data, "cells": [{"feature": "height", "at_least": [], "at_most": []}]}, "height"),
        ({**data, "thresholds": [4, 3]}, "both classes"),
    ):
        with pytest.raises(FileDamagedError, match=said):
            CertifiedScorecard.from_dict(broken)
