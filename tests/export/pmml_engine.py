"""An engine for PMML rule sets, written from the specification (PMML 4.4, dmg.org) and nothing else.

It knows the part of PMML that a RuleSetModel of predicates and derived sums needs, and refuses whatever else it
meets. Predicates have three values (chapter TreeModel): a comparison with a missing value is unknown, "and" and "or"
follow the tables there. A rule fires if its predicate is true, not if it is unknown (chapter RuleSet).
"""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

PMML = "{http://www.dmg.org/PMML-4_4}"


class UnknownElement(Exception):
    """The document uses what this engine does not know."""


def tag(element):
    assert element.tag.startswith(PMML), element.tag
    return element.tag.removeprefix(PMML)


def parse_as(data_type, text):
    if data_type == "string":
        return text
    if data_type == "boolean":
        return {"true": True, "false": False}[text]
    return {"double": float, "integer": int}[data_type](text)


class Engine:
    """Scores rows, mappings from the name of a field to its value, one at a time."""

    def __init__(self, document):
        self.root = ET.fromstring(document.encode())
        (dictionary,) = self.root.findall(f"{PMML}DataDictionary")
        self.fields = {field.get("name"): field for field in dictionary}
        (self.model,) = self.root.findall(f"{PMML}RuleSetModel")
        (schema,) = self.model.findall(f"{PMML}MiningSchema")
        self.active, self.target = [], None
        for field in schema:
            usage = field.get("usageType", "active")
            if usage == "target":
                assert self.target is None
                self.target = field.get("name")
            elif usage == "active":
                self.active.append(field)
            else:
                raise UnknownElement(usage)
        self.derived = {}
        for local in self.model.findall(f"{PMML}LocalTransformations"):
            for field in local:
                assert tag(field) == "DerivedField"
                assert field.get("name") not in self.fields
                assert field.get("name") not in self.derived
                self.derived[field.get("name")] = field
        (self.rules,) = self.model.findall(f"{PMML}RuleSet")
        methods = self.rules.findall(f"{PMML}RuleSelectionMethod")
        assert methods[0].get("criterion") == "firstHit"

    def score(self, row):
        """The class that the model gives to a row; None if it gives none."""
        values = {field.get("name"): self.prepare(field, row) for field in self.active}
        for name, field in self.derived.items():
            (expression,) = field
            values[name] = self.express(expression, values)
        found = self.first_hit(self.rules, values)
        found = self.rules.get("defaultScore") if found is None else found
        if found is None:
            return None
        target = self.fields[self.target]
        assert found in [value.get("value") for value in target], (
            "a score must be in the dictionary"
        )
        return parse_as(target.get("dataType"), found)

    def prepare(self, mining_field, row):
        """A value as the model sees it: missing, valid, or invalid and treated as the schema says."""
        field = self.fields[mining_field.get("name")]
        value = row.get(field.get("name"))
        listed = {"valid": [], "missing": [], "invalid": []}
        for child in field:
            if tag(child) != "Value":
                raise UnknownElement(tag(child))
            parsed = parse_as(field.get("dataType"), child.get("value"))
            listed[child.get("property", "valid")].append(parsed)
        # NaN is equal to nothing, but a missing value declared as NaN is meant to match it.
        missing_nan = any(isinstance(m, float) and math.isnan(m) for m in listed["missing"])
        is_nan = isinstance(value, float) and math.isnan(value)
        if value is None or value in listed["missing"] or (is_nan and missing_nan):
            replacement = mining_field.get("missingValueReplacement")
            return None if replacement is None else parse_as(field.get("dataType"), replacement)
        valid = listed["valid"]
        if value in listed["invalid"] or (valid and value not in valid) or is_nan:
            treatment = mining_field.get("invalidValueTreatment", "returnInvalid")
            if treatment != "asIs":
                raise UnknownElement(
                    f"the value {value!r} is invalid, and the model says {treatment}"
                )
        return value

    def express(self, expression, values):
        kind = tag(expression)
        if kind == "FieldRef":
            return values[expression.get("field")]
        if kind == "Constant":
            return parse_as(expression.get("dataType"), expression.text)
        if kind != "Apply":
            raise UnknownElement(kind)
        parts = [self.express(part, values) for part in expression]
        value = apply_function(expression.get("function"), parts)
        treatment = expression.get("invalidValueTreatment", "returnInvalid")
        if isinstance(value, float) and math.isnan(value) and treatment != "asIs":
            raise UnknownElement(f"a sum is invalid, and the model says {treatment}")
        return value

    def first_hit(self, parent, values):
        """The score of the first rule that fires; the rules in a compound rule count if its predicate is true."""
        for rule in parent:
            if tag(rule) not in ("SimpleRule", "CompoundRule"):
                continue
            if self.holds(self.predicate_of(rule), values) is not True:
                continue
            if tag(rule) == "SimpleRule":
                return rule.get("score")
            found = self.first_hit(rule, values)
            if found is not None:
                return found
        return None

    def predicate_of(self, rule):
        first, *rest = rule
        assert all(tag(other).endswith("Rule") for other in rest)
        return first

    def holds(self, predicate, values):
        """True, False, or None for unknown."""
        kind = tag(predicate)
        if kind in ("True", "False"):
            return kind == "True"
        if kind == "CompoundPredicate":
            return self.combine(
                predicate.get("booleanOperator"), [self.holds(p, values) for p in predicate]
            )
        value = values[predicate.get("field")]
        if kind == "SimpleSetPredicate":
            (array,) = predicate
            assert predicate.get("booleanOperator") == "isIn"
            members = read_array(array)
            return None if value is None else value in members
        if kind != "SimplePredicate":
            raise UnknownElement(kind)
        return self.compare(predicate, value)

    def compare(self, predicate, value):
        operator = predicate.get("operator")
        if operator in ("isMissing", "isNotMissing"):
            assert predicate.get("value") is None
            return (value is None) == (operator == "isMissing")
        other = parse_as(self.type_of(predicate.get("field")), predicate.get("value"))
        if value is None:
            return None
        return {
            "equal": value == other,
            "lessThan": value < other,
            "lessOrEqual": value <= other,
            "greaterThan": value > other,
            "greaterOrEqual": value >= other,
        }[operator]

    def type_of(self, name):
        field = self.derived[name] if name in self.derived else self.fields[name]
        return field.get("dataType")

    def combine(self, operator, parts):
        deciding = {"and": False, "or": True}[operator]
        if deciding in parts:
            return deciding
        return None if None in parts else not deciding


def apply_function(name, parts):
    """A built-in function (chapter Functions): missing if an argument is, but for those about missing values."""
    if name in ("isMissing", "isNotMissing"):
        (value,) = parts
        return (value is None) == (name == "isMissing")
    if name == "if":
        test, then, *rest = parts
        otherwise = rest[0] if rest else None
        return None if test is None else then if test else otherwise
    if None in parts:
        return None
    left, right = parts
    if name in ("and", "or"):
        return (left and right) if name == "and" else (left or right)
    return {
        "+": lambda: left + right,
        "*": lambda: left * right,
        "equal": lambda: left == right,
        "lessThan": lambda: left < right,
        "lessOrEqual": lambda: left <= right,
        "greaterThan": lambda: left > right,
        "greaterOrEqual": lambda: left >= right,
    }[name]()


def read_array(array):
    assert array.get("type") == "string"
    values = re.findall(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)', array.text)
    found = [quoted.replace('\\"', '"') or bare for quoted, bare in values]
    assert len(found) == int(array.get("n"))
    return found
