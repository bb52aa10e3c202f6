"""The part of the PMML 4.4 schema that rule sets use: which element holds which, in what order, its attributes."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

PMML = "{http://www.dmg.org/PMML-4_4}"

PREDICATE = "(SimplePredicate|CompoundPredicate|SimpleSetPredicate|True|False) "
RULE = "(SimpleRule |CompoundRule )"
EXPRESSION = "(Constant |FieldRef |Apply )"
OPERATORS = "equal|lessThan|lessOrEqual|greaterThan|greaterOrEqual|isMissing|isNotMissing"
FUNCTIONS = f"[+*]|if|and|or|{OPERATORS}"
ANY, COUNT = r"[\s\S]*", r"\d+"
REAL = r"-?\d+(\.\d+)?(e[+-]?\d+)?"
NAME = r"[\s\S]+"
TYPES = "string|integer|double|boolean"

# Element: the children as a regular expression over their names, required attributes, optional attributes.
CONTENT = {
    "PMML": ("Header DataDictionary RuleSetModel ", {"version": r"4\.4"}, {}),
    "Header": ("(Application )?", {}, {"copyright": ANY, "description": ANY}),
    "Application": ("", {"name": NAME}, {"version": ANY}),
    "DataDictionary": ("(DataField )+", {}, {"numberOfFields": COUNT}),
    "DataField": (
        "(Value )*",
        {"name": NAME, "optype": "continuous|categorical", "dataType": TYPES},
        {},
    ),
    "Value": ("", {"value": ANY}, {"property": "valid|invalid|missing"}),
    "RuleSetModel": (
        "MiningSchema (LocalTransformations )?RuleSet ",
        {"functionName": "classification"},
        {"modelName": ANY},
    ),
    "MiningSchema": ("(MiningField )+", {}, {}),
    "MiningField": (
        "",
        {"name": NAME},
        {
            "usageType": "target",
            "invalidValueTreatment": "asIs",
            "missingValueReplacement": ANY,
            "missingValueTreatment": "asValue",
        },
    ),
    "LocalTransformations": ("(DerivedField )+", {}, {}),
    "DerivedField": (
        EXPRESSION,
        {"name": NAME, "optype": "continuous", "dataType": "double"},
        {},
    ),
    "Apply": (
        f"({EXPRESSION}){{1,3}}",
        {"function": FUNCTIONS},
        {"invalidValueTreatment": "returnInvalid|asIs|asMissing"},
    ),
    "Constant": ("", {"dataType": "double|string"}, {}),
    "FieldRef": ("", {"field": NAME}, {}),
    "RuleSet": (
        f"(RuleSelectionMethod )+{RULE}*",
        {},
        {"defaultScore": ANY, "defaultConfidence": REAL},
    ),
    "RuleSelectionMethod": ("", {"criterion": "firstHit"}, {}),
    "CompoundRule": (f"{PREDICATE}{RULE}+", {}, {}),
    "SimpleRule": (
        PREDICATE,
        {"score": NAME},
        {"id": NAME, "recordCount": COUNT, "nbCorrect": COUNT, "confidence": REAL},
    ),
    "SimplePredicate": ("", {"field": NAME, "operator": OPERATORS}, {"value": ANY}),
    "CompoundPredicate": (f"({PREDICATE}){{2,}}", {"booleanOperator": "and|or"}, {}),
    "SimpleSetPredicate": ("Array ", {"field": NAME, "booleanOperator": "isIn"}, {}),
    "Array": ("", {"type": "string"}, {"n": COUNT}),
    "True": ("", {}, {}),
    "False": ("", {}, {}),
}
WITH_TEXT = ("Constant", "Array")


def problems(document):
    """What is wrong with the document, each a sentence; an empty list if nothing is."""
    root = ET.fromstring(document.encode())
    found = [] if root.tag == f"{PMML}PMML" else [f"the root is {root.tag}"]
    for element in root.iter():
        name = element.tag.removeprefix(PMML)
        if name not in CONTENT:
            found.append(f"there is no element {name}")
            continue
        children, required, optional = CONTENT[name]
        inside = "".join(f"{child.tag.removeprefix(PMML)} " for child in element)
        if not re.fullmatch(children, inside):
            found.append(f"{name} must not hold {inside!r}")
        found += [f"{name} lacks {key}" for key in required if key not in element.attrib]
        for key, value in element.attrib.items():
            allowed = {**required, **optional}.get(key)
            if allowed is None or not re.fullmatch(allowed, value):
                found.append(f"{name} must not have {key}={value!r}")
        if (element.text or "").strip() and name not in WITH_TEXT:
            found.append(f"{name} must not hold text")
    return found
