"""The browser counts while a bound is pulled; it has to count as `RuleSet.covers` does."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clearmargin.language import read_rule_text
from clearmargin.rules import FeatureSpace
from clearmargin.workbench.columns import column_block
from clearmargin.workbench.rule_judgement import Predictions, box_facts

CLASSES = ("paid", "default")
HOMES = ("family", "own", "rent")
# Bounds and values meet often, and some have no short binary form.
NUMBERS = [-2.5, -1.0, -0.0, 0.0, 0.1, 0.30000000000000004, 1.0, 1e-300, 3.0, 1e300]
SPACE = FeatureSpace(
    ("a", "b", "k", "home"),
    lower=[-3, -3, -3, 0],
    upper=[4, 4, 4, 2],
    integer=[False, False, True, False],
    categories=(None, None, None, HOMES),
)

values = st.sampled_from([*NUMBERS, float("nan")])
rows = st.tuples(
    values,
    values,
    st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, float("nan")]),
    st.sampled_from([0.0, 1.0, 2.0, float("nan")]),
    st.integers(0, 1),
    st.integers(0, 1),
)
bounds = st.sampled_from(NUMBERS)
signs = st.sampled_from(["<=", "<", ">=", ">"])
conditions = st.one_of(
    st.builds("{} {} {!r}".format, st.sampled_from("abk"), signs, bounds),
    st.builds(
        "{!r} {} {} < {!r}".format, bounds, st.sampled_from(["<=", "<"]), st.just("a"), bounds
    ),
    st.builds(
        "{} is {}missing".format, st.sampled_from(["a", "k", "home"]), st.sampled_from(["", "not "])
    ),
    st.builds("home = {}".format, st.sampled_from(HOMES)),
    st.lists(st.sampled_from(HOMES), min_size=1, max_size=3, unique=True).map(
        lambda names: f"home in {{{', '.join(names)}}}"
    ),
)
premises = st.lists(conditions, min_size=1, max_size=4).map(" and ".join)

# Columns come as a page gets them; the answer is what a bar draws and a card says.
COUNT = """async ([block, box, code]) => {
    const script = document.querySelector("script[type=module]").src;
    const module = await import(script.replace(/[^/]*$/, "counting.js"));
    const bytes = Uint8Array.from(atob(block), (letter) => letter.charCodeAt(0));
    const columns = new module.Columns(bytes.buffer);
    const bars = columns.features.map((_, k) => module.histogram(columns, k).map((b) => Array.from(b)));
    return {
        inside: Array.from(module.covered(columns, box)),
        counts: module.count(columns, box, code),
        bars,
    };
}"""


def block_of(table: np.ndarray) -> str:
    codes = table[:, 4].astype(np.intp)
    opened = SimpleNamespace(
        points=table[:, :4],
        codes=codes,
        rows=np.arange(1, len(table) + 1),
        space=SPACE,
        classes=CLASSES,
    )
    predictions = Predictions(table[:, 5].astype(np.intp), np.zeros(len(table)))
    version: Any = SimpleNamespace(opened=opened, judge=SimpleNamespace(predictions=predictions))
    return base64.b64encode(column_block(version)).decode()


def test_the_browser_counts_as_the_rules_do(tabs, credit):
    page = tabs.open(f"{credit()}/rules")

    @settings(max_examples=max(60, settings().max_examples))
    @given(st.lists(rows, min_size=1, max_size=30), premises, st.integers(0, 1))
    def check(drawn: list[tuple[float, ...]], premise: str, code: int) -> None:
        table = np.array(drawn, dtype=np.float64)
        rules = read_rule_text(f"{premise} => {CLASSES[code]}", SPACE, CLASSES).rules
        # Conditions that contradict each other are a mistake in the text.
        assume(len(rules) == 1)
        covered = rules.covers(table[:, :4])[:, 0]
        said = page.evaluate(COUNT, [block_of(table), box_facts(rules[0], rules), code])
        assert said["inside"] == covered.astype(int).tolist()
        right = [int((covered & (table[:, column] == code)).sum()) for column in (4, 5)]
        assert said["counts"] == {
            "covered": int(covered.sum()),
            "right": right[0],
            "agreed": right[1],
        }
        for k, bars in enumerate(said["bars"]):
            known = ~np.isnan(table[:, k])
            sums = [sum(bar) for bar in bars]
            assert sums == [int((known & (table[:, 4] == side)).sum()) for side in (0, 1)]

    check()
