"""Workspaces: a folder for each text of `contexture adapt`. `contexture list` prints them."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from contexture.folders import expand_home, find_upwards, whole_file
from contexture.paths import DETAILS_FILE, WORKSPACE_PATTERN, WORKSPACES_DIR, DataLayout, data_dir
from contexture.signals import exit_on_sigterm

ENVIRONMENT, SYSTEM, TASK = "adapt", "adapt", "held_out"
#: Columns of `contexture list`.
COLUMNS = ("name", "text", "documents", "passages", "recommended search", "date")
#: In cells without a value.
NOTHING = "–"
#: If the name of a text has no Latin letter and no digit.
DEFAULT_NAME = "text"


@dataclass(frozen=True)
class Workspace:
    """All that `contexture adapt` makes of a text: the folder `data/workspaces/<name>` of a project."""

    project: Path
    name: str

    @property
    def layout(self) -> DataLayout:
        """Paths of its files."""
        return DataLayout(self.project / data_dir(self.name))

    @property
    def text(self) -> str | None:
        """Path of its text; None before the first run."""
        sources = _read_json(self.layout.sources_file)
        return ", ".join(sources["inputs"]) if sources else None

    def read_build(self) -> dict[str, Any] | None:
        """Return what `write_build` wrote; None if the last run of all stages was not finished."""
        build: dict[str, Any] | None = _read_json(self.layout.build_file)
        return build

    def write_build(self, build: dict[str, Any]) -> None:
        """Write what a finished run was made from. The next run of earlier stages deletes the file at its start."""
        with whole_file(self.layout.build_file) as file:
            file.write(json.dumps(build, indent=1, ensure_ascii=False).encode())


def _read_json(file: Path) -> Any:
    """Return the values of a JSON file; None if it is missing or damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Set the function of `contexture list`, which has no options."""
    command.set_defaults(work=main)


def main(args: argparse.Namespace) -> None:
    """Print a table of the workspaces."""
    workspaces = list_workspaces()
    if not workspaces:
        print("There are no workspaces here: contexture adapt FOLDER makes one.")
        return
    rows = [COLUMNS, *map(describe_workspace, workspaces)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def list_workspaces() -> list[Workspace]:
    """Return the workspaces of the project around the working folder, by name."""
    folder = find_upwards(WORKSPACES_DIR).absolute()
    return [Workspace(folder.parents[1], path.name) for path in sorted(folder.glob("*/"))]


def describe_workspace(workspace: Workspace) -> tuple[str, ...]:
    """Return the cells of a workspace in the table of `contexture list`."""
    layout = workspace.layout
    details = _read_json(layout.results_dir / SYSTEM / TASK / DETAILS_FILE) or {}
    counts = (f"{details[key]:,}" if key in details else NOTHING for key in ("documents", "passages"))
    built, index = "not finished", layout.search_index_dir
    if index.is_dir():
        built = f"{datetime.fromtimestamp(index.stat().st_mtime):%Y-%m-%d %H:%M}"
    return (workspace.name, workspace.text or NOTHING, *counts, _label_search(details), built)


def _label_search(details: dict[str, Any]) -> str:
    """Return the label of the recommended search: BM25 if there were too few questions to compare it with others."""
    from contexture.systems.adapt.page import BM25, label_search

    if not details:
        return NOTHING
    return label_search(details["advice"]["take"] if "advice" in details else BM25)


def list_indexes() -> dict[str, Path]:
    """Return the search indexes of the nearest project, at or above the working folder, that has one.

    The keys are the name of the workspace, or "" for the index in `data/`.
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        workspaces = {path.name: DataLayout(path) for path in sorted((folder / WORKSPACES_DIR).glob("*/"))}
        layouts = {"": DataLayout(folder / data_dir())} | workspaces
        indexes = {name: layout.search_index_dir for name, layout in layouts.items()}
        if existing := {name: index for name, index in indexes.items() if index.is_dir()}:
            return existing
    return {}


def find_project() -> Path:
    """Return the folder of the project around the working folder; raise ValueError if there is none."""
    project = find_upwards(Path("conf") / ENVIRONMENT).absolute().parent.parent
    if not (project / "conf" / ENVIRONMENT).is_dir():
        raise ValueError(f"there is no conf/{ENVIRONMENT} here or above: change to the project folder")
    return project


def run_kedro(project: Path, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run Kedro in the folder of a project and return its exit status."""
    command = [sys.executable, "-m", "kedro", *arguments]
    with exit_on_sigterm():  # `run` ends Kedro, too
        return subprocess.run(command, cwd=project, check=False, env=environment).returncode


def choose_workspace(project: Path, text: str, name: str | None) -> Workspace:
    """Return the workspace of a text, by default named after its file or folder.

    Raise ValueError for a name with other characters than `WORKSPACE_PATTERN` has, and if the workspace has another
    text.
    """
    path = absolute_path(text)
    if name is not None and not re.fullmatch(WORKSPACE_PATTERN, name):
        raise ValueError(f"--name {name}: use lower-case letters, digits and hyphens, such as {make_name(name)}")
    workspace = Workspace(project, name or name_text(path))
    if workspace.text not in (None, path):
        raise ValueError(
            f"the workspace {workspace.name} has another text, {workspace.text}: choose another name, such as "
            f"--name {_find_free_name(workspace)}, or delete {data_dir(workspace.name)}"
        )
    return workspace


def absolute_path(text: str) -> str:
    """Return the absolute path of a text, without `.` and `..`; ValueError for one that `--params` cannot have."""
    path = os.path.normpath(expand_home(text).absolute())
    if "${" in path:
        raise ValueError(f"{path}: Kedro takes ${{ for a reference; rename the file or folder")
    return path


def name_text(path: str) -> str:
    """Return the name of the workspace of a text: that of its folder, or of its file without suffixes."""
    named = Path(path)
    while glob.has_magic(named.name):
        named = named.parent
    return make_name(named.name.partition(".")[0] if named.is_file() else named.name)


def make_name(name: str) -> str:
    """Return a name in lower-case Latin letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or DEFAULT_NAME


def _find_free_name(workspace: Workspace) -> str:
    """Return the first name with a number that no workspace has: "docs-2"."""
    names: Iterator[str] = (f"{workspace.name}-{number}" for number in count(2))
    return next(name for name in names if not (workspace.project / data_dir(name)).exists())
