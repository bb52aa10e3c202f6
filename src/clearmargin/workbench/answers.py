"""The shapes of requests and answers, for those who speak to the workbench by a program of their own.

Published as `answers.schema.json` beside this file.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def answers_schema() -> dict[str, Any]:
    """Return the JSON Schema of what pages send and get."""
    folder = resources.files("clearmargin.workbench")
    schema: dict[str, Any] = json.loads(folder.joinpath("answers.schema.json").read_text("utf-8"))
    return schema


def shape(*names: str) -> dict[str, Any]:
    """Return the schema of one of several shapes, by which data can be validated."""
    schema = answers_schema()
    return {
        "$schema": schema["$schema"],
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in names],
        "$defs": schema["$defs"],
    }
