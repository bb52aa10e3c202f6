"""Rules as PMML 4.4, the XML form in which scoring engines exchange models."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.conditions import (
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
from clearmargin.rules.rule import Label, Rule
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace

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
    rules: RuleSet,
    *,
    target: str = "prediction",
    model_name: str = "rules",
    default: Label | None = None,
) -> str:
    """Write rules as a PMML 4.4 RuleSetModel that gives each row what `RuleSet.predict` gives it.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    target : str, default "prediction"
        The field that holds the class.
    model_name : str, default "rules"
        What the model is called.
    default : label, optional
        The class of rows that no rule covers; by default such a row gets no answer.

    Returns
    -------
    str
        The document.

    Notes
    -----
    A condition on a field that is missing (or NaN) is unknown, and its rule does not fire, as for `RuleSet.predict`;
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
    check_has_rules(rules)
    otherwise = as_class(rules, default)
    space = rules.space
    if target in space.names or not target:
        raise InvalidValueError(
            f"target={target!r} must be the name of a field that is no feature, for the class"
        )
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})
    header = ET.SubElement(root, "Header")
    ET.SubElement(header, "Application", {"name": "clearmargin"})
    kind = _kind(rules)
    spelled = {label: _score(label, kind) for label in rules.classes}
    _data_dictionary(root, space, target, _DATA_TYPES[kind], list(spelled.values()))
    model = ET.SubElement(
        root, "RuleSetModel", {"modelName": model_name, "functionName": "classification"}
    )
    _mining_schema(model, space, target)
    premises = [conditions(rule.region, space.categories) for rule in rules]
    sums = _local_transformations(model, premises, space, target)
    rule_set = ET.SubElement(model, "RuleSet")
    if otherwise is not None:
        # JPMML asks for a confidence beside a default score; nothing is known about these rows.
        rule_set.attrib.update(defaultScore=spelled[otherwise], defaultConfidence="0.0")
    ET.SubElement(rule_set, "RuleSelectionMethod", {"criterion": "firstHit"})
    for k, (rule, premise) in enumerate(zip(rules, premises, strict=True), start=1):
        attributes = _rule_attributes(k, rule, spelled[rule.label])
        written = ET.SubElement(rule_set, "SimpleRule", attributes)
        _all_of(written, [p for part in premise for p in _predicates(part, space.names, sums)])
    _check_text(root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _kind(rules: RuleSet) -> Kind:
    kind = common_kind(rules.classes)
    # The specification sets no limit, but JPMML takes an integer for one of 32 bits. Where no rule fires PMML4S
    # answers a truth value with false, a number with NaN and a text with nothing.
    is_long = kind == "integer" and max(abs(int(label)) for label in rules.classes) >= 2**31
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


def _local_transformations(
    model: ET.Element, premises: list[list[Condition]], space: FeatureSpace, target: str
) -> dict[tuple[tuple[int, float], ...], str]:
    """Define each weighted sum once; give the field that holds it."""
    sums = dict.fromkeys(
        part.terms for premise in premises for part in premise if isinstance(part, Weighted)
    )
    if not sums:
        return {}
    taken = {*space.names, target}
    local = ET.SubElement(model, "LocalTransformations")
    fields: dict[tuple[tuple[int, float], ...], str] = {}
    for terms in sums:
        name = f"sum{len(fields) + 1}"
        while name in taken:
            name += "_"
        taken.add(name)
        fields[terms] = name
        derived = ET.SubElement(
            local, "DerivedField", {"name": name, "optype": "continuous", "dataType": "double"}
        )
        derived.append(_sum([_product(weight, space.names[j]) for j, weight in terms]))
    return fields


def _apply(function: str) -> ET.Element:
    # By default a sum in which infinities cancel would be an error; as it is, NaN, it satisfies no inequality.
    return ET.Element("Apply", {"function": function, "invalidValueTreatment": "asIs"})


def _product(weight: float, name: str) -> ET.Element:
    product = _apply("*")
    ET.SubElement(product, "Constant", {"dataType": "double"}).text = repr(weight)
    ET.SubElement(product, "FieldRef", {"field": name})
    return product


def _sum(terms: list[ET.Element]) -> ET.Element:
    total = terms[0]
    for term in terms[1:]:
        above = _apply("+")
        above.extend([total, term])
        total = above
    return total


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
