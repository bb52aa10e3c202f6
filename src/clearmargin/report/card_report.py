"""Reports on scorecards: the card, what it proves or how often it agrees, cases by their lines, and unseen cases.

What a card with proof proves and what was measured on cases are told apart: a proof is about the machine and all cases
within the ranges, a figure about the cases that were counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from clearmargin.exceptions import ClearmarginError, DataError
from clearmargin.language.words import (
    counted,
    error_text,
    listed,
    number_text,
    plain,
    share_text,
)
from clearmargin.models.fitted import is_fitted, wrapped_layers
from clearmargin.points import Scorecard, ScoreRules
from clearmargin.report.page_blocks import Block, Card, Cell, Line, Mark, Para, Section, TableBlock
from clearmargin.report.pictures import points_bar, two_sided_bar
from clearmargin.report.sections import rare_sentences
from clearmargin.report.subject import (
    Prototype,
    Refit,
    check_facts,
    match_labels,
    threshold_text,
)
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import IntArray
from clearmargin.tables.figures import Evaluation, UnseenRows, rare_class
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table

Summary = dict[str, Any]


def card_facts(
    model: ScoreRules,
    X: Table,
    y: Any,
    cases: int,
    splitting: Splitting | None,
    refit: Refit | None = None,
) -> Summary:
    """Gather what a scorecard says, and how it does."""
    if not is_fitted(model):
        if y is None:
            raise DataError(
                f"{type(model).__name__} is not fitted and there is no y to fit it to; pass y, or fit it first"
            )
        model = clone(model).fit(X.taken_by(model), y)
    card = model.scorecard_
    classes = tuple(as_label(label) for label in model.classes_.tolist())
    answers = match_labels(model.predict(X.taken_by(model)), classes)
    true = None if y is None else match_labels(y, classes)
    is_proof = card.proof is not None
    codes = model.prove_codes(X) if is_proof else None
    agreed = match_labels(model.estimator_.predict(X.taken_by(model.estimator_)), classes)
    return {
        "kind": "proof" if is_proof else "imitation",
        "machine": type([*wrapped_layers(model.estimator_)][-1]).__name__,
        "threshold": threshold_text(model.estimator_),
        "about": card.proof.about if card.proof is not None else "",
        "decides": (card.card_summary() if card.is_card else card.summary()).splitlines(),
        "conditions": " ".join(card.notes()),
        "classes": list(classes),
        "cuts": card.n_cuts if is_proof else len(card.rules),
        "lines": _lines(card),
        "rows": len(answers),
        "proved": None if codes is None else _proved(model, X, codes, true, classes),
        "agreed": int((answers == agreed).sum()),
        "right": None if true is None else int((answers == true).sum()),
        "cases": _cases(model, X, codes, answers, true, cases),
        "validation": _validate(model, X, y, classes, splitting, refit),
    }


def _lines(card: Scorecard) -> list[Summary]:
    """Return the lines of the card, both ends of their points where there are two."""
    if not card.is_card:
        return [
            {"feature": "", "value": line.text, "low": 0.0, "high": line.points}
            for line in card.lines()
        ]
    return [
        {
            "feature": line.name,
            "value": line.text,
            "low": float((line.proof or (0.0,))[0]),
            "high": float(line.values()[-1]),
        }
        for line in card.card()
    ]


def _proved(
    model: ScoreRules, X: Table, codes: IntArray, true: Any, classes: tuple[Any, ...]
) -> Summary:
    inside = model.scorecard_.totals(model.read(X))[2]
    return {
        "rows": int((codes >= 0).sum()),
        "classes": [
            {
                "class": label,
                "rows": int((codes == k).sum()),
                "right": None if true is None else int(((codes == k) & (true == k)).sum()),
            }
            for k, label in enumerate(classes)
        ],
        "between": int((inside & (codes < 0)).sum()),
        "outside": int((~inside).sum()),
    }


def _cases(
    model: ScoreRules, X: Table, codes: Any, answers: IntArray, true: Any, count: int
) -> list[Summary]:
    """Explain cases of each kind in turn: each class, and what is not proved; the first of each."""
    kinds = [answers == 0, answers == 1]
    if codes is not None:
        kinds = [codes == 0, codes == 1, codes < 0]
    chosen: list[int] = []
    for place in range(count):
        rows = np.flatnonzero(kinds[place % len(kinds)])
        fresh = [row for row in rows.tolist() if row not in chosen]
        chosen += fresh[:1]
    found = []
    for row in chosen:
        told = str(model.explain(X.take(np.array([row])).given)).splitlines()
        found.append(
            {
                "row": row + 1,
                "true": None
                if true is None or true[row] < 0
                else as_label(model.classes_.tolist()[true[row]]),
                "proved": None if codes is None else bool(codes[row] >= 0),
                "decision": told[0],
                "lines": [line.strip() for line in told[1:]],
            }
        )
    return found


def _validate(
    model: ScoreRules,
    X: Table,
    y: Any,
    classes: tuple[Any, ...],
    splitting: Splitting | None,
    refit: Refit | None,
) -> Summary:
    """Make the card again without a part of the cases, and count on that part, for each fold."""
    part = find_trained_part(model)
    why = (
        ""
        if refit is not None or not part
        else f"{part} was trained before and cannot be trained again"
    )
    if splitting is None or y is None or why:
        asked = "it was not asked for" if splitting is None else "the classes were not given"
        return {"done": False, "why": why or asked}
    predicted, proved = [], []
    try:
        folds = splitting.folds(X, y)
        train_again = Prototype(clone(model), X, y) if refit is None else refit
        for train, test in folds.pairs:
            made, rows = train_again(train, test)
            table = Table.read(rows)
            predicted.append(match_labels(made.predict(table.taken_by(made)), classes))
            codes = made.prove_codes(table) if getattr(made, "certify", False) else None
            proved.append(np.full(len(test), -1) >= 0 if codes is None else codes >= 0)
    except ClearmarginError as error:
        return {"done": False, "why": str(error)}
    tested = UnseenRows.of(folds, splitting.groups)
    true = match_labels(y, classes)[tested.rows]
    rare = rare_class(y)
    rare = rare if rare in classes else None
    known = Evaluation(tested, true, np.concatenate(predicted), classes, rare=rare)
    return {
        **check_facts(known, folds),
        "accuracy": known.accuracy.to_dict(),
        "proved": tested.share(np.concatenate(proved)).to_dict(),
    }


def card_learned(facts: Summary) -> list[str]:
    """Say in plain sentences what a card proves, or how often it agrees with its machine, and how right it is."""
    features = len(dict.fromkeys(line["feature"] for line in facts["lines"]))
    card = (
        f"A card of {counted(facts['cuts'], 'cut')} over {counted(features, 'feature')}"
        if facts["proved"] is not None
        else f"A card of {counted(facts['cuts'], 'rule')} with points"
    )
    rows = counted(facts["rows"], "case")
    phrases = [facts["about"]] if facts["about"] else []
    proved = facts["proved"]
    if proved is None:
        share = share_text(facts["agreed"], facts["rows"])
        phrases.append(
            f"{card} predicts what its machine ({facts['machine']}) predicts for {share} of {rows} given; that is "
            "measured, not proved."
        )
    else:
        whom = "the distilled plane" if facts["about"] else f"its machine ({facts['machine']})"
        each = [f"{entry['rows']:,} {plain(entry['class'])}" for entry in proved["classes"]]
        phrases.append(
            f"{card} proves what {whom} predicts for {proved['rows']:,} of {rows} given "
            f"({share_text(proved['rows'], facts['rows'])}): {listed(each)}. The proof holds for every case within "
            "the lines, seen or not, rounding included; it does not say that the machine is right."
        )
        phrases.append(
            f"Of {proved['between']:,} cases the points leave the class open, and {proved['outside']:,} are outside "
            "of the ranges on the card; for these the machine decides."
        )
    return [*phrases, *_unseen(facts)]


def _unseen(facts: Summary) -> list[str]:
    check = facts["validation"]
    if not check["done"]:
        return [f"How it does on cases not seen in training is not known: {check['why']}."]
    accuracy, proved = check["accuracy"], check["proved"]
    share = (
        ""
        if facts["proved"] is None
        else (f"the card proves the class of {share_text(proved['part'], proved['whole'])}, and ")
    )
    right = error_text(share_text(accuracy["part"], accuracy["whole"]), accuracy["standard_error"])
    return [
        *rare_sentences(check),
        f"Measured on cases not seen in training, {share}{right} of the answers are right, in cross-validation "
        f"({check['folds']} {check['how']}).",
        *([f"{check['note']}, which may make this figure too high."] if check["note"] else []),
    ]


def card_section(facts: Summary) -> Section:
    """Return the card as a table with bars."""
    is_proof = facts["proved"] is not None
    blocks: list[Block] = [Para.of(f"{text}.") for text in facts["decides"]]
    highest = max((abs(line["high"]) for line in facts["lines"]), default=0.0)
    points = ("at least", "at most") if is_proof else ("points",)
    rows: list[tuple[Cell, ...]] = []
    before = None
    for line in facts["lines"]:
        ends = (line["low"], line["high"]) if is_proof else (line["high"],)
        texts = [number_text(value) for value in ends]
        shown = " to ".join(texts)
        if is_proof:
            bar = points_bar(line["low"], line["high"], highest, shown)
            name = "" if line["feature"] == before else plain(line["feature"])
            rows.append((name, line["value"], *texts, bar))
        else:
            rows.append((line["value"], *texts, two_sided_bar(line["high"], highest, shown)))
        before = line["feature"]
    if rows:
        where = ("feature", "value") if is_proof else ("where",)
        columns = (*where, *points, "")
        towards = f"Points towards {plain(facts['classes'][1])}"
        numbers = frozenset(range(len(where), len(where) + len(points)))
        blocks.append(TableBlock(towards, columns, tuple(rows), numbers))
    if facts["conditions"]:
        blocks.append(Para.of(facts["conditions"]))
    return Section("card", "The card", tuple(blocks))


def card_case_section(facts: Summary) -> Section | None:
    """Return cases with the lines that hold for them."""
    cards = tuple(
        Card(
            title=f"Row {case['row']}",
            anchor=f"case-{k}",
            marks=(Mark("✓ proved", "proved"),) if case["proved"] else (),
            lead=f"{case['decision']}."
            + ("" if case["true"] is None else f" The table has {plain(case['true'])}."),
            lines=tuple(Line(line) for line in case["lines"]),
        )
        for k, case in enumerate(facts["cases"], start=1)
    )
    return Section("cases", "Some cases", cards) if cards else None
