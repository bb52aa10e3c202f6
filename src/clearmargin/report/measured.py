"""What rules and model say about each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table

__all__ = ["Measured", "match_labels", "measure"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What rules and model say about each row, as positions among the classes.

    Parameters
    ----------
    table : ndarray of shape (m, n)
        The features of the rules, categories as codes; NaN where missing.
    covers : ndarray of bool of shape (m, r)
        Which rules cover which rows.
    which : ndarray of int of shape (m,)
        The rule that decides, -1 where none does.
    rule_says : ndarray of int of shape (m,)
        Position of the class of that rule; -1 where there is none.
    machine_says : ndarray of int of shape (m,) or None
        Position of the class that the model underneath gives.
    answer : ndarray of int of shape (m,)
        Position of the class predicted in the end; -1 for no answer.
    true : ndarray of int of shape (m,) or None
        Position of the true class; -1 for one that the model does not know.
    absent : ndarray of int of shape (n,)
        In how many rows the value of each feature is missing or infinite, before anything was put in its place.
    """

    table: FloatArray
    covers: BoolArray
    which: IntArray
    rule_says: IntArray
    machine_says: IntArray | None
    answer: IntArray
    true: IntArray | None
    absent: IntArray

    @property
    def covered(self) -> BoolArray:
        """Whether some rule decides the row."""
        return np.asarray(self.which >= 0)

    @property
    def missing(self) -> BoolArray:
        """Whether a feature of the row is not known, and nothing takes its place."""
        return np.asarray(~np.isfinite(self.table).all(axis=1))


def measure(
    model: Any, rules: RuleSet, machine: Any, classes: tuple[Label, ...], X: Any, y: Any
) -> Measured:
    """Ask rules and model about rows.

    Parameters
    ----------
    model : object
        Has `predict`, and may have `which`.
    rules : RuleSet
        Its rules.
    machine : classifier or None
        The model underneath.
    classes : tuple of labels
        The classes.
    X : table
        The rows.
    y : array or None
        Their classes.

    Returns
    -------
    Measured
        What was said.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("a >= 1 => yes")
    >>> measure(rules, rules, None, ("yes",), [[0.0], [2.0]], None).which
    array([-1,  0])
    """
    table = Table.read(X)
    which = (model if hasattr(model, "which") else rules).which(table.taken_by(model))
    covers = rules.covers(table)
    # The model may refuse rows that a rule by itself would take, such as those outside of declared bounds.
    covers &= (which >= 0)[:, None]
    number = {label: k for k, label in enumerate(classes)}
    of_rule = np.array([number[rule.label] for rule in rules] + [-1], dtype=np.intp)
    machine_says = (
        None if machine is None else match_labels(machine.predict(table.taken_by(machine)), classes)
    )
    return Measured(
        table=rules.space.read(table),
        covers=covers,
        which=which,
        rule_says=of_rule[which],
        machine_says=machine_says,
        answer=machine_says
        if model is machine and machine_says is not None
        else match_labels(model.predict(table.taken_by(model)), classes),
        true=None if y is None else match_labels(y, classes),
        absent=np.count_nonzero(~np.isfinite(rules.space.with_fill(None).read(table)), axis=0),
    )


def match_labels(labels: Any, classes: tuple[Label, ...]) -> IntArray:
    """Position of each label among the classes, -1 for one that is none of them.

    Examples
    --------
    >>> match_labels(["b", None, "a"], ("a", "b"))
    array([ 1, -1,  0])
    """
    given: NDArray[Any] = np.asarray(labels)
    codes = np.full(len(given), -1, dtype=np.intp)
    for k, label in enumerate(classes):
        codes[np.asarray(given == label, dtype=np.bool_)] = k
    return codes
