"""Advice that is checked while it is written: a whole check, and one that looks only at what changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin import FeatureSpace, RuleSet, check_advice, parse_rules
from clearmargin.advice import AdviceChecker

N_FEATURES = 9
EDITS = 8


def boxes(rng: np.random.Generator) -> str:
    """A rule of three intervals."""
    chosen = rng.choice(N_FEATURES, 3, replace=False)
    return " and ".join(
        f"{low} <= f{j} <= {low + 3:.1f}"
        for j, low in zip(chosen, rng.uniform(0, 6, 3).round(1), strict=True)
    )


def sums(rng: np.random.Generator) -> str:
    """A rule of three linear conditions."""
    chosen = rng.choice(N_FEATURES, 3, replace=False)
    return " and ".join(
        f"f{i} + {rng.integers(1, 4)}*f{j} <= {rng.integers(10, 30)}"
        for i, j in zip(chosen, np.roll(chosen, 1), strict=True)
    )


def edited(
    premise: Callable[[np.random.Generator], str], n_rules: int, seed: int = 0
) -> list[RuleSet]:
    """Sets of rules, each the one before with another fourth rule."""
    rng = np.random.default_rng(seed)
    space = FeatureSpace([f"f{j}" for j in range(N_FEATURES)])
    lines = [f"{premise(rng)} => {'ab'[k % 2]}" for k in range(n_rules)]
    texts = []
    for _ in range(EDITS + 1):
        lines[3] = f"{premise(rng)} => b"
        texts.append("\n".join(lines))
    return [parse_rules(text, space, ["a", "b"]) for text in texts]


def section(full: bool = True) -> Section:
    """One rule of many is changed, eight times; whole checks and checks of what changed."""
    lines: list[list[str]] = []
    ratios: dict[str, Ratio] = {}
    for m in (700, 100_000) if full else (700,):
        rng = np.random.default_rng(1)
        X = pd.DataFrame(rng.uniform(0, 10, (m, N_FEATURES)).round(1)).add_prefix("f")
        y = np.where(X["f0"] + X["f1"] > 10, "a", "b")
        for name, premise, n_rules in (("boxes", boxes, 40), ("linear rules", sums, 20)):
            first, *others = edited(premise, n_rules)
            checker = AdviceChecker(X, y)
            checker.check(first)

            def whole(
                others: list[RuleSet] = others, X: pd.DataFrame = X, y: np.ndarray = y
            ) -> None:
                for rules in others:
                    check_advice(rules, X, y)

            def changed(others: list[RuleSet] = others, checker: AdviceChecker = checker) -> None:
                for rules in others:
                    checker.check(rules)

            times = [1e3 * seconds / EDITS for seconds in race(whole, changed)]
            lines.append(
                [f"{n_rules} {name}", f"{m:,}", f"{times[0]:.1f} ms", f"{times[1]:.1f} ms"]
            )
            ratios[f"what changed / whole check, {name}, {m:,} rows"] = Ratio(
                times[1] / times[0], larger_is_better=False
            )
    shares = [ratio.value for ratio in ratios.values()]
    said = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the time of a whole check"
    return Section(
        "Advice that is checked while it is written",
        f"One rule of many is changed, {EDITS} times; processor time of a check, by `check_advice` and by an "
        "`AdviceChecker` that knows the check before. Both give the same report.",
        Table(["rules", "rows", "whole check", "what changed"], lines),
        f"To look only at what changed takes {said}.",
        f"to check advice of which one rule changed takes {said}.",
        ratios,
    )


if __name__ == "__main__":
    print(section().to_markdown())
