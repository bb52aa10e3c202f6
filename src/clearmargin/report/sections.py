"""From the summary to the parts of a report, in the order in which they are read."""

from __future__ import annotations

from typing import Any

from clearmargin.report.blocks import Block, Bullets, Code, Fold, Para, Section, TableBlock
from clearmargin.report.evidence_sections import (
    case_section,
    curve_section,
    uncovered_section,
    validation_section,
)
from clearmargin.report.guest_sections import advice_section, contrast_section
from clearmargin.report.rule_sections import feature_section, rule_section

__all__ = ["make_sections"]

Summary = dict[str, Any]

_MEANING = (
    ("rule", "conditions that a case meets, and the class it then gets"),
    ("covers", "how many of the cases meet the conditions"),
    (
        "right (precision)",
        "of the cases that a rule covers, how many have its class; says nothing about other cases",
    ),
    (
        "as the model (fidelity)",
        "of the cases that a rule covers, for how many the model says the same class",
    ),
    (
        "proved",
        "the model gives this class to every case that meets the conditions, also to cases nobody has seen; it is a "
        "statement about the model, and does not say that the model is right",
    ),
    ("observed", "the model gave this class to the cases that were looked at; others may differ"),
    (
        "reachable",
        "cases of a class that the model gets right; rules of the model cannot be right on others",
    ),
    (
        "confidence of a reason",
        "mean of coverage, purity, volume and distance, each from 0 to 100 %; it sorts cases and is no probability",
    ),
    ("standard error", "how far the figure would vary with other folds, as estimated from these"),
    (
        "cross-validation",
        "the model is trained again without a part of the cases and judged on that part; it judges the way of learning "
        "rather than this very model",
    ),
)


def make_sections(summary: Summary) -> tuple[Section, ...]:
    """Arrange a summary for reading.

    Parameters
    ----------
    summary : dict
        As `Report.to_dict` gives it.

    Returns
    -------
    tuple of Section
        Those that have something to say.
    """
    made = [
        Section("learned", "In short", (Bullets(tuple(summary["learned"])),)),
        rule_section(summary),
        feature_section(summary),
        validation_section(summary),
        curve_section(summary),
        case_section(summary),
        uncovered_section(summary),
        contrast_section(summary),
        advice_section(summary),
        _origin_section(summary),
        _meaning_section(summary),
    ]
    return tuple(section for section in made if section is not None and section.blocks)


def _origin_section(summary: Summary) -> Section:
    origin = summary["reproduce"]
    digests = [("table", origin["data"]["table_sha256"])]
    if origin["data"]["classes_sha256"]:
        digests.append(("classes", origin["data"]["classes_sha256"]))
    blocks: list[Block] = [
        Para.of("The same model, data, versions and call give this report again, byte for byte."),
        Code(origin["call"]),
        TableBlock(
            "Data: SHA-256 of the canonical bytes",
            ("what", "SHA-256"),
            tuple((name, Code(digest)) for name, digest in digests),
        ),
        TableBlock("Versions", ("package", "version"), tuple(origin["versions"].items())),
    ]
    if origin["parameters"]:
        rows = tuple((name, Code(value)) for name, value in origin["parameters"].items())
        blocks.append(
            Fold(
                f"All {len(rows)} parameters of the model",
                (TableBlock("Parameters of the model", ("parameter", "value"), rows),),
            )
        )
    return Section("reproduce", "How to make this report again", tuple(blocks))


def _meaning_section(summary: Summary) -> Section | None:
    if summary["rules"] is None:
        return None
    table = TableBlock("Words of this report", ("word", "meaning"), _MEANING)
    return Section("words", "What the words mean", (table,))
