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
from contexture.benchmarks.reqa import reqa_counts, reqa_tables
from contexture.benchmarks.reqa_natural_questions import read_natural_questions
from contexture.benchmarks.reqa_squad import read_squad
from contexture.config import RetrievalConfig
from contexture.corpus.config import CorpusConfig, Input
from contexture.corpus.sources import find_sources
from contexture.demo import DemoConfig, write_demo_world
from contexture.demo.write import RETRIEVAL

LOG = logging.getLogger(__name__)
DEMO = "demo"
READERS = {"squad": read_squad, "natural_questions": read_natural_questions}
REQA_QUESTIONS = ["question_id", "question", "answers", "tuples"]
REQA_CANDIDATES = ["candidate_id", "passage_id", "title", "sentence", "passage"]
ANSWERS = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]


def locate_sources(
    corpus: dict[str, Any], answers: dict[str, Any], retrieval: dict[str, Any], demo: dict[str, Any], place: Path
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Find and check every raw file of the run; the made-up world is written first where it is asked for.

    Returns the manifest and the questions. A missing corpus ends the run; missing questions only leave their evaluation
    out: then the manifest says so and the table is empty.
    """
    config = TypeAdapter(CorpusConfig).validate_python(corpus)
    inputs = config.inputs()
    if DEMO in [answers["input"], retrieval["input"], *(one.path for one in inputs)]:
        LOG.info("the made-up world: %s", write_demo_world(TypeAdapter(DemoConfig).validate_python(demo), place))
    placed: list[str | Input] = [
        replace(one, path=str(place), source="mediawiki") if one.path == DEMO else one for one in inputs
    ]
    files = find_sources(replace(config, input=placed))
    LOG.info("corpus: %d files, %.1f MB", len(files), sum(file.bytes for file in files) / 1e6)
    questions, table = read_questions(place if answers["input"] == DEMO else Path(answers["input"]))
    return {"corpus": [asdict(file) for file in files], "answers": questions}, table


def read_reqa(
    retrieval: dict[str, Any], sources: dict[str, Any], place: Path
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Questions, candidates and counts of the retrieval benchmark; `sources` is there to wait for the made-up world.

    Missing files only leave the evaluation out: then the report says so and the tables are empty.
    """
    config = TypeAdapter(RetrievalConfig).validate_python(retrieval)
    demo = config.input == DEMO
    given = Path(config.input) if isinstance(config.input, str) else [Path(path) for path in config.input]
    files = place / RETRIEVAL if demo else given
    try:
        questions, candidates = reqa_tables(READERS[config.format](files), config.lang)
    except BenchmarkMissing as error:
        LOG.warning("%s", error)
        nothing = pd.DataFrame(columns=REQA_QUESTIONS), pd.DataFrame(columns=REQA_CANDIDATES)
        return *nothing, {"name": config.format, "missing": str(error)}
    counts = reqa_counts(questions, candidates)
    LOG.info("retrieval: %s", counts)
    return questions, candidates, {"name": DEMO if demo else config.format, "counts": counts}


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
