"""All options of all commands: one name means one thing, and every example of the help runs."""

from __future__ import annotations

import inspect
import shlex
import shutil

import pytest

import clearmargin
from clearmargin import compare, export, recipes
from clearmargin.cli.command_options import OPTIONS
from clearmargin.cli.main import COMMANDS, command_parser
from clearmargin.tables.files import ReadOptions
from clearmargin.workbench.start import StartOptions

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


# Where an option is a parameter of the same name in Python.
SAME = {
    recipes.make_task: "target positive missing",
    recipes.choose_rows: "row where most",
    recipes.train: "machine",
    recipes.make_one_page: "method",
    recipes.explain_rows: "kind weights",
    clearmargin.explain: "precision guarantee",
    recipes.ExtractOptions: "assume_ranges",
    recipes.AdviceOptions: "change_cost tune",
    recipes.export_rules: "out",
    ReadOptions: "separator decimal encoding na categories drop",
    clearmargin.LPSVC: "nu",
    clearmargin.LPSVCCV: "max_features cv",
    clearmargin.LPSVCCV.fit: "groups",
    clearmargin.ProximalSVC: "balanced",
    clearmargin.RuleExtractor: "criterion max_rules max_conditions min_coverage bounds",
    clearmargin.AdviceSVC: "advice refine published lam mu",
    clearmargin.RankContrast: "top bottom size_criterion min_leverage max_size",
    clearmargin.SVMTreeClassifier: "order partition loss tol min_leaf max_layers",
    clearmargin.ScoreRules: "certify",
    clearmargin.recourse: "actionable",
    compare.check_drift: "confidence",
    export.export: "to",
    export.to_sql: "dialect form table view column default",
    export.to_python: "name",
    StartOptions: "folder author stop_when_closed port host password_file",
}
# Where it is called otherwise there: a scorecard is made of cuts here, and of rules with one condition there; `--order`
# is that of a tree, and `--max-features` that of the model.
OTHERWISE = {
    "cut_order": (clearmargin.RuleExtractor, "order"),
    "distil": (clearmargin.RuleExtractor, "max_features"),
    "max_cuts": (clearmargin.ScoreRules, "max_rules"),
    "max_points": (clearmargin.ScoreRules, "integer_points"),
    "time": (clearmargin.LPSVCCV.fit, "times"),
    "cost": (clearmargin.recourse, "costs"),
    "goal": (clearmargin.recourse, "target"),
    "alternatives": (clearmargin.recourse, "n_alternatives"),
    "force": (clearmargin.save_model, "overwrite"),
    "no_browser": (StartOptions, "browser"),
}
# Files, which are values in Python, and a project, which has a method for it.
HERE_ALONE = {"data", "rules", "model", "save_model", "report", "no_report", "verify"}


def test_an_option_is_called_as_its_parameter_in_python_or_listed_as_an_exception():
    flags = {name: option.flag for name, option in OPTIONS.items() if option.flag[:2] == "--"}
    assert flags == {name: f"--{name.replace('_', '-')}" for name in flags}
    same = {name: value for value, names in SAME.items() for name in names.split()}
    for name, value in same.items():
        assert name in inspect.signature(value).parameters, f"{value.__name__} takes no {name}"
    for name, (value, called) in OTHERWISE.items():
        parameters = inspect.signature(value).parameters
        assert called in parameters
        assert name not in parameters, f"{name} is no exception"
    assert sorted([*same, *OTHERWISE, *HERE_ALONE]) == sorted(flags)


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


# The demo takes seconds, the workbench goes on until it is ended, and both have tests of their own.
@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name not in ("demo", "workbench")]
)
def test_the_examples_of_the_help_run(command, clearmargin, files):
    found = examples(command)
    assert found
    for words in found:
        clearmargin(*words, *(["--force"] if "--out" in words else []))


def test_the_names_of_data_sets_in_the_help_are_those_that_exist():
    from clearmargin.cli.datasets import NAMES
    from clearmargin.recipes.demonstration import DATASETS

    assert NAMES.split(", ") == list(DATASETS)


def test_the_machines_in_the_help_are_those_that_exist():
    from clearmargin.recipes.machines import MACHINES

    assert OPTIONS["machine"].settings["choices"] == list(MACHINES)
    for name in MACHINES.values():
        assert hasattr(clearmargin, name)


def test_a_word_that_is_no_choice_is_refused_with_the_nearest_one(run):
    for command in COMMANDS:
        for action in actions(command):
            if action.choices and action.option_strings:
                (flag,) = action.option_strings
                wrong = f"{next(iter(action.choices))}x"
                said = run(command, flag, wrong)
                assert said.code == 2
                assert f"argument {flag}: invalid choice: '{wrong}'; " in said.err


def test_a_default_can_be_typed():
    for name, option in OPTIONS.items():
        default, read = option.settings.get("default"), option.settings.get("type")
        if read is not None and default is not None:
            assert read(str(default)) == default, name
