"""The example and the figures of Salleb-Aouissi, Huang and Waltz (YSVM, 2009)."""

import numpy as np
import pytest

from clearmargin import AdviceSVC, RankContrast, parse_rules
from clearmargin.datasets import load_wbc, make_components, make_votes
from clearmargin.exceptions import ClearmarginWarning

EDGES = {"length": [500, 1000, 2000, 2500], "age": [3, 10, 25]}
# Table 2: the conjunction, how often it holds in top and in bottom.
TABLE_2 = {
    "2000 <= length < 2500": (0, 3), "500 <= length < 1000": (4, 1), "manufacturer = A": (1, 4), "age >= 25": (0, 2),
    "2000 <= length < 2500 and manufacturer = A": (0, 3), "500 <= length < 1000 and manufacturer = B": (3, 0),
    "age < 3 and 500 <= length < 1000": (2, 0),
    # Exactly at the least leverage of 0.10; the paper lost it by rounding.
    "manufacturer = B": (3, 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def components():
    X, rank = make_components(return_X_y=True)
    contrast = RankContrast(top=5, bottom=5, min_leverage=0.1, bins=EDGES)
    with pytest.warns(ClearmarginWarning, match="10 rows"):
        return contrast.fit_ranking(X, -np.asarray(rank)), X


def test_properties_of_the_ten_components_are_those_of_table_1(components):
    table = components[0].table_
    shown = {
        each.text: "".join(".x"[int(has)] for has in mask)
        for each, mask in zip(table.properties, table.masks, strict=True)
    }
    assert shown == {
        "age < 3": "x..x..x...", "3 <= age < 10": ".x.....x..", "10 <= age < 25": "..x.x...x.",
        "age >= 25": ".....x...x", "500 <= length < 1000": "xx.xxx....",
        "1000 <= length < 2000": "..x.......", "2000 <= length < 2500": "......xxx.",
        "length >= 2500": ".........x", "manufacturer = A": "...x.xxxx.",
        "manufacturer = B": "xx..x....x", "manufacturer = C": "..x.......",
    }  # fmt: skip


def test_contrast_of_the_ten_components_gives_table_2(components):
    contrast, X = components
    frame, covered = contrast.properties_, contrast.rules_.covers(X)
    expected = {text: (top - bottom) / 20 for text, (top, bottom) in TABLE_2.items()}
    assert dict(zip(frame["property"], frame["leverage"], strict=True)) == pytest.approx(expected)
    ends = dict(
        zip(
            frame["property"],
            zip(covered[:5].sum(axis=0), covered[5:].sum(axis=0), strict=True),
            strict=True,
        )
    )
    assert ends == TABLE_2
    assert not frame["confirmed"].any()


def test_leverage_of_67_against_1_of_70_is_that_of_figure_2():
    has = np.repeat([1, 0, 1, 0], [67, 3, 1, 69])
    found = RankContrast(top=70, bottom=70, max_size=1).fit_ranking(has[:, None], -np.arange(140))
    assert sorted(found.properties_["leverage"]) == pytest.approx([-66 / 280, 66 / 280])


def test_votes_have_about_as_many_pairs_as_the_paper_and_none_in_the_whole():
    pairs = []
    for seed in range(4):
        X, y = make_votes(random_state=seed, return_X_y=True)
        pairs.append((RankContrast(max_size=2).fit(X, y).properties_["size"] == 2).sum())
    assert 840 <= np.mean(pairs) <= 1010
    assert len(RankContrast(top=0.5, bottom=0.5, max_size=2).fit(X, y).properties_) == 0
    twins = RankContrast(max_size=1).fit(X, y).properties_
    by_attribute = twins.assign(attribute=twins["property"].str.split(" ").str[0])
    assert (by_attribute.groupby("attribute")["shown"].sum() == 1).all()
    assert (twins.loc[twins["shown"], "side"] == "top").all()


def test_properties_go_back_in_as_advice():
    X, y = load_wbc(return_X_y=True)
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1).fit(X, y)
    line = next(each for each in contrast.rules_.to_text().splitlines() if each.endswith("=> top"))
    rules = parse_rules(line.replace("=> top", "=> malignant"), classes=["benign", "malignant"])
    assert AdviceSVC(rules).fit(X, y).score(X, y) > 0.9
