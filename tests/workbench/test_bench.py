"""An open project: what would change, versions and their restoring, the sealed sample, and any sequence of all that."""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from scipy.stats import binomtest
from tests.workbench.benches import RULES, as_csv, open_project, patients, reopened

from clearmargin.compare import compare_models
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language import parse_rules, read_rule_text
from clearmargin.workbench import bench as bench_module
from clearmargin.workbench.bench import EXAM, RuleMistakesError
from clearmargin.workbench.history import StaleHeadError
from clearmargin.workbench.pages import result_facts
from clearmargin.workbench.projects import create_project

TASK = {"target": "state", "missing": "impute", "positive": "ill"}
TABLE = patients(130, seed=11, gaps=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The file of a project with two versions: without rules, and with some."""
    folder = tmp_path_factory.mktemp("kept")
    with open_project(folder, TABLE, task=TASK) as bench:
        # With costs that are named a training takes no search for them.
        bench.keep(RULES, why="what the ward says", base=1, settings={"lam": 1.0, "mu": 1.0})
        return bench.file.path


@pytest.fixture
def bench(kept, tmp_path):
    """An open copy of that project."""
    path = tmp_path / "copy.clearmargin"
    shutil.copy(kept, path)
    with reopened(path) as opened:
        yield opened


# What would change.


@pytest.mark.parametrize("text", [RULES, RULES + "\n# a remark\n", RULES.replace("\n", "  \n\n")])
def test_a_text_that_says_the_same_changes_nothing(bench, text):
    answer = bench.preview(text)
    assert answer["flips"] == []
    assert answer["before"] == answer["after"]
    assert (answer["n_flips"], answer["better"], answer["worse"]) == (0, 0, 0)
    validated = bench.version().validated
    assert answer["after"] == {"right": validated.right, "rows": len(validated.codes)}


OTHER = "old: age >= 45 => ill\nred: colour = red => ill\nclash: age <= 40 => ill\n"


def test_what_would_change_is_what_changes_when_it_is_kept(bench):
    told = bench.preview(OTHER)
    before = bench.version().validated.codes
    bench.keep(OTHER, why="to see", base=2)
    after = bench.version().validated
    assert told["after"]["right"] == after.right
    assert told["n_flips"] == int((before != after.codes).sum()) > 0


def test_flips_are_those_of_a_plain_loop_and_of_the_comparison_of_models(bench):
    told = bench.preview(OTHER)
    version = bench.version()
    opened, before = version.opened, version.validated.codes
    bench.keep(OTHER, why="to see", base=2)
    after = bench.version().validated.codes
    flips = {}
    for k, row in enumerate(opened.rows.tolist()):
        if before[k] != after[k]:
            truth = TABLE["state"][row - 1]
            words = [str(opened.classes[codes[k]]) for codes in (before, after)]
            flips[row] = (truth, *words, "better" if words[1] == truth else "worse")
    named = {f["row"]: (f["truth"], f["before"], f["after"], f["effect"]) for f in told["flips"]}
    assert named == flips
    better = sum(effect == "better" for *_, effect in flips.values())
    assert (told["better"], told["worse"]) == (better, len(flips) - better)
    # McNemar's test, exactly.
    assert told["p_value"] == pytest.approx(binomtest(better, len(flips)).pvalue)
    labels = np.array(opened.classes, dtype=object)
    found = compare_models(
        labels[before].tolist(), labels[after].tolist(), opened.task.X, opened.task.y
    )
    assert {int(opened.rows[f.row]) for f in found.flips} == set(flips)


def test_flips_name_the_rules_that_cover_them(bench):
    rules = parse_rules(OTHER, space=bench.version().opened.space, classes=("ill", "well"))
    covered = rules.covers(bench.version().opened.points)
    for flip in bench.preview(OTHER)["flips"]:
        k = bench.version().opened.position(flip["row"])
        assert flip["rules"] == [rules[j].name for j in np.flatnonzero(covered[k])]


def test_rules_with_mistakes_have_no_part_in_what_would_change(bench):
    assert bench.preview(RULES + "nonsense => ill")["n_flips"] == 0


@pytest.mark.parametrize("machine", ["plane", "points"])
def test_another_machine_takes_a_job_whose_answer_says_what_was_asked(bench, machine):
    told = bench.preview(RULES, {"machine": machine}, serial="mine7")
    assert bench.file.job(told["job"]).state == "done"
    found = result_facts(bench, "preview")["found"]
    assert (found["serial"], found["text"]) == ("mine7", RULES)
    assert found["settings"]["machine"] == machine
    codes = bench.file.result(2, "preview")
    assert found["after"]["right"] == codes["right"]
    assert found["n_flips"] == found["better"] + found["worse"]


def test_while_a_machine_is_trained_people_are_told_to_wait(bench, monkeypatch):
    monkeypatch.setattr(bench.jobs, "start", lambda *_: None)
    bench.keep("", why="nothing is left", base=2)
    assert "is being trained" in bench.preview(RULES)["waiting"]
    version = bench.version()
    # Until then the machine of the version before answers.
    assert not version.is_trained
    assert version.machine.document == bench.version(2).machine.document
    with pytest.raises(DataError, match="wait until the machine of the newest version is trained"):
        bench.exam()


# Versions.


def test_a_kept_text_is_the_newest_version(bench):
    made = bench.keep(OTHER, why="size 5 is too low", base=2, author="an auditor")
    assert (made.id, made.text, made.why, made.author) == (
        3,
        OTHER,
        "size 5 is too low",
        "an auditor",
    )
    assert bench.head == made
    assert bench.version().is_trained


@pytest.mark.parametrize("base", [None, 1])
def test_a_stale_text_is_refused_and_nothing_is_lost(bench, base):
    with pytest.raises(StaleHeadError) as caught:
        bench.keep(OTHER, why="late", base=base)
    assert caught.value.head.id == 2
    assert bench.head.id == 2


def test_a_base_that_never_was_is_refused_in_words(bench):
    with pytest.raises(InvalidValueError, match="there is no version 99"):
        bench.keep(OTHER, why="early", base=99)


def test_a_restored_version_is_a_new_one_with_the_same_answers(bench):
    codes = bench.version(1).validated.codes
    made = bench.restore(1, why="it was better", base=2)
    assert (made.id, made.text, made.restores, made.kind) == (3, "", 1, "restored")
    assert bench.version().validated.codes.tolist() == codes.tolist()
    assert [r.text for r in bench.history.all()] == ["", RULES, ""]


def test_a_text_with_mistakes_is_not_kept_and_its_places_are_those_of_browsers(bench):
    text = "\N{GRINNING FACE} # \nagee >= 3 => ill\nage >= 3 => il"
    with pytest.raises(RuleMistakesError, match=r"line 1: .* and 2 more") as caught:
        bench.keep(text, why="no", base=2)
    units = text.encode("utf-16-le")
    named = [units[2 * e["from"] : 2 * e["to"]].decode("utf-16-le") for e in caught.value.errors]
    assert named[1:] == ["agee", "il"]
    assert bench.head.id == 2


def test_texts_have_a_largest_size(bench, monkeypatch):
    monkeypatch.setattr(bench_module, "MAX_RULES", 2)
    with pytest.raises(InvalidValueError, match="there are 3 rules; at most 2 can be judged"):
        bench.keep(RULES, why="too many", base=2)
    long = "# " + "\N{GRINNING FACE}" * 260_000
    for ask in (bench.check, bench.preview, lambda t: bench.complete(t, 0)):
        with pytest.raises(InvalidValueError, match="longer than 1 MB"):
            ask(long)
    with pytest.raises(InvalidValueError, match="rules are a text"):
        bench.check(None)


def test_too_many_rules_are_not_checked_either(bench, monkeypatch):
    monkeypatch.setattr(bench_module, "MAX_RULES", 2)
    for ask in (bench.check, bench.preview):
        with pytest.raises(InvalidValueError, match="there are 3 rules; at most 2 can be judged"):
            ask(RULES)


def test_each_version_has_its_own_training(bench, monkeypatch):
    """Somebody may keep another version before the training of the first is started."""
    started = []
    monkeypatch.setattr(bench.jobs, "start", lambda kind, given, _: started.append(given))
    real = bench.history.keep

    def quickly(*args, **kwargs):
        made = real(*args, **kwargs)
        if made.id == 3:
            real("", why="w", author="b", base=3, task=made.task, settings=made.settings)
        return made

    monkeypatch.setattr(bench.history, "keep", quickly)
    bench.keep(OTHER, why="first", base=2)
    assert [given["revision"] for given in started] == [3]


def test_the_task_is_that_of_the_newest_version_also_where_it_was_restored(bench):
    bench.set_task({"target": "colour", "positive": "red", "missing": "drop"})
    assert bench.opened().classes == ("not red", "red")
    bench.restore(2, why="back", base=3)
    assert bench.opened().settings.target == "state"
    assert bench.task.body["target"] == "state"


def test_another_task_keeps_the_text_and_has_no_flips(bench):
    bench.set_task({**TASK, "positive": "well"}, why="the other way round")
    version = bench.version()
    assert version.revision.text == RULES
    assert version.revision.why == "the other way round"
    assert version.opened.classes == ("ill", "well")
    assert len(bench.flipped(version, RULES)) == 0


def test_flipped_cases_are_those_of_the_last_change_or_of_the_text_that_is_written(bench):
    version = bench.version()
    codes = bench.version(1).validated.codes
    changed = np.flatnonzero(codes != version.validated.codes)
    assert bench.flipped(version, RULES).tolist() == changed.tolist()
    told = bench.preview(OTHER)
    flipped = version.opened.rows[bench.flipped(version, OTHER)].tolist()
    assert sorted(flipped) == sorted(f["row"] for f in told["flips"])


def test_no_case_is_flipped_where_nobody_knows(bench):
    first = bench.version(1)
    assert len(bench.flipped(first, "")) == 0
    slow = bench.keep(RULES, why="slow", base=2, settings={"machine": "points"})
    # Another text takes longer to try with this machine than a page takes to load.
    assert len(bench.flipped(bench.version(slow.id), OTHER)) == 0


def test_old_versions_tasks_and_previews_are_forgotten_and_worked_out_again(bench, monkeypatch):
    monkeypatch.setattr(bench_module, "_KEPT_VERSIONS", 1)
    answers = [bench.preview(f"age >= {k} => ill")["after"] for k in range(40, 44)]
    assert len(bench._previews) == 2
    assert [bench.preview(f"age >= {k} => ill")["after"] for k in range(40, 44)] == answers
    codes = [bench.version(k).validated.codes.tolist() for k in (1, 2)]
    assert len(bench._versions) == 1
    assert [bench.version(k).validated.codes.tolist() for k in (1, 2)] == codes
    monkeypatch.setattr(bench.jobs, "start", lambda *_: None)
    for positive in ("well", "ill", "well"):
        bench.set_task({**TASK, "positive": positive})
    assert bench.opened(1).classes == ("well", "ill")
    assert len(bench._opened) == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((RULES, 9, "age", "low", 3.0), "there is no rule 9"),
        ((RULES, -1, "age", "low", 3.0), "there is no rule -1"),
        ((RULES, 0, "agee", "low", 3.0), "unknown feature 'agee'; did you mean 'age'"),
        ((RULES, 0, "colour", "low", 3.0), "'colour' has categories, and no bounds"),
        ((RULES, 0, "age", "middle", 3.0), "side must be 'low' or 'high'"),
        ((RULES, 0, "age", "low", math.inf), "must be a finite number"),
        (("age + dose >= 3 => ill", 0, "", "low", 1.0), "unknown feature"),
        (("3 <= age <= 5 => ill", 0, "age", "low", 9.0), "no value of 'age' would be left"),
    ],
)
def test_a_bound_that_cannot_be_is_refused_in_words(bench, asked, words):
    with pytest.raises(InvalidValueError, match=words):
        bench.edit(*asked)


def test_words_are_completed_at_the_place_of_the_browser(bench):
    text = "# \N{GRINNING FACE}\nag"
    found = bench.complete(text, len(text.encode("utf-16-le")) // 2)
    age = next(c for c in found if c["text"] == "age")
    assert (age["from"], age["to"]) == (5, 7)


# The sealed sample.


@pytest.mark.parametrize("machine", ["constraints", "points"])
def test_an_exam_judges_the_sealed_rows_and_is_written_down(bench, machine):
    if machine != "constraints":
        bench.keep(RULES, why="another", base=2, settings={"machine": machine})
    before = len(bench.file.events())
    told = bench.exam("an auditor")
    version, rows = bench.version(), bench.table.sealed_rows
    # As a stranger would do it: rows as they stand in the file, gaps filled by hand where the machine wants that.
    columns = {name: TABLE[name][rows].copy() for name in ("colour", "age", "dose")}
    if version.machine.planes is not None:
        there = np.delete(np.arange(len(TABLE["age"])), rows)
        names, counts = np.unique(
            [c for c in TABLE["colour"][there] if c is not None], return_counts=True
        )
        fill = {"colour": names[np.argmax(counts)], "dose": np.nanmedian(TABLE["dose"][there])}
        gaps = {"colour": columns["colour"] == None, "dose": np.isnan(columns["dose"])}  # noqa: E711
        for name, value in fill.items():
            columns[name][gaps[name]] = value
    predicted = np.asarray(version.machine.model.predict(columns))
    right = int((predicted == TABLE["state"][rows]).sum())
    assert told == {
        "revision": version.revision.id,
        "right": right,
        "rows": len(rows),
        "opening": 1,
    }
    assert bench.exam()["opening"] == 2
    written = bench.file.events()[before:]
    assert [(e.who, e.what, e.body["opening"]) for e in written] == [
        ("an auditor", EXAM, 1),
        ("the expert", EXAM, 2),
    ]
    assert bench.file.verify() == []


def test_without_sealed_rows_there_is_no_exam(tmp_path):
    with open_project(tmp_path, patients(60), share=0.0, task={"target": "state"}) as bench:
        with pytest.raises(DataError, match="the sealed share may be 0"):
            bench.exam()
        assert EXAM not in [event.what for event in bench.file.events()]


def test_before_a_target_is_chosen_everything_says_so(tmp_path):
    with open_project(tmp_path, patients(40)) as bench:
        assert not bench.has_task
        for ask in (bench.version, bench.opened, lambda: bench.start("train"), bench.exam):
            with pytest.raises(DataError, match="choose the target on the page Data"):
                ask()


def test_proved_rules_of_trained_machines_hold_for_cases_that_nobody_has_seen(bench):
    """Draw cases in the premise of each rule that is called proved; the machine must give its class."""
    opened = bench.version().opened
    rng = np.random.default_rng(0)
    texts = [
        f"colour in {{{', '.join(colours)}}} and age {sign} {age} and dose {other} {dose} => {label}"
        for colours in (["red"], ["blue", "green"])
        for sign, other, label in ((">=", ">=", "ill"), ("<=", "<=", "well"))
        for age in (30, 45, 60)
        for dose in (0.2, 0.5, 0.8)
    ]
    judged = bench.check("\n".join(texts))["rules"]
    kinds = {told["standing"]["kind"] for told in judged}
    assert {"proved", "contradicted"} <= kinds
    for told in judged:
        if told["standing"]["kind"] not in ("proved", "within ranges"):
            continue
        rules = read_rule_text(told["text"], opened.space, opened.classes).rules
        m = 400
        cases = {
            "colour": rng.choice(["red", "green", "blue"], m).astype(object),
            "age": rng.integers(opened.space.lower[1], opened.space.upper[1] + 1, m),
            "dose": rng.uniform(opened.space.lower[2], opened.space.upper[2], m),
        }
        codes = np.array([["blue", "green", "red"].index(c) for c in cases["colour"]])
        inside = rules.covers(np.column_stack([codes, cases["age"], cases["dose"]]))[:, 0]
        said = np.asarray(bench.version().machine.model.predict(cases))[inside]
        assert (said == told["label"]).all()


# Any sequence of edits, undos, versions and drafts.

LINES = st.lists(
    st.sampled_from(
        [
            "old: age >= 60 => ill",
            "20 <= age < 40 => well  # young",
            "dose > 0.5 and colour = red => ill",
            "age + 10*dose <= 60 => well",
            "if age is at least 70 then ill",
            "# only a remark",
            "agee >= 3 => ill",
            "",
        ]
    ),
    max_size=4,
)


class AnySequence(RuleBasedStateMachine):
    """A tab that edits, takes back, keeps, restores and puts aside; the project must say what it did."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        content = as_csv(patients(40, seed=1))
        self.path = create_project(self.folder, "t.csv", content, author="a", sealed_share=0.2)
        self.open()
        assert self.bench.set_task({"target": "state"}).id == 1
        self.text, self.undone = "", [""]
        self.texts, self.draft = [""], None

    def open(self):
        self.context = reopened(self.path)
        self.bench = self.context.__enter__()
        # Machines are of no interest here.
        self.bench.jobs.start = lambda *_: None

    def teardown(self):
        assert self.bench.file.verify() == []
        self.context.__exit__(None, None, None)
        shutil.rmtree(self.folder)

    def write(self, text):
        self.undone.append(self.text)
        self.text = text

    @rule(lines=LINES)
    def type_text(self, lines):
        self.write("\n".join(lines))

    @rule(
        place=st.integers(0, 3),
        feature=st.sampled_from(["age", "dose"]),
        side=st.sampled_from(["low", "high"]),
        value=st.one_of(st.none(), st.integers(0, 90).map(float), st.just(0.25)),
    )
    def pull_a_bound(self, place, feature, side, value):
        opened = self.bench.version().opened
        before = read_rule_text(self.text, opened.space, opened.classes)
        try:
            changed = self.bench.edit(self.text, place, feature, side, value)
        except InvalidValueError:
            return
        after = read_rule_text(changed, opened.space, opened.classes)
        statements = [s for s in before.statements if s.kind == "rule"]
        number = statements[place].rule
        again = [s for s in after.statements if s.kind == "rule"]
        assert len(again) == len(statements)
        if number is not None and again[place].rule is not None:
            j = opened.space.index(feature)
            check_bound(before.rules[number], after.rules[again[place].rule], j, side, value)
        for k, statement in enumerate(statements):
            other = again[k].rule
            if k != place and statement.rule is not None:
                assert before.rules[statement.rule] == after.rules[other]
        self.write(changed)

    @rule()
    def take_back(self):
        if len(self.undone) > 1:
            self.text = self.undone.pop()

    @rule(stale=st.booleans())
    def keep(self, stale):
        stale = stale and len(self.texts) > 1
        base = self.bench.head.id - (1 if stale else 0)
        mistakes = self.bench.check(self.text)["errors"]
        try:
            made = self.bench.keep(self.text, why="so", base=base)
        except RuleMistakesError:
            assert mistakes
        except StaleHeadError:
            assert stale
            assert not mistakes
        else:
            assert not stale
            assert not mistakes
            assert made.text == self.text
            self.texts.append(self.text)

    @rule(data=st.data())
    def restore(self, data):
        number = data.draw(st.integers(1, len(self.texts)))
        self.bench.restore(number, why="back", base=len(self.texts))
        self.texts.append(self.texts[number - 1])
        self.write(self.texts[-1])

    @rule()
    def put_aside(self):
        self.bench.file.put_draft("tab", self.bench.head.id, self.text)
        self.draft = self.text

    @precondition(lambda self: self.draft is not None)
    @rule()
    def take_up_again(self):
        self.write(self.bench.file.draft("tab").text)
        assert self.text == self.draft

    @rule()
    def close_and_open(self):
        self.context.__exit__(None, None, None)
        self.open()

    @invariant()
    def the_history_is_what_was_done(self):
        assert [r.text for r in self.bench.history.all()] == self.texts
        assert self.bench.version().revision.text == self.texts[-1]
        draft = self.bench.file.draft("tab")
        assert (None if draft is None else draft.text) == self.draft


def check_bound(before, after, j, side, value):
    """One bound is another, and all else is as it was."""
    assert (after.label, after.name) == (before.label, before.name)
    if not hasattr(before.region, "interval") or not hasattr(after.region, "interval"):
        return
    n = len(before.region.lower)
    for k in range(n):
        old, new = before.region.interval(k), after.region.interval(k)
        other = (old.high, old.high_closed) == (new.high, new.high_closed)
        same = (old.low, old.low_closed) == (new.low, new.low_closed)
        if k != j:
            assert other
            assert same
        elif side == "low":
            assert other
            assert new.low == (-math.inf if value is None else value)
        else:
            assert same
            assert new.high == (math.inf if value is None else value)
    assert before.region.sets == after.region.sets


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)
