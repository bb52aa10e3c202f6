"""The page: sound HTML that loads nothing, whatever names stand in it, and that everybody can read."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from clearmargin.templates import visible

KINDS = [
    *("plain", "contrast", "contrast alone", "advice", "hostile", "categories", "three"),
    *("kernel", "tree", "empty", "many", "no labels", "abstain", "expert"),
]
BIDI = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@pytest.fixture(scope="module")
def pages(reports, read_page):
    return {kind: read_page(made.to_html()) for kind, made in reports.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_tags_are_balanced_and_ids_differ(pages, kind):
    page = pages[kind]
    assert page.problems == []
    assert page.stack == []
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_runs(reports, pages, kind):
    text, page = reports[kind].to_html(), pages[kind]
    assert not re.search(r"https?://|url\(|@import|\bsrc=", text)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "form"}
    policy = [a["content"] for t, a in page.tags if a.get("http-equiv")]
    assert policy[0].startswith("default-src 'none'")
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_can_be_read_without_seeing_it(pages, kind):
    page = pages[kind]
    names = [tag for tag, _ in page.tags]
    assert page.tags[0] == ("html", {"lang": "en"})
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    steps = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    for landmark in ("header", "nav", "main", "footer"):
        assert names.count(landmark) == 1
    first_link = next(attrs for tag, attrs in page.tags if tag == "a")
    assert first_link == {"href": "#main", "class": "skip"}
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.tags if tag == "th")
    assert names.count("table") == names.count("caption")
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert all(
        (a.get("role") == "img" and a["aria-label"]) or a.get("aria-hidden") for a in drawings
    )
    named = [a["aria-labelledby"] for _, a in page.tags if "aria-labelledby" in a]
    assert set(named) <= set(page.ids)


def test_every_section_is_in_the_contents(pages):
    for page in pages.values():
        sections = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
        assert page.links[1:] == [f"#{anchor}" for anchor in sections]


def test_hostile_names_are_shown_as_they_are_and_do_nothing(reports, pages, names):
    features, classes = names
    text, page = reports["hostile"].to_html(), pages["hostile"]
    for name in (*features, *classes):
        shown = visible(name).replace("\n", "\\n")
        assert " ".join(shown.split()).replace("\\back", "back") in page.words.replace(
            "\\\\", "\\"
        ).replace("\\back", "back")
    assert not BIDI.search(text)
    assert not BIDI.search(reports["hostile"].to_markdown())
    assert not BIDI.search(reports["hostile"].to_json())


def test_behind_a_name_from_right_to_left_numbers_stay_in_place(reports):
    assert "עברית&lrm; " in reports["hostile"].to_html()


def test_proofs_are_said_in_words(pages):
    assert "✓ proved" in pages["plain"].words
    assert "○ observed" in pages["kernel"].words
    assert "– not checked" in pages["expert"].words
    assert "✗ wrong" in pages["plain"].words


def test_rules_are_drawn_in_the_range_of_their_features(data, reports):
    summary, text = reports["plain"].to_dict(), reports["plain"].to_html()
    X, _ = data
    condition = summary["rules"]["list"][0]["conditions"][0]
    low, high = X[condition["feature"]].min(), X[condition["feature"]].max()
    assert condition["range"] == [low, high]
    start = 0.0 if condition["low"] is None else 160 * (condition["low"] - low) / (high - low)
    end = 160.0 if condition["high"] is None else 160 * (condition["high"] - low) / (high - low)
    drawn = re.search(r'<rect x="([\d.]+)" y="2" width="([\d.]+)"', text)
    assert float(drawn[1]) == pytest.approx(max(0, start), abs=1e-3)
    assert float(drawn[2]) == pytest.approx(min(160, end) - max(0, start), abs=1e-3)


def test_many_rules_and_features_are_folded(reports, pages):
    page = pages["many"]
    text = reports["many"].to_html()
    assert len(text) < 1_000_000
    outside = re.sub(r"<details>.*?</details>(?!\s*</article>)", "", text, flags=re.DOTALL)
    assert text.count('<article id="rule-') == 200
    assert outside.count('<article id="rule-') <= 16
    assert "88 more features" in page.words


def test_with_very_many_rules_the_page_points_to_the_summary(kinds):
    from clearmargin.report import report

    rules, X, y = kinds["many"]()
    many = type(rules)([*rules.rules] * 5, rules.space, rules.classes)
    made = report(many, X, y)
    assert len(made.to_dict()["rules"]["list"]) == 1000
    assert made.to_html().count('<article id="rule-') == 400
    assert "the summary (to_dict, .json) has all of them" in made.to_html()


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one, other):
    low, high = sorted([_luminance(one), _luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2])
def test_colours_have_enough_contrast_in_every_theme(theme):
    style = resources.files("clearmargin.templates").joinpath("style.css").read_text("utf-8")
    # Light, dark and print, in this order.
    palette = re.findall(r":root\{([^}]*--ground[^}]*)\}", style)[theme]
    colours = dict(re.findall(r"--(\w+):(#\w{6})", palette))
    for ground in ("ground", "panel"):
        for word in ("text", "quiet", "link", "good", "bad"):
            assert _contrast(colours[word], colours[ground]) >= 4.5
        for mark in ("c0", "c1", "c2", "c3", "c4", "c5", "track"):
            assert _contrast(colours[mark], colours[ground]) >= 3


def test_a_feature_with_very_many_categories_is_one_bar():
    from clearmargin.report.pictures import condition_bar

    condition = {"feature": "f", "text": "f is a", "allowed": list(range(25))}
    bar = condition_bar({**condition, "categories": [str(k) for k in range(100)]}, 0)
    assert [shape.attributes["width"] for shape in bar.shapes] == [160.0, "40"]
    cells = condition_bar({**condition, "categories": [str(k) for k in range(30)]}, 0)
    styles = [shape.attributes["class"] for shape in cells.shapes]
    assert (styles.count("mark c0"), styles.count("hollow")) == (25, 5)
