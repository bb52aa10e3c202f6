"""What the tests of reports share: small data, reports of every kind, and a strict reader of pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin import LPSVC, AdviceSVC, RankContrast, RuleExtractor, RuleSet, parse_rules
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.report import report
from clearmargin.rules import Box, FeatureSpace, Rule
from clearmargin.svm_trees import SVMTreeClassifier

HOSTILE = (
    "<script>alert(1)</script>",
    "quote \" and ' apostrophe",
    "]]> <!-- -->",
    "bidi\u202eevil\u2066x",
    "a_name_of_exactly_forty_characters_12345",
    "`tick` | pipe",
    "</style></title>",
    "ünï 日本 עברית",
    "line\nfeed",
    "\\back & &amp; &#60;",
)
CLASSES = ("<b>yes</b>\u202e", 'no" onload="x')
VOID = {"meta", "br"}


def small():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 4)).round(2), columns=["age", "bmi", "iron", "zinc"])
    noise = 0.5 * rng.normal(size=90)
    y = np.where(X["age"] + X["bmi"] - 0.5 * X["iron"] + noise > 0, "ill", "well")
    return X, y


def hostile_data():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(60, len(HOSTILE))).round(2), columns=list(HOSTILE))
    y = np.where(X.iloc[:, [0, 2, 3, 5, 7]].sum(axis=1) > 0, *CLASSES)
    X.index = [f"<i>{k}</i>\u202e" for k in range(60)]
    return X, y


def with_categories():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=80).round(2),
            "colour": rng.choice(["red", "green", "blue"], 80),
        }
    )
    y = np.where(X["size"] + (X["colour"] == "red") > 0.4, "in", "out")
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), (StandardScaler(), ["size"])
    )
    return X, y, make_pipeline(steps, LPSVC(nu=1.0))


def three_classes():
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    codes = np.repeat([0, 1, 2], 25)
    X = pd.DataFrame((centres[codes] + rng.normal(size=(75, 2))).round(2), columns=["a", "b"])
    return X, np.array(["x", "y", "z"])[codes]


def many_rules():
    rng = np.random.default_rng(4)
    names = [f"feature {j} with quite a long name" for j in range(100)]
    lower = np.full((200, 100), -np.inf)
    lower[np.arange(200), rng.integers(0, 100, 200)] = rng.normal(size=200)
    upper = np.full(100, np.inf)
    labels = rng.choice(["low", "high"], 200)
    space = FeatureSpace(names)
    rules = [Rule(Box(low, upper), str(label)) for low, label in zip(lower, labels, strict=True)]
    X = pd.DataFrame(rng.normal(size=(40, 100)), columns=names)
    return RuleSet(rules, space, ["low", "high"]), X, rng.choice(["low", "high"], 40)


ADVICE = "old: age >= 1 and bmi >= 0 => ill\n`thin one`: bmi <= -1 and age <= 0 => well"


def make_reports():
    X, y = small()
    hostile_X, hostile_y = hostile_data()
    mixed_X, mixed_y, mixed_model = with_categories()
    three_X, three_y = three_classes()
    many, many_X, many_y = many_rules()
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1)
    advised = AdviceSVC(ADVICE, refine="translate", lam=5.0)
    empty = RuleExtractor(LPSVC(nu=1.0), min_coverage=1000)
    quoted = f"`{HOSTILE[2]}` >= 1 => `{CLASSES[1]}`"
    return {
        "plain": report(LPSVC(nu=1.0), X, y, cv=3, random_state=0),
        "contrast": report(LPSVC(nu=1.0), X, y, cv=2, contrast=contrast, advice=ADVICE),
        "contrast alone": report(contrast, X, y),
        "advice": report(advised, X, y, cv=2),
        "hostile": report(
            LPSVC(nu=0.1),
            hostile_X,
            hostile_y,
            cv=2,
            title=HOSTILE[0],
            contrast=contrast,
            advice=quoted,
        ),
        "categories": report(mixed_model, mixed_X, mixed_y, cv=2),
        "three": report(
            make_pipeline(StandardScaler(), LogisticRegression()), three_X, three_y, cv=2
        ),
        "kernel": report(SupportVectorRules(), three_X, three_y, cv=2, cases=4),
        "tree": report(SVMTreeClassifier(random_state=0), three_X, three_y, cv=2),
        "empty": report(empty, X, y, cv=2),
        "many": report(many, many_X, many_y),
        "no labels": report(LPSVC(nu=1.0).fit(X, y), X),
        "abstain": report(RuleExtractor(LPSVC(nu=1.0), fallback="abstain"), X, y, cv=2),
        "expert": report(parse_rules("age + bmi >= 1 => ill\nage <= -1 => well"), X, y),
    }


class Page(HTMLParser):
    """Reads a page and insists on what makes it sound: balanced tags, ids of their own, nothing from elsewhere."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.headings, self.links = [], [], [], []
        self.tags, self.text, self.problems = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self._look(tag, dict(attrs))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._look(tag, dict(attrs))

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"</{tag}> closes what is not open")

    def handle_data(self, data):
        if "style" not in self.stack:
            self.text.append(data)

    def handle_comment(self, data):
        self.problems.append(f"comment {data!r}")

    def _look(self, tag, attrs):
        self.tags.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if "href" in attrs:
            self.links.append(attrs["href"])
        known = "charset name content http-equiv lang id class href role tabindex scope title d x y x1 x2 y1 y2 width"
        known += " height viewbox preserveaspectratio aria-label aria-labelledby aria-hidden stroke-dasharray"
        known += " text-anchor"
        self.problems += [f"{tag} {name}" for name in attrs if name not in known.split()]

    @property
    def words(self):
        return " ".join("".join(self.text).replace("\xa0", " ").replace("\u200e", "").split())


@pytest.fixture(scope="session")
def data():
    return small()


@pytest.fixture(scope="session")
def reports():
    return make_reports()


@pytest.fixture(scope="session")
def read_page():
    return Page


@pytest.fixture(scope="session")
def kinds():
    """Other data, by name."""
    return {
        "hostile": hostile_data,
        "categories": with_categories,
        "three": three_classes,
        "many": many_rules,
        "advice": lambda: ADVICE,
    }


@pytest.fixture(scope="session")
def names():
    return HOSTILE, CLASSES
