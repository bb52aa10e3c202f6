"""What people choose: kept as it was chosen, and refused in words where it cannot be."""

from __future__ import annotations

import json

import pytest

from clearmargin.exceptions import InvalidValueError
from clearmargin.workbench.settings import (
    DIRECTIONS,
    MACHINES,
    MISSING,
    Action,
    MachineSettings,
    TaskSettings,
)

FULL = {
    "target": "ill",
    "positive": "yes",
    "drop": ["id"],
    "categories": ["ward"],
    "whole": ["age"],
    "ranges": {"age": [0.0, 120.0]},
    "units": {"age": "years"},
    "missing": "impute",
    "actions": {"dose": {"direction": "down", "cost": 2.5}},
}
HUGE = 10**400


def test_a_task_is_the_same_after_json():
    settings = TaskSettings.from_dict(json.loads(json.dumps(FULL)))
    assert settings.to_dict() == FULL
    assert TaskSettings.from_dict(settings.to_dict()) == settings


def test_a_task_needs_nothing_but_its_target():
    settings = TaskSettings.from_dict({"target": "ill"})
    assert (settings.positive, settings.missing, settings.drop) == (None, "error", ())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": ""}, "choose the column of the classes"),
        ({"target": None}, "choose the column of the classes"),
        ({"target": ["ill"]}, "choose the column of the classes"),
        ({"targe": "ill"}, r"'targe' is no setting of a task.*target"),
        ({"drop": "id"}, "drop must be a list of column names"),
        ({"drop": [1]}, "drop must be a list of column names"),
        ({"categories": {"a": 1}}, "categories must be a list of column names"),
        ({"whole": None}, "whole must be a list of column names"),
        ({"missing": "guess"}, "missing must be one of error, drop, impute"),
        ({"missing": []}, "missing must be one of error, drop, impute"),
        ({"ranges": {"age": [3, 2]}}, "two ends, the lower one first"),
        ({"ranges": {"age": [3]}}, "ranges and actions cannot be read"),
        ({"ranges": {"age": 3}}, "ranges and actions cannot be read"),
        ({"ranges": [["age", 1, 2]]}, "ranges and actions cannot be read"),
        ({"ranges": {"age": ["low", "high"]}}, "ranges and actions cannot be read"),
        ({"ranges": {"age": [0, HUGE]}}, "ranges and actions cannot be read"),
        ({"ranges": {"age": [0, "nan"]}}, "two ends, the lower one first"),
        ({"ranges": None}, "ranges and actions cannot be read"),
        ({"actions": {"age": {"direction": "left"}}}, "direction must be one of any, up, down"),
        ({"actions": {"age": {"direction": []}}}, "ranges and actions cannot be read"),
        ({"actions": {"age": {"cost": 0}}}, "a cost is a number above 0"),
        ({"actions": {"age": {"cost": "cheap"}}}, "ranges and actions cannot be read"),
        ({"actions": {"age": {"cost": HUGE}}}, "ranges and actions cannot be read"),
        ({"actions": {"age": {"price": 1}}}, "ranges and actions cannot be read"),
        ({"actions": {"age": "up"}}, "ranges and actions cannot be read"),
        ({"actions": 3}, "ranges and actions cannot be read"),
        ({"units": ["years"]}, "units must be an object with a text for each feature"),
        ({"units": None}, "units must be an object with a text for each feature"),
        ({"units": {"age": 3}}, "units must be an object with a text for each feature"),
        ({"positive": {"a": 1}}, "the class of interest must be a text or a number"),
        ({"positive": ["a"]}, "the class of interest must be a text or a number"),
    ],
)
def test_a_task_that_cannot_be_is_refused_in_words(change, words):
    with pytest.raises(InvalidValueError, match=words):
        TaskSettings.from_dict({**FULL, **change})


@pytest.mark.parametrize("data", [None, [], "ill", 3])
def test_settings_are_an_object(data):
    with pytest.raises(InvalidValueError, match="are an object of JSON"):
        TaskSettings.from_dict(data)
    with pytest.raises(InvalidValueError, match="are an object of JSON"):
        MachineSettings.from_dict(data)


def test_a_number_may_be_the_class_of_interest():
    assert TaskSettings.from_dict({"target": "y", "positive": 1}).positive == "1"
    assert TaskSettings.from_dict({"target": "y", "positive": 1.0}).positive == "1"


def test_a_column_that_is_not_there_is_named_with_the_nearest_one():
    settings = TaskSettings.from_dict({"target": "ill", "units": {"agee": "years"}})
    with pytest.raises(InvalidValueError, match=r"no column 'agee'; did you mean 'age'\?"):
        settings.check_names(["age", "ill"])


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_is_the_same_after_json(machine):
    settings = MachineSettings(machine, balanced=True, lam=0.5, mu=2.0)
    assert MachineSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"machine": "magic"}, "machine must be one of constraints, columns, plane, points, card"),
        ({"machine": ["plane"]}, "machine must be one of"),
        ({"balanced": 1}, "balanced must be true or false"),
        ({"balanced": "no"}, "balanced must be true or false"),
        ({"lam": "1"}, "lam must be a number"),
        ({"mu": True}, "mu must be a number"),
        ({"mu": 0}, "mu must be a number above 0"),
        ({"lam": -1.0}, "lam must be a number above 0"),
        ({"lam": HUGE}, "lam must be a number"),
        ({"lambda": 1}, r"'lambda' is no setting of a machine"),
    ],
)
def test_a_machine_that_cannot_be_is_refused_in_words(data, words):
    with pytest.raises(InvalidValueError, match=words):
        MachineSettings.from_dict(data)


def test_only_two_machines_listen_to_rules():
    assert [m for m in MACHINES if MachineSettings(m).listens] == ["constraints", "columns"]


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf")])
def test_a_cost_is_a_number_above_zero(cost):
    with pytest.raises(InvalidValueError, match="a cost is a number above 0"):
        Action("up", cost)


@pytest.mark.parametrize("words", [MACHINES, MISSING, DIRECTIONS])
def test_every_choice_has_words_for_people(words):
    assert all(len(text) > 5 for text in words.values())
    assert len(set(words.values())) == len(words)
