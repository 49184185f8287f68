"""The index page of all reports: the main results of each system, with links."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from contexture.reporting.page import RECOMMENDATION, Page
from contexture.reporting.report import render

#: In the folder of a system's report: its summary for the index.
SUMMARY_FILE = "summary.json"
#: Findings of a page in its summary.
MAX_FINDINGS = 3


@dataclass(frozen=True)
class Summary:
    """Summary of a system's page on the index."""

    title: str
    verdict: list[str]
    text: str  # name of the training text
    made: str  # date and time
    scores: Sequence[str] = ()  # lines of text
    has_records: bool = True  # whether its folder has records


def summarize(title: str, page: Page, text: str, made: str, has_records: bool = True) -> Summary:
    """Return a page's summary: the first sentence of each card, or its first findings if it has no cards."""
    heads = [
        sentence if sentence.startswith(RECOMMENDATION) else f"{card.title}: {sentence}"
        for card in page.cards
        for sentence in card.sentences[:1]
    ]
    return Summary(title, heads or list(page.findings[:MAX_FINDINGS]), text, made, page.scores, has_records)


def read_summaries(reports: Path) -> dict[str, Summary]:
    """Read the summaries of all reports in the folder `reports`, by system."""
    files = sorted(reports.glob(f"*/report/{SUMMARY_FILE}"))
    return {file.parts[-3]: Summary(**json.loads(file.read_text(encoding="utf-8"))) for file in files}


def summary_json(summary: Summary) -> str:
    """Return a summary as JSON for `read_summaries`."""
    return json.dumps(asdict(summary), ensure_ascii=False, indent=1)


def render_index(summaries: Mapping[str, Summary], run: Mapping[str, str], link: str) -> str:
    """Return the HTML page that links all reports.

    `run` describes the last run (name → value), `link` is its address in the MLflow UI.
    """
    return render("index.html", {"summaries": summaries, "run": run, "link": link})
