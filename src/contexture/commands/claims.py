"""`contexture claims`: decide the claims of the papers on the records of runs."""

import argparse
from pathlib import Path

from contexture.commands.options import check_html_output


def add_arguments(claims: argparse.ArgumentParser) -> None:
    """Add the options of `contexture claims`."""
    claims.set_defaults(work=main)
    claims.add_argument(
        "--metrics",
        type=Path,
        nargs="+",
        metavar="PATH",
        help="folders data/08_reporting, one of each run, or files docs/results/NAME.json of `contexture results save` "
        "(default: data/08_reporting in this folder or its parents)",
    )
    claims.add_argument("--output", type=Path, metavar="FILE.html", help="also write the claims to this HTML page")


def main(args: argparse.Namespace) -> None:
    """Print each claim with its verdict, numbers and command."""
    check_html_output(args.output)
    from contexture.folders import find_upwards, whole_file
    from contexture.messages import errors_at
    from contexture.paths import DataLayout
    from contexture.reporting.claim_decisions import decide_claims
    from contexture.reporting.claim_tables import claims_text, render_claims
    from contexture.reporting.claims import read_all_claims
    from contexture.reporting.run_records import RunRecords
    from contexture.systems.registry import SYSTEMS

    default = find_upwards(DataLayout().reports_dir)
    # Without a run, the claims and their commands are still printed.
    folders = args.metrics or ([default] if default.is_dir() else [])
    with errors_at("--metrics"):
        runs = [RunRecords.read(folder) for folder in folders]
    results = decide_claims(read_all_claims(tuple(SYSTEMS)), runs)
    if args.output is not None:
        with whole_file(args.output) as file:
            file.write(render_claims(results).html.encode())
    print(claims_text(results))
