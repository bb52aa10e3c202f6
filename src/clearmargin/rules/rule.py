"""A rule: whoever is in this region is of this class; and counts of what rules cover and how often they are right."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import Value, number


@dataclass(frozen=True, slots=True, eq=False)
class RuleStats(Value):
    """How a rule, or a set of rules, did on some rows.

    Parameters
    ----------
    rows : int
        Number of rows looked at.
    covered : int
        How many of them are covered.
    correct : int, optional
        How many of the covered ones have the class that the rule predicts.
    agreed : int, optional
        For how many of the covered ones the model predicts the same.

    Examples
    --------
    >>> stats = RuleStats(rows=200, covered=50, correct=49)
    >>> stats.coverage, stats.accuracy, stats.fidelity
    (0.25, 0.98, nan)
    """

    rows: int
    covered: int
    correct: int | None = None
    agreed: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "covered", "correct", "agreed"):
            count = getattr(self, name)
            if count is not None or name in ("rows", "covered"):
                self._set(**{name: _whole_number(name, count)})
        counts = [self.covered, *(c for c in (self.correct, self.agreed) if c is not None)]
        if (
            self.rows < 0
            or min(counts) < 0
            or max(counts) > self.covered
            or self.covered > self.rows
        ):
            raise InvalidValueError(
                "counts must satisfy 0 <= correct, agreed <= covered <= rows: "
                f"rows={self.rows}, covered={self.covered}, correct={self.correct}, agreed={self.agreed}"
            )

    def __add__(self, other: RuleStats) -> RuleStats:
        """Add up the counts of other rows; what one of the two does not know, the sum does not."""
        names = ("rows", "covered", "correct", "agreed")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return RuleStats(*(None if None in pair else sum(pair) for pair in pairs))  # type: ignore[arg-type]

    @property
    def coverage(self) -> float:
        """Share of the rows that is covered; NaN without rows."""
        return _share(self.covered, self.rows)

    @property
    def accuracy(self) -> float:
        """Share of the covered rows with the right class; NaN if none is covered or classes are unknown."""
        return _share(self.correct, self.covered)

    @property
    def fidelity(self) -> float:
        """Share of the covered rows on which the model agrees; NaN if none is covered or without a model."""
        return _share(self.agreed, self.covered)

    def to_dict(self) -> dict[str, int | float | None]:
        """Return counts and shares as plain data for JSON, None for what is not known.

        Examples
        --------
        >>> RuleStats(200, 50, 49).to_dict()["accuracy"]
        0.98
        """
        shares = {name: getattr(self, name) for name in ("coverage", "accuracy", "fidelity")}
        return {
            "rows": self.rows,
            "covered": self.covered,
            "correct": self.correct,
            "agreed": self.agreed,
            **{name: None if math.isnan(share) else share for name, share in shares.items()},
        }


@dataclass(frozen=True, slots=True, eq=False)
class RuleScores(Value):
    """How a set of rules did: in all (the first covering rule speaks), and each rule by itself.

    Parameters
    ----------
    total : RuleStats
        The rules as one classifier.
    rules : tuple of RuleStats
        Each rule alone, in their order.
    overlaps : int
        Number of rows that more than one rule covers.

    Examples
    --------
    >>> scores = RuleScores(RuleStats(10, 6, 5), (RuleStats(10, 6, 5),), overlaps=0)
    >>> round(scores.coverage, 2), round(scores.accuracy, 2)
    (0.6, 0.83)
    """

    total: RuleStats
    rules: tuple[RuleStats, ...]
    overlaps: int

    def __post_init__(self) -> None:
        self._set(rules=tuple(self.rules), overlaps=_whole_number("overlaps", self.overlaps))

    def __add__(self, other: RuleScores) -> RuleScores:
        """Add up the counts of the same rules on other rows."""
        rules = tuple(a + b for a, b in zip(self.rules, other.rules, strict=True))
        return RuleScores(self.total + other.total, rules, self.overlaps + other.overlaps)

    @property
    def coverage(self) -> float:
        """Share of the rows that some rule covers."""
        return self.total.coverage

    @property
    def accuracy(self) -> float:
        """Share of the covered rows that get the right class."""
        return self.total.accuracy

    @property
    def fidelity(self) -> float:
        """Share of the covered rows on which rules and model agree."""
        return self.total.fidelity

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as plain data for JSON."""
        return {
            "total": self.total.to_dict(),
            "rules": [stats.to_dict() for stats in self.rules],
            "overlaps": self.overlaps,
        }


def _whole_number(name: str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise InvalidValueError(f"{name} must be a whole number, not {count!r}")
    return int(count)


def _share(part: int | None, whole: int) -> float:
    return part / whole if part is not None and whole else math.nan


Label = str | int | float | bool
Region = Box | Polyhedron
Origin = Literal["expert", "extracted", "refined"]
Proof = Literal["proved", "observed", "stated", "distilled"]

ORIGINS = ("expert", "extracted", "refined")
PROOFS = ("proved", "observed", "stated", "distilled")
# Python prints and reads no integer of more than 4,300 digits, and what cannot be printed is no label.
_LARGEST_LABEL_BITS = 1000


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Rule(Value):
    """*region => class*, the one value that extractors find, experts write and reports print.

    Two rules are equal when they say the same: region, label, name and weight. Where a rule comes from and how
    it was checked (origin, proof, stats) is kept beside it and does not count.

    Parameters
    ----------
    region : Box or Polyhedron
        Where the rule holds. A polyhedron of plain bounds is stored as the box it is. An empty box is refused;
        whether inequalities contradict each other takes a proof, `Polyhedron.is_empty`, and is not asked here.
    label : str, int, float or bool
        The class.
    name : str, optional
        What the rule is called.
    weight : float, default 1.0
        How much it counts as advice; positive.
    origin : {"expert", "extracted", "refined"}, default "expert"
        Who made it.
    proof : {"proved", "observed", "stated", "distilled"}, optional
        Whether the model was *proved* to give this class everywhere in the region, or *observed* to do so on data. In
        rules that were read from a file without their model, *stated*: the file says that they were proved, which
        nobody has checked since. *Distilled*: it was proved of a plane with fewer features, which stands in for the
        model.
    stats : RuleStats, optional
        How it did on the data it was made from.

    Examples
    --------
    >>> rule = Rule(Box([30.0], [60.0]), "ill", name="obese")
    >>> rule.region.contains([[35.0]])
    array([ True])

    Printed, a rule stands in the rule language, with the names of the rule set that it belongs to or, outside of one,
    with ``x0``, ``x1`` and so on:

    >>> print(rule)
    obese: 30 <= x0 <= 60 => ill
    >>> [rule]
    [<obese: 30 <= x0 <= 60 => ill>]
    """

    region: Region
    label: Label
    name: str | None
    weight: float
    origin: Origin = field(compare=False)
    proof: Proof | None = field(compare=False)
    stats: RuleStats | None = field(compare=False)
    # Of the set that the rule belongs to, for printing alone.
    _space: FeatureSpace | None = field(init=False, compare=False)

    def __init__(
        self,
        region: Region,
        label: Label,
        *,
        name: str | None = None,
        weight: float = 1.0,
        origin: Origin = "expert",
        proof: Proof | None = None,
        stats: RuleStats | None = None,
    ):
        if not isinstance(region, Box | Polyhedron):
            raise InvalidValueError(
                f"the region of a rule is a Box or a Polyhedron, not {type(region).__name__}"
            )
        if isinstance(region, Polyhedron) and region.has_unit_rows:
            region = region.to_box()
        if not all(region.sets.values()) or (isinstance(region, Box) and region.is_empty):
            raise InvalidValueError(f"a rule needs a region that is not empty: {region!r}")
        if name is not None and (not isinstance(name, str) or not name):
            raise InvalidValueError(f"the name of a rule is a non-empty text or None, not {name!r}")
        factor = number(weight, "the weight of a rule")
        if not 0 < factor < math.inf:
            raise InvalidValueError(f"the weight of a rule is a positive number, not {weight!r}")
        if not isinstance(stats, RuleStats | None):
            raise InvalidValueError(
                f"the stats of a rule are RuleStats or None, not {type(stats).__name__}"
            )
        _one_of("origin", origin, ORIGINS)
        _one_of("proof", proof, (*PROOFS, None))
        self._set(
            region=region,
            label=as_label(label),
            name=name,
            weight=factor,
            origin=origin,
            proof=proof,
            stats=stats,
            _space=None,
        )

    def _named_by(self, space: FeatureSpace) -> Rule:
        """Give the same rule with names to print: itself, unless it has those of another set."""
        if self._space is space:
            return self
        rule = self if self._space is None else _rebuilt(self)
        rule._set(_space=space)
        return rule

    def __reduce__(self) -> tuple[Any, ...]:
        make, arguments = Value.__reduce__(self)
        return _rebuilt_with_names, (make, arguments, self._space)

    @property
    def n_features(self) -> int:
        """Dimension of the space."""
        return self.region.n_features

    @property
    def n_conditions(self) -> int:
        """Number of features (or, in a polyhedron, rows and other features) that the premise restricts."""
        if isinstance(self.region, Box):
            return len(self.region.bounded)
        region = self.region
        return len(region.b) + len(region.sets) + len(region.missing) + len(region.known)

    def __str__(self) -> str:
        from clearmargin.language.printer import format_rule

        return format_rule(self, self._space)

    def __repr__(self) -> str:
        return f"<{self}{'' if self.proof is None else f' ({self.proof})'}>"

    def _repr_html_(self) -> str:
        proof = "" if self.proof is None else f" ({self.proof})"
        return f"<code>{html.escape(str(self))}</code>{proof}"


def _rebuilt(rule: Rule) -> Rule:
    """Return a copy of a rule; its parts have been checked already."""
    copy = object.__new__(Rule)
    copy._set(**{f.name: getattr(rule, f.name) for f in fields(rule)})
    return copy


def _rebuilt_with_names(
    make: Callable[..., Rule], arguments: tuple[Any, ...], space: FeatureSpace | None
) -> Rule:
    rule = make(*arguments)
    return rule if space is None else rule._named_by(space)


def as_label(label: object) -> Label:
    """Take a class label as a plain Python value."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InvalidValueError(f"a class label must not be {plain!r}")
    if isinstance(plain, int) and plain.bit_length() > _LARGEST_LABEL_BITS:
        raise InvalidValueError(
            f"a class label has at most {_LARGEST_LABEL_BITS} bits, not {plain.bit_length()}; use a text"
        )
    if not isinstance(plain, str | int | float) or plain == "":
        raise InvalidValueError(
            f"a class label is a non-empty text or a number, not {plain!r} ({type(plain).__name__})"
        )
    return plain


def _one_of(what: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise InvalidValueError(f"{what} must be one of {listed}, not {value!r}")
