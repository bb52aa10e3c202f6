"""Rules for people: as sentences, and as tables (plain rows first, then a data frame or HTML made of them)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearmargin.exceptions import InvalidValueError, MissingDependencyError
from clearmargin.language.lexer import escape
from clearmargin.language.printer import Phrases, check_rules, format_number
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval, round_inwards
from clearmargin.rules.rule import Label, Rule, RuleStats
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace

if TYPE_CHECKING:
    import pandas as pd

# The words for the proof of a rule.
PROOF_WORDS = {
    "proved": "proved",
    "observed": "observed",
    "stated": "proved, says its file, not checked here",
    "distilled": "proved of the distilled plane, not of the model",
}
# Beyond it, not every whole number is a float.
_LAST_SURE_WHOLE = 2.0**53


def describe_rules(rules: RuleSet, digits: int = 3) -> str:
    r"""Say rules in sentences, one a line.

    Bounds are rounded inwards: what is said is a part of what the rule covers, so a proved rule stays true. Bounds
    of features that count things become whole numbers, which changes nothing for such features. Linear
    conditions are not rounded; they stand as in the rule language.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    digits : int, default 3
        Significant digits of the bounds.

    Returns
    -------
    str
        Numbered sentences.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> rules = parse_rules("feature bmi: unit `kg/m2`\n29.9876 <= bmi < 40 => ill")
    >>> print(describe_rules(rules))
    1. If bmi is at least 30 and less than 40 kg/m2, then ill.
    """
    check_rules(rules)
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 1:
        raise InvalidValueError(f"digits must be a whole number from 1, not {digits!r}")
    phrases = Phrases(rules.space)
    lines = [
        f"{k}. {_sentence(rule, rules.space, phrases, digits)}" for k, rule in enumerate(rules, 1)
    ]
    if (filled := describe_fill(rules)) is not None:
        lines.append(filled)
    return "\n".join(lines) or "No rules."


def describe_fill(rules: RuleSet) -> str | None:
    """Say what missing values count as, of the features that rules have conditions on."""
    phrases = [
        f"{plain(name)} {plain(value) if isinstance(value, str) else format_number(value)}"
        for name, value in filled_features(rules)
    ]
    return f"# A missing value counts as: {', '.join(phrases)}." if phrases else None


def filled_features(rules: RuleSet) -> list[tuple[str, float | str]]:
    """List the features that rules have conditions on and whose missing values count as something."""
    used = {j for rule in rules for j in rule.region.bounded}
    pairs = enumerate(zip(rules.space.names, rules.space.fill, strict=True))
    return [(name, value) for j, (name, value) in pairs if value is not None and j in used]


def describe_premise(
    rule: Rule, space: FeatureSpace, digits: int = 3, case: Sequence[float] = ()
) -> str:
    """Say the conditions of a rule in words; nothing where there are none."""
    return _premise(rule, space, Phrases(space), digits, case)


def _premise(
    rule: Rule, space: FeatureSpace, phrases: Phrases, digits: int, case: Sequence[float] = ()
) -> str:
    region = rule.region
    if isinstance(region, Box):
        conditions = [
            _say_feature(region, j, space, digits, case[j] if len(case) else None)
            for j in region.bounded
        ]
    else:
        conditions = [
            *phrases.rows(region),
            *(_say_set(j, sorted(codes), space) for j, codes in region.sets.items()),
            *(f"{plain(space.names[j])} is missing" for j in region.missing),
            *(f"{plain(space.names[j])} is not missing" for j in region.known),
        ]
    return " and ".join(conditions)


def _sentence(rule: Rule, space: FeatureSpace, phrases: Phrases, digits: int) -> str:
    conditions = _premise(rule, space, phrases, digits)
    premise = f"If {conditions}, then" if conditions else "Always"
    name = "" if rule.name is None else f"{plain(rule.name)}: "
    remarks = _remarks(rule)
    return f"{name}{premise} {plain(rule.label)}.{f' ({remarks})' if remarks else ''}"


def plain(label: Label) -> str:
    """Show a name as it is; only what cannot be seen is written as an escape."""
    text = str(label)
    return text if text.isprintable() else escape(text)


def _say_feature(
    box: Box, j: int, space: FeatureSpace, digits: int, value: float | None = None
) -> str:
    if j in box.missing or j in box.known:
        return f"{plain(space.names[j])} is {'' if j in box.missing else 'not '}missing"
    if j in box.sets:
        return _say_set(j, sorted(box.sets[j]), space)
    interval = box.interval(j)
    whole = _whole_numbers(interval) if space.integer[j] else None
    ends = float(space.lower[j]), float(space.upper[j])
    shown = _short(interval, digits, value) if whole is None else _at_an_end(whole, *ends)
    unit = space.units[j]
    return f"{plain(space.names[j])} is {_say_interval(shown)}{f' {plain(unit)}' if unit else ''}"


def _short(interval: Interval, digits: int, value: float | None) -> Interval:
    """Round an interval inwards, with as many digits as it takes to keep a value that it contains."""
    shown = round_inwards(interval, digits)
    while value is not None and value in interval and value not in shown:
        digits += 1
        shown = round_inwards(interval, digits)
    return shown


def _whole_numbers(interval: Interval) -> Interval | None:
    """Return the whole numbers of an interval, from the first to the last; None if there are none."""
    low, high = interval.low, interval.high
    if any(abs(bound) > _LAST_SURE_WHOLE for bound in (low, high) if math.isfinite(bound)):
        return None
    if math.isfinite(low):
        low = float(math.ceil(low) if interval.low_closed else math.floor(low) + 1)
    if math.isfinite(high):
        high = float(math.floor(high) if interval.high_closed else math.ceil(high) - 1)
    whole = Interval(low, high, closed="both")
    return None if whole.is_empty else whole


def _at_an_end(whole: Interval, first: float, last: float) -> Interval:
    """Return a count that is at most 0 is 0: the one number of the range that is left."""
    if whole.low == -math.inf and whole.high == first:
        return Interval(first, first, closed="both")
    if whole.high == math.inf and whole.low == last:
        return Interval(last, last, closed="both")
    return whole


def _say_interval(interval: Interval) -> str:
    low, high = format_number(interval.low), format_number(interval.high)
    if interval.low == interval.high:
        return low
    if interval.low > -math.inf and interval.high < math.inf and interval.closed == "both":
        return f"between {low} and {high}"
    parts = []
    if interval.low > -math.inf:
        parts.append(f"{'at least' if interval.low_closed else 'more than'} {low}")
    if interval.high < math.inf:
        parts.append(f"{'at most' if interval.high_closed else 'less than'} {high}")
    return " and ".join(parts)


def _say_set(j: int, codes: Iterable[int], space: FeatureSpace) -> str:
    categories = space.categories[j]
    assert categories is not None
    *first, last = (plain(categories[code]) for code in codes)
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"{plain(space.names[j])} is {listed}"


def _remarks(rule: Rule) -> str:
    stats = rule.stats
    remarks = [] if rule.weight == 1 else [f"weight {format_number(rule.weight)}"]
    if (
        stats is not None
        and stats.correct is not None
        and mostly_wrong(stats.correct, stats.covered)
    ):
        # A proof is about the model; whoever reads no further has to have read this.
        remarks.append(f"right on only {percent(stats.correct, stats.covered)} of its rows")
    remarks += [] if rule.proof is None else [PROOF_WORDS[rule.proof]]
    remarks += [] if stats is None else [_say_stats(stats)]
    return "; ".join(remarks)


def mostly_wrong(correct: int | None, covered: int) -> bool:
    """Tell whether a rule is right on less than half of the rows that it covers."""
    return correct is not None and 2 * correct < covered


def _say_stats(stats: RuleStats) -> str:
    text = f"covers {stats.covered} of {stats.rows} rows"
    is_wrong = mostly_wrong(stats.correct, stats.covered)
    if stats.covered and stats.correct is not None and not is_wrong:
        text += f", {percent(stats.correct, stats.covered)} of them right"
    if stats.covered and stats.agreed is not None:
        text += f", {percent(stats.agreed, stats.covered)} as the model says"
    return text


def percent(part: int, whole: int) -> str:
    """Say a share in percent, rounded down: only all of them are 100 %."""
    tenths = 1000 * part // whole
    return f"{format_number(tenths / 10)} %"


def ratio_text(ratio: float) -> str:
    """Say a share that is no count in percent, as `percent` does: at most one decimal, rounded down."""
    # A billionth of a thousandth lifts what is a whole number of tenths but for the last bits.
    return percent(math.floor(1000 * ratio + 1e-9), 1000)


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
    """Put rules into plain rows."""
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
    from clearmargin.templates import html_table, render_macro

    rows = rule_rows(rules)
    n = len(rows)
    caption = f"{n or 'No'} {'rule' if n == 1 else 'rules'}"
    if not rows:
        return render_macro("notebook.html", "lines", items=[caption])
    columns = list(_columns(rows))
    titles = [title for title, _ in columns]
    cells = zip(*(cells for _, cells in columns), strict=True)
    return html_table(titles, cells, caption=caption, codes=(titles.index("premise"),))


def _columns(rows: list[RuleRow]) -> Iterator[tuple[str, list[str]]]:
    """Give title and cells of each column that has something to say."""
    yield "#", [str(k) for k in range(1, len(rows) + 1)]
    if any(row.name is not None for row in rows):
        yield "name", [plain(row.name or "") for row in rows]
    yield "premise", [row.premise for row in rows]
    yield "class", [plain(row.label) for row in rows]
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
        return "✓ proved"
    return "" if proof is None else PROOF_WORDS[proof]
