"""Write all that follows from the files of docs/results.

usage: write_results.py      in the project's folder

docs/results/measured.md       every file with commit, text, processor and seeds; the claims that they decide; hours
docs/results/leaderboard.md    all rows of all files, by use of encoders
docs/results/tables/NAME.md    the papers' tables with the scores of one file beside the published ones
docs/results/league.md         the league's scores by budget, with pictures, if several files have leagues of one text
README.md, docs/               the tables that docs/results/quoted.yml defines
"""

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from contexture.objectives.config import OBJECTIVES
from contexture.paths import RESULTS_DIR
from contexture.reporting.claim_decisions import ClaimResult, decide_claims
from contexture.reporting.claim_tables import count_verdicts, decisions_table, list_commands, list_remarks
from contexture.reporting.claims import read_all_claims
from contexture.reporting.hours import hours_table
from contexture.reporting.page import ReportContext
from contexture.reporting.paper_tables import select_measured
from contexture.reporting.phrases import join_names
from contexture.reporting.quoted_tables import FILE, quote_tables, read_quoted_tables
from contexture.reporting.records import Record
from contexture.reporting.run_records import RunRecords
from contexture.reporting.saved_results import SavedResults, runs_table
from contexture.reporting.tables import Table, to_markdown
from contexture.systems.league.growth_page import render_growth
from contexture.systems.league.leaderboard import make_leaderboards
from contexture.systems.registry import SYSTEMS
from contexture.systems.resolved import ABLATION_SUFFIX

Results = Mapping[str, SavedResults]
#: Before the text of each page.
SOURCE = "`scripts/write_results.py` writes this page from the files of saved results."


def main() -> int:
    """Write the pages in the working folder."""
    results = read_results()
    for path, content in make_pages(results).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for name, png in growth_pictures(results).items():
        (RESULTS_DIR / name).write_bytes(png)
    return 0


def read_results() -> dict[str, SavedResults]:
    """Return name → saved results, of the working folder."""
    return {file.stem: SavedResults.read(file) for file in sorted(RESULTS_DIR.glob("*.json"))}


def make_pages(results: Results) -> dict[Path, str]:
    """Return path → text of all pages that are written or have tables of the results."""
    pages = {
        RESULTS_DIR / "measured.md": measured_page(results),
        RESULTS_DIR / "leaderboard.md": leaderboard_page(results),
    }
    for name, saved in results.items():
        if tables := list(paper_tables(saved)):
            pages[RESULTS_DIR / f"tables/{name}.md"] = tables_page(name, tables)
    if leagues := select_leagues(results):
        pages[RESULTS_DIR / "league.md"] = league_page(leagues)
    return pages | quoting_pages(results)


def measured_page(results: Results) -> str:
    """Return the page of all files, of the claims that they decide, and of their cost."""
    records = [RunRecords.of_results(saved, RESULTS_DIR / f"{name}.json") for name, saved in results.items()]
    decided = decide_claims(read_all_claims(tuple(SYSTEMS)), records)
    return join_parts(
        "# Results in files",
        f"{SOURCE} `contexture results show NAME` prints the scores of a file; `contexture results repeat NAME` runs "
        "its command.",
        to_markdown(runs_table(results)),
        "## Commands",
        "`DATA` is a folder of yours; older files have names of files only.",
        "\n".join(list_run_commands(results)),
        "## Hours",
        *table_parts(hours_table(results)),
        "## Claims of the papers",
        f"On these files: {count_verdicts(decided)}. [The rules](../claims.md) explain the table.",
        to_markdown(decisions_table(decided)),
        "What undecided claims lack, what to keep in mind, and how to repeat the comparisons "
        "([folders](data.md) of your files):",
        "\n".join(describe_remarks(result) for result in decided),
    )


def describe_remarks(result: ClaimResult) -> str:
    """Return the remarks on a claim as an item of a list."""
    remarks = dict(list_remarks(result))
    missing = f"Missing: {remarks['missing']}." if "missing" in remarks else ""
    repeat = "; ".join(f"`{command}`" for command in list_commands(result))
    return " ".join(filter(None, (f"- {result.id}:", missing, remarks.get("note"), f"Repeat: {repeat}")))


def list_run_commands(results: Results) -> Iterator[str]:
    """Yield a line for each run: its name, and the command that repeats it."""
    for name, saved in results.items():
        for system, run in saved.runs.items():
            yield f"- {name}, {system}: `{run.command or 'unknown'}`"


def leaderboard_page(results: Results) -> str:
    """Return the page with a table for each use of encoders and data set."""
    boards = make_leaderboards(results, {system: system_labels(system) for system in SYSTEMS})
    return join_parts(
        "# Leaderboard",
        f"{SOURCE} Scores are means ± half of the 95% interval over seeds, on test data. Scores without "
        "training that are equal for all seeds have no number of seeds. FLOPs and minutes: of "
        "one training. Text: what the encoder learned from, and the beginning of its "
        "[checksum](../results.md#what-a-file-has). Rows with other texts, budgets or test questions show what was "
        "reached, not which objective is better; the [claims](measured.md#claims-of-the-papers) decide that. Frozen "
        "encoders are compared by their own score: Cross-Thought's by attention, others by cosine or inner product.",
        *(part for board in boards for part in (f"## {board.title}", *table_parts(board))),
    )


def tables_page(name: str, tables: list[Table]) -> str:
    """Return the page of one file: the papers' tables with our scores."""
    return join_parts(
        f"# {name}: the papers' tables",
        f"{SOURCE} The tables compare the scores in `{name}.json` with the published ones, without rows and columns "
        "that the file does not have. Our texts, encoders and budgets are other than the paper's: compare the order of "
        "the rows, not their values. [Text, command and cost](../measured.md)",
        *(part for table in tables for part in (f"## {table.title}", *table_parts(table))),
    )


def paper_tables(saved: SavedResults) -> Iterator[Table]:
    """Yield the tables of the systems' pages that have scores of ours and of a paper."""
    for system in dict.fromkeys(name.removesuffix(ABLATION_SUFFIX) for name in saved.runs):
        if hasattr(module := import_module(SYSTEMS[system]), "PUBLISHED"):
            context = ReportContext(system, module.TITLE, module.NOTE, labels=system_labels(system))
            records = [r for r in saved.records if r["system"].removesuffix(ABLATION_SUFFIX) == system]
            page = module.page(records, context)
            yield from select_measured(section.table for section in page.sections if section.table is not None)


def system_labels(system: str) -> dict[str, str]:
    """Return variant → label: titles of objectives, and the labels of the system's page."""
    titles = {name: config.title for name, config in OBJECTIVES.items()}
    return titles | getattr(import_module(SYSTEMS[system]), "LABELS", {})


def select_leagues(results: Results) -> dict[str, list[Record]]:
    """Return name → records of the leagues of one text, that of most files; {} with fewer than two."""
    by_text: dict[str | None, dict[str, list[Record]]] = {}
    for name, saved in results.items():
        if "league" in saved.runs:
            by_text.setdefault(saved.runs["league"].text_sha256, {})[name] = saved.records
    leagues = max(by_text.values(), key=len, default={})
    return leagues if len(leagues) > 1 else {}


def league_page(leagues: Mapping[str, list[Record]]) -> str:
    """Return the page of the league's scores by budget."""
    files = join_names(f"{name}.json" for name in leagues)
    return join_parts(render_growth([*leagues.values()]).markdown.rstrip(), f"{SOURCE} Files: {files}.")


def growth_pictures(results: Results) -> Mapping[str, bytes]:
    """Return file name → PNG of the pictures of `league.md`."""
    leagues = select_leagues(results)
    return render_growth([*leagues.values()]).figures if leagues else {}


def quoting_pages(results: Results) -> dict[Path, str]:
    """Return path → text of the pages that `quoted.yml` names, with their tables made anew."""
    file = RESULTS_DIR / FILE
    tables = read_quoted_tables(file) if file.exists() else {}
    pages = dict.fromkeys(Path(table.page) for table in tables.values())
    return {page: quote_tables(str(page), page.read_text(encoding="utf-8"), tables, results) for page in pages}


def table_parts(table: Table) -> list[str]:
    """Return a table and its caption."""
    return [to_markdown(table), *([table.caption] if table.caption else [])]


def join_parts(*parts: str) -> str:
    """Return the paragraphs as a page."""
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
