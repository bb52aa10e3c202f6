"""Reading takes time in proportion to the text, however it is laid out. Bounds are generous: machines differ."""

from __future__ import annotations

import random
import time

import pytest

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import describe_rules, format_rules, parse_rules
from clearmargin.rules import RuleSet

MEGABYTE = 1_000_000
# Long enough that quadratic time would take minutes.
LONG = 300_000


def rule_text(size: int) -> str:
    rng = random.Random(0)
    names = ["age", "bmi", "glucose", "pressure", "insulin", "skin", "births", "`worst area`"]
    lines: list[str] = []
    while size > 0:
        parts = [
            f"{rng.random():.3f} <= {name} < {1 + rng.random()!r}" for name in rng.sample(names, 3)
        ]
        lines.append(
            " and ".join(parts) + rng.choice([" => ill", " => `not ill`", " => ill [weight 2]"])
        )
        size -= len(lines[-1]) + 1
    return "\n".join(lines)


def seconds(text: str) -> float:
    """CPU time, which other work on the machine disturbs least."""
    start = time.process_time()
    parse_rules(text)
    return time.process_time() - start


def test_two_megabytes_are_read_in_seconds_and_an_eighth_of_them_in_proportion():
    whole, eighth = rule_text(2_000_000), rule_text(250_000)
    # The better of two runs each; a quadratic reader would take 64 times as long for the whole.
    time_for_eighth = min(seconds(eighth), seconds(eighth))
    time_for_whole = min(seconds(whole), seconds(whole))
    assert time_for_whole < 20
    assert time_for_whole < 24 * time_for_eighth


LONG_LINES = {
    "conditions": lambda n: " and ".join(["x >= 3"] * (n // 11)) + " => a",
    "features": lambda n: " and ".join(f"x{k} >= 3" for k in range(n // 16)) + " => a",
    "terms": lambda n: " + ".join(["2*x"] * (n // 6)) + " <= 3 => a",
    "signs": lambda n: "x <= " + "-" * n + "3 => a",
    "chain": lambda n: " <= ".join(["x", "y"] * (n // 12)) + " => a",
    "categories": lambda n: "c in {" + ", ".join(f"k{k}" for k in range(n // 9)) + "} => a",
    "features with categories": lambda n: (
        " and ".join(f"x{k} in {{a, b}}" for k in range(n // 22)) + " => a"
    ),
    "rule name": lambda n: "x" * n + ": x > 3 => a",
    "quoted name": lambda n: "`" + "\\n " * (n // 3) + "` > 3 => a",
    "classes": lambda n: "classes: " + ", ".join(f"k{k}" for k in range(n // 9)),
    "comment": lambda n: "x > 3 => a #" + "`" * n,
    "blanks": lambda n: "x > 3 => a" + " " * n,
    "digits": lambda n: "x > 0." + "3" * n + " => a",
}


@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_single_long_line_is_read_in_linear_time(kind):
    text = LONG_LINES[kind](LONG)
    start = time.process_time()
    rules = parse_rules(text)
    assert time.process_time() - start < 20
    assert len(rules) == (kind != "classes")


@pytest.mark.parametrize(
    "text",
    [
        "`" * (LONG + 1),
        "`" + "\\" * LONG,
        "x" * LONG,
        "x " * (LONG // 2),
        "1" * LONG,
        "1.e" * (LONG // 3),
        " " * LONG + "!",
        "x > 3 and " * (LONG // 10),
        "x > 3 => " + "9" * LONG,
        "[" * LONG,
        "a." * (LONG // 2),
        "x >= 1 => a\n" * (LONG // 12) + "y",
    ],
    ids=lambda text: text[:9],
)
def test_a_long_text_that_cannot_be_read_is_refused_quickly_and_briefly(text):
    start = time.process_time()
    with pytest.raises(RuleSyntaxError, match=r"line \d+, column \d+") as caught:
        parse_rules(text)
    assert time.process_time() - start < 20
    assert len(str(caught.value)) < 1000


def test_many_unknown_names_do_not_make_the_search_for_the_nearest_one_long():
    declared = "".join(f"feature some_long_name_{k}\n" for k in range(30_000))
    start = time.process_time()
    with pytest.raises(RuleSyntaxError, match="unknown feature 'some_long_name'"):
        parse_rules(declared + "some_long_name > 3 => a")
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "text",
    [
        rule_text(MEGABYTE),
        LONG_LINES["features"](LONG),
        LONG_LINES["features with categories"](LONG),
    ],
    ids=["rules", "features", "features with categories"],
)
def test_printing_is_linear_too(text):
    rules = parse_rules(text)
    for write in (format_rules, describe_rules, RuleSet.to_dict, lambda rules: repr(rules.rules)):
        start = time.process_time()
        write(rules)
        assert time.process_time() - start < 20
