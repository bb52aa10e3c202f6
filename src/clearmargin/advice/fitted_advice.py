"""What a fitted model knows of its advice: the premises before and after as rows over its columns, for figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clearmargin.advice.advice_reading import Columns, Premise, encode_rule
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import RuleSet
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray
from clearmargin.tables.validation import read_points


@dataclass(frozen=True, slots=True)
class FittedAdvice:
    """What a fitted model knows of its advice, over its columns and in the user's units."""

    names: tuple[str, ...]
    columns: Columns
    outcome: AdviceOutcome
    before: tuple[Premise, ...]
    after: tuple[Premise, ...]
    points: FloatArray | None

    @classmethod
    def of(cls, model: Any, X: Any = None) -> FittedAdvice:
        """Read a fitted model."""
        if not hasattr(model, "fit") or not hasattr(model, "advice"):
            raise InvalidValueError(
                f"a fitted AdviceSVC is needed, not {type(model).__name__}: only it has advice before and after"
            )
        check_is_fitted(model)
        points = None if X is None else np.asarray(read_points(model, X))
        given = getattr(model, "feature_names_in_", None)
        # As training does: rules read an array by position where they have as many features.
        by_position = (
            given is None
            and isinstance(model.advice, RuleSet)
            and len(model.advice_.space) == model.n_features_in_
        )
        if by_position:
            names = list(model.advice_.space.names)
        elif given is None:
            names = [f"x{j}" for j in range(model.n_features_in_)]
        else:
            names = [str(name) for name in given]
        binary = None if points is None else ((points == 0) | (points == 1)).all(axis=0)
        columns = Columns.match(model.advice_.space, names, binary, by_position)
        refined = Columns.match(model.refined_.space, names, binary, by_position)
        return cls(
            names=tuple(names),
            columns=columns,
            outcome=model.outcome_,
            before=tuple(encode_rule(rule.before, columns) for rule in model.outcome_),
            after=tuple(encode_rule(rule.after, refined) for rule in model.outcome_),
            points=points,
        )

    def name_of(self, k: int) -> str:
        """Return what a rule is called; without a name by its number, counted from 1."""
        return self.outcome[k].before.name or f"rule {k + 1}"

    def find(self, rule: object) -> int:
        """Find a rule by its name, or by its position in the outcome."""
        count = len(self.outcome)
        if not count:
            raise InvalidValueError("the model was fitted without advice; there is no rule to show")
        if isinstance(rule, int | np.integer) and not isinstance(rule, bool):
            if not -count <= rule < count:
                raise InvalidValueError(
                    f"rule must be a name or a position from 0 to {count - 1}, not {rule}"
                )
            return int(rule) % count
        names = [self.name_of(k) for k in range(count)]
        if not isinstance(rule, str):
            raise InvalidValueError(f"rule must be a name or a position, not {rule!r}")
        if rule not in names:
            raise InvalidValueError(f"unknown rule {rule!r}{nearest_name(rule, names)}")
        return names.index(rule)

    def column(self, name: str) -> int:
        """Find the position of a column; an unknown name is an error that suggests the nearest one."""
        if name not in self.names:
            raise DataError(f"unknown feature {name!r}{nearest_name(str(name), self.names)}")
        return self.names.index(name)

    def typical(self) -> FloatArray | None:
        """Return a typical row: medians, and of each category the most frequent one; None where no table was given."""
        if self.points is None or not len(self.points):
            return None
        row: FloatArray = np.median(self.points, axis=0)
        for group in self.columns.groups.values():
            members = list(group.values())
            most = members[int(self.points[:, members].sum(axis=0).argmax())]
            row[members] = 0.0
            row[most] = 1.0
        return row
