"""Write the pages that follow from the files of docs/results: all results, the claims, and the league by budget.

usage: write_results.py      in the project's folder

docs/results/measured.md  every file with commit, text, processor, seeds and cost, and the claims that they decide
docs/results/league.md    the scores of the league by budget, with pictures, if several files have leagues of one text
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from contexture.paths import RESULTS_DIR
from contexture.reporting.claim_decisions import decide_claims
from contexture.reporting.claim_tables import count_verdicts, decisions_table
from contexture.reporting.claims import read_all_claims
from contexture.reporting.run_records import RunRecords
from contexture.reporting.saved_results import SavedResults, runs_table
from contexture.reporting.tables import to_markdown
from contexture.systems.league.growth_page import render_growth
from contexture.systems.registry import SYSTEMS


def main() -> int:
    """Write the pages."""
    results = {file: SavedResults.read(file) for file in sorted(RESULTS_DIR.glob("*.json"))}
    (RESULTS_DIR / "measured.md").write_text(measured_page(results), encoding="utf-8")
    leagues = [saved.records for saved in results.values() if "league" in saved.runs]
    if len(leagues) > 1:
        report = render_growth(leagues)
        (RESULTS_DIR / "league.md").write_text(report.markdown, encoding="utf-8")
        for name, png in report.figures.items():
            (RESULTS_DIR / name).write_bytes(png)
    return 0


def measured_page(results: dict[Path, SavedResults]) -> str:
    """Return the page of all files and of the claims that they decide."""
    decided = decide_claims(
        read_all_claims(tuple(SYSTEMS)), [RunRecords(saved.records, file) for file, saved in results.items()]
    )
    parts = [
        "# Results in files",
        "`scripts/write_results.py` writes this page from the files next to it. `contexture results show NAME` prints "
        "the scores of a file.",
        to_markdown(runs_table({file.stem: saved for file, saved in results.items()})),
        "## Commands",
        "\n".join(list_commands(results)),
        "## Claims of the papers",
        f"On these files: {count_verdicts(decided)}. [The rules](../claims.md) explain the table.",
        to_markdown(decisions_table(decided)),
    ]
    return "\n\n".join(parts) + "\n"


def list_commands(results: dict[Path, SavedResults]) -> Iterator[str]:
    """Yield a line for each run: its name, and the command that repeats it."""
    for file, saved in results.items():
        for system, run in saved.runs.items():
            yield f"- {file.stem}, {system}: `{run.command or 'unknown'}`"


if __name__ == "__main__":
    sys.exit(main())
