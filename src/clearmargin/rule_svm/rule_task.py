"""What a machine over rules is fitted to: rows, conditions, and the columns beside the rules, put together once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.rule_source import RuleSource
from clearmargin.rule_base.rule_features import match_rules
from clearmargin.rule_svm.all_rules import AllRules
from clearmargin.rule_svm.choice import Problem
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.extra_terms import (
    ExpertColumns,
    LinearColumns,
    join_columns,
    with_categories,
)
from clearmargin.rule_svm.fitted_terms import FittedTerms
from clearmargin.rule_svm.rule_lp import FixedColumns, RuleLPSolution
from clearmargin.rule_svm.selection import Column, Rows
from clearmargin.rule_svm.training_rows import RowSample, TrainingRows
from clearmargin.rules import FeatureSpace
from clearmargin.rules.rule import as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.validation import read_monotone

__all__ = ["RuleTask", "read_directions", "read_experts"]


@dataclass(frozen=True, slots=True)
class RuleTask:
    """Rows, conditions and columns beside the rules.

    Parameters
    ----------
    rows : TrainingRows
        The training rows.
    conditions : Conditions
        What rules consist of.
    linear : LinearColumns or None
        Linear terms.
    experts : ExpertColumns or None
        An expert's rules.
    monotone : ndarray of int of shape (n,) or None
        Directions of features.
    max_conditions : int
        Most conditions of a rule.
    penalty : float
        What each condition after the first adds to the cost of a rule.
    max_rules : int or None
        Most rules.
    """

    rows: TrainingRows
    conditions: Conditions
    linear: LinearColumns | None
    experts: ExpertColumns | None
    monotone: IntArray | None
    max_conditions: int
    penalty: float
    max_rules: int | None

    @property
    def mean_weight(self) -> float:
        """The weight of an average row."""
        return float(self.rows.weight.mean())

    @property
    def has_vote(self) -> bool:
        """Whether the vote of an expert's rules is a column: all of them have to find room."""
        if self.experts is None or not len(self.experts.rules):
            return False
        return self.max_rules is None or len(self.experts.rules) <= self.max_rules

    def most_columns(self, *, with_experts: bool) -> int:
        """Give how many columns may be chosen, so that there are at most `max_rules` rules in the end."""
        assert self.max_rules is not None
        taken = len(self.experts.rules) if self.experts and with_experts and self.has_vote else 0
        return self.max_rules - taken

    def sample(self) -> RowSample:
        """Give the rows that few rules are chosen on."""
        return RowSample.of(self.rows)

    def problem(self, *, with_experts: bool, is_relative: bool = True) -> Problem:
        """Give the problem of choosing rules; weights of rows are 1 on average, or as they are."""
        rows = self.rows
        parts = [] if self.linear is None else [self.linear.candidates(rows.values, self.monotone)]
        if with_experts and self.experts is not None:
            parts.append(self.experts.candidates(with_vote=self.has_vote))
        weight = rows.weight / self.mean_weight if is_relative else rows.weight
        return Problem(
            self.conditions,
            Rows(rows.values, rows.signs, weight),
            join_columns(parts, len(rows.values)),
            self.max_conditions,
            self.penalty,
            self.monotone,
        )

    def programs(
        self, tol: float, time_limit: float | None, max_work: float | None = None
    ) -> AllRules:
        """Give the linear programs over all rules."""
        parts = [] if self.linear is None else [self.linear.fixed(self.rows.values, self.monotone)]
        parts += [] if self.experts is None else [self.experts.fixed()]
        parts = [FixedColumns.none(len(self.rows.values)), *parts]
        fixed = FixedColumns(
            np.column_stack([part.values for part in parts]),
            np.concatenate([part.price for part in parts]),
            np.concatenate([part.sign for part in parts]).astype(np.intp),
        )
        problem = self.problem(with_experts=False, is_relative=False)
        return AllRules(problem, fixed, tol, time_limit, max_work)

    def few_terms(
        self, chosen: Sequence[Column], weights: FloatArray, *, with_experts: bool
    ) -> FittedTerms:
        """Sort the weights of chosen columns, of shape (K, q), by what they belong to."""
        q = 0 if self.linear is None else len(self.linear.feature)
        e = 0 if self.experts is None else len(self.experts.rules)
        K = len(weights)
        linear, experts = np.zeros((K, q)), np.zeros((K, e))
        fixed = weights[:, 1 : weights.shape[1] - len(chosen)]
        n_plane = q if self.linear is not None and self.linear.is_free else 0
        linear[:, :n_plane] = fixed[:, :n_plane]
        if with_experts and self.has_vote and self.experts is not None:
            experts += fixed[:, [-1]] * self.experts.votes
        own: list[tuple[int, ...]] = []
        rules: list[FloatArray] = []
        for k, column in enumerate(chosen):
            weight = weights[:, weights.shape[1] - len(chosen) + k]
            if column.extra < 0:
                own.append(column.items)
                rules.append(weight)
            elif column.extra < q:
                linear[:, column.extra] += weight
            else:
                experts[:, column.extra - q] += weight
        table = np.array(rules).T if rules else np.zeros((K, 0))
        return FittedTerms(tuple(own), table, experts, linear, weights[:, 0])

    def all_terms(self, solutions: Sequence[RuleLPSolution]) -> FittedTerms:
        """Put the solutions of the linear programs of all scores together."""
        items: dict[tuple[int, ...], int] = {}
        for solution in solutions:
            for rule in solution.items[solution.weights != 0.0].tolist():
                items.setdefault(tuple(c for c in rule if c >= 0), len(items))
        K, q = len(solutions), 0 if self.linear is None else len(self.linear.feature)
        rules = np.zeros((K, len(items)))
        for k, solution in enumerate(solutions):
            for rule, weight in zip(solution.items.tolist(), solution.weights, strict=True):
                if weight != 0.0:
                    rules[k, items[tuple(c for c in rule if c >= 0)]] = weight
        fixed = np.array([solution.fixed_weights for solution in solutions])
        intercept = np.array([solution.intercept for solution in solutions])
        return FittedTerms(tuple(items), rules, fixed[:, q:], fixed[:, :q], intercept)


def read_directions(
    given: Mapping[str, int] | None, space: FeatureSpace, n_classes: int
) -> IntArray | None:
    """Read the directions of features, which only two classes have.

    Parameters
    ----------
    given : mapping from feature to {-1, 1} or None
        Directions by name.
    space : FeatureSpace
        The features.
    n_classes : int
        The number of classes.

    Returns
    -------
    ndarray of int of shape (n,) or None
        As `clearmargin.tables.validation.read_monotone` gives them.
    """
    pairs = zip(space.names, space.categories, strict=True)
    categorical = [name for name, categories in pairs if categories is not None]
    directions = read_monotone(given, space.names, categorical)
    if directions is not None and n_classes > 2:
        raise InvalidValueError(
            f"monotone needs two classes, and y has {n_classes}: with more, no class is the upper one"
        )
    return directions


def read_experts(
    rules: RuleSource | None, rows: TrainingRows, price: float
) -> tuple[FeatureSpace, ExpertColumns | None]:
    """Read an expert's rules and find out which rows they cover.

    Parameters
    ----------
    rules : RuleSet, str, path or None
        The rules.
    rows : TrainingRows
        The training rows.
    price : float
        The price of their weights.

    Returns
    -------
    space : FeatureSpace
        The features of the table, with the categories that rules name.
    experts : ExpertColumns or None
        The rules over them.
    """
    if rules is None:
        return rows.space, None
    if len(rows.classes) > 2:
        raise InvalidValueError(
            f"rules= needs two classes, and y has {len(rows.classes)}; leave the rules out, or tell one class from "
            "the rest: y == c"
        )
    classes: list[Any] = [as_label(label) for label in rows.classes.tolist()]
    matched = match_rules(rules, rows.given, classes)
    for rule in matched.rules:
        if rule.label not in classes:
            raise InvalidValueError(
                f"a rule is for {rule.label!r}, which is no class of y"
                f"{nearest_name(str(rule.label), map(str, classes))}"
            )
    space = with_categories(rows.space, matched)
    covers = matched.covers(rows.given)
    return space, ExpertColumns.of(matched, covers, space, rows, classes, price)
