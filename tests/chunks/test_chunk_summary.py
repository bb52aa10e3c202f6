"""Summaries of chunks: merged in any order, written and read, and refused where they do not go together."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import Box, ChunkSummary, FeatureSpace, Polyhedron, Rule, RuleSet, RuleStats
from clearmargin.chunks import ChunkRules, chunks_schema
from clearmargin.chunks.knowledge import Knowledge
from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
)

VALIDATOR = jsonschema.Draft202012Validator(chunks_schema())
CLASSES = ("ill", "well")
NAMES = ("age", "bmi")


def made_rule(low: float, high: float, label: str, covered: int, correct: int) -> Rule:
    return Rule(
        Box([low, -np.inf], [high, np.inf]), label, stats=RuleStats(40, covered, correct=correct)
    )


def made_chunk(rules=(), name=None, classes=CLASSES, counts=(3, 4), names=NAMES, **more):
    space = FeatureSpace(names, [0.0, 10.0], [80.0, 50.0])
    means = np.tile([40.0, 25.0], (len(rules), 1))
    return ChunkRules(RuleSet(rules, space, classes), means, counts, name, **more)


@st.composite
def chunks(draw) -> ChunkRules:
    rules = []
    for _ in range(draw(st.integers(0, 2))):
        low = draw(st.integers(0, 70))
        covered = draw(st.integers(1, 9))
        label, correct = draw(st.sampled_from(CLASSES)), draw(st.integers(0, covered))
        rules.append(
            made_rule(low, low + draw(st.sampled_from([2.5, 9.0])), label, covered, correct)
        )
    labels = draw(st.lists(st.integers(0, 1), max_size=2))
    rows = [[draw(st.integers(0, 80)), 30.5] for _ in labels]
    return made_chunk(rules, rows=rows, labels=labels, stands_for=draw(st.integers(2, 9)))


@given(st.lists(chunks(), min_size=3, max_size=4), st.randoms(use_true_random=False))
def test_chunks_merge_in_any_order_and_grouping_to_the_bit(parts, random):
    a, b, *rest = (ChunkSummary([part]) for part in parts)
    one = a.merge(b, *rest)
    assert a.merge(b).merge(*rest) == a.merge(b.merge(*rest)) == one
    random.shuffle(parts)
    other = ChunkSummary(parts)
    assert other == one
    assert hash(other) == hash(one)
    assert json.dumps(other.to_dict()) == json.dumps(one.to_dict())
    assert other.n_rows == 7 * len(parts)
    planes = [Knowledge.of(summary, "well").plane(100.0) for summary in (one, other)]
    assert planes[0].tobytes() == planes[1].tobytes()


@given(st.lists(chunks(), min_size=1, max_size=3))
def test_what_is_written_reads_back_as_the_same(parts):
    summary = ChunkSummary(parts)
    document = json.loads(json.dumps(summary.to_dict()))
    assert VALIDATOR.is_valid(document)
    assert ChunkSummary.from_dict(document) == summary


def test_a_file_holds_what_a_site_sends(tmp_path):
    rule = made_rule(60, 80, "ill", 5, 4)
    summary = ChunkSummary([made_chunk([rule], name="A")])
    path = summary.save(tmp_path / "a.json")
    assert ChunkSummary.load(path) == summary
    (entry,) = json.loads(path.read_text(encoding="utf-8"))["chunks"]
    assert set(entry) == {"name", "rules", "means", "counts"}
    assert [feature["name"] for feature in entry["rules"]["features"]] == list(NAMES)


def test_chunks_that_count_otherwise_are_not_equal():
    one, other = (made_chunk([made_rule(60, 80, "ill", 5, k)]) for k in (4, 5))
    assert one.rules == other.rules
    assert one != other
    assert ChunkSummary([one]) != ChunkSummary([other])


def test_the_summary_adds_up_what_its_chunks_have():
    low = FeatureSpace(NAMES, [-5.0, 10.0], [10.0, 20.0], integer=True)
    only_well = ChunkRules(RuleSet([], low, ["well"]), [], [6])
    mostly_wrong = made_rule(0, 9, "well", 5, 1)
    summary = ChunkSummary([only_well, made_chunk([mostly_wrong], name="A")])
    assert summary.counts == {"ill": 3, "well": 10}
    assert (summary.n_rows, len(summary), len(summary.rules)) == (13, 2, 1)
    assert summary.space.lower.tolist() == [-5.0, 10.0]
    assert summary.space.upper.tolist() == [80.0, 50.0]
    assert not summary.space.integer.any()
    assert summary.chunks[-1].evidence.tolist() == [0]
    assert repr(summary) == "<ChunkSummary of 2 chunks, 13 rows: 1 rules>"
    assert summary.without("A") == ChunkSummary([only_well])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ChunkSummary([]), InvalidValueError, "a summary needs at least one chunk"),
        (
            lambda: ChunkSummary([made_chunk(name="A"), made_chunk(name="A")]),
            InvalidValueError,
            "chunk 'A' occurs 2 times; merge each chunk once",
        ),
        (
            lambda: ChunkSummary([made_chunk(name="Ann")]).without("Anna"),
            InvalidValueError,
            "no chunk is called 'Anna'; did you mean 'Ann'",
        ),
        (
            lambda: ChunkSummary([made_chunk(), made_chunk(names=("age", "bmj"))]),
            DataError,
            "the same features in the same order: '.*' is no feature of the others; did you mean",
        ),
        (
            lambda: ChunkSummary([made_chunk(), made_chunk(names=("bmi", "age"))]),
            DataError,
            "they are 'bmi', 'age' instead of 'age', 'bmi'",
        ),
        (
            lambda: ChunkSummary([made_chunk(), made_chunk(classes=("ill", "dead"))]),
            DataError,
            "more than two classes between them: 'dead', 'ill', 'well'",
        ),
        (lambda: made_chunk(classes=("a", "b", "c")), InvalidValueError, "one class or two"),
        (lambda: made_chunk(counts=(3,)), InvalidValueError, "the number of rows of each"),
        (
            lambda: made_chunk([Rule(Box([0, 0], [1, 1]), "ill")]),
            InvalidValueError,
            "each rule of a chunk needs its stats",
        ),
        (
            lambda: made_chunk([Rule(Polyhedron([[1.0, 1.0]], [3.0]), "ill")]),
            InvalidValueError,
            "bounds on single features, no linear conditions",
        ),
        (
            lambda: made_chunk(rows=[[1.0, 2.0]], labels=[2], stands_for=1),
            InvalidValueError,
            "positions among the classes, not \\(2,\\)",
        ),
        (
            lambda: made_chunk(rows=[[1.0, 2.0]], labels=[1]),
            InvalidValueError,
            "1 rows cannot be drawn from stands_for=0",
        ),
        (
            lambda: ChunkRules(
                RuleSet([], FeatureSpace(["sex"], categories={"sex": ["f"]}), ["ill"]), [], [1]
            ),
            InvalidValueError,
            "encode categories as 0/1 columns",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_damaged_files_say_what_is_wrong(tmp_path):
    document = ChunkSummary([made_chunk([made_rule(60, 80, "ill", 5, 4)])]).to_dict()
    with pytest.raises(FileDamagedError, match=r"these are rules, which RuleSet\.load reads"):
        ChunkSummary.from_dict(document["chunks"][0]["rules"])
    with pytest.raises(FileTooNewError, match="update clearmargin"):
        ChunkSummary.from_dict({**document, "version": 2})
    chunk = document["chunks"][0]
    for change, message in [
        ({"means": [[1.0]]}, "chunk 1: entry 1 of 'means' has 1 numbers for 2 features"),
        ({"means": []}, "chunk 1: means"),
        ({"counts": [-1, 2]}, "chunk 1: count 1 must be at least 0, not -1"),
        ({"name": ""}, "chunk 1"),
    ]:
        with pytest.raises(FileDamagedError, match=message):
            ChunkSummary.from_dict({**document, "chunks": [{**chunk, **change}]})
    twice = [{**chunk, "name": "A"}] * 2
    with pytest.raises(FileDamagedError, match="the chunks do not go together: chunk 'A' occurs 2"):
        ChunkSummary.from_dict({**document, "chunks": twice})
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(FileDamagedError, match=r"a\.json: these are no clearmargin chunks"):
        ChunkSummary.load(path)
    with pytest.raises(InvalidValueError, match=r"a file of chunks ends in \.json"):
        ChunkSummary.load("a.rules")
