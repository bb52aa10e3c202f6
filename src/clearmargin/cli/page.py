"""One page of rules on the screen: which method makes it, what it says, and where it is written."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from clearmargin.cli.console import Console
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.recipes.one_page import OnePage

# Options that only the plane and its rules have. Rules with points have some of them, too.
_OF_PLANE = (
    "model",
    "nu",
    "max_features",
    "criterion",
    "min_coverage",
    "assume_ranges",
    "max_rules",
    "max_conditions",
)
_OF_POINTS = ("max_rules", "max_conditions")


def chosen_method(arguments: argparse.Namespace) -> str:
    """Tell which method makes the rules, by what the user asks for."""
    given = [name for name in _OF_PLANE if getattr(arguments, name) not in (None, False)]
    method: str | None = arguments.method
    if method is None:
        return "plane" if given else "auto"
    allowed = {"plane": _OF_PLANE, "rule-svc": _OF_POINTS}.get(method, ())
    for name in given:
        if name not in allowed:
            fits = "plane or rule-svc" if name in _OF_POINTS else "plane"
            raise DataError(
                f"--{name.replace('_', '-')} is for --method {fits}, not for {method}; leave out one of the two"
            )
    return method


def prepare_page(arguments: argparse.Namespace, console: Console, method: str) -> OnePage:
    """Read the table, and make one page of rules for it; notes are said."""
    from clearmargin.cli.inputs import read_task, show_progress
    from clearmargin.recipes.large_tables import PAGE_ROWS
    from clearmargin.recipes.one_page import PageBudget, make_one_page

    task = read_task(arguments, console, sample=PAGE_ROWS, missing=arguments.missing or "either")
    console.say(task.summary)
    names = {"max_rules": arguments.max_rules, "max_conditions": arguments.max_conditions}
    budget = PageBudget(**{name: value for name, value in names.items() if value is not None})
    page = make_one_page(
        task,
        method,
        budget=budget,
        balanced=arguments.balanced or None,
        progress=show_progress(console),
    )
    console.note_all(page.notes)
    return page


def print_page(page: OnePage, console: Console) -> None:
    """Print what was chosen, how right it is on unseen rows, and the page itself."""
    from clearmargin.cli.listing import print_rules
    from clearmargin.recipes.found_rules import FoundRules
    from clearmargin.recipes.one_page import plane_text

    for sentence in page.sentences:
        console.say(sentence)
    result = page.result
    if not isinstance(result, FoundRules):
        console.say(f"\n{result.text}")
        return
    print_rules(
        result.rules, result.trace, page.task, console, most=len(result.rules), assumed=False
    )
    plane = plane_text(result.model.estimator_, page.task.X)
    console.say(f"Where no rule applies, the plane decides: {plane}.")
