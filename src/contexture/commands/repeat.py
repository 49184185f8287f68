"""`contexture results repeat`: run the command of saved results again, and compare the new results with them."""

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path

from contexture.messages import errors_at
from contexture.paths import DataLayout, data_dir
from contexture.reporting.provenance import Provenance
from contexture.reporting.run_commands import find_inputs, get_workspace
from contexture.reporting.saved_results import SavedResults, differences_table, group_by_row, runs_table
from contexture.reporting.tables import to_markdown


def repeat_results(args: argparse.Namespace, saved: SavedResults) -> None:
    """Run the commands of `saved` with inputs below `args.data`, then compare; with `args.check`, only compare.

    Raises ValueError for an unknown command, and for missing or ambiguous inputs.
    """
    from contexture.folders import find_upwards

    if not args.check:
        if not args.data:
            raise ValueError("--data: name the folders that have the inputs; or --check compares a finished run")
        commands = list_commands(saved.runs, args.data)
        print(*map(shlex.join, commands), sep="\n")
        if args.dry_run:
            return
        run_commands(commands)
    workspaces = {get_workspace(run.command or "") for run in saved.runs.values()}
    if len(workspaces) > 1:
        raise ValueError(f"the commands have several workspaces: {', '.join(map(str, workspaces))}; repeat each alone")
    reports_dir = find_upwards(DataLayout(data_dir(*workspaces)).reports_dir)
    with errors_at(str(reports_dir)):
        compare_results(saved, SavedResults.collect(reports_dir, [*saved.runs]), args.rows)


def list_commands(runs: Mapping[str, Provenance], folders: list[Path]) -> list[list[str]]:
    """Return the commands of runs, each once, with the paths of their inputs below `folders`."""
    for system, run in runs.items():
        if run.command is None or shlex.split(run.command)[:2] != ["kedro", "run"]:
            raise ValueError(f"{system}: the command is {run.command or 'unknown'}; only `kedro run` can be repeated")
    with errors_at("--data"):
        commands = dict.fromkeys(find_inputs(str(run.command), folders) for run in runs.values())
    return [shlex.split(command) for command in commands]


def run_commands(commands: list[list[str]]) -> None:
    """Run commands of Kedro in the project; exit with the status of the first one that fails."""
    from contexture.commands.workspaces import find_project, run_kedro

    project = find_project()
    for _, *arguments in commands:
        if status := run_kedro(project, arguments):
            raise SystemExit(status)


def compare_results(saved: SavedResults, repeated: SavedResults, words: list[str]) -> None:
    """Print how both results were made, their differences, and whether text and scores are equal."""
    table = differences_table(saved, repeated, words)
    print(to_markdown(runs_table({"saved": saved, "repeated": repeated})), to_markdown(table), sep="\n\n", end="\n\n")
    for system, run in saved.runs.items():
        print(f"{system}: {compare_texts(run.text_sha256, repeated.runs[system].text_sha256)}")
    first, second = group_by_row(saved, words), group_by_row(repeated, words)
    equal = sum(second.get(key) == scores for key, scores in first.items())
    print(f"{equal:,} of {len(first):,} rows have exactly the saved scores, {len(first.keys() - second)} are missing")


def compare_texts(saved: str | None, repeated: str | None) -> str:
    """Return whether the checksums of two texts are equal, in words."""
    if saved is None or repeated is None:
        return "the checksum of a text is unknown"
    if saved == repeated:
        return f"the text is the same (checksum {saved[:8]})"
    return f"the texts differ (checksums {saved[:8]} and {repeated[:8]}), so the scores should differ"
