"""All options of all commands: one name means one thing, and every example of the help runs."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from clearmargin.cli.completion import command_flags, script
from clearmargin.cli.main import COMMANDS, command_parser
from clearmargin.cli.options import OPTIONS

pytestmark = pytest.mark.usefixtures("no_folds")


def actions(command):
    common = {"help", "json", "quiet", "debug"}
    return [action for action in command_parser(command)._actions if action.dest not in common]


def test_one_name_means_one_thing_with_one_default_in_all_commands():
    seen = {}
    for command in COMMANDS:
        for action in actions(command):
            name = action.option_strings[0] if action.option_strings else action.dest
            meaning = (
                type(action),
                action.dest,
                action.default,
                action.type,
                action.metavar,
                tuple(action.choices or ()),
                action.nargs,
                action.help.partition(":")[0],
            )
            first, known = seen.setdefault(name, (command, meaning))
            assert known == meaning, f"{name} of {first} and of {command}"
    assert len(seen) > 60


def test_every_option_of_the_table_is_taken_by_some_command():
    flags = {OPTIONS[name].flag for name in OPTIONS}
    taken = {
        action.option_strings[0] if action.option_strings else action.dest
        for command in COMMANDS
        for action in actions(command)
    }
    assert flags == taken


def test_an_option_is_called_as_its_parameter_in_python():
    for option in OPTIONS.values():
        if option.flag.startswith("--"):
            assert option.flag.removeprefix("--").replace("-", "_") in OPTIONS


def examples(command):
    """The examples of the help, as words."""
    lines = [
        line.removeprefix("example:").strip()
        for line in command_parser(command).epilog.splitlines()
    ]
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"clearmargin {command} ")]


@pytest.fixture
def files(folder, clearmargin):
    """What the examples of the help speak of."""
    shutil.copy("patients.csv", "new.csv")
    (folder / "expert.rules").write_text("old: age >= 55 => ill\nyoung: age < 35 => well\n")
    (folder / "ill.rules").write_text("bmi >= 28 => ill\nbmi < 28 => well\n")
    (folder / "newer.rules").write_text("bmi >= 29 => ill\nbmi < 28 => well\n")
    rows = "".join(
        f"{k},{k % 7},{'yes' if k > 20 else 'no'}\n" for k in (*range(20), *range(25, 50))
    )
    (folder / "feeders.csv").write_text("load,age,failed\n" + rows)
    words = ("--target", "outcome", "--nu", "1", "--save-model", "ill.json")
    clearmargin("rules", "patients.csv", *words, "--positive", "ill", "--quiet")
    return folder


# The demo takes seconds, and has tests of its own.
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_the_examples_of_the_help_run(command, clearmargin, files):
    found = examples(command)
    assert found
    for words in found:
        clearmargin(*words, *(["--force"] if "--out" in words else []))


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


def test_the_names_of_data_sets_in_the_help_are_those_that_exist():
    from clearmargin.cli.datasets import NAMES
    from clearmargin.recipes.demonstration import DATASETS

    assert NAMES.split(", ") == list(DATASETS)


def test_the_machines_in_the_help_are_those_that_exist():
    import clearmargin
    from clearmargin.recipes.machines import MACHINES

    assert OPTIONS["machine"].settings["choices"] == list(MACHINES)
    for name in MACHINES.values():
        assert hasattr(clearmargin, name)
