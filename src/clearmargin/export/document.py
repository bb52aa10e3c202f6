"""Rules as JSON text."""

from __future__ import annotations

import json

from clearmargin.language.printer import check_rules
from clearmargin.rules.ruleset import RuleSet

__all__ = ["to_json"]


def to_json(rules: RuleSet, *, indent: int | None = 1) -> str:
    """Write rules as the versioned JSON document that `RuleSet.save` writes and `RuleSet.load` reads.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    indent : int, optional
        How far nested lines are indented; None for a single line.

    Returns
    -------
    str
        The document, with everything that is known about the rules.

    Examples
    --------
    >>> import json
    >>> from clearmargin import RuleSet, parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill")
    >>> RuleSet.from_dict(json.loads(to_json(rules))) == rules
    True
    """
    check_rules(rules)
    return json.dumps(rules.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
