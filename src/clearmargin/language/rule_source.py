"""Rules in any of the forms in which people hand them over: a rule set, a text, a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.language.resolve import parse_rules
from clearmargin.rules import RuleSet
from clearmargin.rules.file_writing import read_text

RuleSource = RuleSet | str | os.PathLike[str]


def read_rules(
    source: RuleSource, parse: Callable[[str], RuleSet] = parse_rules, *, what: str = "rules"
) -> RuleSet:
    """Read rules from a rule set, a text or a file."""
    if isinstance(source, RuleSet):
        return source
    if isinstance(source, str) and _is_text(source):
        return parse(source)
    if not isinstance(source, str | os.PathLike):
        raise InvalidValueError(
            f"{what} must be a RuleSet, a text or the path of a file, not {type(source).__name__}"
        )
    path = Path(source)
    if not path.is_file():
        raise InvalidValueError(
            f"there is no file {str(path)!r}; a text needs a rule, such as 'bmi >= 30 => ill'"
        )
    if path.suffix == ".json":
        return RuleSet.load(path)
    try:
        return parse(read_text(path))
    except RuleSyntaxError as error:
        raise error.in_file(str(path)) from None


def _is_text(source: str) -> bool:
    """Check whether a text is rules rather than the name of a file with rules."""
    line = source.strip()
    return "=>" in line or "\n" in line
