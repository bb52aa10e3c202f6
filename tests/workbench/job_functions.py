"""What the jobs of the tests run, each in its own process; `run` is called as the workbench calls its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from clearmargin.exceptions import CancelledError, DataError
from clearmargin.progress import advance, task
from clearmargin.workbench.job_process import PRELOADED


def run(kind, given):
    return globals()[kind](given)


def echo(given):
    return {"given": given, "pid": os.getpid()}


def steps(given):
    with task("folds", given["n"]):
        for _ in range(given["n"]):
            advance()
            time.sleep(given.get("seconds", 0.0))
    return {"n": given["n"]}


def burst_then_wait(given):
    """Many steps at once, then a file that is waited for."""
    with task("folds", 50):
        for _ in range(49):
            advance()
        wait_for(Path(given["file"]))
    return {}


def nested(given):
    with task("folds", 2):
        advance()
        with task("search", 4.0, "rules"):
            advance(1.0, 3)
            wait_for(Path(given["file"]))
    return {}


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)


def until(given):
    wait_for(Path(given["file"]))
    return {"pid": os.getpid()}


def forever(given):
    """Never ends; says who it is first."""
    Path(given["file"]).write_text(str(os.getpid()), encoding="ascii")
    with task("folds", 1000):
        while True:
            advance(0.0)
            time.sleep(0.01)


def deaf(given):
    """Never ends, and takes no notice of being asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return forever(given)


def child(given):
    """Never ends, and neither does a process that it has started and that takes no notice of being asked."""
    code = (
        "import os, pathlib, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, given["child"]]):
        wait_for(Path(given["child"]))
        if given.get("ends"):
            os._exit(7)
        return forever(given)


def lingering_thread(given):
    """Answers, but has a thread that keeps the process alive."""
    threading.Thread(target=time.sleep, args=(600,)).start()
    return {"pid": os.getpid()}


def refused(given):
    raise DataError("the column 'größe' has\nno numbers")


def stopped(given):
    raise CancelledError("the work was cancelled")


def broken(given):
    return {"share": 1 / given["zero"]}


def out_of_memory(given):
    raise MemoryError


def no_file(given):
    return {"text": Path(given["file"]).read_text(encoding="utf-8")}


def surrogates(given):
    raise DataError("no file '\udcff.csv'")


def long_error(given):
    raise ValueError("x" * 100_000)


def no_dict(given):
    return [1, 2]


def not_a_number(given):
    return {"score": float("nan")}


def leave(given):
    sys.exit(3)


def vanish(given):
    os._exit(given["code"])


def forked(given):
    """Leaves without a word; a child that holds all its pipes stays."""
    if os.fork() == 0:
        Path(given["child"]).write_text(str(os.getpid()), encoding="ascii")
        time.sleep(600)
    wait_for(Path(given["child"]))
    os._exit(7)


def large(given):
    return {"text": "é" * given["n"]}


def is_preloaded(given):
    """Fails unless the process began with the package imported."""
    missing = [name for name in PRELOADED if name not in sys.modules]
    if missing:
        raise DataError(f"not imported: {missing}")
    return {}


def surroundings(given):
    return {
        "ignores": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
        "blocks": signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "leads": os.getpgid(0) == os.getpid(),
        "niceness": os.nice(0),
    }
