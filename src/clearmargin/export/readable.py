"""Rules for readers: an indented outline in the look of scikit-learn's `export_text`, and a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clearmargin.export.card_cells import class_between
from clearmargin.export.conditions import as_class
from clearmargin.export.score_sums import refuse_default, rules_to_write
from clearmargin.language.lexer import quote
from clearmargin.language.printer import Phrases, format_label, format_number
from clearmargin.language.prose import RuleRow, filled_features, percent, rule_rows
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules.rule import Label, RuleStats
from clearmargin.rules.ruleset import RuleSet


def to_text(rules: RuleSet | Scorecard, *, default: Label | None = None) -> str:
    """Write rules as an outline in which conditions that neighbours share stand once.

    Read it from the top: the first class whose conditions all hold is the answer. Numbers are exact. The rules of a
    scorecard are a line each, with what they add.

    Parameters
    ----------
    rules : RuleSet, Scorecard or fitted model with rules
        The rules.
    default : label, optional
        The class of rows that no rule covers; without it, the text does not mention them.

    Returns
    -------
    str
        One condition or class a line; below, what missing values count as, where they count as something.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 and age > 50 => ill; bmi >= 30 and age <= 20 => well".replace("; ", chr(10)))
    >>> print(to_text(rules), end="")
    |--- bmi >= 30
    |   |--- age > 50
    |   |   |--- class: ill
    |   |--- age <= 20
    |   |   |--- class: well
    """
    given = rules_to_write(rules)
    if isinstance(given, Scorecard) and given.proof is not None:
        between = class_between(given, default)
        last = [] if between is None else [f"Where nothing is proved: {format_label(between)}"]
        return "".join(f"{line}\n" for line in [given.to_text(), *last])
    if isinstance(given, Scorecard):
        refuse_default(default)
        _, *points = given.to_text(digits=None).splitlines()
        parts = [*_sums_decide(given), *points, *_missing_lines(given.rules)]
        return "".join(f"{line}\n" for line in parts)
    otherwise = as_class(given, default)
    phrases = Phrases(given.space)
    lines: list[str] = []
    before: list[str] = []
    for rule in given:
        path = phrases.conditions(rule.region)
        shared = _shared(before, path)
        lines += [_line(depth, path[depth]) for depth in range(shared, len(path))]
        lines.append(_line(len(path), f"class: {format_label(rule.label)}"))
        before = path
    if otherwise is not None:
        lines += [_line(0, "otherwise"), _line(1, f"class: {format_label(otherwise)}")]
    return "".join(f"{line}\n" for line in [*lines, *_missing_lines(given)])


def _missing_lines(rules: RuleSet) -> list[str]:
    """Return what missing values count as, a line for each feature where they count as something."""
    return [
        f"missing {quote(name)} counts as {quote(value) if isinstance(value, str) else format_number(value)}"
        for name, value in filled_features(rules)
    ]


def _shared(one: list[str], other: list[str]) -> int:
    """Return how many first conditions are the same."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _line(depth: int, text: str) -> str:
    return f"{'|   ' * depth}|--- {text}"


def to_markdown(rules: RuleSet | Scorecard) -> str:
    r"""Write rules as a Markdown table, one row a rule; names cannot become markup.

    Parameters
    ----------
    rules : RuleSet, Scorecard or fitted model with one
        The rules. Weighted ones have their points in a column, and above the table how these decide.

    Returns
    -------
    str
        A table as GitHub and most other readers of Markdown know it; below, what missing values count as, where they
        count as something.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> print(to_markdown(parse_rules("body_mass >= 30 => ill")), end="")
    | # | premise | class |
    |---|---|---|
    | 1 | body\_mass >= 30 | ill |
    """
    above, columns, plain = _readable_table(rules)
    count = len(columns[0][1])
    marks = ("---:|" if title in _NUMBERS else "---|" for title, _ in columns)
    lines = [line for part in above for line in (part, "")]
    lines += [_markdown_line(title for title, _ in columns), "|" + "".join(marks)]
    lines += [_markdown_line(cells[k] for _, cells in columns) for k in range(count)]
    if (note := _fill_note(plain)) is not None:
        lines += ["", note]
    return "".join(f"{line}\n" for line in lines)


# Columns of numbers, which are compared best on the right.
_NUMBERS = ("points", "at least", "at most")
Columns = list[tuple[str, list[str]]]


def _readable_table(
    given: RuleSet | Scorecard,
) -> tuple[list[str], Columns, RuleSet]:
    """Return what stands above a table, its columns with their titles, and the rules themselves."""
    read = rules_to_write(given)
    if isinstance(read, Scorecard) and read.proof is not None:
        said = [read.proof.about, *read.summary().splitlines(), *read.notes()]
        return [_markdown(text) for text in said if text], _card_columns(read), read.rules
    if isinstance(read, Scorecard):
        return (
            [_markdown(part) for part in _sums_decide(read)],
            _point_columns(read),
            read.rules,
        )
    return [], list(_columns(rule_rows(read))), read


def _sums_decide(weighted: Scorecard) -> list[str]:
    """Say exactly how the sums decide."""
    starts = [format_number(start) for start in np.atleast_1d(weighted.intercept).tolist()]
    names = [format_label(label) for label in weighted.classes]
    if weighted.is_binary:
        limit = format_number(weighted.threshold)
        return [
            f"The points of what holds are added to {starts[0]}: {names[1]} if the sum is more than {limit}, "
            f"else {names[0]}."
        ]
    pairs = ", ".join(f"{name} {start}" for name, start in zip(names, starts, strict=True))
    return [
        f"The points of what holds are added up for each class, which starts at: {pairs}. The largest sum decides, of "
        "equal ones the first."
    ]


def _card_columns(card: Scorecard) -> Columns:
    rows = card.rows()
    return [
        (title, [_markdown(str(row[k])) for row in rows]) for k, title in enumerate(card.columns)
    ]


def _point_columns(weighted: Scorecard) -> Columns:
    lines = weighted.lines()
    return [
        ("#", [str(k) for k in range(1, len(lines) + 1)]),
        ("class", [_markdown(format_label(line.label)) for line in lines]),
        ("points", [_markdown(format_number(line.points)) for line in lines]),
        ("where", [_markdown(line.text) for line in lines]),
    ]


def _columns(rows: list[RuleRow]) -> Iterator[tuple[str, list[str]]]:
    """Give title and cells of each column that has something to say."""
    yield "#", [str(k) for k in range(1, len(rows) + 1)]
    if any(row.name is not None for row in rows):
        # In the rule language every letter that cannot be seen is written as an escape.
        yield "name", ["" if row.name is None else _markdown(quote(row.name)) for row in rows]
    yield "premise", [_markdown(row.premise) for row in rows]
    yield "class", [_markdown(format_label(row.label)) for row in rows]
    if any(row.weight != 1 for row in rows):
        yield "weight", [_markdown(format_number(row.weight)) for row in rows]
    if any(row.stats is not None for row in rows):
        yield "covers", [_covers(row.stats) for row in rows]
        yield "right", [_markdown(_right(row.stats)) for row in rows]
    if any(row.proof is not None for row in rows):
        yield "proof", [row.proof or "" for row in rows]


def _fill_note(rules: RuleSet) -> str | None:
    """Return what missing values count as, as a line below the table."""
    filled = [
        _markdown(
            f"{quote(name)} {quote(value) if isinstance(value, str) else format_number(value)}"
        )
        for name, value in filled_features(rules)
    ]
    return f"A missing value counts as: {', '.join(filled)}." if filled else None


def _covers(stats: RuleStats | None) -> str:
    return "" if stats is None else f"{stats.covered} of {stats.rows}"


def _right(stats: RuleStats | None) -> str:
    if stats is None or stats.correct is None or not stats.covered:
        return ""
    return percent(stats.correct, stats.covered)


def _markdown_line(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


_MARKDOWN = {
    **{letter: f"\\{letter}" for letter in "\\`*_[]|~$"},
    # A backslash would do in CommonMark, but not in every reader that lets HTML through.
    "<": "&lt;",
    "&": "&amp;",
}


def _markdown(text: str) -> str:
    return "".join(_MARKDOWN.get(letter, letter) for letter in text)
