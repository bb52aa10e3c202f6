"""Scripts that complete commands, options and values in a shell."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from clearmargin.cli.command_options import DIALECTS
from clearmargin.cli.completion import command_flags, script


def complete(*words: str) -> list[str]:
    """What bash offers for the last word."""
    typed = " ".join(shlex.quote(word) for word in ("clearmargin", *words))
    code = (
        'source "$1"; complete -p clearmargin >&2\n'
        f"COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _clearmargin\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    run = subprocess.run(
        ["bash", "-c", code, "bash", "script.bash"], capture_output=True, text=True, check=True
    )
    assert run.stderr == "complete -o filenames -F _clearmargin clearmargin\n"
    return run.stdout.split()


def test_bash_completes_commands_options_values_and_files(folder):
    (folder / "script.bash").write_text(script("bash"))
    assert complete("re") == ["recourse", "report"]
    assert complete("rules", "--max-") == ["--max-features", "--max-rules", "--max-conditions"]
    assert complete("--quiet", "rules", "patients.csv", "--missing", "") == [
        "error",
        "drop",
        "impute",
    ]
    assert complete("rules", "pat") == ["patients.csv"]
    assert complete("check", "adv") == ["advice.rules"]
    assert complete("completion", "z") == ["zsh"]
    assert complete("train", "--machine", "adv") == ["advice", "advice-blend"]
    assert complete("export", "--to", "p") == ["python", "pmml"]
    assert complete("export", "--dialect", "") == list(DIALECTS)
    assert complete("export", "--form", "v") == ["view"]


def test_scripts_of_all_shells_have_all_commands_and_options():
    for shell in ("bash", "zsh", "fish"):
        text = script(shell)
        for command, (_, flags) in command_flags().items():
            assert command in text
            for flag in flags:
                bare = flag.name.lstrip("-") if shell == "fish" else flag.name
                assert bare in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_one_that_its_shell_can_read(folder, shell):
    if shutil.which(shell) is None:  # nothing to ask
        assert shell != "bash"
        return
    (folder / "s").write_text(script(shell))
    subprocess.run([shell, "-n", "s"], check=True)


def test_an_unknown_shell_is_refused(run):
    said = run("completion", "tcsh")
    assert said.code == 2
    assert "invalid choice: 'tcsh'; known are 'bash', 'zsh', 'fish'" in said.err
