"""Messages of the library in the words of the command line: parameters of Python become options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

# What is called otherwise here than in Python, or is not there at all.
_PHRASES = (
    (r"RuleExtractor\(max_features=(\d+)\)", r"--distil \1"),
    (r"LPSVC\(nu=\'cv\', max_features=(\d+)\), which estimator=None trains", r"--max-features \1"),
    (r"a larger nu or C\b", "a larger --nu"),
    (
        r"check_advice\(advice, X, y\) tells all",
        "'clearmargin check' with --data and --target tells all",
    ),
    (r"a finite mu\b", "a finite --mu"),
    (r"set where='everywhere'", "add --everywhere"),
    (r"pass overwrite=True", "add --force"),
    (r"exclude=\[(.+?)\]", r"--drop \1"),
    (r"\bset refine=None", "leave out --refine"),
    (r"more than tol=(\S+?):", r"more than the tolerance \1:"),
    (r"after max_iter=(\d+) steps", r"after \1 steps"),
    (r"raise max_iter or tol\b", "take another --refine, or raise max_iter of AdviceSVC in Python"),
    (r"\bcv=None\b", "--cv none"),
    (
        r"declare it: RuleSet\(rules, rules\.space, classes=\[.*\]\)",
        "declare it in a line 'classes: ...' at the top of the rules",
    ),
    (r"(?<=name a class: )target='?([^',]+)'?", r"--goal \1"),
    (r"\btable=None, but a view\b", "--form view is without --table, but a view"),
)
# Before the name of an option that is not given a value, and behind it at the start of a message.
_BEFORE = "leave out|a larger|too:"
_BEHIND = "is a choice|chooses|says|names|must be|needs|is for|is trained"


def for_command_line(text: str, options: Collection[str]) -> str:
    """Say a message of the library as a user of the command line can follow it."""
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    for name in options:
        flag = f"--{name.replace('_', '-')}"
        text = re.sub(rf"(?<![\w-]){name}=True\b", flag, text)
        for quoted in re.findall(rf"(?<![\w-]){name}='([^']*)'", text):
            text = text.replace(f"{name}='{quoted}'", f"{flag} {shlex.quote(quoted)}")
        text = re.sub(rf"(?<![\w-]){name}=(?=\S)", f"{flag} ", text)
        text = re.sub(rf"(?<![\w-]){name}(?= must be\b)", flag, text)
        text = re.sub(rf"\b({_BEFORE}) {name}\b", rf"\1 {flag}", text)
        text = re.sub(rf"(^|: ){name}(?=: | (?:{_BEHIND})\b)", rf"\1{flag}", text)
    return text
