"""Rules as tables: plain rows first, then a data frame or HTML made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from clearmargin.exceptions import MissingDependencyError
from clearmargin.language.printer import Phrases, check_rules, format_number
from clearmargin.language.prose import PROOF_WORDS, percent, plain
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.stats import RuleStats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RuleRow", "rule_rows", "rules_frame", "rules_html"]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """What a table says about one rule."""

    name: str | None
    premise: str
    label: Label
    conditions: int
    weight: float
    origin: str
    proof: str | None
    stats: RuleStats | None


def rule_rows(rules: RuleSet) -> list[RuleRow]:
    """Put rules into plain rows.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> rule_rows(parse_rules("3 <= x < 5 => a"))[0].premise
    '3 <= x < 5'
    """
    check_rules(rules)
    phrases = Phrases(rules.space)
    return [
        RuleRow(
            rule.name,
            phrases.premise(rule),
            rule.label,
            rule.n_conditions,
            rule.weight,
            rule.origin,
            rule.proof,
            rule.stats,
        )
        for rule in rules
    ]


def rules_frame(rules: RuleSet) -> pd.DataFrame:
    r"""Put rules into a pandas data frame, one row a rule.

    Parameters
    ----------
    rules : RuleSet
        The rules.

    Returns
    -------
    pandas.DataFrame
        Columns name, premise (in the rule language), label, conditions, weight, origin, proof, and the counts
        rows, covered, correct, agreed, which are missing where they are not known.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> frame = rules_frame(parse_rules("x >= 3 and y < 5 => a\ntrue => b"))
    >>> frame[["premise", "label", "conditions"]].values.tolist()
    [['x >= 3 and y < 5', 'a', 2], ['true', 'b', 0]]
    """
    rows = rule_rows(rules)
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "a data frame needs pandas: pip install clearmargin[frames]"
        ) from error
    # Columns of objects keep labels and texts as they are, whatever the version of pandas makes of text.
    columns = {
        field: pd.Series([getattr(row, field) for row in rows], dtype=dtype)
        for field, dtype in (
            ("name", "object"),
            ("premise", "object"),
            ("label", "object"),
            ("conditions", "int64"),
            ("weight", "float64"),
            ("origin", "object"),
            ("proof", "object"),
        )
    }
    for count in ("rows", "covered", "correct", "agreed"):
        values = [None if row.stats is None else getattr(row.stats, count) for row in rows]
        columns[count] = pd.Series(values, dtype="Int64")
    return pd.DataFrame(columns)


def rules_html(rules: RuleSet) -> str:
    """Put rules into an HTML table for notebooks; names cannot become markup.

    Parameters
    ----------
    rules : RuleSet
        The rules.

    Returns
    -------
    str
        One table. Colours are those of the page around it.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> "x &gt;= 3" in rules_html(parse_rules("x >= 3 => a"))
    True
    """
    rows = rule_rows(rules)
    columns = list(_columns(rows))
    n = len(rows)
    caption = f"{n or 'No'} {'rule' if n == 1 else 'rules'}"
    if not rows:
        return f"<p>{caption}</p>"
    head = "".join(f'<th scope="col" style="text-align:left">{title}</th>' for title, _ in columns)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left">{cells[k]}</td>' for _, cells in columns)
        + "</tr>"
        for k in range(n)
    )
    return (
        '<table style="border-collapse:collapse;color:inherit;background:transparent">'
        f'<caption style="text-align:left">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _columns(rows: list[RuleRow]) -> Iterator[tuple[str, list[str]]]:
    """Title and cells of each column that has something to say."""
    yield "#", [str(k) for k in range(1, len(rows) + 1)]
    if any(row.name is not None for row in rows):
        yield "name", [escape(plain(row.name or "")) for row in rows]
    yield "premise", [f"<code>{escape(row.premise)}</code>" for row in rows]
    yield "class", [escape(plain(row.label)) for row in rows]
    if any(row.weight != 1 for row in rows):
        yield "weight", [format_number(row.weight) for row in rows]
    if any(row.stats is not None for row in rows):
        yield "covers", [_covers(row.stats) for row in rows]
        yield "right", [_right(row.stats) for row in rows]
    if any(row.proof is not None for row in rows):
        yield "proof", [_proof(row.proof) for row in rows]


def _covers(stats: RuleStats | None) -> str:
    return "" if stats is None else f"{stats.covered} of {stats.rows}"


def _right(stats: RuleStats | None) -> str:
    if stats is None or stats.correct is None or not stats.covered:
        return ""
    return percent(stats.correct, stats.covered)


def _proof(proof: str | None) -> str:
    if proof == "proved":
        return "&#10003; proved"
    return "" if proof is None else PROOF_WORDS[proof]
