"""All messages stand in one file, where a new wording is seen as a difference."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "list_messages.py"


def test_messages_are_those_of_the_list():
    done = subprocess.run(
        [sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
