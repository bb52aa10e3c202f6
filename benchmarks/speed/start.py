"""What it costs to begin: imports and the command line, each in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.page import Ratio, Section, Table

CLASSES = "from clearmargin import LPSVC, RuleExtractor"
IMPORTS = {
    "import clearmargin": "import clearmargin",
    "from clearmargin import parse_rules": "from clearmargin import parse_rules",
    CLASSES: CLASSES,
    "import sklearn.svm": "import sklearn.svm",
}
PEER = "import sklearn.svm"
HELP = "clearmargin --help"


def child_seconds(commands: Sequence[Sequence[str]], repeat: int, enough: float) -> list[float]:
    """The shortest processor time of some commands, each a process of its own, taken in turns.

    A command that has taken `enough` seconds in all is not run again: what takes long is disturbed less.
    """
    times, spent = [float("inf")] * len(commands), [0.0] * len(commands)
    for _ in range(repeat):
        for k, command in enumerate(commands):
            if spent[k] > enough:
                continue
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            times[k], spent[k] = min(times[k], used), spent[k] + used
    return times


def section(full: bool = True) -> Section:
    """A table of starts, beside bare Python and beside scikit-learn."""
    names = [*IMPORTS, HELP]
    commands = [[sys.executable, "-c", "pass"]]
    commands += [[sys.executable, "-c", code] for code in IMPORTS.values()]
    commands.append([sys.executable, "-m", "clearmargin", "--help"])
    bare, *rest = child_seconds(commands, 25 if full else 15, 12.0 if full else 4.0)
    seconds = dict(zip(names, rest, strict=True))
    rows = [["python -c pass", f"{1e3 * bare:.0f}", "**1.0**", f"{bare / seconds[PEER]:.2f}"]]
    rows += [
        [f"`{name}`", f"{1e3 * s:.0f}", f"**{s / bare:.1f}**", f"{s / seconds[PEER]:.2f}"]
        for name, s in seconds.items()
    ]
    light, classes, heavy = seconds["import clearmargin"], seconds[CLASSES], seconds[PEER]
    ratios = {
        f"{name} / bare Python": Ratio(s / bare, larger_is_better=False)
        for name, s in seconds.items()
        if name != PEER
    }
    for name in (*IMPORTS, HELP):
        if name != PEER:
            ratios[f"{name} / {PEER}"] = Ratio(seconds[name] / heavy, larger_is_better=False)
    return Section(
        "Starting",
        "What does it cost before any work is done? Each line is a process of its own; starting Python is counted. "
        "Processor time, the shortest of some runs in turns.",
        Table(["what", "ms", "times bare Python", f"times `{PEER}`"], rows),
        "Names are imported when they are first used, so a script pays for what it names; estimators bring in "
        "scikit-learn.",
        f"`import clearmargin` adds {1e3 * (light - bare):.0f} ms to starting Python, because it loads the rest when "
        f"it is used; loading `LPSVC` and `RuleExtractor` adds {1e3 * (classes - bare):.0f} ms, beside "
        f"{1e3 * (heavy - bare):.0f} ms of `{PEER}`; `{HELP}` answers in {seconds[HELP] / bare:.1f} times the "
        "time of bare Python.",
        ratios,
    )


if __name__ == "__main__":
    print(section().to_markdown())
