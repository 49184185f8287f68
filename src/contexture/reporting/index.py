"""The page above all reports: what came out, in a sentence or two for each, and where to read on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from contexture.reporting.page import Page
from contexture.reporting.report import render

#: Beside a system's page, what the index says of it.
SUMMARY_FILE = "summary.json"
#: Findings that it takes over.
MAX_FINDINGS = 3


@dataclass(frozen=True)
class Summary:
    """What the index says of a system's page."""

    title: str
    verdict: list[str]
    text: str  # what was trained on
    made: str  # when, to the minute


def summarize(title: str, page: Page, text: str, made: str) -> Summary:
    """The first things that a page says: the verdicts of its cards, or its first findings."""
    heads = [f"{card.title}: {sentence}" for card in page.cards for sentence in card.sentences[:1]]
    return Summary(title, heads or list(page.findings[:MAX_FINDINGS]), text, made)


def read_summaries(reports: Path) -> dict[str, Summary]:
    """System → what its page, under `reports`, begins with."""
    files = sorted(reports.glob(f"*/report/{SUMMARY_FILE}"))
    return {file.parts[-3]: Summary(**json.loads(file.read_text(encoding="utf-8"))) for file in files}


def summary_json(summary: Summary) -> str:
    """A summary as `read_summaries` reads it."""
    return json.dumps(asdict(summary), ensure_ascii=False, indent=1)


def render_index(summaries: Mapping[str, Summary], run: Mapping[str, str], link: str) -> str:
    """The page; `run` tells about the last run, by what it is called, and `link` leads to it while MLflow's UI runs."""
    return render("index.html", {"summaries": summaries, "run": run, "link": link})
