"""Machines of versions: the same when read again, at chance on noise, quick figures that are the true ones."""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.benches import RULES, noise, opened_task, patients

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language import read_rule_text
from clearmargin.workbench.settings import MACHINES, MachineSettings
from clearmargin.workbench.trained_machine import (
    CrossValidated,
    cross_validate,
    pack_codes,
    quick_codes,
    read_machine,
    train_machine,
    unpack_codes,
)

# Tables: with gaps, with numbers as classes, with the class of interest first or last.
TABLES = {
    "plain": ({}, {"positive": "ill"}),
    "gaps": ({"gaps": True}, {"missing": "impute", "positive": "well"}),
    "numbers": ({"gaps": True}, {"missing": "impute"}),
}


@cache
def table(name):
    how, settings = TABLES[name]
    columns = patients(90, seed=5, **how)
    if name == "numbers":
        columns["state"] = (columns["state"] == "ill").astype(int)
    return opened_task(columns, "state", **settings)


def rules_for(opened, text=RULES):
    if 1 in opened.classes:
        text = text.replace("=> ill", "=> 1").replace("=> well", "=> 0")
    written = read_rule_text(text, opened.space, opened.classes)
    assert not written.mistakes
    return written.rules


@cache
def trained(name, machine):
    opened = table(name)
    return train_machine(opened, rules_for(opened), MachineSettings(machine))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_that_is_read_again_says_the_same(machine, name):
    opened, made = table(name), trained(name, machine)
    again = read_machine(json.loads(json.dumps(made.document)))
    assert again.codes(opened).tolist() == made.codes(opened).tolist()
    assert again.scores(opened).tolist() == made.scores(opened).tolist()
    assert again.document == made.document
    assert again.costs == made.costs
    assert (again.planes is None) != (again.weighted is None)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("machine", MACHINES)
def test_positive_scores_speak_for_the_second_class(machine, name):
    opened, made = table(name), trained(name, machine)
    codes, scores = made.codes(opened), made.scores(opened)
    assert codes[scores > 1e-9].all()
    assert not codes[scores < -1e-9].any()
    # It has learned something: far better than a constant.
    assert (codes == opened.codes).mean() > 0.75


@pytest.mark.parametrize("machine", ["constraints", "columns"])
def test_what_became_of_each_rule_is_told(machine):
    outcome = trained("plain", machine).outcome
    assert [fact["name"] for fact in outcome] == ["old", "red", "young"]
    assert all(fact["verdict"] and fact["text"] for fact in outcome)
    json.dumps(outcome, allow_nan=False)


@pytest.mark.parametrize("machine", ["plane", "points", "card"])
def test_machines_that_do_not_listen_are_the_same_without_rules(machine):
    opened = table("plain")
    alone = train_machine(opened, rules_for(opened, ""), MachineSettings(machine))
    assert alone.scores(opened).tolist() == trained("plain", machine).scores(opened).tolist()
    assert alone.outcome == ()


def test_a_document_of_something_else_is_refused():
    with pytest.raises(InvalidValueError, match="no machine that the workbench knows"):
        read_machine({"format": "a novel"})


def test_classes_cannot_weigh_alike_where_rules_are_respected():
    opened = table("plain")
    settings = MachineSettings("constraints", balanced=True)
    with pytest.raises(DataError, match="cannot weigh classes"):
        train_machine(opened, rules_for(opened), settings)


def test_costs_that_are_named_are_taken():
    opened = table("plain")
    settings = MachineSettings("constraints", lam=0.5)
    assert train_machine(opened, rules_for(opened), settings).costs == (0.5, 1.0)
    assert cross_validate(opened, rules_for(opened), settings).costs == ((0.5, 1.0),) * 5


# Figures on rows not trained on.


@pytest.mark.parametrize("name", TABLES)
def test_quick_figures_are_those_of_a_cross_validation(name):
    opened = table(name)
    settings = MachineSettings("constraints")
    costs = ((1.0, 1.0), (0.3, 0.1), (3.0, 0.01), (0.1, 1.0), (1.0, 10.0))
    for text in (RULES, ""):
        rules = rules_for(opened, text)
        slow = cross_validate(opened, rules, settings, costs)
        assert slow.costs == costs
        assert quick_codes(opened, rules, settings, costs).tolist() == slow.codes.tolist()


def test_quick_figures_take_costs_that_the_settings_name():
    opened = table("plain")
    settings = MachineSettings("constraints", lam=0.2, mu=5.0)
    rules = rules_for(opened)
    slow = cross_validate(opened, rules, settings)
    assert quick_codes(opened, rules, settings, ((9.0, 9.0),) * 5).tolist() == slow.codes.tolist()


@pytest.mark.parametrize("machine", ["constraints", "points"])
def test_figures_are_at_chance_on_noise(machine):
    right = rows = 0
    for seed in range(4):
        columns = noise(60, 3, seed)
        # As many of each class, since folds keep the shares, and then a constant is right on half of them.
        columns["y"] = np.random.default_rng(seed).permutation(["a", "b"] * 30).astype(object)
        opened = opened_task(columns, "y")
        text = "x0 <= 0.3 => a\nx1 >= 0.5 => b"
        rules = read_rule_text(text, opened.space, opened.classes).rules
        figures = cross_validate(opened, rules, MachineSettings(machine))
        assert figures.right == (figures.codes == opened.codes).sum()
        right, rows = right + figures.right, rows + len(figures.codes)
    assert abs(right / rows - 0.5) < 3 * math.sqrt(0.25 / rows)


def test_each_row_is_predicted_without_it():
    """A row whose class is turned over is predicted as before: it had no part in its own prediction."""
    columns = patients(60, seed=8)
    settings = MachineSettings("constraints", lam=1.0, mu=1.0)
    opened = opened_task(columns, "state")
    before = cross_validate(opened, rules_for(opened), settings).codes
    pairs = opened.folds.pairs
    for train, test in pairs:
        y = opened.task.y.copy()
        y[test] = np.where(y[test] == "ill", "well", "ill")
        turned = opened_task({**columns, "state": y}, "state")
        # The same folds, whatever the classes are.
        turned.__dict__["folds"] = opened.folds
        after = quick_codes(turned, rules_for(turned), settings, ())
        assert after[test].tolist() == before[test].tolist()
        assert len(train) + len(test) == 60


def test_figures_are_the_same_after_json():
    opened = table("plain")
    figures = cross_validate(opened, rules_for(opened), MachineSettings(lam=1.0, mu=0.5))
    again = CrossValidated.from_dict(json.loads(json.dumps(figures.to_dict())))
    assert again.codes.tolist() == figures.codes.tolist()
    assert (again.right, again.costs, again.accuracy) == (
        figures.right,
        figures.costs,
        figures.accuracy,
    )


@given(codes=st.lists(st.integers(0, 1), max_size=40))
def test_packed_codes_are_the_same(codes):
    assert unpack_codes(pack_codes(np.array(codes, dtype=int)), len(codes)).tolist() == codes
