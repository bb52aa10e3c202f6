"""`clearmargin completion` prints a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass

from clearmargin.cli.command_options import add_options
from clearmargin.cli.console import Console

__all__ = ["Flag", "add_arguments", "command_flags", "run", "script"]


@dataclass(frozen=True, slots=True)
class Flag:
    """One option of a command, as shells need it.

    Parameters
    ----------
    name : str
        Such as ``--nu``; empty for what is typed without a dash.
    takes_value : bool
        Whether a value follows.
    choices : tuple of str
        The values, where they are known.
    help : str
        What it does.
    """

    name: str
    takes_value: bool
    choices: tuple[str, ...]
    help: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(parser, "SHELL")
    parser.epilog = (
        "example: clearmargin completion bash\n\n"
        "bash: clearmargin completion bash > ~/.local/share/bash-completion/completions/clearmargin\n"
        "zsh:  clearmargin completion zsh > ~/.zfunc/_clearmargin, with that folder in fpath\n"
        "fish: clearmargin completion fish > ~/.config/fish/completions/clearmargin.fish"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    text = script(arguments.shell)
    Console.of(arguments).result(text.rstrip("\n"), {"shell": arguments.shell, "script": text})


def command_flags() -> dict[str, tuple[str, list[Flag]]]:
    """Return all commands, each with its summary and its options, read from the parsers themselves."""
    from clearmargin.cli.main import COMMANDS, command_parser

    found = {}
    for name, summary in COMMANDS.items():
        flags = []
        for action in command_parser(name)._actions:
            takes = action.nargs != 0
            choices = tuple(map(str, action.choices or ()))
            text = (action.help or "").replace("%%", "%")
            names = action.option_strings or [""]
            flags += [Flag(flag, takes, choices, text) for flag in names]
        found[name] = (summary, flags)
    return found


def script(shell: str) -> str:
    """Write the script for a shell.

    Examples
    --------
    >>> script("bash").splitlines()[-1]
    'complete -o filenames -F _clearmargin clearmargin'
    """
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](command_flags())


_BASH = """\
# Completion of clearmargin in bash.
_clearmargin() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in
      {commands}) command="$word"; break ;;
    esac
  done
  COMPREPLY=()
  case "$command:$previous" in
{values}
  esac
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "{words} --version --json --quiet --debug --help" -- "$current"))
    return
  fi
  case "$command" in
{options}
  esac
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -F _clearmargin clearmargin
"""


def _bash(commands: dict[str, tuple[str, list[Flag]]]) -> str:
    values, options = [], []
    for command, (_, flags) in commands.items():
        for flag in flags:
            if flag.name and flag.takes_value:
                words = shlex.quote(" ".join(flag.choices)) if flag.choices else ""
                kind = f"-W {words}" if words else "-f"
                reply = f'COMPREPLY=($(compgen {kind} -- "$current")); return ;;'
                values.append(f"    {command}:{flag.name}) {reply}")
        known = [flag.name for flag in flags if flag.name]
        known += [choice for flag in flags if not flag.name for choice in flag.choices]
        reply = f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(known))} -- "$current")) ;;'
        options.append(f"    {command}) {reply}")
    return _BASH.format(
        commands="|".join(commands),
        words=" ".join(commands),
        values="\n".join(values),
        options="\n".join(options),
    )


def _zsh(commands: dict[str, tuple[str, list[Flag]]]) -> str:
    lines = ["#compdef clearmargin", "# Completion of clearmargin in zsh.", "_clearmargin() {"]
    lines += ["  local -a commands=("]
    lines += [f"    {_quoted(f'{name}:{summary}')}" for name, (summary, _) in commands.items()]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands"]
    lines += ["    return", "  fi", '  case "${words[2]}" in']
    for name, (_, flags) in commands.items():
        specs = [_zsh_spec(flag) for flag in flags]
        lines += [f"    {name})", "      shift words; (( CURRENT-- ))"]
        lines += ["      _arguments \\", *(f"        {spec} \\" for spec in specs)]
        lines += ["        && return ;;"]
    return "\n".join([*lines, "  esac", "}", "compdef _clearmargin clearmargin", ""])


def _zsh_spec(flag: Flag) -> str:
    values = f"({' '.join(flag.choices)})" if flag.choices else "_files"
    if not flag.name:
        return _quoted(f"*:value:{values}")
    text = flag.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    text = text.replace(":", "\\:")
    # A star: the option may be given more than once.
    return _quoted(f"*{flag.name}[{text}]" + (f":value:{values}" if flag.takes_value else ""))


def _fish(commands: dict[str, tuple[str, list[Flag]]]) -> str:
    lines = ["# Completion of clearmargin in fish.", "complete -c clearmargin -f"]
    for name, (summary, flags) in commands.items():
        lines.append(
            f"complete -c clearmargin -n __fish_use_subcommand -a {name} -d {_quoted(summary)}"
        )
        seen = f"complete -c clearmargin -n '__fish_seen_subcommand_from {name}'"
        for flag in flags:
            choices = f" -a {_quoted(' '.join(flag.choices))}" if flag.choices else ""
            if not flag.name:
                lines.append(f"{seen}{choices or ' -F'}")
            elif flag.name.startswith("--"):
                value = "" if not flag.takes_value else f" -x{choices}" if choices else " -r -F"
                text = _quoted(flag.help)
                lines.append(f"{seen} -l {flag.name.removeprefix('--')}{value} -d {text}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return shlex.quote(text)
