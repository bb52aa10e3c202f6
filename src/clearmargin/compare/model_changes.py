"""What differs between two models, or two sets of rules, on the rows of a table: flips, and whether by chance.

Only rows on which exactly one of the two is right can tell them apart. If both were as good, each of these rows would
be won by either with the same chance, so that the number won by one has a binomial distribution (McNemar, exact).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clearmargin.exceptions import DataError
from clearmargin.language.printer import format_label
from clearmargin.language.words import counted
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.tables.table import Table, name_row

Effect = Literal["better", "worse", "neither", "unknown"]
# What people read on a screen; plain data have everything.
_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Flip:
    """A row to which two models give different classes.

    Parameters
    ----------
    row : int
        Its position in the table, from 0.
    before, after : label or None
        What the old and the new one give it; None for no class.
    truth : label or None
        Its class, where that is known.
    effect : {"better", "worse", "neither", "unknown"}
        Whether the new class is right where the old one was wrong, the other way round, or both are wrong; "unknown"
        without the true class.

    Examples
    --------
    >>> flip = compare_models(["ill"], ["well"], [[3]], ["well"]).flips[0]
    >>> flip.row, flip.before, flip.after, flip.effect
    (0, 'ill', 'well', 'better')
    """

    row: int
    before: Label | None
    after: Label | None
    truth: Label | None
    effect: Effect

    def to_dict(self) -> dict[str, Any]:
        """Return the flip as plain data for JSON."""
        return {
            "row": self.row,
            "before": self.before,
            "after": self.after,
            "truth": self.truth,
            "effect": self.effect,
        }


@dataclass(frozen=True, slots=True, eq=False)
class ModelComparison:
    r"""The difference of two models on a table.

    Parameters
    ----------
    rows : int
        The rows of the table.
    flips : tuple of Flip
        Rows that get another class, in the order of the table.
    right : (int, int) or None
        On how many rows each is right; None without true classes.
    silent : (int, int)
        To how many rows each gives no class.
    p_value : float or None
        Two-sided, exact: how likely so uneven a number of better and worse rows is if both are right equally often;
        None without true classes.
    names : tuple of str
        What the flipped rows are called, as in error messages.

    See Also
    --------
    compare_rules : What differs between two sets of rules everywhere, with proof.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> old, new = parse_rules("age >= 60 => ill\nage < 60 => well"), parse_rules("age >= 50 => ill\nage < 50 => well")
    >>> print(compare_models(old, new, {"age": [55, 70, 52]}, ["ill", "ill", "well"]))
    2 of 3 rows get another class: 1 better, 1 worse.
    Right on 2 of 3 rows before, on 2 now (exact paired test: p = 1).
      row 1  well -> ill   better
      row 3  well -> ill   worse
    """

    rows: int
    flips: tuple[Flip, ...]
    right: tuple[int, int] | None
    silent: tuple[int, int]
    p_value: float | None
    names: tuple[str, ...] = ()

    @property
    def better(self) -> int:
        """Rows that only the new one gets right."""
        return sum(flip.effect == "better" for flip in self.flips)

    @property
    def worse(self) -> int:
        """Rows that only the old one gets right."""
        return sum(flip.effect == "worse" for flip in self.flips)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data for JSON."""
        return {
            "rows": self.rows,
            "flips": [flip.to_dict() for flip in self.flips],
            "better": None if self.right is None else self.better,
            "worse": None if self.right is None else self.worse,
            "right": None if self.right is None else list(self.right),
            "without_class": list(self.silent),
            "p_value": self.p_value,
        }

    def __str__(self) -> str:
        head = f"{len(self.flips):,} of {counted(self.rows, 'row')} get another class"
        lines = [f"{head}."]
        if self.right is not None and self.p_value is not None:
            before, after = self.right
            lines = [
                f"{head}: {self.better} better, {self.worse} worse.",
                f"Right on {before:,} of {counted(self.rows, 'row')} before, on {after:,} now "
                f"(exact paired test: p = {self.p_value:.2g}).",
            ]
        for flip, name in zip(self.flips[:_MAX_SHOWN], self.names, strict=False):
            effect = "" if flip.effect == "unknown" else f"   {flip.effect}"
            lines.append(f"  {name}  {_shown(flip.before)} -> {_shown(flip.after)}{effect}")
        more = len(self.flips) - _MAX_SHOWN
        return "\n".join([*lines, *([f"  ... and {more:,} more"] if more > 0 else [])])


def _shown(label: Label | None) -> str:
    return "no class" if label is None else format_label(label)


def compare_models(old: Any, new: Any, X: Any, y: Any = None) -> ModelComparison:
    """Compare two models, or sets of rules, on the rows of a table: which rows flip, and which of them for the better.

    Parameters
    ----------
    old, new : estimator, RuleSet or sequence of labels
        Fitted models with `predict`; or rules, of which the first that covers a row decides; or the classes that were
        predicted, one for each row, None for no class.
    X : data frame or array-like of shape (m, n)
        The rows; they should have had no part in training either.
    y : array-like of shape (m,), optional
        Their classes.

    Returns
    -------
    ModelComparison
        Print it; `flips` has every row that gets another class.

    Examples
    --------
    >>> from clearmargin import LPSVC
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> old, new = (LPSVC(nu=nu).fit(X[::2], y[::2]) for nu in (0.01, 10.0))
    >>> found = compare_models(old, new, X[1::2], y[1::2])
    >>> len(found.flips) == found.better + found.worse
    True
    """
    table = Table.read(X)
    given = [
        _answers(decider, X, len(table), which) for decider, which in ((old, "old"), (new, "new"))
    ]
    truth = None if y is None else _labels(y, len(table), "y")
    return _compared(given[0], given[1], truth, X)


def _answers(decider: Any, X: Any, rows: int, which: str) -> list[Label | None]:
    if isinstance(decider, RuleSet):
        return [None if k < 0 else decider[k].label for k in decider.which(X).tolist()]
    if hasattr(decider, "predict"):
        return _labels(decider.predict(X), rows, which)
    if isinstance(decider, str) or not hasattr(decider, "__len__"):
        raise DataError(
            f"{which} must be a fitted model, rules, or one class for each row, not {type(decider).__name__}"
        )
    return _labels(decider, rows, which)


def _labels(values: Any, rows: int, what: str) -> list[Label | None]:
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(listed) != rows:
        raise DataError(f"{what} has {len(listed)} classes, and X {rows} rows; each row needs one")
    return [None if value is None else as_label(value) for value in listed]


def _compared(
    before: Sequence[Label | None],
    after: Sequence[Label | None],
    truth: Sequence[Label | None] | None,
    X: Any,
) -> ModelComparison:
    flips = []
    for row, (one, other) in enumerate(zip(before, after, strict=True)):
        if one != other:
            true = None if truth is None else truth[row]
            flips.append(Flip(row, one, other, true, _effect(one, other, true)))
    right, p_value = None, None
    if truth is not None:
        sides = [
            sum(a is not None and a == b for a, b in zip(s, truth, strict=True))
            for s in (before, after)
        ]
        right = sides[0], sides[1]
        effects = [flip.effect for flip in flips]
        p_value = paired_p_value(effects.count("better"), effects.count("worse"))
    silent = tuple(sum(label is None for label in side) for side in (before, after))
    names = tuple(name_row(flip.row, X) for flip in flips[:_MAX_SHOWN])
    return ModelComparison(len(before), tuple(flips), right, (silent[0], silent[1]), p_value, names)


def _effect(before: Label | None, after: Label | None, truth: Label | None) -> Effect:
    if truth is None:
        return "unknown"
    return "better" if after == truth else "worse" if before == truth else "neither"


def paired_p_value(better: int, worse: int) -> float:
    """Return how likely so uneven a split of the rows that tell two models apart is if both are right equally often."""
    from scipy.stats import binomtest

    return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
