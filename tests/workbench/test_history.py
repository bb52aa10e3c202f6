"""Versions of the rules: nothing is lost, nothing is overwritten unseen, and every two can be compared."""

from __future__ import annotations

import json
import pickle
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clearmargin import FeatureSpace
from clearmargin.exceptions import InvalidValueError
from clearmargin.workbench.history import History, Revision, StaleHeadError, line_changes
from clearmargin.workbench.project_file import ProjectFile

from .small_projects import RULES, new_project, with_history

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
LINES = st.lists(st.sampled_from(["a", "b", "", "c => d", "\r", "x\u2028y"]), max_size=12).map(
    "\n".join
)


@pytest.fixture
def file(tmp_path):
    with new_project(tmp_path) as file:
        yield file


def keep(history, text, base, **changed):
    given = {"why": "so", "author": "Ada", "task": 1, "settings": {}, **changed}
    return history.keep(text, base=base, **given)


# Keeping and restoring


def test_a_new_project_has_no_versions(file):
    history = History(file)
    assert history.head is None
    assert history.all() == []
    with pytest.raises(InvalidValueError, match="there is no version 1 of biopsies"):
        history.get(1)


def test_a_version_is_kept_with_all_that_was_said(file):
    history = History(file)
    kept = history.keep(
        "age >= 60 => ill\n",
        why="from the ward round",
        author="the expert",
        base=None,
        task=1,
        settings={"C": 0.5, "balanced": True},
        kind="refined",
    )
    assert kept == history.head == history.get(1)
    assert kept == Revision(
        id=1,
        parent=None,
        task=1,
        text="age >= 60 => ill\n",
        settings={"C": 0.5, "balanced": True},
        author="the expert",
        at=kept.at,
        why="from the ward round",
        kind="refined",
        restores=None,
        hash=kept.hash,
    )
    (event,) = file.events()
    assert (event.who, event.what) == ("the expert", "kept")
    assert event.body == {
        "revision": 1,
        "why": "from the ward round",
        "kind": "refined",
        "hash": kept.hash,
    }
    assert json.loads(json.dumps(kept.to_dict())) == kept.to_dict()


def test_versions_follow_each_other_and_survive_the_end_of_the_program(file):
    history = with_history(file)
    before = history.all()
    assert [revision.id for revision in before] == [1, 2, 3, 4]
    assert [revision.parent for revision in before] == [None, 1, 2, 3]
    assert [revision.text for revision in before] == RULES
    file.close()
    with ProjectFile.open(file.path) as again:
        assert History(again).all() == before
        assert History(again).head == before[-1]


def test_to_restore_is_to_keep_an_old_text_once_more(file):
    history = with_history(file)
    file.add_task(1, {"target": "bmi"})
    keep(history, "other", 4, task=2, settings={"C": 9})
    restored = history.restore(2, why="it was better", author="an auditor", base=5)
    assert (restored.id, restored.parent, restored.restores) == (6, 5, 2)
    assert (restored.text, restored.task) == (RULES[1], 1)
    assert (restored.settings, restored.kind) == ({"C": 1}, "restored")
    assert (restored.why, restored.author) == ("it was better", "an auditor")
    event = file.events()[-1]
    assert event.what == "restored"
    assert event.body["revision"] == 6
    assert event.body["restores"] == 2
    assert history.get(2).text == RULES[1]
    assert file.verify() == []


@pytest.mark.parametrize("base", [None, 1, 3])
def test_a_stale_text_is_not_kept(file, base):
    history = with_history(file)
    with pytest.raises(StaleHeadError, match="the expert has kept version 4 in the mean") as caught:
        keep(history, "mine", base)
    assert caught.value.head == history.head
    with pytest.raises(StaleHeadError, match="on top of version 4"):
        history.restore(2, why="", author="", base=base)
    assert len(history.all()) == len(file.events()) == 4
    assert keep(history, "mine", caught.value.head.id).id == 5


def test_a_stale_head_can_be_sent_to_another_process(file):
    error = StaleHeadError("late", with_history(file).head)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.head) == (str(error), error.head)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"base": 99}, "there is no version 99"),
        ({"task": 99}, "there is no task 99"),
        ({"base": -1}, "a version must lie between 0"),
        ({"task": None}, "a task must be a whole number"),
        ({"text": "\ud800"}, "half of a character"),
        ({"text": None}, "the text of the rules must be a text"),
        ({"why": 3}, "the reason must be a text"),
        ({"author": None}, "the author must be a text"),
        ({"settings": {"C": float("nan")}}, "the settings is not plain data"),
        ({"settings": None}, "the settings must be a dict"),
        ({"kind": None}, "the kind of a version must be a text"),
    ],
)
def test_what_cannot_be_kept_leaves_nothing(file, changed, words):
    history = with_history(file)
    with pytest.raises(InvalidValueError, match=words):
        keep(history, **{"text": "x", "base": 4, **changed})
    assert len(history.all()) == len(file.events()) == 4
    assert file.verify() == []


@pytest.mark.parametrize("number", [0, 5, -1, 2**70, "1", None])
def test_a_version_that_is_not_there_is_said_in_words(file, number):
    history = with_history(file)
    for ask in (
        lambda: history.get(number),
        lambda: history.restore(number, why="", author="", base=4),
        lambda: history.difference(1, number),
    ):
        with pytest.raises(InvalidValueError, match=r"there is no version|a version must"):
            ask()


def test_of_many_who_keep_at_once_one_comes_first(file):
    history = with_history(file, ["age >= 60 => ill"])
    writers = 12
    gate = threading.Barrier(writers)
    kept, stale = [], []

    def work(k):
        gate.wait()
        try:
            kept.append(keep(history, f"text {k}", 1))
        except StaleHeadError as error:
            stale.append(error.head)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 1
    assert stale == kept * (writers - 1)
    assert history.all()[1:] == kept


def test_who_tries_again_on_top_of_the_head_loses_nothing(file):
    history = History(file)
    writers, rounds = 6, 5

    def work(k):
        for step in range(rounds):
            base = None
            while True:
                try:
                    keep(history, f"{k} {step}", base)
                except StaleHeadError as error:
                    base = error.head.id
                else:
                    break

    threads = [threading.Thread(target=work, args=(k,)) for k in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = history.all()
    assert sorted(revision.text for revision in found) == sorted(
        f"{k} {step}" for k in range(writers) for step in range(rounds)
    )
    assert [revision.parent for revision in found] == [None, *range(1, len(found))]
    assert file.verify() == []


class Keeping(RuleBasedStateMachine):
    """Any sequence of typing, keeping, restoring and opening again, beside a plain list of what there should be."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.texts = []
        self.drafts = {}

    @initialize()
    def begin(self):
        self.file = new_project(Path(self.folder.name))

    @property
    def history(self):
        return History(self.file)

    @property
    def base(self):
        return len(self.texts) or None

    @rule(text=TEXTS, why=TEXTS)
    def keep(self, text, why):
        kept = keep(self.history, text, self.base, why=why)
        self.texts.append(text)
        assert (kept.id, kept.text, kept.why) == (len(self.texts), text, why)

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def restore(self, data):
        number = data.draw(st.integers(1, len(self.texts)))
        restored = self.history.restore(number, why="", author="x", base=self.base)
        self.texts.append(self.texts[number - 1])
        assert restored.text == self.texts[-1]
        assert restored.restores == number

    @precondition(lambda self: self.texts)
    @rule(data=st.data(), text=TEXTS)
    def keep_too_late(self, data, text):
        old = data.draw(st.none() | st.integers(1, len(self.texts)))
        if old == self.base:
            return
        with pytest.raises(StaleHeadError, match="in the meantime") as caught:
            keep(self.history, text, old)
        assert caught.value.head.text == self.texts[-1]
        seen = self.history.three_way(old, text)
        assert seen["base"] == ("" if old is None else self.texts[old - 1])
        assert seen["mine"] == text
        assert seen["head"]["text"] == self.texts[-1]

    @rule(tab=st.sampled_from("ab"), text=TEXTS)
    def type(self, tab, text):
        self.file.put_draft(tab, self.base, text)
        self.drafts[tab] = (self.base, text)

    @rule(tab=st.sampled_from("ab"))
    def give_up(self, tab):
        self.file.drop_draft(tab)
        self.drafts.pop(tab, None)

    @precondition(lambda self: self.drafts)
    @rule(data=st.data())
    def keep_what_was_typed(self, data):
        tab = data.draw(st.sampled_from(sorted(self.drafts)))
        draft = self.file.draft(tab)
        keep(self.history, draft.text, self.base)
        self.texts.append(self.drafts[tab][1])

    @rule()
    def open_again(self):
        self.file.close()
        self.file = ProjectFile.open(self.file.path)

    @invariant()
    def all_is_there(self):
        assert [revision.text for revision in self.history.all()] == self.texts
        head = self.history.head
        assert (head.text if head else None) == (self.texts[-1] if self.texts else None)
        found = {draft.tab: (draft.base, draft.text) for draft in self.file.drafts()}
        assert found == self.drafts

    def teardown(self):
        problems = self.file.verify()
        told = [event.body["revision"] for event in self.file.events()]
        self.file.close()
        self.folder.cleanup()
        assert problems == []
        assert told == list(range(1, len(self.texts) + 1))


test_any_sequence_of_typing_keeping_and_restoring_gives_the_texts_it_should = Keeping.TestCase
Keeping.TestCase.settings = settings(stateful_step_count=15)


# Differences


@given(old=LINES | TEXTS, new=LINES | TEXTS)
def test_the_lines_of_a_difference_are_both_texts(old, new):
    lines = line_changes(old, new)
    assert "\n".join(line for op, line in lines if op in " -") == old
    assert "\n".join(line for op, line in lines if op in " +") == new
    assert {op for op, _ in lines} <= {" ", "-", "+"}
    if old == new:
        assert all(op == " " for op, _ in lines)


def test_a_line_in_both_texts_is_shown_once():
    assert line_changes("a\nb\nc", "a\nx\nc\n") == [
        [" ", "a"],
        ["-", "b"],
        ["+", "x"],
        [" ", "c"],
        ["+", ""],
    ]
    assert line_changes("", "") == []


def test_a_difference_says_which_rules_moved(file):
    history = with_history(file)
    found = history.difference(1, 2)
    assert found.unread is None
    assert (found.old, found.new) == (history.get(1), history.get(2))
    (change,) = found.rules.changed
    assert change.relation == "wider"
    assert len(found.rules.added) == 1
    assert found.settings == {"C": (0, 1)}
    assert found.lines == [
        ["-", "age >= 60 => ill"],
        ["+", "age >= 55 => ill"],
        ["+", "bmi < 25 => well"],
    ]
    data = found.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["old"], data["new"], data["task_changed"]) == (1, 2, False)
    assert data["settings"] == {"C": {"before": 0, "after": 1}}
    assert data["rules"]["changed"][0]["before"] == "age >= 60 => ill"
    assert data["unread"] is None


def test_a_difference_can_be_read_backwards(file):
    history = with_history(file)
    assert history.difference(2, 1).rules.changed[0].relation == "narrower"
    same = history.difference(3, 3)
    assert same.rules.decisions == "same"
    assert same.settings == {}
    assert {op for op, _ in same.lines} == {" "}


def test_texts_without_rules_can_be_compared_too(file):
    history = with_history(file, ["", "# a remark only", "age >= 60 => ill"])
    assert history.difference(1, 2).unread is None
    assert len(history.difference(2, 3).rules.added) == 1


def test_a_text_that_cannot_be_read_is_compared_line_by_line(file):
    history = with_history(file, ["age >= 60 => ill", "age >= => ill"])
    for old, new in ((1, 2), (2, 1)):
        found = history.difference(old, new)
        assert found.rules is None
        assert found.unread.startswith("version 2 cannot be read: line 1, column ")
        assert len(found.lines) == 2
        assert found.to_dict()["rules"] is None


def test_the_table_says_what_values_can_be(file):
    history = with_history(file, ["age > 59 => ill", "age >= 60 => ill"])
    whole = FeatureSpace(["age", "bmi"], integer=[True, False])
    assert len(history.difference(1, 2).rules.changed) == 1
    assert len(history.difference(1, 2, whole).rules.common) == 1


def test_rules_on_columns_that_the_table_has_no_more_are_read_as_they_stand(file):
    history = with_history(file, ["weight >= 90 => ill", "age >= 60 => ill"])
    found = history.difference(1, 2, FeatureSpace(["age", "bmi"]))
    assert found.unread is None
    assert (found.rules.gone, found.rules.added) == ((0,), (0,))


def test_rules_that_take_a_column_for_different_things_are_not_compared(file):
    found = with_history(file, ["colour = red => ill", "colour >= 3 => ill"]).difference(1, 2)
    assert found.rules is None
    assert found.unread.startswith("feature 'colour' has categories in one set of rules")
    assert len(found.lines) == 2


def test_settings_that_come_and_go_are_shown(file):
    history = History(file)
    keep(history, "", None, settings={"C": 1, "seed": [1, 2], "old": True})
    keep(history, "", 1, settings={"C": 1, "seed": [1, 3], "new": "x"})
    assert history.difference(1, 2).settings == {
        "new": (None, "x"),
        "old": (True, None),
        "seed": ([1, 2], [1, 3]),
    }


def test_another_task_is_a_difference(file):
    history = History(file)
    file.add_task(1, {"target": "bmi"})
    keep(history, "", None)
    keep(history, "", 1, task=2)
    assert history.difference(1, 2).to_dict()["task_changed"] is True


# Two people


def test_who_comes_second_sees_what_both_have_changed(file):
    history = with_history(file, ["a\nb\nc", "a\nB\nc"])
    seen = history.three_way(1, "a\nb\nC")
    assert seen["base"] == "a\nb\nc"
    assert seen["mine"] == "a\nb\nC"
    assert seen["head"] == history.get(2).to_dict()
    assert seen["mine_lines"] == [[" ", "a"], [" ", "b"], ["-", "c"], ["+", "C"]]
    assert seen["head_lines"] == [[" ", "a"], ["-", "b"], ["+", "B"], [" ", "c"]]
    assert json.loads(json.dumps(seen)) == seen


def test_two_who_began_from_nothing_are_shown_too(file):
    history = History(file)
    assert history.three_way(None, "mine")["head"] is None
    keep(history, "yours", None)
    seen = history.three_way(None, "mine")
    assert seen["base"] == ""
    assert seen["mine_lines"] == [["+", "mine"]]
    assert seen["head_lines"] == [["+", "yours"]]
    with pytest.raises(InvalidValueError, match="there is no version 7"):
        history.three_way(7, "mine")
