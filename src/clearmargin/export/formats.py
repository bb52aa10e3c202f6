"""One door to all forms of text that rules can be written in.

To add a form: write a function that takes a `RuleSet` and returns text, in a file called after the language (from
`conditions.conditions`, as the others do), add it to `FORMATS` below and to `__init__.pyi`, and test it by running what
it writes against `RuleSet.predict`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.pmml import to_pmml
from clearmargin.export.python_source import to_python
from clearmargin.export.readable import to_latex, to_markdown, to_text
from clearmargin.export.sql import to_sql
from clearmargin.language import format_rules
from clearmargin.language.printer import check_rules
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import nearest_name

__all__ = ["FORMATS", "export", "to_json"]


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


FORMATS: dict[str, Callable[..., str]] = {
    "sql": to_sql,
    "python": to_python,
    "pmml": to_pmml,
    "json": to_json,
    "rules": format_rules,
    "text": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
}


def export(rules: RuleSet, to: str = "sql", **options: Any) -> str:
    """Write rules in another language.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    to : {"sql", "python", "pmml", "json", "rules", "text", "markdown", "latex"}, default "sql"
        The form; "rules" is the rule language, "text" an outline.
    **options
        Options of that form, as `to_sql` and the others take them.

    Returns
    -------
    str
        The rules as text. A spreadsheet is a file: see `to_xlsx`.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> print(export(parse_rules("bmi >= 30 => ill"), to="text"), end="")
    |--- bmi >= 30
    |   |--- class: ill
    """
    if to == "xlsx":
        raise InvalidValueError("a spreadsheet is a file, not a text: use to_xlsx(rules, path)")
    if not isinstance(to, str) or to not in FORMATS:
        hint = nearest_name(str(to), [*FORMATS, "xlsx"])
        raise InvalidValueError(f"rules cannot be exported to {to!r}{hint}")
    write = FORMATS[to]
    known = [name for name in inspect.signature(write).parameters if name != "rules"]
    for name in options:
        if name not in known:
            hint = nearest_name(name, known) if known else ""
            raise InvalidValueError(f"the format {to!r} has no option {name!r}{hint}")
    return write(rules, **options)
