"""The workflow of continuous integration: what it runs exists, and it has no rights that it does not need."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.specifiers import SpecifierSet

PROJECT = Path(__file__).resolve().parents[1]
WORKFLOW: dict[str, Any] = yaml.safe_load((PROJECT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_the_commands_are_those_of_the_project() -> None:
    commands = [step["run"].split() for step in STEPS if "run" in step]
    assert [command[1] for command in commands if command[0] == "make"] == ["demo", "lint", "test"]
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "lint", "test"} <= targets
    (audit,) = (command for command in commands if command[0] != "make")
    assert (PROJECT / audit[audit.index("--requirement") + 1]).is_file()


def test_the_versions_of_python_are_the_oldest_and_the_newest() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = [f"3.{minor}" for minor in range(8, 30) if f"3.{minor}" in SpecifierSet(project["requires-python"])]
    assert WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"] == [supported[0], supported[-1]]


def test_permissions_and_actions() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in WORKFLOW["jobs"].values())
    for step in STEPS:
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
