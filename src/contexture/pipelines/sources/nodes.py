"""Nodes of the stage `sources`."""

import logging
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from contexture.benchmarks.answer_selection import locate_wikiqa
from contexture.benchmarks.missing import BenchmarkMissing
from contexture.corpus.exports import find_exports
from contexture.demo.config import DemoConfig
from contexture.demo.world import write_demo_world

LOG = logging.getLogger(__name__)
DEMO = "demo"


def locate_sources(
    corpus: dict[str, Any], answers: dict[str, Any], demo: dict[str, Any], place: Path
) -> dict[str, Any]:
    """Find and check every raw file of the run; the made-up world is written first where it is asked for.

    A missing corpus ends the run; a missing benchmark only leaves its evaluation out.
    """
    if DEMO in (corpus["input"], answers["input"]):
        write_demo_world(TypeAdapter(DemoConfig).validate_python(demo), place)
    exports = find_exports(str(place) if corpus["input"] == DEMO else corpus["input"])
    LOG.info("corpus: %d export files, %.1f MB", len(exports), sum(e.bytes for e in exports) / 1e6)
    folder = place if answers["input"] == DEMO else Path(answers["input"])
    try:
        questions: dict[str, Any] = {"files": locate_wikiqa(folder)}
    except BenchmarkMissing as error:
        LOG.warning("%s", error)
        questions = {"missing": str(error)}
    return {"corpus": [export.to_dict() for export in exports], "answers": questions}
