"""What a project is about, and how its machine is trained: values that people choose on the pages, checked once."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.space import nearest_name
from clearmargin.workbench.stored_values import as_finite

# What each machine is, in a sentence for people.
MACHINES = {
    "constraints": "a plane that is trained to respect your rules",
    "columns": "rules with points, with yours offered among them",
    "plane": "a plane of few features, from the data alone",
    "points": "rules with points, from the data alone",
    "card": "a scorecard, from the data alone",
}
# Machines that your rules have a part in.
LISTENING = ("constraints", "columns")
MISSING = {
    "error": "refuse a table with missing values",
    "drop": "leave out rows with a missing value",
    "impute": "fill with the median or the most frequent category",
}
DIRECTIONS = {"any": "either way", "up": "upwards only", "down": "downwards only"}


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done about a feature."""

    direction: str = "any"
    cost: float = 1.0

    def __post_init__(self) -> None:
        _one_of("direction", self.direction, DIRECTIONS)
        if not (math.isfinite(self.cost) and self.cost > 0):
            raise InvalidValueError(f"a cost is a number above 0, not {self.cost}")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What is to be learned from the table of a project."""

    target: str
    positive: str | None = None
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    missing: str = "error"
    actions: Mapping[str, Action] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _one_of("missing", self.missing, MISSING)
        for name, (low, high) in self.ranges.items():
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise InvalidValueError(
                    f"the range of {name!r} goes from {low} to {high}; a range has two ends, the lower one first"
                )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TaskSettings:
        """Read plain data; what it is not made for is an error in words."""
        _check_keys(data, [f.name for f in fields(cls)], "a task")
        target = data.get("target")
        if not isinstance(target, str) or not target:
            raise InvalidValueError("choose the column of the classes (target)")
        try:
            ranges = {
                str(name): (float(low), float(high))
                for name, (low, high) in data.get("ranges", {}).items()
            }
            actions = {str(k): Action(**dict(v)) for k, v in data.get("actions", {}).items()}
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidValueError(f"ranges and actions cannot be read: {error}") from None
        return cls(
            target,
            _class_text(data.get("positive")),
            drop=_texts(data, "drop"),
            categories=_texts(data, "categories"),
            whole=_texts(data, "whole"),
            ranges=ranges,
            units=_units(data.get("units", {})),
            missing=str(data.get("missing", "error")),
            actions=actions,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data for JSON."""
        return {
            "target": self.target,
            "positive": self.positive,
            "drop": list(self.drop),
            "categories": list(self.categories),
            "whole": list(self.whole),
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
            "units": dict(self.units),
            "missing": self.missing,
            "actions": {name: action.to_dict() for name, action in self.actions.items()},
        }

    def check_names(self, known: Collection[str]) -> None:
        """Raise if the settings name a column that the table lacks."""
        named = [self.target, *self.drop, *self.categories, *self.whole]
        for name in [*named, *self.ranges, *self.units, *self.actions]:
            if name not in known:
                raise InvalidValueError(f"there is no column {name!r}{nearest_name(name, known)}")


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """How the machine of a version is trained."""

    machine: str = "constraints"
    balanced: bool = False
    lam: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        _one_of("machine", self.machine, MACHINES)
        for name in ("lam", "mu"):
            cost = getattr(self, name)
            if cost is not None and not (math.isfinite(cost) and cost > 0):
                raise InvalidValueError(f"{name} must be a number above 0, not {cost}")

    @property
    def listens(self) -> bool:
        """Whether rules have a part in the machine."""
        return self.machine in LISTENING

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MachineSettings:
        """Read plain data; what it is not made for is an error in words."""
        _check_keys(data, [f.name for f in fields(cls)], "a machine")
        costs = {}
        for name in ("lam", "mu"):
            cost = data.get(name)
            if cost is not None and (isinstance(cost, bool) or not isinstance(cost, int | float)):
                raise InvalidValueError(f"{name} must be a number, not {cost!r}")
            costs[name] = None if cost is None else as_finite(cost, name)
        balanced = data.get("balanced", False)
        if not isinstance(balanced, bool):
            raise InvalidValueError(f"balanced must be true or false, not {balanced!r}")
        return cls(str(data.get("machine", "constraints")), balanced, **costs)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data for JSON."""
        return asdict(self)


def _one_of(what: str, value: object, known: Collection[str]) -> None:
    if value not in known:
        raise InvalidValueError(f"{what} must be one of {', '.join(known)}, not {value!r}")


def _check_keys(data: object, known: Sequence[str], what: str) -> None:
    if not isinstance(data, Mapping):
        raise InvalidValueError(
            f"the settings of {what} are an object of JSON, not {type(data).__name__}"
        )
    for name in data:
        if name not in known:
            raise InvalidValueError(
                f"{name!r} is no setting of {what}{nearest_name(str(name), known)}"
            )


def _class_text(value: object) -> str | None:
    """Write a class as the reader of tables does, where whole numbers have no point."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidValueError(f"the class of interest must be a text or a number, not {value!r}")
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _units(units: object) -> dict[str, str]:
    if not isinstance(units, Mapping) or not all(isinstance(unit, str) for unit in units.values()):
        raise InvalidValueError(
            f"units must be an object with a text for each feature, not {units!r}"
        )
    return {str(name): unit for name, unit in units.items() if unit}


def _texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = data.get(name, ())
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise InvalidValueError(f"{name} must be a list of column names, not {values!r}")
    return tuple(dict.fromkeys(values))
