"""`contexture results`: save the results of a run to a file of the repository, list, compare and repeat them."""

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path

from contexture.commands.options import check_html_output
from contexture.messages import errors_at, explain_unknown
from contexture.paths import RESULTS_DIR, WORKSPACE_PATTERN, DataLayout


def add_arguments(results: argparse.ArgumentParser) -> None:
    """Add the options of `contexture results`."""
    actions = results.add_subparsers(dest="action", required=True, metavar="save|list|show|repeat|growth")
    save = actions.add_parser("save", help="save the results of a run to docs/results/NAME.json")
    save.set_defaults(work=save_results, parser=save)
    save.add_argument("name", metavar="NAME", help="lower-case letters, digits and hyphens")
    save.add_argument(
        "--systems",
        nargs="+",
        metavar="SYSTEM",
        help="only these (default: all of the run; with --add, those of the file)",
    )
    save.add_argument(
        "--metrics",
        type=Path,
        metavar="FOLDER",
        help="folder data/08_reporting of the run (default: data/08_reporting in this folder or its parents)",
    )
    save.add_argument("--command", dest="repeat", metavar="TEXT", help="the command that repeats the run")
    save.add_argument(
        "--add",
        action="store_true",
        help="add what is new, such as more seeds or rows, to results that are saved; needs --command",
    )
    listing = actions.add_parser("list", help="print a table of all saved results")
    listing.set_defaults(work=list_results, parser=listing)
    show = actions.add_parser("show", help="print the scores of saved results, or the differences of two")
    show.set_defaults(work=show_results, parser=show)
    show.add_argument("name", metavar="NAME", help="saved results: a name, or a file")
    show.add_argument("other", metavar="OTHER", nargs="?", help="results that are compared with NAME")
    show.add_argument(
        "--rows", nargs="+", default=[], metavar="NAME", help="only rows with all of these names, such as mr accuracy"
    )
    repeat = actions.add_parser("repeat", help="run the command of saved results again, and compare")
    repeat.set_defaults(work=repeat_saved, parser=repeat)
    repeat.add_argument("name", metavar="NAME", help="saved results: a name, or a file")
    repeat.add_argument(
        "--data", type=Path, nargs="+", metavar="FOLDER", help="folders, or files, in which the inputs are searched"
    )
    repeat.add_argument("--dry-run", action="store_true", help="only print the command with full paths")
    repeat.add_argument("--check", action="store_true", help="only compare the results of the last run with NAME")
    repeat.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="compare only rows with these names")
    growth = actions.add_parser("growth", help="print the league's scores by budget, and forecasts for more compute")
    growth.set_defaults(work=show_growth, parser=growth)
    growth.add_argument(
        "names", metavar="NAME", nargs="+", help="saved results of the league, each with another budget"
    )
    growth.add_argument("--output", type=Path, metavar="FILE.html", help="also write the page, with pictures")


def save_results(args: argparse.Namespace) -> None:
    """Write the records of a run, and how they were made, to a file."""
    if not re.fullmatch(WORKSPACE_PATTERN, args.name):
        raise ValueError(f"NAME {args.name}: use lower-case letters, digits and hyphens")
    from contexture.folders import find_upwards, whole_file
    from contexture.reporting.run_commands import hide_folders
    from contexture.reporting.saved_results import SavedResults

    file = _find_results_dir() / f"{args.name}.json"
    if args.add and not args.repeat:
        raise ValueError("--add needs --command: the command that repeats the results with all seeds and rows")
    if args.add and not file.exists():
        raise ValueError(f"--add: there is no {file}; leave the option out")
    if file.exists() and not args.add:
        raise ValueError(
            f"NAME {args.name}: {file} exists; choose another name, delete the file, or add to it with --add"
        )
    saved = SavedResults.read(file) if args.add else None
    with errors_at("--metrics" if args.metrics else "data/08_reporting"):
        systems = args.systems or (None if saved is None else [*saved.runs])
        results = SavedResults.collect(args.metrics or find_upwards(DataLayout().reports_dir), systems)
    if args.repeat:
        if len(results.runs) > 1 and not args.systems:
            raise ValueError(f"--command: name the systems that it runs with --systems: {', '.join(results.runs)}")
        with errors_at("--command"):
            command = hide_folders(args.repeat)
        results = replace(results, runs={name: replace(run, command=command) for name, run in results.runs.items()})
    for system, run in results.runs.items():
        if run.finished is None:
            print(
                f"{system}: commit, text and processor are unknown: an older version or an unfinished run made this"
                + ("" if run.command else "; --command adds how to repeat them"),
                file=sys.stderr,
            )
        if run.changed_files:
            print(f"{system}: the code differed from commit {run.commit}", file=sys.stderr)
    if saved is not None:
        with errors_at(str(file)):
            results = saved.add(results)
    with whole_file(file) as stream:
        stream.write(results.to_json().encode())
    print(f"{len(results.records):,} records of {', '.join(results.runs)}: {file}")


def list_results(args: argparse.Namespace) -> None:
    """Print a table of all saved results."""
    from contexture.reporting.saved_results import SavedResults, runs_table
    from contexture.reporting.tables import to_markdown

    files = sorted(_find_results_dir().glob("*.json"))
    if not files:
        print(f"There are no saved results here: contexture results save NAME writes {RESULTS_DIR}/NAME.json.")
        return
    print(to_markdown(runs_table({file.stem: SavedResults.read(file) for file in files})))


def show_results(args: argparse.Namespace) -> None:
    """Print how results were made, and their scores; with two results, their differences."""
    files = {name: _find_results(name) for name in (args.name, args.other) if name is not None}
    from contexture.reporting.saved_results import SavedResults, differences_table, runs_table, scores_table
    from contexture.reporting.tables import to_markdown

    results = {name: SavedResults.read(file) for name, file in files.items()}
    first = results[args.name]
    other = results[args.other] if args.other else None
    table = differences_table(first, other, args.rows) if other else scores_table(first, args.rows)
    if not table.rows:
        shared = " that both results have" if other else ""
        raise ValueError(f"{'--rows: ' if args.rows else ''}there are no rows with test scores{shared}")
    print(to_markdown(runs_table(results)), to_markdown(table), sep="\n\n", end="\n\n")
    for name, saved in results.items():
        for system, run in saved.runs.items():
            print(f"repeat {name}, {system}: {run.command or 'unknown'}")


def repeat_saved(args: argparse.Namespace) -> None:
    """Run the command of saved results again, and print the differences."""
    file = _find_results(args.name)
    from contexture.commands.repeat import repeat_results
    from contexture.reporting.saved_results import SavedResults

    repeat_results(args, SavedResults.read(file))


def show_growth(args: argparse.Namespace) -> None:
    """Print the scores of the league by budget, with forecasts; also write the page with pictures."""
    check_html_output(args.output)
    files = {name: _find_results(name) for name in args.names}
    from contexture.folders import whole_file
    from contexture.reporting.saved_results import SavedResults
    from contexture.reporting.tables import to_markdown
    from contexture.systems.league.growth_page import render_growth

    results = {name: SavedResults.read(file) for name, file in files.items()}
    if missing := [name for name, saved in results.items() if "league" not in saved.runs]:
        raise ValueError(f"NAME {missing[0]}: has no results of the league")
    texts = {name: saved.runs["league"].text_sha256 for name, saved in results.items()}
    if len(set(texts.values())) > 1:
        raise ValueError(f"NAME: the results were trained on different texts: {texts}")
    report = render_growth([saved.records for saved in results.values()])
    if args.output is not None:
        with whole_file(args.output) as file:
            file.write(report.html.encode())
    for section in report.page.sections:
        if section.table is not None:
            print(f"{section.title}\n\n{to_markdown(section.table)}\n")
    print(*report.page.findings, sep="\n")


def _find_results_dir() -> Path:
    """Return the folder of saved results: in this folder or a parent, or next to `data` there."""
    from contexture.folders import find_upwards

    folder = find_upwards(RESULTS_DIR)
    return folder if folder.is_dir() else find_upwards(DataLayout().root).parent / RESULTS_DIR


def _find_results(name: str) -> Path:
    """Return the file of saved results by name or path; ValueError if there is none."""
    if (file := Path(name)).is_file():
        return file
    known = {file.stem: file for file in _find_results_dir().glob("*.json")}
    if name not in known:
        raise ValueError(explain_unknown("results", [name], known))
    return known[name]
