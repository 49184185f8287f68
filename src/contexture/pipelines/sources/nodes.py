"""Nodes of the stage `sources`."""

import hashlib
import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from contexture.benchmarks.answer_selection import clean, read_wikiqa
from contexture.benchmarks.missing import BenchmarkMissing
from contexture.corpus.config import CorpusConfig, Input
from contexture.corpus.sources import find_sources
from contexture.demo import DemoConfig, write_demo_world

LOG = logging.getLogger(__name__)
DEMO = "demo"
ANSWERS = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]


def locate_sources(
    corpus: dict[str, Any], answers: dict[str, Any], demo: dict[str, Any], place: Path
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Find and check every raw file of the run; the made-up world is written first where it is asked for.

    Returns the manifest and the questions. A missing corpus ends the run; missing questions only leave their evaluation
    out: then the manifest says so and the table is empty.
    """
    config = TypeAdapter(CorpusConfig).validate_python(corpus)
    inputs = config.inputs()
    if DEMO in [answers["input"], *(one.path for one in inputs)]:
        LOG.info("the made-up world: %s", write_demo_world(TypeAdapter(DemoConfig).validate_python(demo), place))
    placed: list[str | Input] = [
        replace(one, path=str(place), source="mediawiki") if one.path == DEMO else one for one in inputs
    ]
    files = find_sources(replace(config, input=placed))
    LOG.info("corpus: %d files, %.1f MB", len(files), sum(file.bytes for file in files) / 1e6)
    questions, table = read_questions(place if answers["input"] == DEMO else Path(answers["input"]))
    return {"corpus": [asdict(file) for file in files], "answers": questions}, table


def read_questions(folder: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Questions and candidates of all splits and the fingerprints of their files, or why there are none."""
    try:
        table = clean(read_wikiqa(folder))
    except BenchmarkMissing as error:
        LOG.warning("%s", error)
        return {"missing": str(error)}, pd.DataFrame(columns=ANSWERS)
    for split, part in table.groupby("split", sort=False):
        LOG.info("%s: %d questions, %d candidates", split, part["question_id"].nunique(), len(part))
    files = sorted(folder.glob("WikiQA-*.tsv*"))
    return {"files": {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}}, table
