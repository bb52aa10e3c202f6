"""Pages of every kind over a hostile table: sound HTML and Markdown, names stay text, figures are those of the JSON."""

import itertools
import json
import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import clearmargin as cm
from clearmargin.exceptions import ClearmarginError, FileInTheWayError
from clearmargin.report import report

NAMES = ("<script>alert(1)</script>", "quote \" and ' mark", "]]> <!-- -->", "`tick` | pipe *")
NAMES += ("</style></title>", "bidi\u202eevil\u2066x", "ünï עברית", "line\nfeed", "& &amp; &#60;")
CLASSES = ("<b>yes</b>\u202e", 'no" onload="x')
HIDDEN = re.compile("[\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufeff]")


RNG = np.random.default_rng(1)
X = pd.DataFrame(RNG.normal(size=(60, len(NAMES))).round(2), columns=list(NAMES))
Y = np.where(X.iloc[:, [0, 2, 3, 5]].sum(axis=1) > 0, *CLASSES)
X.index = [f"<i>{k}</i>\u202e" for k in range(60)]
MIXED = X.assign(kind=RNG.choice([*NAMES[:3], "a"], 60))
MIXED.iloc[3:9, 0] = np.nan
THREE = np.where(X.iloc[:, 0] > 1, "<u>", Y)
LAST = CLASSES[1]
ADVICE = (
    f"`{NAMES[0]}` >= 1 and `{NAMES[2]}` > 0 => `{LAST}`\n`<i>`: `{NAMES[6]}` <= -1 => `{LAST}`"
)
WRITTEN = (
    f"`{NAMES[0]}` is missing => `{LAST}`\n`<i>`: `{NAMES[2]}` + 2*`{NAMES[6]}` <= 1 => `{LAST}`"
)
MANY = [f"`{NAMES[k % 3]}` >= {k / 99} => `{CLASSES[k % 2]}`" for k in range(450)]
ENDS: dict[str, Any] = {"top": 0.2, "bottom": 0.2, "max_size": 1}
CARD: dict[str, Any] = {"max_rules": 6, "n_generated": 50}
SUMS: dict[str, Any] = {"max_rules": 4, "cv": 2, "progress": False}
SPARSE = cm.RuleExtractor(cm.LPSVC(nu=1.0))
NOTHING = cm.RankContrast(**ENDS, min_leverage=0.25)
MORE = {"title": NAMES[0], "advice": ADVICE, "contrast": cm.RankContrast(**ENDS)}
KINDS: dict[str, Callable[[], Any]] = {
    "plane": lambda: report(cm.LPSVC(nu=1.0), X, Y, cv=2, **MORE),
    "distilled": lambda: report(cm.RuleExtractor(cm.LPSVC(nu=1.0), max_features=2), X, Y, cv=2),
    "three": lambda: report(LogisticRegression(C=9.0), X, THREE, cv=2),
    "kernel": lambda: report(cm.SupportVectorRules(), X, Y, cv=2, cases=4),
    "tree": lambda: report(cm.SVMTreeClassifier(), X, Y, cv=2),
    "advice": lambda: report(cm.AdviceSVC(ADVICE, refine="translate", lam=5.0), X, Y, cv=2),
    "points": lambda: report(cm.RuleSVC(**SUMS, rules=ADVICE), MIXED, Y, cv=2),
    "three points": lambda: report(cm.RuleSVC(**SUMS), MIXED, THREE, cv=None),
    "proof card": lambda: report(cm.ScoreRules(cm.LPSVC(nu=1.0), certify=True, **CARD), X, Y, cv=2),
    "written": lambda: report(cm.parse_rules(WRITTEN), MIXED, Y),
    "no rules": lambda: report(clone(SPARSE).set_params(min_coverage=1000), X, Y, cv=2),
    "no labels": lambda: report(clone(SPARSE).fit(X, Y), X),
    "ranking": lambda: report(cm.RankContrast(**ENDS), X, Y),
    "no property": lambda: report(NOTHING.fit_ranking(X, np.arange(60)), X),
    "many": lambda: report(cm.parse_rules("\n".join(MANY)), X, Y),
}


KNOWN = "charset name content http-equiv lang id class href role tabindex scope title d x y x1 x2 y1 y2 width height"
KNOWN += " viewbox preserveaspectratio aria-label aria-labelledby aria-hidden stroke-dasharray text-anchor"


class Page(HTMLParser):
    """Reads a page strictly: tags are closed in order, attributes are known ones, text is kept."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.words, self.problems = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        self.stack += [] if tag in ("meta", "br") else [tag]

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.problems += [name for name, _ in attrs if name not in KNOWN.split()]

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        self.words += [] if "style" in self.stack else [data]

    handle_comment = handle_pi = lambda self, data: self.problems.append(data)

    def every(self, attribute):
        return [attrs[attribute] for _, attrs in self.tags if attribute in attrs]


@pytest.mark.filterwarnings("ignore:the plane has")
@pytest.mark.parametrize("kind", KINDS)
def test_page_of_a_hostile_table_is_sound_and_loads_nothing(kind):
    made = KINDS[kind]()
    text, told = made.to_html(), made.to_dict()
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert (page.problems, page.stack) == ([], [])
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(tags)
    assert not re.search(r"https?://|url\(|@import|\bsrc=", text)
    assert page.every("http-equiv") == ["Content-Security-Policy"]
    ids = page.every("id")
    assert len(ids) == len(set(ids))
    assert set(page.every("href")) <= {f"#{anchor}" for anchor in ids}
    assert set(page.every("aria-labelledby")) <= set(ids)
    # One main heading, no level left out, tables with captions, drawings with a description.
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert [tags.count(name) for name in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    assert tags.count("table") == tags.count("caption")
    drawn = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in drawn)
    markdown, document = made.to_markdown(), made.to_json()
    assert not any(HIDDEN.search(form) for form in (text, markdown, document))
    assert json.loads(document, parse_constant=pytest.fail) == told
    # Names are words of the page, and no markup in Markdown; tables have as many cells in each row.
    words = " ".join("".join(page.words).replace("\xa0", " ").replace("\u200e", "").split())
    for feature in told["features"]:
        name = feature["name"].replace("\n", "\\n").replace("\u202e", "\\u202e")
        assert name.replace("\u2066", "\\u2066") in words or not any(feature["rules"])
    prose = re.sub(r"^(`{3,})\n.*?\n\1$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    assert "<" not in prose
    assert not re.search(r"(?<!\\)[`*\[\]]", prose)
    for block in prose.strip().split("\n\n"):
        if block.startswith("| "):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.split("\n")}) == 1
    plain = unescape(re.sub(r"\\(.)", r"\1", markdown))
    card = told.get("card") or {}
    shown = [] if card or told.get("points") else (told["rules"] or {"list": []})["list"][:9]
    counts = [f"{rule['covered']:,} of {rule['rows']:,}" for rule in shown]
    check = told["validation"] or card.get("validation") or {"done": False}
    if check["done"]:
        right = check["figures"]["accuracy"]
        counts.append(f"{1000 * right['part'] // right['whole'] / 10:g} %")
    for text in counts:
        assert text in words
        assert text in plain


def test_reports_are_saved_whole_and_the_same_each_time(tmp_path, monkeypatch):
    made, again = KINDS["plane"](), KINDS["plane"]()
    forms = {"r.HTML": made.to_html(), "r.md": made.to_markdown(), "r.json": made.to_json()}
    assert again.to_html() == forms["r.HTML"]
    for name, text in forms.items():
        assert made.save(tmp_path / name).read_text(encoding="utf-8") == text
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        made.save(tmp_path / "r.md", overwrite=True)
    with pytest.raises(FileInTheWayError):
        made.save(tmp_path / "r.md")
    with pytest.raises(ClearmarginError, match=r"r\.pdf"):
        made.save(tmp_path / "r.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(forms)
    assert (tmp_path / "r.md").read_text(encoding="utf-8") == forms["r.md"]
    frame = made._repr_html_()
    assert (" sandbox " in frame, "<script" in frame) == (True, False)
    assert unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == forms["r.HTML"]
    assert str(made).splitlines()[0] == NAMES[0]
