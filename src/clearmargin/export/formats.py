"""One door to all forms of text that rules can be written in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.document import to_json
from clearmargin.export.outline import to_text
from clearmargin.export.pmml import to_pmml
from clearmargin.export.python_source import to_python
from clearmargin.export.sql import to_sql
from clearmargin.export.table import to_latex, to_markdown
from clearmargin.language import format_rules
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import nearest_name

__all__ = ["FORMATS", "export"]

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
