"""Comparison of complete pages with the files in `tests/golden/`.

To update the files: `WRITE_GOLDEN=1 pytest -m "not slow" tests/systems tests/reporting`, then review their diff.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from contexture.reporting.curves import History
from contexture.reporting.page import MakePage, ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from tests.reporting.pages import Page

GOLDEN_DIR = Path(__file__).parents[1] / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with a golden file, or write the file if WRITE_GOLDEN is set."""
    if os.environ.get("WRITE_GOLDEN"):
        (GOLDEN_DIR / name).write_text(text, encoding="utf-8")
    assert text == (GOLDEN_DIR / name).read_text(encoding="utf-8")


def check_page(
    name: str,
    records: Sequence[Record],
    context: ReportContext,
    page: MakePage,
    html: bool = False,
    histories: Sequence[History] = (),
) -> Report:
    """Compare the Markdown of a report and, with `html`, its HTML without style, script and pictures.

    The HTML is always checked to be well-formed.
    """
    report = render_report(records, histories, context, page)
    Page(report.html)
    body = report.html.partition("<body>")[2].partition("<script>")[0]
    check_golden(f"{name}.md", report.markdown)
    if html:
        check_golden(f"{name}.html", re.sub(r"base64,[^\"]+", "base64,", body))
    return report
