"""Rules as PMML 4.4, the XML form in which scoring engines exchange models.

All kinds of rules are a RuleSetModel, whose first rule that fires gives the class. Rules with weights are derived
fields before it, 1 where the rule holds and else 0; their weighted sum is the derived field that the two rules of the
model compare with the threshold. With more than two classes a derived field holds the number of the largest sum. The
points of a card with proof are derived fields, missing outside of its cells, and so are their sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from xml.etree import ElementTree as ET

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.card_cells import Cell, card_cells, class_between
from clearmargin.export.conditions import (
    Between,
    Condition,
    Kind,
    Member,
    Missing,
    Weighted,
    as_class,
    check_has_rules,
    common_kind,
    conditions,
    label_text,
)
from clearmargin.export.score_sums import (
    Multiple,
    ScoreSum,
    refuse_default,
    rules_to_write,
    score_sums,
)
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules.rule import Label, Rule
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace
from clearmargin.scorecards.certified_card import CertifiedScorecard

__all__ = ["to_pmml"]

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
_DATA_TYPES = {"integer": "integer", "number": "double", "text": "string"}
_OPERATORS = {
    "<": "lessThan",
    "<=": "lessOrEqual",
    ">": "greaterThan",
    ">=": "greaterOrEqual",
}
# What XML 1.0 can hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In an array values stand between blanks or quotes, and engines differ in how they read the rest.
_ARRAY_VALUE = re.compile(r"[^\s\"\\](?:[^\"\\\t\r\n]*[^\s\"\\])?")


def to_pmml(
    rules: RuleSet | WeightedRules | CertifiedScorecard,
    *,
    target: str = "prediction",
    model_name: str = "rules",
    default: Label | None = None,
) -> str:
    """Write rules as a PMML 4.4 RuleSetModel that gives each row what `predict` of the rules gives it.

    Parameters
    ----------
    rules : RuleSet, WeightedRules, CertifiedScorecard or fitted model with one
        The rules; of a card with proof the model gives what `prove` gives.
    target : str, default "prediction"
        The field that holds the class.
    model_name : str, default "rules"
        What the model is called.
    default : label, optional
        The class of rows that no rule covers, or of which a card proves nothing; by default such a row gets no answer.
        Weighted rules predict a class for every row.

    Returns
    -------
    str
        The document.

    Notes
    -----
    A condition on a field that is missing (or NaN) is unknown, and its rule does not fire, as for `predict`;
    where the space has a value that a missing one counts as, it is the replacement of the field. A category that the
    space does not know is passed on as it is. A weighted sum becomes a derived field that adds up from left to right.
    Classes that are all whole numbers of 32 bits or all numbers keep their type, all others are written as text.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> text = to_pmml(parse_rules("bmi >= 30 => ill"))
    >>> print(text[text.index("      <SimpleRule"): text.index("      </SimpleRule")], end="")
          <SimpleRule id="1" score="ill">
            <SimplePredicate field="bmi" operator="greaterOrEqual" value="30.0" />
    """
    given = rules_to_write(rules)
    is_card = isinstance(given, CertifiedScorecard)
    space = given.space.with_fill(None) if is_card else given.space
    if target in space.names or not target:
        raise InvalidValueError(
            f"target={target!r} must be the name of a field that is no feature, for the class"
        )
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})
    header = ET.SubElement(root, "Header")
    ET.SubElement(header, "Application", {"name": "clearmargin"})
    kind = _kind(given.classes)
    spelled = {label: _score(label, kind) for label in given.classes}
    _data_dictionary(root, space, target, _DATA_TYPES[kind], list(spelled.values()))
    model = ET.SubElement(
        root, "RuleSetModel", {"modelName": model_name, "functionName": "classification"}
    )
    _mining_schema(model, space, target)
    fields = _DerivedFields(model, space, target)
    if isinstance(given, WeightedRules):
        refuse_default(default)
        _write_weighted(model, given, fields, list(spelled.values()))
    elif isinstance(given, CertifiedScorecard):
        _write_card(model, given, fields, spelled, class_between(given, default))
    else:
        check_has_rules(given)
        _write_first_hit(model, given, fields, spelled, as_class(given, default))
    _check_text(root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _write_first_hit(
    model: ET.Element,
    rules: RuleSet,
    fields: _DerivedFields,
    spelled: dict[Label, str],
    default: Label | None,
) -> None:
    """Write rules of which the first that fires decides."""
    space = rules.space
    premises = [conditions(rule.region, space.categories) for rule in rules]
    sums = fields.sums(part for premise in premises for part in premise)
    rule_set = _rule_set(model, spelled, default)
    for k, (rule, premise) in enumerate(zip(rules, premises, strict=True), start=1):
        attributes = _rule_attributes(k, rule, spelled[rule.label])
        written = ET.SubElement(rule_set, "SimpleRule", attributes)
        _all_of(written, [p for part in premise for p in _predicates(part, space.names, sums)])


def _rule_set(
    model: ET.Element, spelled: dict[Label, str] | None = None, default: Label | None = None
) -> ET.Element:
    rule_set = ET.SubElement(model, "RuleSet")
    if spelled is not None and default is not None:
        # JPMML asks for a confidence beside a default score; nothing is known about these rows.
        rule_set.attrib.update(defaultScore=spelled[default], defaultConfidence="0.0")
    ET.SubElement(rule_set, "RuleSelectionMethod", {"criterion": "firstHit"})
    return rule_set


def _write_card(
    model: ET.Element,
    card: CertifiedScorecard,
    fields: _DerivedFields,
    spelled: dict[Label, str],
    default: Label | None,
) -> None:
    """Write a card with proof: two rules on the sums of its points."""
    cells = card_cells(card)
    sums = fields.sums(cells.relations)
    tied = [p for part in cells.relations for p in _predicates(part, card.space.names, sums)]
    least, most = (fields.points(column, cells.features) for column in ("at least", "at most"))
    rule_set = _rule_set(model, spelled, default)
    (few, many), (first, second) = card.thresholds, card.classes
    for k, (field, operator, threshold, label) in enumerate(
        ((least, "greaterOrEqual", many, second), (most, "lessOrEqual", few, first)), start=1
    ):
        attributes = {"id": str(k), "score": spelled[label]}
        written = ET.SubElement(rule_set, "SimpleRule", attributes)
        _all_of(written, [_simple(field, operator, repr(float(threshold))), *deepcopy(tied)])


def _write_weighted(
    model: ET.Element, weighted: WeightedRules, fields: _DerivedFields, spelled: list[str]
) -> None:
    """Write rules whose weights are summed."""
    sums = score_sums(weighted)
    names = ["score"] if weighted.is_binary else [f"score{k + 1}" for k in range(len(sums))]
    scores = [fields.score(name, score) for name, score in zip(names, sums, strict=True)]
    if weighted.is_binary:
        tests = [_simple(scores[0], "greaterThan", repr(weighted.threshold)), ET.Element("True")]
        answers = [spelled[1], spelled[0]]
    else:
        best = fields.largest(scores)
        tests = [_simple(best, "equal", repr(float(k))) for k in range(len(scores))]
        answers = spelled
    rule_set = _rule_set(model)
    for k, (test, answer) in enumerate(zip(tests, answers, strict=True), start=1):
        ET.SubElement(rule_set, "SimpleRule", {"id": str(k), "score": answer}).append(test)


def _kind(classes: tuple[Label, ...]) -> Kind:
    kind = common_kind(classes)
    # The specification sets no limit, but JPMML takes an integer for one of 32 bits. Where no rule fires PMML4S
    # answers a truth value with false, a number with NaN and a text with nothing.
    is_long = kind == "integer" and max(abs(int(label)) for label in classes) >= 2**31
    return "text" if is_long or kind == "boolean" else kind


def _score(label: Label, kind: Kind) -> str:
    return repr(float(label)) if kind == "number" else label_text(label)


def _data_dictionary(
    root: ET.Element, space: FeatureSpace, target: str, data_type: str, scores: list[str]
) -> None:
    dictionary = ET.SubElement(root, "DataDictionary", {"numberOfFields": str(len(space) + 1)})
    for name, categories in zip(space.names, space.categories, strict=True):
        if categories is None:
            field = _data_field(dictionary, name, "continuous", "double")
            ET.SubElement(field, "Value", {"value": "NaN", "property": "missing"})
        else:
            field = _data_field(dictionary, name, "categorical", "string")
            for value in categories:
                ET.SubElement(field, "Value", {"value": value})
    field = _data_field(dictionary, target, "categorical", data_type)
    for score in scores:
        ET.SubElement(field, "Value", {"value": score})


def _data_field(dictionary: ET.Element, name: str, optype: str, data_type: str) -> ET.Element:
    return ET.SubElement(
        dictionary, "DataField", {"name": name, "optype": optype, "dataType": data_type}
    )


def _mining_schema(model: ET.Element, space: FeatureSpace, target: str) -> None:
    schema = ET.SubElement(model, "MiningSchema")
    for name, value in zip(space.names, space.fill, strict=True):
        # By default an engine gives no answer where a category is not in the dictionary.
        field = {"name": name, "invalidValueTreatment": "asIs"}
        if value is not None:
            filled = value if isinstance(value, str) else repr(float(value))
            field.update(missingValueReplacement=filled, missingValueTreatment="asValue")
        ET.SubElement(schema, "MiningField", field)
    ET.SubElement(schema, "MiningField", {"name": target, "usageType": "target"})


class _DerivedFields:
    """The fields that are computed before the rules are looked at, each defined once."""

    def __init__(self, model: ET.Element, space: FeatureSpace, target: str):
        self._model = model
        self._space = space
        self._taken = {*space.names, target}
        self._local: ET.Element | None = None
        self._sums: dict[tuple[tuple[int, float], ...], str] = {}
        self._holding: dict[tuple[Condition, ...], str] = {}

    def _define(self, name: str, expression: ET.Element) -> str:
        """Define a field, under this name or one like it that is free."""
        if self._local is None:
            self._local = ET.SubElement(self._model, "LocalTransformations")
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        kind = {"name": name, "optype": "continuous", "dataType": "double"}
        ET.SubElement(self._local, "DerivedField", kind).append(expression)
        return name

    def sums(self, parts: Iterable[Condition]) -> dict[tuple[tuple[int, float], ...], str]:
        """Define the weighted sums in conditions; return the field that holds each."""
        for part in parts:
            if isinstance(part, Weighted) and part.terms not in self._sums:
                products = [_product(w, _field(self._space.names[j])) for j, w in part.terms]
                name = f"sum{len(self._sums) + 1}"
                self._sums[part.terms] = self._define(name, _sum(products))
        return self._sums

    def score(self, name: str, score: ScoreSum) -> str:
        """Define a sum of weights; return the field that holds it."""
        terms = [_constant(score.intercept)]
        for term in score.terms:
            if isinstance(term, Multiple):
                feature = self._space.names[term.feature]
                value = _if_known(_field(feature), _field(feature), _constant(term.fill))
                terms.append(_product(term.coef, value))
            else:
                terms.append(_product(term.points, _field(self._holds(term.premise))))
        return self._define(name, _sum(terms))

    def points(self, column: str, features: Iterable[Iterable[Cell]]) -> str:
        """Define the sum of the points of a card, "at least" or "at most"; return the field that holds it."""
        terms = [_constant(0.0)]
        for k, cells in enumerate(features, start=1):
            value = _cell_points(list(cells), column, self._space.names)
            terms.append(_field(self._define(f"{column} {k}", value)))
        return self._define(column, _sum(terms))

    def _holds(self, premise: tuple[Condition, ...]) -> str:
        """Define 1 where all conditions hold and 0 elsewhere; return the field."""
        if premise not in self._holding:
            value = _constant(1.0)
            for part in reversed(premise):
                value = _where(part, value, self._space.names, self.sums([part]))
            self._holding[premise] = self._define(f"rule{len(self._holding) + 1}", value)
        return self._holding[premise]

    def largest(self, scores: list[str]) -> str:
        """Define the number of the largest score, of equals the first; return the field."""
        value = _constant(float(len(scores) - 1))
        for k in range(len(scores) - 2, -1, -1):
            # Those before are smaller than one behind them.
            tests = [
                _apply("greaterOrEqual", _field(scores[k]), _field(other))
                for other in scores[k + 1 :]
            ]
            value = _if(_nested("and", tests), _constant(float(k)), value)
        return self._define("largest", value)


def _cell_points(cells: list[Cell], column: str, names: tuple[str, ...]) -> ET.Element:
    """Return the points of the cell that holds; a missing value where none does."""
    value: list[ET.Element] = []
    gone: list[ET.Element] = []
    name = ""
    for cell in reversed(cells):
        part, points = cell.condition, _constant(float(cell.points(column)))
        assert isinstance(part, Between | Member | Missing)
        name = names[part.feature]
        if isinstance(part, Missing):
            gone = [points]
            continue
        if isinstance(part, Member):
            tests = [_compare(name, "equal", category) for category in part.categories]
        else:
            bounds = (bound for bound in (part.low, part.high) if bound is not None)
            tests = [_compare(name, _OPERATORS[sign], bound) for sign, bound in bounds]
        is_inside = _nested("or" if isinstance(part, Member) else "and", tests)
        value = [_apply("if", is_inside, points, *value)]
    # JPMML compares no missing values.
    return _apply("if", _apply("isNotMissing", _field(name)), *value, *gone)


def _field(name: str) -> ET.Element:
    return ET.Element("FieldRef", {"field": name})


def _constant(value: float | str) -> ET.Element:
    is_text = isinstance(value, str)
    element = ET.Element("Constant", {"dataType": "string" if is_text else "double"})
    element.text = str(value) if is_text else repr(value)
    return element


def _if(test: ET.Element, then: ET.Element, otherwise: ET.Element) -> ET.Element:
    return _apply("if", test, then, otherwise)


def _if_known(field: ET.Element, then: ET.Element, otherwise: ET.Element) -> ET.Element:
    return _if(_apply("isNotMissing", field), then, otherwise)


def _nested(function: str, parts: list[ET.Element]) -> ET.Element:
    """Return a function of two arguments, applied from left to right."""
    total = parts[0]
    for part in parts[1:]:
        total = _apply(function, total, part)
    return total


def _where(
    part: Condition,
    value: ET.Element,
    names: tuple[str, ...],
    sums: dict[tuple[tuple[int, float], ...], str],
) -> ET.Element:
    """Return an expression that is a value where a condition holds, and 0 elsewhere and where something is missing."""
    zero = _constant(0.0)
    if isinstance(part, Missing):
        known = _field(names[part.feature])
        return _if_known(known, zero, value) if part.is_missing else _if_known(known, value, zero)
    if isinstance(part, Weighted):
        name, tests = sums[part.terms], [(_OPERATORS[part.sign], part.limit)]
    else:
        name = names[part.feature]
        if isinstance(part, Member):
            equal = [_compare(name, "equal", category) for category in part.categories]
            return _if_known(_field(name), _if(_nested("or", equal), value, zero), _constant(0.0))
        bounds = [bound for bound in (part.low, part.high) if bound is not None]
        tests = [(_OPERATORS[sign], bound) for sign, bound in bounds]
    for operator, bound in reversed(tests):
        value = _if(_compare(name, operator, bound), value, _constant(0.0))
    return _if_known(_field(name), value, zero)


def _compare(name: str, operator: str, other: float | str) -> ET.Element:
    return _apply(operator, _field(name), _constant(other))


def _apply(function: str, *arguments: ET.Element) -> ET.Element:
    # By default a sum in which infinities cancel would be an error; as it is, NaN, it satisfies no inequality.
    element = ET.Element("Apply", {"function": function, "invalidValueTreatment": "asIs"})
    element.extend(arguments)
    return element


def _product(weight: float, value: ET.Element) -> ET.Element:
    return _apply("*", _constant(weight), value)


def _sum(terms: list[ET.Element]) -> ET.Element:
    return _nested("+", terms)


def _rule_attributes(k: int, rule: Rule, score: str) -> dict[str, str]:
    attributes = {"id": str(k), "score": score}
    if rule.stats is not None:
        attributes["recordCount"] = str(rule.stats.covered)
        if rule.stats.correct is not None:
            attributes["nbCorrect"] = str(rule.stats.correct)
            if rule.stats.covered:
                attributes["confidence"] = repr(rule.stats.accuracy)
    return attributes


def _all_of(parent: ET.Element, predicates: list[ET.Element]) -> None:
    """Add the predicate that all of them hold; the schema wants no compound of fewer than two."""
    _compound(parent, "and", predicates or [ET.Element("True")])


def _compound(parent: ET.Element, operator: str, predicates: list[ET.Element]) -> None:
    if len(predicates) > 1:
        parent = ET.SubElement(parent, "CompoundPredicate", {"booleanOperator": operator})
    parent.extend(predicates)


def _simple(name: str, operator: str, value: str) -> ET.Element:
    return ET.Element("SimplePredicate", {"field": name, "operator": operator, "value": value})


def _predicates(
    part: Condition,
    names: tuple[str, ...],
    sums: dict[tuple[tuple[int, float], ...], str],
) -> list[ET.Element]:
    if isinstance(part, Weighted):
        return [_simple(sums[part.terms], _OPERATORS[part.sign], repr(part.limit))]
    name = names[part.feature]
    if isinstance(part, Missing):
        operator = "isMissing" if part.is_missing else "isNotMissing"
        return [ET.Element("SimplePredicate", {"field": name, "operator": operator})]
    if isinstance(part, Member):
        return [_member(name, part.categories)]
    if part.is_point and part.low is not None:
        return [_simple(name, "equal", repr(part.low[1]))]
    bounds = (bound for bound in (part.low, part.high) if bound is not None)
    return [_simple(name, _OPERATORS[sign], repr(bound)) for sign, bound in bounds]


def _member(name: str, categories: tuple[str, ...]) -> ET.Element:
    if len(categories) == 1:
        return _simple(name, "equal", categories[0])
    if not all(_ARRAY_VALUE.fullmatch(category) for category in categories):
        either = ET.Element("CompoundPredicate", {"booleanOperator": "or"})
        either.extend([_simple(name, "equal", category) for category in categories])
        return either
    chosen = ET.Element("SimpleSetPredicate", {"field": name, "booleanOperator": "isIn"})
    array = ET.SubElement(chosen, "Array", {"n": str(len(categories)), "type": "string"})
    array.text = " ".join(f'"{category}"' for category in categories)
    return chosen


def _check_text(root: ET.Element) -> None:
    for element in root.iter():
        for text in (*element.attrib.values(), element.text or ""):
            if _NOT_XML.search(text):
                raise InvalidValueError(
                    f"{text!r} has a letter that XML cannot hold; rename the feature, category or class"
                )
