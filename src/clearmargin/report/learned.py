"""What was learned, in a few sentences."""

from __future__ import annotations

from typing import Any

from clearmargin.language.words import counted, listed, plain, share_text

__all__ = ["about", "default_title", "learned"]

Summary = dict[str, Any]

_STANDINGS = {
    "proved": "proved",
    "uncontradicted": "not contradicted by any covered case, but not proved",
    "contradicted": "contradicted by covered cases",
}


def default_title(summary: Summary) -> str:
    """A title that says what the report is about."""
    if summary["rules"] is None:
        return "What sets the ends of a ranking apart"
    classes = [plain(entry["class"]) for entry in summary["rules"]["classes"]]
    return f"Rules for {listed(classes, most=4)}"


def about(summary: Summary) -> str:
    """The data and the model in one line."""
    data = summary["data"]
    text = f"{counted(data['rows'], 'case')}, {counted(data['features'], 'feature')}"
    if data["classes"]:
        parts = [f"{entry['rows']:,} {plain(entry['class'])}" for entry in data["classes"]]
        text += f" ({listed(parts)})"
    return f"{text}. Model: {summary['model']['name']}."


def learned(summary: Summary) -> list[str]:
    """Say in plain sentences what was learned and how far it can be trusted.

    Parameters
    ----------
    summary : dict
        All other parts of the summary.

    Returns
    -------
    list of str
        Sentences.
    """
    said: list[str] = []
    if summary["rules"] is not None:
        said += _rules(summary)
        said += _trust(summary)
    if summary["contrast"] is not None:
        said.append(_contrast(summary["contrast"]))
    if summary["advice"] is not None:
        said.append(_advice(summary["advice"]))
    return said


def _rules(summary: Summary) -> list[str]:
    facts = summary["rules"]
    rules = facts["list"]
    if not rules:
        return ["No rules were found."]
    each = [f"{e['rules']:,} for {plain(e['class'])}" for e in facts["classes"]]
    used = [plain(f["name"]) for f in summary["features"] if any(f["rules"])]
    said = [
        f"{counted(len(rules), 'rule')} ({listed(each)}) "
        f"{'says' if len(rules) == 1 else 'say'} what was learned. "
        + (
            f"They look at {len(used)} of {counted(len(summary['features']), 'feature')}: {listed(used)}."
            if used
            else "They look at no feature at all."
        )
    ]
    best = max(rules, key=lambda rule: rule["covered"])
    right = (
        ""
        if best["correct"] is None
        else f", right on {share_text(best['correct'], best['covered'])}"
    )
    said.append(
        f"The rule that covers most is rule {best['number']}: {best['sentence']} It covers "
        f"{best['covered']:,} of {counted(best['rows'], 'case')}{right}."
    )
    proved = sum(rule["proof"] == "proved" for rule in rules)
    if proved == len(rules):
        said.append(
            "Every rule is proved: the model gives its class to all cases that meet its conditions, seen or not."
        )
    elif proved:
        said.append(
            f"{proved:,} of {counted(len(rules), 'rule')} are proved; the others were observed only."
        )
    else:
        said.append(
            "No rule is proved: what they say was observed on cases, or written by somebody."
        )
    return said


def _trust(summary: Summary) -> list[str]:
    total = summary["rules"]["total"]
    share = share_text(total["covered"], total["rows"])
    text = (
        f"The rules cover {total['covered']:,} of {counted(total['rows'], 'case')} given ({share})"
    )
    if total["correct"] is not None and total["covered"]:
        text += f" and are right on {share_text(total['correct'], total['covered'])} of them"
    if total["agreed"] is not None and total["covered"]:
        text += f"; there they say what the model says on {share_text(total['agreed'], total['covered'])}"
    said = [f"{text}."]
    check = summary["validation"]
    if check["done"]:
        figure = check["figures"]["accuracy"]
        error, common = figure["standard_error"], check["most_common_class"]
        margin = "" if error is None else f" (standard error {100 * error:.1f} percentage points)"
        said.append(
            f"On cases not seen in training, {share_text(figure['part'], figure['whole'])} of the answers are "
            f"right{margin}, in cross-validation ({check['folds']} {check['how']}); always saying "
            f"{plain(common['class'])} would be right on {share_text(common['part'], common['whole'])}."
        )
        if check["note"]:
            said.append(f"{check['note']}, which may make this figure too high.")
    else:
        said.append(f"How it does on cases not seen in training is not known: {check['why']}.")
    bare = summary["uncovered"]["rows"]
    if bare:
        said.append(f"{counted(bare, 'case is', 'cases are')} covered by no rule.")
    return said


def _contrast(facts: Summary) -> str:
    text = f"In the ranking, {counted(facts['worth_showing'], 'property sets', 'properties set')} top and bottom apart"
    confirmed = sum(entry["confirmed"] for entry in facts["properties"])
    return (
        f"{text}; {confirmed:,} of those shown are confirmed by classes held out."
        if facts["has_labels"]
        else f"{text}."
    )


def _advice(facts: Summary) -> str:
    rules = facts["rules"]
    if facts["kind"] == "check":
        errors = sum(finding["severity"] == "error" for finding in facts["findings"])
        state = counted(errors, "error") if errors else "no errors"
        return f"Of {counted(len(rules), 'piece', 'pieces')} of advice, the check found {state}."
    standings: dict[str, int] = {}
    for rule in rules:
        words = _STANDINGS.get(rule["standing"], "set aside")
        standings[words] = standings.get(words, 0) + 1
    parts = [f"{count:,} {words}" for words, count in standings.items()]
    return f"Of {counted(len(rules), 'piece', 'pieces')} of advice: {'; '.join(parts) or 'none'}."
