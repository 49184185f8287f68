"""`contexture claims`: decide the claims of the papers on the records of runs."""

import argparse
from pathlib import Path


def add_arguments(claims: argparse.ArgumentParser) -> None:
    """Add the options of `contexture claims`."""
    claims.set_defaults(work=main)
    claims.add_argument(
        "--metrics",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="folders data/08_reporting, one of each run (default: data/08_reporting in this folder or its parents)",
    )


def main(args: argparse.Namespace) -> None:
    """Print each claim with its verdict, numbers and command."""
    from contexture.folders import find_upwards
    from contexture.messages import errors_at
    from contexture.paths import DataLayout
    from contexture.reporting.claim_decisions import RunRecords, decide_claims
    from contexture.reporting.claim_tables import claims_text
    from contexture.reporting.claims import read_all_claims
    from contexture.systems.registry import SYSTEMS

    default = find_upwards(DataLayout().reports_dir)
    # Without a run, the claims and their commands are still printed.
    folders = args.metrics or ([default] if default.is_dir() else [])
    with errors_at("--metrics"):
        runs = [RunRecords.read(folder) for folder in folders]
    print(claims_text(decide_claims(read_all_claims(tuple(SYSTEMS)), runs)))
