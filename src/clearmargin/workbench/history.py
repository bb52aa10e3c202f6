"""The history of the rules: versions with their reasons, each on top of the one before, and what differs between two.

Nothing is ever changed or removed. To go back is to keep an old text once more, as a new version.
"""

from __future__ import annotations

import difflib
import sqlite3
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import ClearmarginError, InvalidValueError
from clearmargin.workbench.project_file import ProjectFile
from clearmargin.workbench.stored_values import as_json, as_text, as_whole, now

if TYPE_CHECKING:
    from clearmargin.compare import RuleComparison
    from clearmargin.rules import FeatureSpace

# A difference has to be there within a blink; whether two sets decide alike may stay open.
_MAX_CELLS = 20_000


@dataclass(frozen=True, slots=True)
class Revision:
    """A version of the rules."""

    id: int
    parent: int | None
    task: int
    text: str
    settings: dict[str, Any]
    author: str
    at: str
    why: str
    kind: str
    restores: int | None
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Return the version as plain data for JSON."""
        return asdict(self)


class StaleHeadError(ClearmarginError):
    """Somebody kept another version in the meantime."""

    def __init__(self, message: str, head: Revision):
        super().__init__(message)
        self.head = head

    def __reduce__(self) -> tuple[Any, ...]:
        return (StaleHeadError, (str(self), self.head))


@dataclass(frozen=True, slots=True)
class RevisionDifference:
    """What differs between two versions."""

    old: Revision
    new: Revision
    lines: list[list[str]]
    settings: dict[str, tuple[Any, Any]]
    rules: RuleComparison | None
    unread: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data for JSON."""
        return {
            "old": self.old.id,
            "new": self.new.id,
            "lines": self.lines,
            "settings": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.settings.items()
            },
            "task_changed": self.old.task != self.new.task,
            "rules": None if self.rules is None else self.rules.to_dict(),
            "unread": self.unread,
        }


def line_changes(old: str, new: str) -> list[list[str]]:
    r"""Return the lines of two texts, each once where it is in both."""
    before, after = (text.split("\n") if text else [] for text in (old, new))
    found: list[list[str]] = []
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            found += [[" ", line] for line in before[i:i_end]]
            continue
        found += [["-", line] for line in before[i:i_end]]
        found += [["+", line] for line in after[j:j_end]]
    return found


class History:
    """The versions of a project."""

    def __init__(self, file: ProjectFile):
        self._file = file

    @property
    def head(self) -> Revision | None:
        """The newest version, or None if there is none."""
        found = self._file.rows("SELECT * FROM revision ORDER BY id DESC LIMIT 1")
        return self._revision(found[0]) if found else None

    def get(self, id: int) -> Revision:  # noqa: A002
        """Return a version, or say that there is none."""
        found = self._file.rows("SELECT * FROM revision WHERE id = ?", as_whole(id, "a version"))
        if not found:
            raise InvalidValueError(f"there is no version {id} of {self._file.name}")
        return self._revision(found[0])

    def all(self) -> list[Revision]:
        """Return all versions, oldest first."""
        return [
            self._revision(row) for row in self._file.rows("SELECT * FROM revision ORDER BY id")
        ]

    def keep(
        self,
        text: str,
        *,
        why: str,
        author: str,
        base: int | None,
        task: int,
        settings: dict[str, Any],
        kind: str = "kept",
    ) -> Revision:
        """Keep a text as the newest version."""
        return self._add(text, why, author, base, task, settings, kind, None)

    def restore(self, id: int, *, why: str, author: str, base: int | None) -> Revision:  # noqa: A002
        """Keep text, settings and task of an old version once more, as the newest one."""
        old = self.get(id)
        return self._add(old.text, why, author, base, old.task, old.settings, "restored", old.id)

    def difference(
        self, old: int, new: int, space: FeatureSpace | None = None
    ) -> RevisionDifference:
        """Return what differs between two versions."""
        before, after = self.get(old), self.get(new)
        rules, unread = _compare(before, after, space)
        names = sorted(before.settings.keys() | after.settings.keys())
        pairs = {name: (before.settings.get(name), after.settings.get(name)) for name in names}
        return RevisionDifference(
            before,
            after,
            line_changes(before.text, after.text),
            {name: (one, other) for name, (one, other) in pairs.items() if one != other},
            rules,
            unread,
        )

    def three_way(self, base: int | None, mine: str) -> dict[str, Any]:
        """Return what two people made of one version, for the one who came second."""
        start = "" if base is None else self.get(base).text
        head = self.head
        return {
            "base": start,
            "mine": mine,
            "head": None if head is None else head.to_dict(),
            "mine_lines": line_changes(start, mine),
            "head_lines": line_changes(start, "" if head is None else head.text),
        }

    def _add(
        self,
        text: str,
        why: str,
        author: str,
        base: int | None,
        task: int,
        settings: dict[str, Any],
        kind: str,
        restores: int | None,
    ) -> Revision:
        row: dict[str, Any] = {
            "parent": None if base is None else as_whole(base, "a version"),
            "task": as_whole(task, "a task"),
            "text": as_text(text, "the text of the rules"),
            "settings": as_json(settings, "the settings"),
            "author": as_text(author, "the author"),
            "why": as_text(why, "the reason"),
            "kind": as_text(kind, "the kind of a version"),
            "restores": restores,
        }
        with self._file.transaction():
            self._refuse_stale(base)
            found = self._file.rows("SELECT hash FROM task WHERE id = ?", row["task"])
            if not found:
                raise InvalidValueError(f"there is no task {task} in {self._file.name}")
            row |= {"task_hash": found[0]["hash"], "at": now()}
            revision = self.get(self._file.append("revision", row))
            body = {"revision": revision.id, "why": why, "kind": kind, "hash": revision.hash}
            if restores is not None:
                body["restores"] = restores
            self._file.add_event(author, "kept" if restores is None else "restored", body)
        return revision

    def _refuse_stale(self, base: int | None) -> None:
        head = self.head
        if base == (None if head is None else head.id):
            return
        if base is not None:
            self.get(base)  # says so if it never was one
        assert head is not None
        start = "an empty page" if base is None else f"version {base}"
        raise StaleHeadError(
            f"{head.author} has kept version {head.id} in the meantime, and your text began from {start}; look at what "
            f"both have changed, and keep yours on top of version {head.id}",
            head,
        )

    def _revision(self, row: sqlite3.Row) -> Revision:
        return Revision(
            row["id"],
            row["parent"],
            row["task"],
            row["text"],
            self._file.read_json(row["settings"], f"the settings of version {row['id']}"),
            row["author"],
            row["at"],
            row["why"],
            row["kind"],
            row["restores"],
            row["hash"],
        )


def _compare(
    old: Revision, new: Revision, space: FeatureSpace | None
) -> tuple[RuleComparison | None, str | None]:
    # Imported here: numpy takes longer to load than all else that a history does.
    from clearmargin.compare import compare_rules
    from clearmargin.language import parse_rules

    problem = ""
    # The table may have had other columns when a version was kept; then its rules are read as they stand.
    for known in (space, None) if space is not None else (None,):
        try:
            rules = []
            for revision in (old, new):
                place = revision.id
                rules.append(parse_rules(revision.text, known))
            return compare_rules(rules[0], rules[1], space, max_cells=_MAX_CELLS), None
        except ClearmarginError as error:
            read = len(rules) == 2
            problem = str(error) if read else f"version {place} cannot be read: {error}"
    return None, problem
