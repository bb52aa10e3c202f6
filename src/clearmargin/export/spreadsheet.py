"""Rules as a spreadsheet: one sheet a class; of weighted rules and cards one with points, one with what else counts."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clearmargin.exceptions import InvalidValueError, MissingDependencyError
from clearmargin.export.card_cells import card_cells
from clearmargin.export.conditions import Between, Member, Missing, Weighted, conditions, label_text
from clearmargin.export.score_sums import rules_to_write
from clearmargin.language.lexer import quote
from clearmargin.language.printer import Phrases
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules.file_writing import write_bytes_atomically
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.rule import Rule
from clearmargin.rules.ruleset import RuleSet
from clearmargin.scorecards.certified_card import CertifiedScorecard

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

__all__ = ["sheet_names", "to_xlsx"]

# A number is shown with its sign in front and stays a number, which can be sorted and filtered.
Cell = tuple[str, str | float | int]
Table = list[list[Cell | None]]

_FILL_SHEET = "missing values"
# Limits of the file format.
_LONGEST_TEXT, _MOST_COLUMNS, _MOST_ROWS, _LONGEST_SHEET_NAME = 32_767, 16_384, 1_048_576, 31


def to_xlsx(
    rules: RuleSet | WeightedRules | CertifiedScorecard,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> Path:
    """Write rules to a spreadsheet with a sheet for each class and a row for each rule.

    Parameters
    ----------
    rules : RuleSet, WeightedRules, CertifiedScorecard or fitted model with one
        The rules. A card with proof is in the sheet *card*, a row for each cell with its ends or categories and its
        points; *decision* says what they prove. Weighted ones are in one sheet, *rules*, with what they add in the
        column *points* (with more than two classes one such column for each); the sheet *score* has what else is added:
        the intercept and the linear terms, and the threshold.
    path : path
        The file; its name ends in .xlsx.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The file written, whole or not at all.

    Notes
    -----
    The column *rule* counts the rules over all sheets: the first one that covers a row decides. For each feature the
    lowest and the highest value stand in two columns, the sign in front of the number; a further one says where a
    value has to be missing (yes) or not (no). What missing values count as, where they do, stands in a sheet of its
    own. The premise in the rule language is exact; a spreadsheet keeps some 15 digits of a number. Texts stay texts,
    also where they start with ``=``.

    Examples
    --------
    >>> import tempfile
    >>> from clearmargin import parse_rules
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_xlsx(parse_rules("bmi >= 30 => ill"), f"{folder}/rules.xlsx").name
    'rules.xlsx'
    """
    given = rules_to_write(rules)
    target = Path(path)
    if target.suffix.lower() != ".xlsx":
        raise InvalidValueError(f"{path}: the name of a spreadsheet ends in .xlsx")
    if not given.classes:
        raise InvalidValueError("there is nothing to write: the rule set has no classes")
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise MissingDependencyError(
            "a spreadsheet needs XlsxWriter: pip install clearmargin[xlsx]"
        ) from error
    content = io.BytesIO()
    sheets = _sheets(given)
    with Workbook(content, {"in_memory": True}) as book:
        writer = _Writer(book)
        for name, table in zip(sheet_names([name for name, _ in sheets]), sheets, strict=True):
            writer.write_sheet(book.add_worksheet(name), table[1])
    return write_bytes_atomically(target, content.getvalue(), overwrite=overwrite)


def _sheets(given: RuleSet | WeightedRules | CertifiedScorecard) -> list[tuple[str, Table]]:
    """Return all sheets, with their names."""
    if isinstance(given, CertifiedScorecard):
        return [("card", _card_table(given)), ("decision", _decision_table(given))]
    return _weighted_sheets(given) if isinstance(given, WeightedRules) else _class_sheets(given)


def _card_table(card: CertifiedScorecard) -> Table:
    """Return the cells of a card with proof: ends or categories, points at least and at most."""
    titles = ["feature", "low", "high", "in", "missing", "at least", "at most"]
    rows: Table = [[("title", title) for title in titles]]
    for feature in card_cells(card).features:
        for part, least, most in feature:
            low: Cell | None = None
            high: Cell | None = None
            named: Cell | None = None
            missing: Cell | None = None
            if isinstance(part, Between):
                low, high = part.low, part.high
            elif isinstance(part, Member):
                named = ("text", ", ".join(quote(category) for category in part.categories))
            else:
                missing = ("text", "yes")
            assert not isinstance(part, Weighted)
            name = ("text", card.space.names[part.feature])
            rows.append([name, low, high, named, missing, ("number", least), ("number", most)])
    return rows


def _decision_table(card: CertifiedScorecard) -> Table:
    """Return what the sums of points prove."""
    (few, many), (first, second) = card.thresholds, card.classes
    rows: Table = [
        [("title", "class"), ("title", "is proved where the points"), ("title", "sum to")],
        [("text", label_text(second)), ("text", "at least"), (">=", many)],
        [("text", label_text(first)), ("text", "at most"), ("<=", few)],
    ]
    said = [card.about, "A case that is in no row of a feature is not proved.", card.conditions()]
    rows += [[("text", text), None, None] for text in said if text]
    return rows


def _class_sheets(rules: RuleSet) -> list[tuple[str, Table]]:
    """Return the sheets of rules of which the first decides, with their names."""
    numbered = list(enumerate(rules, start=1))
    sheets = [
        (label_text(label), _table(rules, [entry for entry in numbered if entry[1].label == label]))
        for label in rules.classes
    ]
    filled = _fill_table(rules)
    return sheets if filled is None else [*sheets, (_FILL_SHEET, filled)]


def _weighted_sheets(weighted: WeightedRules) -> list[tuple[str, Table]]:
    """Return the sheets of rules with weights, with their names."""
    rules = weighted.rules
    table = _table(rules, list(enumerate(rules, start=1)))
    # Before the rest of the columns, behind the number of the rule.
    points = [_point_titles(weighted), *np.atleast_2d(weighted.weights).T.tolist()]
    for line, cells in zip(table, points, strict=True):
        kind = "title" if line is table[0] else "number"
        line[1:1] = [(kind, cell) for cell in cells]
    sheets = [("rules", table), ("score", _score_table(weighted))]
    filled = _fill_table(rules)
    return sheets if filled is None else [*sheets, (_FILL_SHEET, filled)]


def _point_titles(weighted: WeightedRules) -> list[str]:
    """Return the titles of the columns with points: the class that they speak for stands in each."""
    named = weighted.classes[1:] if weighted.is_binary else weighted.classes
    return [f"points for {label_text(label)}" for label in named]


def _score_table(weighted: WeightedRules) -> Table:
    """Return what is added to a score beside rules, and the threshold."""
    titles = ["what", "category", *_point_titles(weighted), "a missing value counts as"]
    rows: Table = [[("title", title) for title in titles]]
    intercepts = np.atleast_1d(weighted.intercept).tolist()
    rows.append([("text", "intercept"), None, *(("number", x) for x in intercepts), None])
    for term in weighted.linear:
        name = ("text", f"times {quote(weighted.space.names[term.feature])}")
        if term.fill is not None:
            cells = [("number", x) for x in term.coef.reshape(-1).tolist()]
            rows.append([name, None, *cells, ("number", term.fill)])
            continue
        categories = weighted.space.categories[term.feature] or ()
        for code, category in enumerate(categories):
            cells = [("number", x) for x in np.atleast_2d(term.coef)[:, code].tolist()]
            feature = ("text", quote(weighted.space.names[term.feature]))
            rows.append([feature, ("text", category), *cells, None])
    if weighted.is_binary:
        above = f"more than this: {label_text(weighted.classes[1])}"
        rows.append([("text", f"threshold ({above})"), None, ("number", weighted.threshold), None])
    return rows


def sheet_names(classes: list[str]) -> list[str]:
    """Return a name for each sheet that Excel accepts: at most 31 letters, some not allowed, all different in any case.

    Examples
    --------
    >>> sheet_names(["ill", "at/risk", "ILL", "'"])
    ['ill', 'at_risk', 'ILL (2)', '_']
    """
    names: list[str] = []
    # Excel keeps this one for itself.
    taken = {"history"}
    for text in classes:
        cleaned = re.sub(r"[\[\]:*?/\\\x00-\x1f\ud800-\udfff]|^'|'$", "_", text)
        name, count = _cut(cleaned, ""), 1
        while name.casefold() in taken:
            count += 1
            name = _cut(cleaned, f" ({count})")
        taken.add(name.casefold())
        names.append(name)
    return names


def _cut(text: str, tail: str) -> str:
    """Return the text with a tail, in at most as many UTF-16 units as a sheet name has."""
    while len(f"{text}{tail}".encode("utf-16-le")) > 2 * _LONGEST_SHEET_NAME:
        text = text[:-1]
    return re.sub("'$", "_", text) + tail


def _table(rules: RuleSet, members: list[tuple[int, Rule]]) -> Table:
    """Give title and cells, column by column."""
    phrases = Phrases(rules.space)
    rows = [dict(_cells(rules, phrases, k, rule)) for k, rule in members]
    first = ["rule", "name", "premise", "class"]
    last = [title for title, _ in _facts(None)]
    used = sorted({j for _, rule in members for j in rule.region.bounded})
    middle = [title for j in used for title in _titles(rules, j)]
    present = {title for row in rows for title in row}
    titles = [*first, *(t for t in [*middle, "sums"] if t in present), *last]
    head: list[Cell | None] = [("title", title) for title in titles]
    return [head, *([row.get(title) for title in titles] for row in rows)]


def _fill_table(rules: RuleSet) -> Table | None:
    """Return what missing values count as, feature by feature; None where all of them stay missing."""
    filled = [
        (name, value)
        for name, value in zip(rules.space.names, rules.space.fill, strict=True)
        if value is not None
    ]
    head: list[Cell | None] = [("title", "feature"), ("title", "a missing value counts as")]
    rows: list[list[Cell | None]] = [
        [("text", name), ("text" if isinstance(value, str) else "number", value)]
        for name, value in filled
    ]
    return [head, *rows] if rows else None


def _titles(rules: RuleSet, j: int) -> tuple[str, ...]:
    """Return the columns that a feature may have: its bounds or its categories, then whether it is missing."""
    name = quote(rules.space.names[j])
    ends = ("low", "high") if rules.space.categories[j] is None else ("in",)
    return tuple(f"{name} {end}" for end in (*ends, "missing"))


def _cells(rules: RuleSet, phrases: Phrases, k: int, rule: Rule) -> Iterator[tuple[str, Cell]]:
    yield "rule", ("number", k)
    if rule.name is not None:
        yield "name", ("text", rule.name)
    yield "premise", ("text", phrases.premise(rule))
    yield "class", ("text", label_text(rule.label))
    parts = conditions(rule.region, rules.space.categories)
    for part in parts:
        if isinstance(part, Between):
            titles = _titles(rules, part.feature)
            for title, bound in zip(titles, (part.low, part.high), strict=False):
                if bound is not None:
                    yield title, bound
        elif isinstance(part, Member):
            categories = ", ".join(quote(category) for category in part.categories)
            yield _titles(rules, part.feature)[0], ("text", categories)
        elif isinstance(part, Missing):
            yield _titles(rules, part.feature)[-1], ("text", "yes" if part.is_missing else "no")
    if any(isinstance(part, Weighted) for part in parts):
        assert isinstance(rule.region, Polyhedron)
        yield "sums", ("text", " and ".join(phrases.rows(rule.region)))
    yield from ((title, cell) for title, cell in _facts(rule) if cell is not None)


def _facts(rule: Rule | None) -> Iterator[tuple[str, Cell | None]]:
    """Yield what is known about a rule; without one, the titles alone."""
    stats = None if rule is None else rule.stats
    for count in ("rows", "covered", "correct", "agreed"):
        yield count, _number("number", getattr(stats, count, None))
    for title, share in (("coverage", "coverage"), ("precision", "accuracy"), ("fidelity",) * 2):
        yield title, _number("share", getattr(stats, share, None))
    yield "weight", _number("number", getattr(rule, "weight", None))
    for title in ("origin", "proof"):
        text = getattr(rule, title, None)
        yield title, None if text is None else ("text", text)


def _number(form: str, value: float | None) -> Cell | None:
    return None if value is None or math.isnan(value) else (form, value)


class _Writer:
    """Writes tables to sheets, each cell in the form that its kind has."""

    def __init__(self, book: Workbook):
        forms = {
            "title": {"bold": True, "text_wrap": True, "valign": "top", "num_format": "@"},
            "text": {"num_format": "@", "valign": "top"},
            "number": {"valign": "top"},
            "share": {"num_format": "0.0%", "valign": "top"},
        }
        for sign, shown in ((">=", "≥"), (">", ">"), ("<=", "≤"), ("<", "<")):
            forms[sign] = {"num_format": f'"{shown} "General', "valign": "top"}
        self.formats: dict[str, Format] = {
            kind: book.add_format(form) for kind, form in forms.items()
        }

    def write_sheet(self, sheet: Worksheet, table: Table) -> None:
        """Write a table whose first row holds the titles."""
        if len(table) > _MOST_ROWS or len(table[0]) > _MOST_COLUMNS:
            raise InvalidValueError(
                f"a sheet of {len(table)} rows and {len(table[0])} columns is larger than a spreadsheet can be "
                f"({_MOST_ROWS} by {_MOST_COLUMNS})"
            )
        for row, cells in enumerate(table):
            for column, cell in enumerate(cells):
                if cell is not None:
                    self._write(sheet, row, column, cell)
        sheet.freeze_panes(1, 1)
        for column, title in enumerate(table[0]):
            assert title is not None
            sheet.set_column(column, column, 60 if title[1] == "premise" else 12)
        sheet.autofilter(0, 0, max(1, len(table) - 1), len(table[0]) - 1)

    def _write(self, sheet: Worksheet, row: int, column: int, cell: Cell) -> None:
        kind, value = cell
        form = self.formats[kind]
        if not isinstance(value, str):
            sheet.write_number(row, column, value, form)
            return
        # A longer text would be left out without a word.
        if len(value.encode("utf-16-le", "surrogatepass")) > 2 * _LONGEST_TEXT:
            raise InvalidValueError(
                f"a text of {len(value)} letters does not fit into a cell of a spreadsheet, which holds "
                f"{_LONGEST_TEXT}: {value[:40]!r}..."
            )
        # Written as a string, a text is never taken for a formula, whatever it starts with.
        sheet.write_string(row, column, value.encode("utf-8", "replace").decode(), form)
