"""An open project: its table, its versions and their machines, and the answers that the pages show while people type.

A `Bench` is what all tabs of a project share. What is slow is started as a job (`work.py`); what is quick, checking a
text, changing a bound, what a change would do, is answered here. All answers are plain data.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clearmargin.compare import compare_models
from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.language.rule_text import RuleText
from clearmargin.rules import RuleSet
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.workbench.events import Events
from clearmargin.workbench.history import History, Revision
from clearmargin.workbench.jobs import Jobs
from clearmargin.workbench.project_file import ProjectFile, StoredJob, StoredTask
from clearmargin.workbench.project_table import (
    NotThereError,
    OpenTask,
    ProjectTable,
    read_source,
)
from clearmargin.workbench.rule_editing import complete, edit_bound
from clearmargin.workbench.rule_judgement import Predictions, RuleJudge, mistake_facts
from clearmargin.workbench.settings import MachineSettings, TaskSettings
from clearmargin.workbench.trained_machine import (
    CrossValidated,
    TrainedMachine,
    quick_codes,
    read_machine,
)
from clearmargin.workbench.typed_text import in_browser_offsets, python_offset

MAX_TEXT, MAX_RULES = 1_000_000, 2_000
# What the history calls an opening of the sealed sample.
EXAM = "opened the sealed sample"
# Above so many rows "what would change" is a job.
_QUICK_ROWS = 20_000
# Flips that are named in an answer; the page of cases has all.
_MOST_FLIPS = 50
_KEPT_VERSIONS, _KEPT_TASKS = 8, 2


class RuleMistakesError(InvalidValueError):
    """A text that cannot be kept, because it has mistakes."""

    def __init__(self, errors: list[dict[str, Any]]):
        self.errors = errors
        first = errors[0]
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        super().__init__(
            f"line {first['line']}: {first['message']}{more}; mend it before the version is kept"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A revision with all that belongs to it."""

    revision: Revision
    opened: OpenTask
    judge: RuleJudge
    settings: MachineSettings
    machine: TrainedMachine | None
    validated: CrossValidated | None
    is_trained: bool

    @property
    def rules(self) -> RuleSet:
        """The rules of the text that could be read."""
        return self.judge.read(self.revision.text).rules


def open_table(file: ProjectFile) -> ProjectTable:
    """Read the table of a project."""
    source = file.source()
    if source is None:
        raise DataError("this project has no table")
    table = read_source(file.source_bytes(source.id), source.name, source.reading)
    share, seed = float(file.meta("sealed_share") or 0.0), int(file.meta("seed") or 0)
    return ProjectTable(table, share, seed)


class Bench:
    """An open project."""

    def __init__(self, file: ProjectFile, author: str = "the expert"):
        self.file, self.author = file, author
        self.history = History(file)
        self.events = Events()
        self.jobs = Jobs(file, self.events)
        self._lock = threading.RLock()
        self._table: ProjectTable | None = None
        self._opened: OrderedDict[int, OpenTask] = OrderedDict()
        self._versions: OrderedDict[int, Version] = OrderedDict()
        self._previews: OrderedDict[Any, IntArray] = OrderedDict()

    def close(self) -> None:
        """End all jobs, streams and the file."""
        self.jobs.close()
        self.events.close()
        self.file.close()

    # Table and task

    @property
    def table(self) -> ProjectTable:
        """All rows, those that are sealed apart."""
        with self._lock:
            if self._table is None:
                self._table = open_table(self.file)
            return self._table

    @property
    def task(self) -> StoredTask | None:
        """What the newest version is about, where a target was chosen."""
        head = self.head
        return None if head is None else self.file.task(head.task)

    def opened(self, task: int | None = None) -> OpenTask:
        """Give the task of the newest version, or another one."""
        stored = self.task if task is None else self.file.task(task)
        if stored is None:
            raise DataError("say first what is to be learned: choose the target on the page Data")
        with self._lock:
            known = self._opened.get(stored.id)
            if known is None:
                known = self.table.task(TaskSettings.from_dict(stored.body))
            self._remember(stored.id, known)
            return known

    def _remember(self, task: int, opened: OpenTask) -> None:
        """Keep the tasks that were asked for last; each holds the whole table."""
        self._opened[task] = opened
        self._opened.move_to_end(task)
        while len(self._opened) > _KEPT_TASKS:
            self._opened.popitem(last=False)

    @property
    def has_task(self) -> bool:
        """Whether a target was chosen."""
        return self.head is not None

    def set_task(
        self, settings: Mapping[str, Any], author: str | None = None, why: str = ""
    ) -> Revision:
        """Choose what is to be learned: a new version, trained anew."""
        chosen = TaskSettings.from_dict(settings)
        opened = self.table.task(chosen)
        with self._lock:
            source = self.file.source()
            assert source is not None
            stored = self.file.add_task(source.id, chosen.to_dict())
            self._remember(stored.id, opened)
            head = self.history.head
            kept = self.history.keep(
                head.text if head is not None else "",
                why=why or ("what is to be learned was changed" if head else "the first machine"),
                author=author or self.author,
                base=None if head is None else head.id,
                task=stored.id,
                settings=head.settings if head is not None else MachineSettings().to_dict(),
                kind="task",
            )
        self._after_keeping(kept, choose=True)
        return kept

    # Versions

    @property
    def head(self) -> Revision | None:
        """The newest version."""
        return self.history.head

    def revision(self, number: int) -> Revision:
        """Give what was kept as a version, or say that there is none."""
        try:
            return self.history.get(number)
        except InvalidValueError as error:
            raise NotThereError(str(error)) from None

    def version(self, number: int | None = None) -> Version:
        """Give a version with its rows, its machine and its figures; by default the newest."""
        revision = self.head if number is None else self.revision(number)
        if revision is None:
            raise DataError("say first what is to be learned: choose the target on the page Data")
        with self._lock:
            known = self._versions.get(revision.id)
            if known is not None and known.is_trained:
                self._versions.move_to_end(revision.id)
                return known
        made = self._make_version(revision)
        with self._lock:
            self._versions[revision.id] = made
            while len(self._versions) > _KEPT_VERSIONS:
                self._versions.popitem(last=False)
        return made

    def _make_version(self, revision: Revision) -> Version:
        opened = self.opened(revision.task)
        settings = MachineSettings.from_dict(revision.settings)
        trained = self._trained(revision)
        machine = validated = predictions = None
        if trained is not None:
            results = self.file.results(trained.id)
            machine = read_machine(results["model"]["document"])
            validated = CrossValidated.from_dict(results["validated"])
            predictions = Predictions(machine.codes(opened), machine.scores(opened), machine.planes)
        judge = RuleJudge(opened, predictions)
        is_trained = trained is not None and trained.id == revision.id
        return Version(revision, opened, judge, settings, machine, validated, is_trained)

    def _trained(self, revision: Revision) -> Revision | None:
        """Find the version itself or the nearest one before it that has a machine of the same task."""
        found: Revision | None = revision
        while found is not None and found.task == revision.task:
            if self.file.result(found.id, "model") is not None:
                return found
            found = None if found.parent is None else self.history.get(found.parent)
        return None

    def keep(
        self,
        text: str,
        *,
        why: str,
        base: int | None,
        author: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Revision:
        """Keep a text as a new version, and train its machine."""
        head = self.version()
        check_size(text)
        errors = [mistake_facts(mistake) for mistake in _read(head, text).mistakes]
        if errors:
            raise RuleMistakesError(in_browser_offsets(errors, text))
        chosen = head.settings if settings is None else MachineSettings.from_dict(settings)
        kept = self.history.keep(
            text,
            why=why,
            author=author or self.author,
            base=base,
            task=head.revision.task,
            settings=chosen.to_dict(),
        )
        self._after_keeping(kept, choose=chosen != head.settings)
        return kept

    def restore(self, number: int, *, why: str, base: int | None, author: str | None = None) -> Any:
        """Make a new version of an old one."""
        self.revision(number)
        kept = self.history.restore(number, why=why, author=author or self.author, base=base)
        self._after_keeping(kept, choose=True)
        return kept

    def _after_keeping(self, kept: Revision, *, choose: bool) -> None:
        self.events.publish(
            "version", {"revision": kept.id, "author": kept.author, "why": kept.why}
        )
        # Meanwhile somebody may have kept another version: each one has its own training.
        self.start("train", {"choose": choose}, kept)

    # Jobs

    def start(
        self,
        kind: str,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        revision: Revision | None = None,
    ) -> StoredJob:
        """Start long work on a version, by default the newest, in a process of its own."""
        asked = self.head if revision is None else revision
        if asked is None:
            raise DataError("say first what is to be learned: choose the target on the page Data")
        given = {**(input or {}), "project": str(self.file.path), "revision": asked.id}
        return self.jobs.start(kind, given, self._done)

    def _done(self, job: StoredJob, answer: dict[str, Any]) -> None:
        """Keep what a job has found, and tell the tabs."""
        revision = int(job.input["revision"])
        # A version counts as trained once it has a model, so that this comes last.
        for kind, body in sorted(answer["results"].items(), key=lambda pair: pair[0] == "model"):
            self.file.put_result(revision, kind, body, answer["seconds"])
        with self._lock:
            if job.kind == "train":
                self._versions.pop(revision, None)
        self.events.publish(
            "result",
            {"kind": job.kind, "revision": revision, "serial": job.input.get("serial")},
        )

    # What people see while they type

    def check(self, text: str) -> dict[str, Any]:
        """Judge a text: mistakes, each rule on the data and the machine, findings; offsets as browsers count them."""
        check_size(text)
        version = self.version()
        answer = in_browser_offsets(version.judge.judge(_read(version, text)), text)
        assert isinstance(answer, dict)
        answer["revision"] = version.revision.id
        answer["is_trained"] = version.is_trained
        return answer

    def edit(self, text: str, rule: int, feature: str, side: str, value: float | None) -> str:
        """Change one bound in a text and nothing else."""
        check_size(text)
        opened = self.version().opened
        return edit_bound(text, rule, feature, side, value, opened.space, opened.classes)

    def complete(self, text: str, offset: int) -> list[dict[str, Any]]:
        """List the words that may stand at a place."""
        check_size(text)
        opened = self.version().opened
        found = complete(text, python_offset(text, offset), opened.space, opened.classes)
        answer = in_browser_offsets(found, text)
        assert isinstance(answer, list)
        return answer

    def is_quick(self, settings: MachineSettings) -> bool:
        """Tell whether what a change would do can be answered at once."""
        rows = len(self.version().opened.codes)
        return settings.machine == "constraints" and rows <= _QUICK_ROWS

    def preview(
        self, text: str, settings: Mapping[str, Any] | None = None, *, serial: Any = None
    ) -> dict[str, Any]:
        """Say what would change if a text were kept: figures on rows not trained on, and the rows that flip."""
        check_size(text)
        version = self.version()
        chosen = version.settings if settings is None else MachineSettings.from_dict(settings)
        if version.validated is None or not version.is_trained:
            return {"waiting": "the machine of the newest version is being trained"}
        rules = _read(version, text).rules
        is_same_machine = chosen == version.settings
        if is_same_machine and (not chosen.listens or rules == version.rules):
            codes = version.validated.codes
        elif self.is_quick(chosen):
            codes = self._preview_codes(version, rules, chosen)
        else:
            job = self.start(
                "preview", {"text": text, "settings": chosen.to_dict(), "serial": serial}
            )
            return {"job": job.id}
        return self.compare_codes(version, codes, rules)

    def _preview_codes(
        self, version: Version, rules: RuleSet, settings: MachineSettings
    ) -> IntArray:
        assert version.validated is not None
        key = (version.revision.id, rules.to_text(), settings)
        with self._lock:
            known = self._previews.get(key)
        if known is None:
            known = quick_codes(version.opened, rules, settings, version.validated.costs)
            with self._lock:
                self._previews[key] = known
                while len(self._previews) > 2 * _KEPT_VERSIONS:
                    self._previews.popitem(last=False)
        return known

    def compare_codes(self, version: Version, codes: IntArray, rules: RuleSet) -> dict[str, Any]:
        """Compare predictions with those of a version, row by row."""
        assert version.validated is not None
        opened = version.opened
        names = [plain(label) for label in opened.classes]
        before = version.validated.codes
        labels = np.array(names, dtype=object)
        found = compare_models(
            labels[before].tolist(), labels[codes].tolist(), opened.task.X, labels[opened.codes]
        )
        covered = rules.covers(opened.points) if len(rules) else None
        flips = [
            {
                "row": int(opened.rows[flip.row]),
                "truth": flip.truth,
                "before": flip.before,
                "after": flip.after,
                "effect": flip.effect,
                "rules": _rule_names(rules, covered, flip.row),
            }
            for flip in found.flips[:_MOST_FLIPS]
        ]
        before_right, after_right = found.right or (0, 0)
        return {
            "before": {"right": before_right, "rows": found.rows},
            "after": {"right": after_right, "rows": found.rows},
            "flips": flips,
            "n_flips": len(found.flips),
            "better": found.better,
            "worse": found.worse,
            "p_value": found.p_value,
        }

    def flipped(self, version: Version, text: str) -> IntArray:
        """Give the positions of the rows that a text would flip; of its own text those that it flipped when kept."""
        if version.validated is None:
            return np.empty(0, dtype=np.intp)
        if text != version.revision.text:
            if not (version.is_trained and self.is_quick(version.settings)):
                return np.empty(0, dtype=np.intp)
            rules = version.judge.read(text).rules
            codes = self._preview_codes(version, rules, version.settings)
            return np.flatnonzero(codes != version.validated.codes)
        parent = version.revision.parent
        if parent is None:
            return np.empty(0, dtype=np.intp)
        earlier = self.version(parent)
        if earlier.validated is None or earlier.revision.task != version.revision.task:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(earlier.validated.codes != version.validated.codes)

    # The sealed sample

    def exam(self, author: str | None = None) -> dict[str, Any]:
        """Open the sealed sample: judge the newest machine on it, and write into the history that it was opened."""
        version = self.version()
        if version.machine is None or not version.is_trained:
            raise DataError("wait until the machine of the newest version is trained")
        machine = version.machine
        X, labels = self.table.sealed_table(version.opened, filled=machine.planes is not None)
        if not len(labels):
            raise DataError("no row of the sealed sample can be judged; the sealed share may be 0")
        predicted = np.asarray(machine.model.predict(X))
        right = int((predicted == labels).sum())
        body = {"revision": version.revision.id, "right": right, "rows": len(labels)}
        with self._lock:
            body["opening"] = 1 + sum(event.what == EXAM for event in self.file.events())
            # Nobody sees the figure before it is written that it was seen.
            self.file.add_event(author or self.author, EXAM, body)
        self.events.publish("exam", body)
        return body


def _rule_names(rules: RuleSet, covered: BoolArray | None, row: int) -> list[str]:
    if covered is None:
        return []
    return [rules[k].name or f"rule {k + 1}" for k in np.flatnonzero(covered[row]).tolist()]


def _read(version: Version, text: str) -> RuleText:
    """Read rules, of which there are not too many to be compared with each other."""
    written = version.judge.read(text)
    if len(written.rules) > MAX_RULES:
        raise InvalidValueError(
            f"there are {len(written.rules):,} rules; at most {MAX_RULES:,} can be judged"
        )
    return written


def check_size(text: object) -> str:
    """Give a text of rules, or say why it is none: it may be no text, or too long."""
    if not isinstance(text, str):
        raise InvalidValueError("rules are a text")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT:
        raise InvalidValueError(f"the text is longer than {MAX_TEXT // 1_000_000} MB")
    return text


def open_bench(path: Path, author: str) -> Bench:
    """Open a project for its pages; work that was cut off when its server died is marked as stopped."""
    file = ProjectFile.open(path)
    try:
        file.stop_unfinished_jobs()
        return Bench(file, author)
    except ClearmarginError:
        file.close()
        raise
