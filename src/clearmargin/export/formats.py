"""One door to all formats that rules can be written in.

To add a format: write a function that takes a `RuleSet` and returns text, in a file called after the format (from
`conditions.conditions`, as the others do), add it to `FORMATS` below and to `__init__.pyi`, and test it by running
what it writes against `RuleSet.predict`. Tests fail until the docstring of `export`, `FORMATS` in
``cli/command_options.py``, ``docs/reference/api.md``, ``docs/reference/cli.md`` and ``docs/how-to/export-rules.md``
name it, too, and ``tests/export`` runs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.python_source import to_python
from clearmargin.export.readable import to_markdown, to_text
from clearmargin.export.score_sums import rules_to_write
from clearmargin.export.sql import to_sql
from clearmargin.language import format_rules
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules.file_writing import json_text, write_text_atomically
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import nearest_name


def to_json(rules: RuleSet | Scorecard, *, indent: int | None = 1) -> str:
    """Write rules as the versioned JSON document that `RuleSet.load` or `Scorecard.from_dict` reads.

    Parameters
    ----------
    rules : RuleSet, Scorecard or fitted model with one
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
    return json_text(rules_to_write(rules).to_dict(), indent)


def _to_language(rules: RuleSet | Scorecard) -> str:
    """Write rules in the rule language, which has no sums."""
    given = rules_to_write(rules)
    if isinstance(given, Scorecard):
        raise InvalidValueError(
            "the rule language has no sums: the first rule that covers a row decides there, but here the weights do; "
            "export to 'text' or 'json', or write the rules without their sum by .rules.to_text()"
        )
    return format_rules(given)


FORMATS: dict[str, Callable[..., str]] = {
    "sql": to_sql,
    "python": to_python,
    "json": to_json,
    "rules": _to_language,
    "text": to_text,
    "markdown": to_markdown,
}


def export(rules: RuleSet | Scorecard, to: str = "sql", **options: Any) -> str:
    """Write rules in another format.

    Parameters
    ----------
    rules : RuleSet, Scorecard or fitted model with one
        The rules; of a `RuleSVC` what it decides by, rules with weights.
    to : {"sql", "python", "json", "rules", "text", "markdown"}, default "sql"
        The format; "rules" is the rule language, "text" an outline.
    **options
        Options of that format, as `to_sql` and the others take them.

    Returns
    -------
    str
        The rules as text.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> print(export(parse_rules("bmi >= 30 => ill"), to="text"), end="")
    |--- bmi >= 30
    |   |--- class: ill
    """
    _check_format(to, options)
    return FORMATS[to](rules, **options)


def write_export(
    rules: RuleSet | Scorecard,
    to: str,
    path: Path | None = None,
    *,
    overwrite: bool = False,
    **options: Any,
) -> str:
    r"""Write rules in any format, to a file if one is named."""
    _check_format(to, options)
    text = FORMATS[to](rules, **options)
    if path is not None:
        write_text_atomically(path, text, overwrite=overwrite)
    return text


def format_options(to: str) -> tuple[str, ...]:
    """Return the options of a format."""
    if not isinstance(to, str) or to not in FORMATS:
        hint = nearest_name(str(to), FORMATS)
        raise InvalidValueError(f"rules cannot be exported to {to!r}{hint}")
    return tuple(inspect.signature(FORMATS[to]).parameters)[1:]


def _check_format(to: str, options: dict[str, Any]) -> None:
    known = format_options(to)
    for name in options:
        if name not in known:
            hint = nearest_name(name, known)
            raise InvalidValueError(f"the format {to!r} has no option {name!r}{hint}")
