"""What chunks of rows tell of themselves: rules and counts, as values that merge in any order and travel as JSON.

A `ChunkSummary` is a multiset of chunks, kept in an order of what they say. So `merge` is associative and commutative
to the bit, and whatever is computed from a summary does not depend on the order in which chunks came.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.rules import Box, FeatureSpace, RuleSet, RuleStats, rules_schema
from clearmargin.rules.file_writing import json_text, read_json, write_text_atomically
from clearmargin.rules.json_schema import Format, compile_schema, inside
from clearmargin.rules.rule import Label
from clearmargin.rules.rules_document import FORMAT as RULES_FORMAT
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray, IntArray, Value, float_array

__all__ = ["ChunkRules", "ChunkSummary", "chunks_schema"]


FORMAT = Format(
    "clearmargin-chunks",
    1,
    "these are no clearmargin chunks",
    "these chunks are",
    {
        RULES_FORMAT.name: "; these are rules, which RuleSet.load reads",
        "clearmargin-model": "; this is a model, which load_model reads",
    },
)
RULES_ADDRESS = "urn:clearmargin:rules:1"


@dataclass(frozen=True, slots=True, eq=False, init=False)
class ChunkRules(Value):
    """What one chunk of rows tells of itself.

    Parameters
    ----------
    rules : RuleSet
        Its rules, each with the numbers of rows that it covers and is right on (`stats`); the features with the ranges
        that they have in the chunk; and the classes that the chunk has, one or two.
    means : array-like of shape (r, n)
        For each rule the means of the features over the rows that it covers.
    counts : sequence of int
        For each class how many rows the rules were made from.
    name : str, optional
        What the chunk is called.
    rows : array-like of shape (k, n), optional
        Single rows of the chunk, where these are sent, too.
    labels : sequence of int, optional
        For each of these rows its class, as a position among the classes.
    stands_for : int, default 0
        How many rows these rows were drawn from.

    Examples
    --------
    >>> from clearmargin import Box, FeatureSpace, Rule, RuleSet, RuleStats
    >>> rule = Rule(Box([60.0], [80.0]), "old", stats=RuleStats(9, covered=3, correct=2))
    >>> site = ChunkRules(RuleSet([rule], FeatureSpace(["age"], [20], [80]), ["old", "young"]), [[71.0]], [4, 5])
    >>> site.n_rows, site.evidence.tolist()
    (9, [1])
    """

    rules: RuleSet
    means: FloatArray
    counts: tuple[int, ...]
    name: str | None
    rows: FloatArray
    labels: tuple[int, ...]
    stands_for: int

    def __init__(
        self,
        rules: RuleSet,
        means: ArrayLike,
        counts: Sequence[int],
        name: str | None = None,
        rows: ArrayLike | None = None,
        labels: Sequence[int] = (),
        stands_for: int = 0,
    ):
        n = len(rules.space)
        points = np.zeros((0, n)) if rows is None else rows
        self._set(
            rules=rules,
            means=float_array(np.reshape(means, (-1, n)), "means", shape=(len(rules), n)),
            counts=tuple(int(count) for count in counts),
            name=name,
            rows=float_array(np.reshape(points, (-1, n)), "rows", shape=(len(labels), n)),
            labels=tuple(int(label) for label in labels),
            stands_for=int(stands_for) if len(labels) else 0,
        )
        _check(self)

    def _key(self) -> tuple[object, ...]:
        # Rules are equal when they say the same; chunks also count the same.
        stats = tuple((s.rows, s.covered, s.correct) for s in self._stats)
        sent = (self.rows.tobytes(), self.labels, self.stands_for)
        content = (self.rules.to_text(), json.dumps(self.rules.classes), self.means.tobytes())
        return (self.name or "", *content, stats, self.counts, *sent)

    @property
    def _stats(self) -> tuple[RuleStats, ...]:
        return tuple(rule.stats for rule in self.rules if rule.stats is not None)

    @property
    def n_rows(self) -> int:
        """Number of rows that the rules were made from."""
        return sum(self.counts)

    @property
    def evidence(self) -> IntArray:
        """For each rule how many more rows it is right on than wrong, zero where it is mostly wrong."""
        net = [2 * (stats.correct or 0) - stats.covered for stats in self._stats]
        return np.maximum(0, np.array(net, dtype=np.intp))

    def to_dict(self) -> dict[str, Any]:
        """Put the chunk into plain data for JSON."""
        entry: dict[str, Any] = {} if self.name is None else {"name": self.name}
        entry |= {
            "rules": self.rules.to_dict(),
            "means": self.means.tolist(),
            "counts": list(self.counts),
        }
        if len(self.labels):
            entry |= {
                "rows": self.rows.tolist(),
                "labels": list(self.labels),
                "stands_for": self.stands_for,
            }
        return entry


def _check(chunk: ChunkRules) -> None:
    classes = chunk.rules.classes
    if not 1 <= len(classes) <= 2 or len(chunk.counts) != len(classes) or min(chunk.counts) < 0:
        raise InvalidValueError(
            f"a chunk has one class or two, with the number of rows of each, not classes {classes!r} and counts "
            f"{chunk.counts!r}"
        )
    if any(categories is not None for categories in chunk.rules.space.categories):
        raise InvalidValueError(
            "the features of a chunk are numbers; encode categories as 0/1 columns, as OneHotEncoder does"
        )
    if not all(isinstance(rule.region, Box) for rule in chunk.rules):
        raise InvalidValueError(
            "the rules of a chunk have bounds on single features, no linear conditions"
        )
    if any(rule.stats is None or rule.stats.correct is None for rule in chunk.rules):
        raise InvalidValueError(
            "each rule of a chunk needs its stats: how many rows it covers and is right on"
        )
    if any(not 0 <= label < len(classes) for label in chunk.labels):
        raise InvalidValueError(f"labels must be positions among the classes, not {chunk.labels!r}")
    if chunk.stands_for < len(chunk.labels):
        raise InvalidValueError(
            f"{len(chunk.labels)} rows cannot be drawn from stands_for={chunk.stands_for}"
        )


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class ChunkSummary(Value):
    """What several chunks tell of themselves; the order in which they came makes no difference.

    Parameters
    ----------
    chunks : iterable of ChunkRules
        At least one, all over the same features, with two classes between them. No two have the same name.

    Examples
    --------
    >>> from clearmargin import ChunkedRuleSVC
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = ChunkedRuleSVC()
    >>> a, b = svm.summarize(X[:300], y[:300], name="A"), svm.summarize(X[300:], y[300:], name="B")
    >>> a.merge(b) == b.merge(a)
    True
    >>> ChunkSummary.from_dict(a.to_dict()) == a
    True
    """

    chunks: tuple[ChunkRules, ...]

    def __init__(self, chunks: Iterable[ChunkRules]):
        given = sorted(chunks, key=lambda chunk: chunk._key())
        if not given:
            raise InvalidValueError("a summary needs at least one chunk")
        self._set(chunks=tuple(given))
        named = Counter(chunk.name for chunk in given if chunk.name is not None)
        twice = sorted(name for name, count in named.items() if count > 1)
        if twice:
            raise InvalidValueError(
                f"chunk {twice[0]!r} occurs {named[twice[0]]} times; merge each chunk once, or call different ones by "
                "different names"
            )
        names = given[0].rules.space.names
        for chunk in given:
            _check_features(chunk.rules.space.names, names)
        if len(self.classes) > 2:
            listed = ", ".join(repr(label) for label in self.classes)
            raise DataError(f"the chunks have more than two classes between them: {listed}")

    def __len__(self) -> int:
        return len(self.chunks)

    def __repr__(self) -> str:
        rules = sum(len(chunk.rules) for chunk in self.chunks)
        return f"<ChunkSummary of {len(self)} chunks, {self.n_rows} rows: {rules} rules>"

    @property
    def n_rows(self) -> int:
        """Number of rows that the rules of all chunks were made from."""
        return sum(chunk.n_rows for chunk in self.chunks)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes of all chunks."""
        labels = {label for chunk in self.chunks for label in chunk.rules.classes}
        return tuple(np.unique(np.array(list(labels))).tolist())

    @property
    def counts(self) -> dict[Label, int]:
        """For each class how many rows the rules were made from."""
        total: Counter[Label] = Counter(dict.fromkeys(self.classes, 0))
        for chunk in self.chunks:
            total.update(dict(zip(chunk.rules.classes, chunk.counts, strict=True)))
        return dict(total)

    @property
    def space(self) -> FeatureSpace:
        """The features, with the ranges that they have in all chunks together."""
        spaces = [chunk.rules.space for chunk in self.chunks]
        return FeatureSpace(
            spaces[0].names,
            np.min([space.lower for space in spaces], axis=0),
            np.max([space.upper for space in spaces], axis=0),
            np.all([space.integer for space in spaces], axis=0),
        )

    @property
    def rules(self) -> RuleSet:
        """The rules of all chunks, over the ranges of all chunks."""
        rules = [rule for chunk in self.chunks for rule in chunk.rules]
        return RuleSet(rules, self.space, self.classes)

    def merge(self, *others: ChunkSummary) -> ChunkSummary:
        """Put the chunks of several summaries together, in any order.

        Parameters
        ----------
        *others : ChunkSummary
            The others.

        Returns
        -------
        ChunkSummary
            All chunks.
        """
        return ChunkSummary(chunk for summary in (self, *others) for chunk in summary.chunks)

    def without(self, name: str) -> ChunkSummary:
        """Leave out one chunk, such as the one whose own rows are at hand.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ChunkSummary
            The others.
        """
        known = [chunk.name for chunk in self.chunks if chunk.name is not None]
        if name not in known:
            raise InvalidValueError(f"no chunk is called {name!r}{nearest_name(name, known)}")
        return ChunkSummary(chunk for chunk in self.chunks if chunk.name != name)

    def to_dict(self) -> dict[str, Any]:
        """Put the chunks into plain data for JSON."""
        return {
            "format": FORMAT.name,
            "version": FORMAT.version,
            "chunks": [chunk.to_dict() for chunk in self.chunks],
        }

    @classmethod
    def from_dict(cls, data: object) -> ChunkSummary:
        """Make a summary from what `to_dict` gave; proofs in it become "stated", for there is no model to check by."""
        document = FORMAT.check_header(data)
        _checker()(document)
        chunks = []
        for k, entry in enumerate(document["chunks"]):
            with inside(f"chunk {k + 1}"):
                chunks.append(_read_chunk(entry))
        with inside("the chunks do not go together"):
            return cls(chunks)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the chunks to a JSON file: all that leaves a site, for everybody to read before it is sent.

        Parameters
        ----------
        path : path
            The file; its name ends in .json.
        overwrite : bool, default False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written, whole or not at all.
        """
        return write_text_atomically(
            _named_json(path), json_text(self.to_dict()), overwrite=overwrite
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ChunkSummary:
        """Read what `save` wrote."""
        data = read_json(_named_json(path))
        try:
            return cls.from_dict(data)
        except (FileDamagedError, FileTooNewError) as error:
            raise type(error)(f"{path}: {error}") from error


def _named_json(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise InvalidValueError(f"{path}: the name of a file of chunks ends in .json")
    return target


def _check_features(names: Sequence[str], known: Sequence[str]) -> None:
    if tuple(names) == tuple(known):
        return
    stray = [name for name in names if name not in known]
    what = (
        f"{stray[0]!r} is no feature of the others{nearest_name(stray[0], known)}"
        if stray
        else f"they are {', '.join(map(repr, names))} instead of {', '.join(map(repr, known))}"
    )
    raise DataError(f"all chunks must have the same features in the same order: {what}")


def _read_chunk(entry: Mapping[str, Any]) -> ChunkRules:
    rules = RuleSet.from_dict(entry["rules"])
    return ChunkRules(
        rules,
        _table(entry["means"], "means", len(rules.space)),
        entry["counts"],
        entry.get("name"),
        _table(entry.get("rows", []), "rows", len(rules.space)),
        entry.get("labels", []),
        entry.get("stands_for", 0),
    )


def _table(rows: list[list[float]], what: str, n: int) -> FloatArray:
    wrong = [k for k, row in enumerate(rows) if len(row) != n]
    if wrong:
        raise FileDamagedError(
            f"entry {wrong[0] + 1} of '{what}' has {len(rows[wrong[0]])} numbers for {n} features"
        )
    return np.array(rows, dtype=np.float64).reshape(-1, n)


def chunks_schema() -> dict[str, Any]:
    """Give the JSON Schema of the form in which chunks are written, for programs that are not in Python.

    Returns
    -------
    dict
        A schema in the dialect 2020-12, with the schema of rules in it.

    Examples
    --------
    >>> chunks_schema()["title"]
    'clearmargin chunks, version 1'
    """
    schema = _chunk_schema()
    schema["$defs"]["rules"] = {"$id": RULES_ADDRESS, **rules_schema()}
    return schema


def _chunk_schema() -> dict[str, Any]:
    text = resources.files("clearmargin.chunks").joinpath("chunks.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _checker() -> Callable[[Any], None]:
    # Rules are checked where they are read.
    return compile_schema(_chunk_schema(), {RULES_ADDRESS: lambda data: None})
