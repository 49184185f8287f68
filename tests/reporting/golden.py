"""Pages compared whole with the files under `tests/golden/`.

To write these files anew after a change of what pages say: `WRITE_GOLDEN=1 pytest -m "not slow" tests/systems
tests/reporting`; then read what `git diff tests/golden` shows.
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

FOLDER = Path(__file__).parents[1] / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with the file of this name, or write the file."""
    if os.environ.get("WRITE_GOLDEN"):
        (FOLDER / name).write_text(text, encoding="utf-8")
    assert text == (FOLDER / name).read_text(encoding="utf-8")


def check_page(
    name: str,
    records: Sequence[Record],
    context: ReportContext,
    page: MakePage,
    html: bool = True,
    histories: Sequence[History] = (),
) -> Report:
    """Compare a report with its Markdown and, unless told otherwise, its HTML without style, script and pictures.

    The HTML must be well-formed.
    """
    report = render_report(records, histories, context, page)
    Page(report.html)
    body = report.html.partition("<body>")[2].partition("<script>")[0]
    check_golden(f"{name}.md", report.markdown)
    if html:
        check_golden(f"{name}.html", re.sub(r"base64,[^\"]+", "base64,", body))
    return report
