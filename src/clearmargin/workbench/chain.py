"""Chains of hashes: whether the history of a project is as it was written.

Each row of `revision` and of `event` has the hash of the one before it, and its own over that and all its fields.
Whoever changes a row, cuts one out or swaps two breaks the chain at that place. `meta` says how many rows there are and
how the last one hashes, so that rows cut off at the end are missed; events name the versions that they tell of. A
version holds the hash of its task, and that one the hash of the source. This makes changes evident, not impossible:
whoever can write the file can write all of it anew.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from clearmargin.exceptions import FileDamagedError

FIRST_HASH = "0" * 64

# The fields that hashes cover, by name, so that columns which a later version adds leave the hashes of old rows alone.
_FIELDS = {
    # "packed" is the SHA-256 of the compressed bytes, of which a few bits say nothing of the table.
    "source": ("id", "name", "sha256", "bytes", "reading", "rows", "columns", "at", "packed"),
    "task": ("id", "source", "body", "at"),
    "revision": (
        "id",
        "parent",
        "task",
        "task_hash",
        "text",
        "settings",
        "author",
        "at",
        "why",
        "kind",
        "restores",
    ),
    "event": ("id", "at", "who", "what", "body"),
}
_WORDS = {"revision": "version", "event": "event"}
_ALL_ROWS = {
    "revision": "SELECT * FROM revision ORDER BY id",
    "event": "SELECT * FROM event ORDER BY id",
}
# What is unpacked at a time; what is left of it is copied each time.
_PIECE = 1 << 16


def row_hash(table: str, fields: Mapping[str, Any], previous: str) -> str:
    """Return the hash of a row: SHA-256 over the hash before it and a canonical JSON of its fields."""
    chosen = {name: fields[name] for name in _FIELDS[table]}
    # What is neither text nor number was not written by us; its name makes the hash another one.
    text = json.dumps(
        chosen, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=repr
    )
    # Bytes that are no UTF-8 come as halves of surrogates, each byte as another one; see find_problems.
    return hashlib.sha256(f"{previous}\n{text}".encode("utf-8", "surrogateescape")).hexdigest()


def chain_end(count: int, last: str) -> str:
    """Return what `meta` says of the end of a chain."""
    return f"{count} {last}"


def unpack(content: bytes, size: int) -> Iterator[bytes]:
    """Unpack the bytes of a source piece by piece."""
    unpacking = zlib.decompressobj()
    found = 0
    try:
        for start in range(0, len(content), _PIECE):
            packed = content[start : start + _PIECE]
            while packed and found <= size:
                # One byte more than there should be: 0 would mean as many as there are.
                piece = unpacking.decompress(packed, size - found + 1)
                packed = unpacking.unconsumed_tail
                found += len(piece)
                yield piece
    except zlib.error as error:
        raise FileDamagedError(f"its bytes cannot be unpacked ({error})") from error
    if found != size or not unpacking.eof or unpacking.unused_data:
        raise FileDamagedError(f"its bytes are not the {size} that were stored")


def find_problems(connection: sqlite3.Connection, expected: sqlite3.Connection) -> list[str]:
    """Return what is not as it was written, in words; nothing if all is."""
    # Texts that are no UTF-8 any more are found by their hash, instead of ending the search.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.row_factory = sqlite3.Row
    problems: list[str] = []
    for look in (_integrity, _sources, _tasks, _chains, _told_versions):
        try:
            problems += look(connection)
        except sqlite3.Error as error:
            problems.append(f"a part of the file cannot be read: {error}")
    try:
        problems += _triggers(connection, expected)
    except sqlite3.Error as error:
        problems.append(f"the list of tables cannot be read: {error}")
    return [problem.encode("utf-8", "replace").decode("utf-8") for problem in problems]


def _integrity(connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"the file is damaged: {row[0]}"
    for row in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is not there"


def _sources(connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute("SELECT * FROM source ORDER BY id"):
        try:
            packed = hashlib.sha256(row["content"]).hexdigest()
            digest = hashlib.sha256()
            for piece in unpack(row["content"], row["bytes"]):
                digest.update(piece)
        except (FileDamagedError, TypeError) as error:
            yield f"source {row['id']}: its content was changed: {error}"
            continue
        if digest.hexdigest() != row["sha256"]:
            yield f"source {row['id']}: its content is not the one that was stored (its SHA-256 is another one)"
        elif row["hash"] != row_hash("source", {**row, "packed": packed}, FIRST_HASH):
            yield f"source {row['id']}: it, or what is said of it, was changed"


def _tasks(connection: sqlite3.Connection) -> Iterator[str]:
    query = (
        "SELECT task.*, source.hash AS source_hash FROM task LEFT JOIN source ON source.id = task.source "
        "ORDER BY task.id"
    )
    for row in connection.execute(query):
        if row["hash"] != row_hash("task", row, str(row["source_hash"])):
            yield f"task {row['id']}: it, or what is said of its source, was changed"
    query = (
        "SELECT revision.id FROM revision LEFT JOIN task ON task.id = revision.task "
        "WHERE task.hash IS NOT revision.task_hash ORDER BY revision.id"
    )
    for row in connection.execute(query):
        yield f"version {row['id']}: its task is not the one that it was made with"


def _chains(connection: sqlite3.Connection) -> Iterator[str]:
    for table, query in _ALL_ROWS.items():
        word = _WORDS[table]
        count, last = 0, FIRST_HASH
        for row in connection.execute(query):
            count += 1
            if row["id"] != count:
                yield f"{word} {count} is missing: the next one is {row['id']}"
                count = row["id"]
            if row["previous_hash"] != last:
                yield f"{word} {row['id']} does not follow the one before it: one of both was changed"
            if row["hash"] != row_hash(table, row, str(row["previous_hash"])):
                yield f"{word} {row['id']} was changed"
            last = str(row["hash"])
        ends = connection.execute("SELECT value FROM meta WHERE key = ?", (f"chain:{table}",))
        found = ends.fetchone()
        if found is None or found["value"] != chain_end(count, last):
            said = "nothing" if found is None else str(found["value"]).split(" ")[0]
            yield (
                f"the end of the {word}s is not as it was written: {count} are there, and the file says {said}, "
                "or that the last one is another one"
            )


def _told_versions(connection: sqlite3.Connection) -> Iterator[str]:
    """Compare versions with the events that tell of them: cutting off both ends takes more than one."""
    versions = {
        row["id"]: row["hash"] for row in connection.execute("SELECT id, hash FROM revision")
    }
    query = "SELECT id, body FROM event WHERE what IN ('kept', 'restored') ORDER BY id"
    named = set()
    for row in connection.execute(query):
        try:
            body = json.loads(row["body"])
            told, digest = int(body["revision"]), body["hash"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue  # not written by the history; if it was and was changed, its hash has told
        named.add(told)
        if told not in versions:
            yield f"event {row['id']} tells of version {told}, which is not there"
        elif versions[told] != digest:
            yield f"version {told} is not the one of which event {row['id']} tells"
    for missed in sorted(versions.keys() - named):
        yield f"version {missed} is told of by no event"


def _triggers(connection: sqlite3.Connection, expected: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    found = {str(name): sql for name, sql in connection.execute(query)}
    wanted = {str(name): sql for name, sql in expected.execute(query)}
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            yield f"the trigger {name}, which protects the history, was removed"
        elif name not in wanted:
            yield f"the trigger {name} is none of ours"
        elif found[name] != wanted[name]:
            yield f"the trigger {name} was changed"
