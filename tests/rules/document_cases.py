"""What the tests of the JSON form share: the schema, and how refusals are caught."""

from __future__ import annotations

import math

import jsonschema

from clearmargin.exceptions import FileDamagedError, FileTooNewError
from clearmargin.rules.rules_document import rules_schema

INF = math.inf
VALIDATOR = jsonschema.Draft202012Validator(rules_schema())


def result_or_refusal(act, *arguments):
    """What came out, or the error with which it was refused; any other error goes through."""
    try:
        return act(*arguments)
    except (FileDamagedError, FileTooNewError) as error:
        return error
