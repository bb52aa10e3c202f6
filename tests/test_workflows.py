"""Workflows, hooks and forms call what exists, on versions that we support, with no more rights than they need."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = set(
    re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)


def read(path: Path) -> dict:
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    # YAML takes the word "on" for a truth value.
    return {"on" if key is True else key: value for key, value in loaded.items()}


def jobs(name: str) -> dict:
    return read(ROOT / ".github/workflows" / name)["jobs"]


def steps(job: dict) -> list[dict]:
    return job.get("steps", [])


def commands(job: dict) -> list[str]:
    return [step["run"] for step in steps(job) if "run" in step]


def python_versions(job: dict) -> list[str]:
    """The versions of Python that a job runs on."""
    asked = [step["with"]["python-version"] for step in steps(job) if "setup-python" in str(step)]
    matrix = job.get("strategy", {}).get("matrix", {})
    return [
        version
        for entry in asked
        for version in (matrix["python"] if "matrix.python" in entry else [entry])
    ]


ALL_JOBS = [
    pytest.param(path, name, id=f"{path.stem}-{name}")
    for path in WORKFLOWS
    for name in read(path)["jobs"]
]


@pytest.mark.parametrize(("path", "name"), ALL_JOBS)
def test_a_job_calls_what_exists(path, name):
    job = read(path)["jobs"][name]
    for command in commands(job):
        assert set(re.findall(r"\bmake ([\w-]+)", command)) <= TARGETS
        for file in re.findall(r"(?:\.ci|tests|tools)/[\w/.]+", command):
            assert (ROOT / file).exists(), file
    others = job.get("needs", [])
    assert {others} if isinstance(others, str) else set(others) <= set(read(path)["jobs"])
    if "uses" in job:
        assert (ROOT / job["uses"]).is_file()
        assert "workflow_call" in read(ROOT / job["uses"])["on"]
    else:
        assert job["timeout-minutes"] <= 60


@pytest.mark.parametrize(("path", "name"), ALL_JOBS)
def test_what_a_job_asks_of_its_matrix_is_in_it(path, name):
    job = read(path)["jobs"][name]
    asked = set(re.findall(r"\$\{\{ *matrix\.(\w+) *\}\}", str(job)))
    assert asked == set(job.get("strategy", {}).get("matrix", {}))


@pytest.mark.parametrize(("path", "name"), ALL_JOBS)
def test_actions_are_pinned_by_a_version(path, name):
    for step in steps(read(path)["jobs"][name]):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+(\.\d+)*", step["uses"])


def test_python_versions_are_those_that_we_support():
    said = {
        line.rsplit(" ", 1)[1]
        for line in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d", line)
    }
    supported = SpecifierSet(PROJECT["requires-python"])
    for path in WORKFLOWS:
        for job in read(path)["jobs"].values():
            versions = python_versions(job)
            # 3.10 unquoted would be the number 3.1.
            assert all(isinstance(version, str) and version in supported for version in versions)
    checks = jobs("checks.yml")
    assert set(python_versions(checks["check"])) == said
    assert set(python_versions(checks["windows"])) <= said
    assert f">={python_versions(checks['lowest'])[0]}" == PROJECT["requires-python"]


def test_checks_run_everything_that_has_to_pass():
    checks = jobs("checks.yml")
    ordered = [command for job in checks.values() for command in commands(job)]
    assert {".ci/run", "make test-lowest", "make docs", "make test-wheel"} <= set(ordered)
    systems = {*checks["check"]["strategy"]["matrix"]["os"], checks["windows"]["runs-on"]}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_nothing_is_published_before_all_checks_have_passed():
    release = jobs("release.yml")
    assert release["checks"] == {"uses": "./.github/workflows/checks.yml"}
    assert release["build"]["needs"] == "checks"
    assert release["publish"]["needs"] == "build"


def test_only_the_job_that_publishes_may_ask_for_rights_and_it_runs_no_code_of_ours():
    for path in WORKFLOWS:
        assert read(path)["permissions"] == {"contents": "read"}
        for name, job in read(path)["jobs"].items():
            if "permissions" in job:
                assert (path.name, name) == ("release.yml", "publish")
                assert job["permissions"] == {"id-token": "write"}
                assert not commands(job)
                assert not any("checkout" in step["uses"] for step in steps(job))


def test_hooks_before_a_commit_are_what_make_check_checks():
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    entries = {hook["entry"] for hook in local["hooks"]}
    assert entries == {"make format", "make types", "make layers"}
    assert {entry.split()[1] for entry in entries} <= TARGETS
    assert all(hook["language"] == "system" for hook in local["hooks"])
    assert not any(hook["pass_filenames"] for hook in local["hooks"])


def test_the_form_for_bugs_asks_for_what_debug_prints():
    for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[0-9]*.yml")):
        form = read(path)
        assert set(form) == {"name", "description", "labels", "body"}
        fields = {field["id"]: field for field in form["body"] if field["type"] != "markdown"}
        assert "`clearmargin --debug`" in fields["versions"]["attributes"]["description"]
    bug = read(ROOT / ".github/ISSUE_TEMPLATE/1-bug.yml")
    assert [f["id"] for f in bug["body"] if f.get("validations")] == [
        "what",
        "code",
        "output",
        "versions",
    ]


def bound(requirement: Requirement, operator: str) -> Version:
    (specifier,) = requirement.specifier
    assert specifier.operator == operator
    return Version(specifier.version.removesuffix(".*"))


def test_the_lowest_versions_tested_are_the_lowest_that_are_admitted():
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = map(Requirement, (line for line in lines if line and line[0] != "#"))
    tested = {requirement.name.lower(): bound(requirement, "==") for requirement in pinned}
    extras = PROJECT["optional-dependencies"]
    admitted = [*PROJECT["dependencies"], *extras["frames"], *extras["plot"], *extras["xlsx"]]
    for requirement in map(Requirement, admitted):
        assert tested[requirement.name.lower()] == bound(requirement, ">="), requirement.name
