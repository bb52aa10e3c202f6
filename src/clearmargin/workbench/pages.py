"""What each page shows: plain values for the templates, made of the open project."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clearmargin.datasets.by_name import DATASETS
from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.language import read_rule_text
from clearmargin.language.printer import format_number, format_rule
from clearmargin.language.prose import plain
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules import Box, Interval, Rule
from clearmargin.templates import render
from clearmargin.workbench.bench import EXAM, Bench, Version
from clearmargin.workbench.bound_suggestions import short_between
from clearmargin.workbench.case_facts import FILTERS, SORTS, CaseQuery, case_facts, find_cases
from clearmargin.workbench.columns import column_digest, feature_facts
from clearmargin.workbench.data_facts import class_counts, column_facts
from clearmargin.workbench.guard import Access
from clearmargin.workbench.history import Revision, line_changes
from clearmargin.workbench.project_file import Draft, StoredJob
from clearmargin.workbench.settings import (
    DIRECTIONS,
    LISTENING,
    MACHINES,
    MISSING,
    MachineSettings,
    TaskSettings,
)
from clearmargin.workbench.static_files import StaticFiles
from clearmargin.workbench.taken_away import FORMS, SUBJECTS, make_form, subject

_TABS = (
    ("data", "Data"),
    ("rules", "Rules"),
    ("cases", "Cases"),
    ("history", "History"),
    ("export", "Export"),
    ("contrast", "Ranking"),
)
# Properties of each end of a ranking that are shown.
_MOST_PROPERTIES = 15
# What work is called, for people; as in page.js.
_JOB_WORDS = {
    "train": "training",
    "extract": "extracting rules",
    "refine": "asking the data",
    "contrast": "ranking",
    "report": "writing the report",
    "preview": "trying the change",
}
_LINE_END = re.compile(r"\r\n|\r|\n")
# Lines of a form that are shown before it is taken away.
_SHOWN_LINES = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a page of an open project."""

    bench: Bench
    access: Access
    static: StaticFiles
    query: Mapping[str, str]
    path: Mapping[str, Any]

    @property
    def home(self) -> str:
        """Where the pages of the project are."""
        return f"/p/{self.bench.file.id}"

    def render(self, template: str, tab: str, title: str, **values: Any) -> str:
        """Fill a template with what every page of a project shows, and with its own values."""
        bench = self.bench
        head, source = bench.head, bench.file.source()
        jobs = bench.file.jobs(20)
        running = [job for job in jobs if job.state in ("waiting", "running")]
        return render(
            f"workbench/{template}",
            home=self.home,
            tab=tab,
            tabs=_TABS,
            title=title,
            project=bench.file.name,
            source=source,
            classes=_class_words(bench),
            head=head,
            when=None if head is None else when(head.at),
            author=bench.author,
            form_token=self.access.form_token,
            style=[self.static.address(name) for name in ("style.css", "workbench.css")],
            script=self.static.address,
            jobs=[{"id": j.id, "words": _job_words(j), "progress": j.progress} for j in running],
            stopped=[
                {"kind": j.kind, "words": _job_words(j), "state": j.state, "error": j.error}
                for j in _without_end(jobs)
            ],
            last_event=bench.events.last_id,
            has_task=bench.has_task,
            **values,
        )


def _job_words(job: StoredJob) -> str:
    return _JOB_WORDS.get(job.kind, job.kind)


def _without_end(jobs: Sequence[StoredJob]) -> list[StoredJob]:
    """Find what has stopped or failed and was not started again; `jobs` are the newest first."""
    newest: dict[str, StoredJob] = {}
    for job in jobs:
        # What a change would do is asked again by the page itself.
        if job.kind != "preview":
            newest.setdefault(job.kind, job)
    return [job for job in newest.values() if job.state in ("stopped", "failed")]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A page that is somewhere else."""

    address: str


def when(at: str | None) -> str:
    """Write a time for people: how long ago, or the day."""
    if not at:
        return ""
    then = datetime.fromisoformat(at)
    seconds = (datetime.now(UTC) - then).total_seconds()
    if 0 <= seconds < 90:
        return "just now"
    if 0 <= seconds < 5400:
        return f"{seconds / 60:.0f} min ago"
    return then.strftime("%Y-%m-%d %H:%M UTC")


def _class_words(bench: Bench) -> str:
    if not bench.has_task:
        return ""
    try:
        opened = bench.opened()
    except ClearmarginError:
        return ""
    counts = opened.task.counts
    return " / ".join(f"{plain(label)} {counts.get(label, 0)}" for label in opened.classes)


# Start


def start_page(
    projects: list[dict[str, Any]], access: Access, static: StaticFiles, folder: Path
) -> str:
    """Show the projects, and how to make one."""
    return render(
        "workbench/start.html",
        title="Projects",
        projects=[{**p, "when": when(p.get("at"))} for p in projects],
        examples=list(DATASETS),
        folder=str(folder),
        form_token=access.form_token,
        style=[static.address(name) for name in ("style.css", "workbench.css")],
        script=static.address,
    )


def problem_page(text: str, back: str | None, static: StaticFiles) -> str:
    """Say what did not work, and where to go on."""
    return render(
        "workbench/problem.html",
        title="This did not work",
        text=text,
        back=back,
        style=[static.address(name) for name in ("style.css", "workbench.css")],
    )


def read_share(text: str) -> float:
    """Read the share of rows that is sealed, in percent."""
    try:
        share = float(text) / 100.0
    except ValueError:
        raise InvalidValueError(f"the sealed share is a number of percent, not {text!r}") from None
    if not 0 <= share <= 0.5:
        raise InvalidValueError(f"the sealed share is from 0 to 50 percent, not {text}")
    return share


# Data


def data_page(asked: Asked) -> str:
    """Show the columns, and what can be chosen about them."""
    bench = asked.bench
    table = bench.table
    columns = column_facts(table)
    stored = bench.task
    settings = None if stored is None else TaskSettings.from_dict(stored.body)
    likely = [c["name"] for c in columns if c["can_be_target"]]
    target = asked.query.get("target") or (
        settings.target if settings is not None else (likely[-1] if likely else None)
    )
    problem = None
    if target is not None and target not in table.table.columns:
        problem, target = f"There is no column {target!r}.", likely[-1] if likely else None
    classes = [] if target is None else class_counts(table.open, target)
    positive = settings.positive if settings is not None and settings.target == target else None
    if positive is None and len(classes) >= 2:
        positive = classes[0][0]
    n_missing = sum(c["missing"] > 0 for c in columns)
    missing = settings.missing if settings is not None else "impute" if n_missing else "error"
    notes = (*_reading_notes(bench), *(() if stored is None else _task_notes(bench)))
    return asked.render(
        "data.html",
        "data",
        "Data",
        columns=[_column_row(c, settings) for c in columns],
        likely=likely or [c["name"] for c in columns],
        target=target,
        target_classes=classes if len(classes) <= 20 else [],
        n_classes=len(classes),
        positive=positive,
        missing=missing,
        missing_words=MISSING,
        directions=DIRECTIONS,
        open_rows=len(table.open_rows),
        sealed_rows=len(table.sealed_rows),
        problem=problem,
        notes=notes,
    )


def _reading_notes(bench: Bench) -> tuple[str, ...]:
    """Say what people should know of the file as it was read."""
    source = bench.file.source()
    aside = [] if source is None else source.reading.get("drop", [])
    notes = [f"column {name!r} holds neither numbers nor texts, and is left out" for name in aside]
    return (*notes, *bench.table.table.notes)


def _task_notes(bench: Bench) -> tuple[str, ...]:
    try:
        return bench.opened().task.notes
    except ClearmarginError as error:
        return (str(error),)


def _column_row(column: dict[str, Any], settings: TaskSettings | None) -> dict[str, Any]:
    name = column["name"]
    ranges = (settings.ranges if settings is not None else {}).get(name)
    action = (settings.actions if settings is not None else {}).get(name)
    default_drop = settings is None and (column["is_name"] or column["is_counter"])
    return {
        **column,
        "used": not (default_drop or (settings is not None and name in settings.drop)),
        "as_categories": settings is not None and name in settings.categories,
        "as_whole": settings is not None and name in settings.whole,
        "low_declared": "" if ranges is None else format_number(ranges[0]),
        "high_declared": "" if ranges is None else format_number(ranges[1]),
        "unit": "" if settings is None else settings.units.get(name, ""),
        "action": None if action is None else action.direction,
        "cost": "" if action is None else format_number(action.cost),
        "drawn": _small_bars(column["bars"]),
    }


def _small_bars(counts: list[int]) -> list[dict[str, float]]:
    """Give the bars of a small histogram in a drawing of 100 by 20."""
    if not counts:
        return []
    width, most = 100.0 / len(counts), max(counts)
    return [
        {
            "x": round(k * width, 2),
            "width": round(width * 0.9, 2),
            "height": round(20.0 * count / most, 2),
            "y": round(20.0 - 20.0 * count / most, 2),
        }
        for k, count in enumerate(counts)
    ]


def read_task_form(fields: Mapping[str, str], columns: Iterable[str] = ()) -> dict[str, Any]:
    """Read the form of the page Data as the settings of a task."""
    sent = {_LINE_END.sub("\r\n", name): name for name in columns}
    names = {
        k.partition(":")[2]: sent.get(v, v) for k, v in fields.items() if k.startswith("column:")
    }
    target = sent.get(fields.get("target", ""), fields.get("target", ""))
    settings: dict[str, Any] = {
        "target": target,
        "positive": fields.get("positive") or None,
        "missing": fields.get("missing", "error"),
        "drop": [n for k, n in names.items() if f"use:{k}" not in fields and n != target],
        "categories": [n for k, n in names.items() if f"categories:{k}" in fields],
        "whole": [n for k, n in names.items() if f"whole:{k}" in fields],
        "ranges": {},
        "units": {n: fields[f"unit:{k}"] for k, n in names.items() if fields.get(f"unit:{k}")},
        "actions": {},
    }
    for key, name in names.items():
        low, high = fields.get(f"low:{key}", "").strip(), fields.get(f"high:{key}", "").strip()
        if low or high:
            settings["ranges"][name] = (
                _form_number(low, f"the lowest {name}"),
                _form_number(high, f"the highest {name}"),
            )
        direction = fields.get(f"act:{key}", "")
        if direction:
            cost = fields.get(f"cost:{key}", "").strip() or "1"
            settings["actions"][name] = {
                "direction": direction,
                "cost": _form_number(cost, f"the cost of {name}"),
            }
    return settings


def _form_number(text: str, what: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidValueError(f"{what} must be a number, not {text!r}; give both ends") from None


# Rules


def rules_page(asked: Asked) -> str | Elsewhere:
    """Show the editor, what the data say of the rules, and what would change."""
    bench = asked.bench
    if not bench.has_task:
        return Elsewhere(f"{asked.home}/data")
    version = bench.version()
    draft = _draft_of_tab(asked)
    text = asked.query.get("add")
    current = version.revision.text if draft is None else draft.text
    if text:
        current = f"{current.rstrip()}\n{text}\n" if current.strip() else f"{text}\n"
    return asked.render(
        "rules.html",
        "rules",
        "Rules",
        text=current,
        base=version.revision.id if draft is None else draft.base,
        columns_at=f"{asked.home}/columns/{column_digest(version)}",
        machines=MACHINES,
        listening=LISTENING,
        settings=version.settings,
        is_trained=version.is_trained,
        machine_now=machine_now(version),
        example=_example_rule(version),
        rows=len(version.opened.codes),
        class_names=[plain(label) for label in version.opened.classes],
        drafts=[
            {"tab": d.tab, "text": d.text, "when": when(d.at)}
            for d in bench.file.drafts()
            if d.text.strip() != version.revision.text.strip()
            and (draft is None or d.tab != draft.tab)
        ],
    )


def machine_now(version: Version) -> str:
    """Say in a few words what the machine of a version is, and how right it is on rows not trained on."""
    machine, validated = version.machine, version.validated
    if machine is None or validated is None:
        return "now in training"
    if machine.planes is not None:
        used = machine.planes.features_used
        words = f"a plane over {len(used)} of {len(version.opened.space)} features"
    else:
        assert machine.weighted is not None
        words = f"{len(machine.weighted.rules)} rules with points"
    right = f"{words}, right on {100 * validated.accuracy:.1f} % of rows not trained on"
    return f"now {right}" if version.is_trained else f"in training; before it {right}"


def _example_rule(version: Version) -> str:
    """Write a rule that can be read, as an example for an empty page."""
    space, classes = version.opened.space, version.opened.classes
    for j, name in enumerate(space.names):
        low, high = float(space.lower[j]), float(space.upper[j])
        if space.categories[j] is None and name.isidentifier() and low < high:
            middle = short_between(low, high, includes_low=False)
            box = Box.from_intervals({j: Interval(middle, math.inf)}, len(space))
            return format_rule(Rule(box, classes[1], name="my_rule"), space)
    return ""


def result_facts(bench: Bench, kind: str) -> dict[str, Any]:
    """Give what work has found about the newest version, as plain data."""
    version = bench.version()
    number = version.revision.id
    if kind == "outcome":
        model = bench.file.result(number, "model")
        return {"revision": number, "found": None if model is None else model["outcome"]}
    found = bench.file.result(number, kind)
    if kind == "preview" and found is not None and version.validated is not None:
        from clearmargin.workbench.trained_machine import CrossValidated

        codes = CrossValidated.from_dict(found).codes
        rules = version.judge.read(found["text"]).rules
        # Who has asked, and for what: another tab may have asked meanwhile.
        asked = {name: found.get(name) for name in ("text", "settings", "serial")}
        found = {**bench.compare_codes(version, codes, rules), **asked}
    return {"revision": number, "found": found}


# Cases


def cases_page(asked: Asked) -> str | Elsewhere:
    """List cases, filtered."""
    bench = asked.bench
    if not bench.has_task:
        return Elsewhere(f"{asked.home}/data")
    version = bench.version()
    query = CaseQuery.read(asked.query)
    draft = _draft_of_tab(asked)
    text = version.revision.text if draft is None else draft.text
    found = find_cases(bench, version, text, query)
    features = [f["name"] for f in feature_facts(version)]
    used = _first_features(version, features)
    return asked.render(
        "cases.html",
        "cases",
        "Cases",
        found=found,
        query=query,
        filters=FILTERS,
        sorts=SORTS,
        features=used,
        n_features=len(features),
        own_tab="" if draft is None else draft.tab,
        link=_query_link(asked, query),
        is_trained=version.is_trained,
    )


def _first_features(version: Version, names: list[str]) -> list[str]:
    """Choose the features that a table of cases has room for: those that the machine looks at first."""
    machine = version.machine
    used = [] if machine is None or machine.planes is None else machine.planes.features_used
    return [*used, *(name for name in names if name not in used)][:8]


def _draft_of_tab(asked: Asked) -> Draft | None:
    tab = asked.query.get("tab", "")
    return asked.bench.file.draft(tab) if tab.isalnum() and len(tab) <= 64 else None


def _query_link(asked: Asked, query: CaseQuery) -> Any:
    from urllib.parse import urlencode

    def link(**changed: Any) -> str:
        values: dict[str, Any] = {
            "which": query.which,
            "rule": "" if query.rule is None else query.rule,
            "against": "1" if query.against else "",
            "sort": query.sort,
            "page": query.page,
            "tab": asked.query.get("tab", ""),
            **changed,
        }
        return "?" + urlencode({k: v for k, v in values.items() if v not in ("", None)})

    return link


def case_page(asked: Asked) -> str | Elsewhere:
    """Show one case."""
    bench = asked.bench
    if not bench.has_task:
        return Elsewhere(f"{asked.home}/data")
    version = bench.version()
    row = int(asked.path["row"])
    draft = _draft_of_tab(asked)
    facts = case_facts(version, row, version.revision.text if draft is None else draft.text)
    opened = version.opened
    bars = [
        _value_bar(version, j, facts["values"][name], facts["turns"].get(name))
        for j, name in enumerate(opened.space.names)
    ]
    rows = opened.rows
    position = facts["position"]
    return asked.render(
        "case.html",
        "cases",
        f"Case {row}",
        row=row,
        facts=facts,
        bars=bars,
        notes=bench.file.notes(row),
        previous=int(rows[position - 1]) if position > 0 else None,
        following=int(rows[position + 1]) if position + 1 < len(rows) else None,
        can_act=bool(opened.settings.actions),
        is_trained=version.is_trained,
        own_tab="" if draft is None else draft.tab,
    )


def _value_bar(version: Version, j: int, value: Any, turn: float | None) -> dict[str, Any]:
    """Describe a value of a case on the bar of its feature, in a drawing of 200 by 24."""
    space = version.opened.space
    categories = space.categories[j]
    bar: dict[str, Any] = {
        "name": space.names[j],
        "unit": space.units[j],
        "value": value,
        "categories": None if categories is None else list(categories),
        "turn": None if turn is None else format_number(float(f"{turn:.5g}")),
        "integer": bool(space.integer[j]),
    }
    if categories is None:
        low, high = float(space.lower[j]), float(space.upper[j])
        width = high - low if high > low else 1.0
        number = float(value)
        bar |= {
            "low": format_number(low),
            "high": format_number(high),
            "text": format_number(number),
            "place": round(200 * min(max((number - low) / width, 0.0), 1.0), 1),
            "turn_place": None
            if turn is None
            else round(200 * min(max((turn - low) / width, 0.0), 1.0), 1),
        }
    return bar


# Ranking


def contrast_page(asked: Asked) -> str | Elsewhere:
    """Show what sets the top of the ranking apart from its bottom."""
    bench = asked.bench
    if not bench.has_task:
        return Elsewhere(f"{asked.home}/data")
    version = bench.version()
    found = bench.file.result(version.revision.id, "contrast")
    listed = [] if found is None else found["properties"]
    kept = [p for p in listed if p.get("confirmed") and p.get("shown")]
    return asked.render(
        "contrast.html",
        "contrast",
        "Ranking",
        found=found,
        ends=[
            (end, [p for p in kept if p["side"] == end][:_MOST_PROPERTIES])
            for end in ("top", "bottom")
        ],
        n_found=len(listed),
        n_kept=len(kept),
        positive=plain(version.opened.classes[1]),
    )


# History


def history_page(asked: Asked) -> str:
    """Show all versions, what changed in each, and the openings of the sealed sample."""
    bench = asked.bench
    revisions = bench.history.all()
    entries = [_entry(bench, revision) for revision in revisions]
    exams = [
        {"who": e.who, "when": when(e.at), **e.body} for e in bench.file.events() if e.what == EXAM
    ]
    for entry in entries:
        entry["exams"] = [exam for exam in exams if exam["revision"] == entry["id"]]
    return asked.render(
        "history.html",
        "history",
        "History",
        entries=entries[::-1],
        exams=exams,
        sealed_rows=len(bench.table.sealed_rows),
    )


def _entry(bench: Bench, revision: Revision) -> dict[str, Any]:
    validated = bench.file.result(revision.id, "validated")
    before = None if revision.parent is None else bench.file.result(revision.parent, "validated")
    entry: dict[str, Any] = {
        "id": revision.id,
        "parent": revision.parent,
        "author": revision.author,
        "when": when(revision.at),
        "at": revision.at,
        "why": revision.why,
        "kind": revision.kind,
        "restores": revision.restores,
        "machine": MACHINES[MachineSettings.from_dict(revision.settings).machine],
        "accuracy": None if validated is None else f"{100 * validated['accuracy']:.1f}",
        "accuracy_before": None if before is None else f"{100 * before['accuracy']:.1f}",
        "flips": None,
        "changes": [],
        "n_rules": len(read_rule_text(revision.text).written),
    }
    if revision.parent is not None:
        parent = bench.history.get(revision.parent)
        if validated is not None and before is not None and parent.task == revision.task:
            entry["flips"] = _count_flips(before, validated)
        entry["changes"] = _line_changes(parent.text, revision.text)
    return entry


def _count_flips(before: Mapping[str, Any], after: Mapping[str, Any]) -> int | None:
    from clearmargin.workbench.trained_machine import unpack_codes

    if before["rows"] != after["rows"]:
        return None
    old = unpack_codes(before["codes"], before["rows"])
    return int((old != unpack_codes(after["codes"], after["rows"])).sum())


def _line_changes(old: str, new: str) -> list[tuple[str, str]]:
    """List the lines that went and came, at most a few."""
    changed = [
        (sign, line) for sign, line in line_changes(old, new) if sign != " " and line.strip()
    ]
    return changed[:12]


def revision_page(asked: Asked) -> str:
    """Show one version."""
    bench = asked.bench
    revision = bench.revision(int(asked.path["r"]))
    model = bench.file.result(revision.id, "model")
    return asked.render(
        "revision.html",
        "history",
        f"Version {revision.id}",
        entry=_entry(bench, revision),
        revision=revision,
        at=datetime.fromisoformat(revision.at).strftime("%Y-%m-%d %H:%M:%S UTC"),
        outcome=[] if model is None else model["outcome"],
        features=[] if model is None else model["features"],
        others=[r.id for r in bench.history.all() if r.id != revision.id],
        sealed_rows=len(bench.table.sealed_rows),
    )


def difference_page(asked: Asked) -> str:
    """Show the difference of two versions: lines, rules, settings, figures."""
    bench = asked.bench
    old, new = int(asked.path["r"]), int(asked.path["s"])
    first, second = bench.revision(old), bench.revision(new)
    space = bench.opened(second.task).space
    found = bench.history.difference(old, new, space)
    return asked.render(
        "difference.html",
        "history",
        f"Version {old} against {new}",
        old=_entry(bench, first),
        new=_entry(bench, second),
        difference=found.to_dict(),
        compared=None if found.rules is None else str(found.rules),
        flips=_flips_between(bench, old, new),
    )


def _flips_between(bench: Bench, old: int, new: int) -> dict[str, Any] | None:
    before, after = bench.version(old), bench.version(new)
    if (
        before.validated is None
        or after.validated is None
        or before.revision.task != after.revision.task
    ):
        return None
    return bench.compare_codes(before, after.validated.codes, after.rules)


# Export


def export_page(asked: Asked) -> str | Elsewhere:
    """Show every form in which rules can be taken away."""
    bench = asked.bench
    if not bench.has_task:
        return Elsewhere(f"{asked.home}/data")
    version = bench.version()
    number = version.revision.id
    results = bench.file.results(number)
    what = asked.query.get("subject", "mine")
    if what not in SUBJECTS:
        raise DataError(f"there is no {what!r} to take away")
    shown = asked.query.get("form", "rules" if what == "mine" else "sql-sqlite")
    forms, preview, problem = FORMS, "", None
    try:
        rules = subject(version, what, results.get("rules"))
        if isinstance(rules, Scorecard):  # the rule language has no points
            forms = {name: form for name, form in FORMS.items() if name != "rules"}
        if shown in forms:
            preview = _first_lines(make_form(rules, shown).decode("utf-8"))
    except ClearmarginError as error:
        problem = str(error)
    return asked.render(
        "export.html",
        "export",
        "Export",
        subjects=SUBJECTS,
        what=what,
        forms=forms,
        shown=shown,
        preview=preview,
        problem=problem,
        has_report="report" in results,
        revision=number,
        is_trained=version.is_trained,
    )


def _first_lines(text: str) -> str:
    lines = text.splitlines()
    more = len(lines) - _SHOWN_LINES
    shown = "\n".join(lines[:_SHOWN_LINES])
    return f"{shown}\n... and {more} more lines" if more > 0 else shown
