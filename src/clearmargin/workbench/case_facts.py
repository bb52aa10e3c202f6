"""Cases of a project: the filtered list, and all that is known of one case."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.language.printer import format_rule
from clearmargin.language.prose import plain
from clearmargin.models.planes import Planes
from clearmargin.rules import RuleSet
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.tables.table import Table
from clearmargin.workbench.bench import Bench, Version
from clearmargin.workbench.stored_values import as_finite

PAGE = 50
FILTERS = {
    "all": "all cases",
    "wrong": "the machine is wrong (when not trained on them)",
    "disagree": "your rules and the machine disagree",
    "uncovered": "no rule of yours covers them",
    "clash": "rules of different classes cover them",
    "flips": "get another class by the last change",
}
SORTS = {"row": "row of the table", "boundary": "nearest to the boundary first", "score": "score"}


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """Which cases are listed, in which order."""

    which: str = "all"
    rule: int | None = None
    against: bool = False
    sort: str = "row"
    page: int = 1

    @classmethod
    def read(cls, given: Mapping[str, str]) -> CaseQuery:
        """Read the query of an address."""
        which, sort = given.get("which", "all"), given.get("sort", "row")
        if which not in FILTERS:
            raise InvalidValueError(f"which must be one of {', '.join(FILTERS)}, not {which!r}")
        if sort not in SORTS:
            raise InvalidValueError(f"sort must be one of {', '.join(SORTS)}, not {sort!r}")
        rule = given.get("rule", "")
        try:
            number = int(rule) if rule else None
            page = max(int(given.get("page", "1") or 1), 1)
        except ValueError:
            raise InvalidValueError("rule and page are whole numbers") from None
        return cls(which, number, given.get("against") == "1", sort, page)


def find_cases(bench: Bench, version: Version, text: str, query: CaseQuery) -> dict[str, Any]:
    """List cases."""
    opened, rules = version.opened, version.judge.read(text).rules
    covered = rules.covers(opened.points) if len(rules) else np.zeros((len(opened.codes), 0), bool)
    positions = np.flatnonzero(_chosen(bench, version, text, query, rules, covered))
    positions = _sorted(version, positions, query.sort)
    pages = max(math.ceil(len(positions) / PAGE), 1)
    page = min(query.page, pages)
    shown = positions[(page - 1) * PAGE : page * PAGE]
    return {
        "total": len(positions),
        "page": page,
        "pages": pages,
        "rules": [rule.name or f"rule {k + 1}" for k, rule in enumerate(rules)],
        "cases": [_line(version, int(k), rules, covered) for k in shown],
    }


def _chosen(
    bench: Bench,
    version: Version,
    text: str,
    query: CaseQuery,
    rules: RuleSet,
    covered: BoolArray,
) -> BoolArray:
    opened = version.opened
    chosen: BoolArray = np.ones(len(opened.codes), dtype=np.bool_)
    if query.which == "wrong":
        if version.validated is None:
            raise DataError("wait until the machine is trained")
        chosen = np.asarray(version.validated.codes != opened.codes)
    elif query.which == "disagree":
        chosen = _disagrees(version, rules, covered)
    elif query.which == "uncovered":
        chosen = np.asarray(~covered.any(axis=1))
    elif query.which == "clash":
        chosen = np.asarray(_labels_covering(version, rules, covered).sum(axis=1) > 1)
    elif query.which == "flips":
        chosen = np.zeros(len(opened.codes), dtype=np.bool_)
        chosen[bench.flipped(version, text)] = True
    if query.rule is not None:
        if not 0 <= query.rule < len(rules):
            raise InvalidValueError(f"there are {len(rules)} rules; rule={query.rule} is none")
        chosen = np.asarray(chosen & covered[:, query.rule])
        if query.against:
            other = opened.codes != _code(version, rules[query.rule].label)
            chosen = np.asarray(chosen & other)
    return chosen


def _code(version: Version, label: Any) -> int:
    classes = version.opened.classes
    return classes.index(label) if label in classes else -1


def _labels_covering(version: Version, rules: RuleSet, covered: BoolArray) -> BoolArray:
    """Tell for each row and class whether a rule of this class covers the row."""
    by_class = np.zeros((len(covered), 2), dtype=np.bool_)
    for k, rule in enumerate(rules):
        code = _code(version, rule.label)
        if code >= 0:
            by_class[:, code] |= covered[:, k]
    return by_class


def _disagrees(version: Version, rules: RuleSet, covered: BoolArray) -> BoolArray:
    predictions = version.judge.predictions
    if predictions is None:
        raise DataError("wait until the machine is trained")
    by_class = _labels_covering(version, rules, covered)
    other: BoolArray = by_class[np.arange(len(by_class)), 1 - predictions.codes]
    return other


def _sorted(version: Version, positions: IntArray, sort: str) -> IntArray:
    predictions = version.judge.predictions
    if sort == "row" or predictions is None:
        return positions
    scores = predictions.scores[positions]
    keys = np.abs(scores) if sort == "boundary" else -scores
    return positions[np.argsort(keys, kind="stable")]


def _line(version: Version, position: int, rules: RuleSet, covered: BoolArray) -> dict[str, Any]:
    opened, predictions = version.opened, version.judge.predictions
    names = [plain(label) for label in opened.classes]
    line: dict[str, Any] = {
        "row": int(opened.rows[position]),
        "truth": names[opened.codes[position]],
        "truth_code": int(opened.codes[position]),
        "machine": None,
        "machine_code": None,
        "score": None,
        "unseen": None,
        "rules": [
            {
                "name": rules[k].name or f"rule {k + 1}",
                "label": plain(rules[k].label),
                "is_right": rules[k].label == opened.classes[opened.codes[position]],
            }
            for k in np.flatnonzero(covered[position]).tolist()
        ],
        "values": opened.case(position),
        "gaps": opened.gaps(position),
    }
    if predictions is not None:
        code = int(predictions.codes[position])
        line |= {
            "machine": names[code],
            "machine_code": code,
            "score": float(predictions.scores[position]),
        }
    if version.validated is not None:
        line["unseen"] = names[version.validated.codes[position]]
    return line


def case_facts(version: Version, row: int, text: str) -> dict[str, Any]:
    """Give what is known of a case without computing anything slow."""
    opened = version.opened
    position = opened.position(row)
    rules = version.judge.read(text).rules
    covered = rules.covers(opened.points) if len(rules) else np.zeros((len(opened.codes), 0), bool)
    facts = _line(version, position, rules, covered)
    facts["position"] = position
    facts["neighbour"] = _nearest_opposite(version, position)
    facts["turns"] = turning_points(version, opened.task.X.take(np.array([position])))
    return facts


def _nearest_opposite(version: Version, position: int) -> int | None:
    """Find the nearest case that the machine gives the other class, features in units of their range."""
    predictions, opened = version.judge.predictions, version.opened
    if predictions is None:
        return None
    others = np.flatnonzero(predictions.codes != predictions.codes[position])
    if not len(others):
        return None
    space = opened.space
    width = np.where(np.isfinite(space.upper - space.lower), space.upper - space.lower, 1.0)
    is_category = np.array([c is not None for c in space.categories])
    apart = opened.points[others] - opened.points[position]
    apart = np.where(is_category, apart != 0, apart / np.where(width > 0, width, 1.0))
    distance = np.nansum(apart**2, axis=1)
    return int(opened.rows[others[int(np.argmin(distance))]])


def turning_points(version: Version, case: Table) -> dict[str, float]:
    """Say for each number of a case where the machine would change its mind, if only that value changed."""
    planes = None if version.machine is None else version.machine.planes
    if planes is None or len(planes.classes_) != 2:
        return {}
    score = float(planes.decision_function(case)[0])
    space, found = version.opened.space, {}
    for column, (j, code) in enumerate(planes.encoding_.sources):
        weight = float(planes.coef_[0, column])
        if code is not None or weight == 0.0:
            continue
        name = planes.space.names[j]
        value = float(case.column(name).numbers()[0])
        place = value - score / weight
        if not math.isfinite(place):
            continue
        k = space.index(name)
        turn = _first_whole(planes, case, name, place) if space.integer[k] else place
        if turn is not None and space.lower[k] <= turn <= space.upper[k]:
            found[name] = float(turn)
    return found


def _first_whole(planes: Planes, case: Table, name: str, place: float) -> float | None:
    """Find the first whole number by a place that gets another class; on the boundary only the machine knows."""
    value = float(case.column(name).numbers()[0])
    near = [float(math.floor(place) + k) for k in (-1, 0, 1, 2)]
    tried = sorted(
        (v for v in near if (v > value) == (place > value)), key=lambda v: abs(v - value)
    )
    columns = {c.name: np.repeat(c.values, 1 + len(tried)) for c in case.all_columns()}
    columns[name] = np.array([value, *tried])
    now, *labels = planes.predict(Table.of_columns(columns)).tolist()
    turned = [v for v, label in zip(tried, labels, strict=True) if label != now]
    return turned[0] if turned else None


def read_case_values(version: Version, row: int, given: Mapping[str, Any]) -> Table:
    """Give a case with some of its values changed."""
    opened, machine = version.opened, version.machine
    position = opened.position(row)
    table = opened.task.X if machine is None else machine.table(opened.task)
    for name in given:
        if name not in table.names:
            raise InvalidValueError(
                f"there is no feature {name!r}{nearest_name(name, table.names)}"
            )
    columns = {}
    for column in table.take(np.array([position])).all_columns():
        value = column.values[0]
        if column.name in given:
            value = _read_value(version, column.name, given[column.name])
        dtype = np.float64 if column.has_number_type else object
        columns[column.name] = np.array([value], dtype=dtype)
    return Table.of_columns(columns)


def _read_value(version: Version, name: str, value: Any) -> Any:
    space = version.opened.space
    categories = space.categories[space.index(name)]
    if categories is not None:
        if str(value) not in categories:
            raise InvalidValueError(f"{value!r} is no category of {name!r}")
        return str(value)
    return as_finite(value, name)


def what_if(version: Version, row: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Say what the machine would predict for a case with other values."""
    if version.machine is None:
        raise DataError("wait until the machine is trained")
    case = read_case_values(version, row, given)
    machine, classes = version.machine, version.opened.classes
    score = float(machine.score_rows(case, version.opened)[0])
    predicted = machine.model.predict(case)[0]
    return {
        "label": plain(predicted),
        "code": int(predicted == classes[1]),
        "score": score,
        "turns": turning_points(version, case),
    }


def explained_case(version: Version, row: int) -> dict[str, Any]:
    """Explain why a case gets its class: the fewest conditions, proved where that is possible."""
    from clearmargin.cases import explain

    if version.machine is None:
        raise DataError("wait until the machine is trained")
    opened, machine = version.opened, version.machine
    table = machine.table(opened.task)
    case = _values_of(table, opened.position(row))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        found = explain(machine.model, case, table)
    return {
        "text": found.text,
        "guarantee": found.guarantee,
        "rule": format_rule(found.rule, opened.space),
        "points": None if found.points is None else str(found.points),
    }


def _values_of(table: Table, position: int) -> dict[str, Any]:
    """Give a row as plain values by name, None where one is missing."""
    values: dict[str, Any] = {}
    for column in table.take(np.array([position])).all_columns():
        value = column.values[0]
        plain_value = value.item() if hasattr(value, "item") else value
        values[column.name] = None if column.is_missing[0] else plain_value
    return values


def recourse_for(version: Version, row: int) -> dict[str, Any]:
    """Find the cheapest change of the features that can be acted on which would change the answer."""
    from clearmargin import recourse

    if version.machine is None:
        raise DataError("wait until the machine is trained")
    opened, machine = version.opened, version.machine
    actions = {k: v for k, v in opened.settings.actions.items() if k in opened.task.X.names}
    if not actions:
        raise DataError(
            "no feature can be acted on; say on the page Data which ones can be changed, and at what cost"
        )
    table = machine.table(opened.task)
    case = table.take(np.array([opened.position(row)]))
    actions = {k: v for k, v in actions.items() if not case.column(k).is_missing[0]}
    if not actions:
        raise DataError("every feature that can be acted on is missing in this case")
    words = {"any": "any", "up": "increase", "down": "decrease"}
    found = recourse(
        machine.model,
        case,
        actionable={name: words[action.direction] for name, action in actions.items()},
        X=table,
        costs={name: action.cost for name, action in actions.items()},
        time_limit=10.0,
    )
    return {"text": str(found), **found.to_dict()}
