"""Nodes of the stage `sources`."""

import hashlib
import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from contexture.config import RetrievalConfig, SentenceTasksConfig
from contexture.corpus.config import CorpusConfig, Input
from contexture.corpus.sources import find_sources
from contexture.demo import DemoConfig, write_demo_world
from contexture.demo.sentence_tasks import ANALOGIES
from contexture.demo.write import BOOKS, RETRIEVAL, SENTENCES
from contexture.tasks.answer_selection.files import clean, read_wikiqa
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.retrieval.natural_questions import read_natural_questions
from contexture.tasks.retrieval.reqa import reqa_counts, reqa_tables
from contexture.tasks.retrieval.squad import read_squad
from contexture.tasks.sentences.analogy_files import read_analogies
from contexture.tasks.sentences.caption_files import read_image_captions
from contexture.tasks.sentences.files import Counts

LOG = logging.getLogger(__name__)
DEMO = "demo"
READERS = {"squad": read_squad, "natural_questions": read_natural_questions}
REQA_QUESTIONS = ["question_id", "question", "answers", "tuples"]
REQA_CANDIDATES = ["candidate_id", "passage_id", "title", "sentence", "passage"]
ANSWERS = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]


def locate_sources(
    corpus: dict[str, Any],
    answers: dict[str, Any],
    retrieval: dict[str, Any],
    sentence_tasks: dict[str, Any],
    demo: dict[str, Any],
    place: Path,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Find and check every raw file of the run; the made-up world is written first where it is asked for.

    Returns the manifest and the questions. A missing corpus ends the run; missing questions only leave their evaluation
    out: then the manifest says so and the table is empty.
    """
    config = TypeAdapter(CorpusConfig).validate_python(corpus)
    inputs = config.inputs()
    asked = [answers["input"], retrieval["input"], sentence_tasks["input"], sentence_tasks["analogies"]]
    if DEMO in [*asked, *(one.path for one in inputs)]:
        LOG.info("the made-up world: %s", write_demo_world(TypeAdapter(DemoConfig).validate_python(demo), place))
    placed: list[str | Input] = []
    for one in inputs:
        world = [Input(str(place), "mediawiki"), Input(str(place / BOOKS), "books", "en")]
        placed += world if one.path == DEMO else [one]
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


def read_sentence_tasks(
    sentence_tasks: dict[str, Any], words: dict[str, Any], sources: dict[str, Any], place: Path
) -> dict[str, Any]:
    """Where the tasks of encoders of sentences are, which there are and which not, all of them read once.

    `sources` is there to wait for the made-up world. A file that is not as published ends the run here, before hours
    are spent; a missing one only leaves its task out.
    """
    from contexture.tasks.sentences.evaluation import SentenceTasks

    config = TypeAdapter(SentenceTasksConfig).validate_python(sentence_tasks)
    if words["vectors"] is not None and not Path(words["vectors"]).is_file():
        raise FileNotFoundError(f"words.vectors: {words['vectors']} is no file; null makes vectors from the corpus")
    demo = config.input == DEMO
    folder = place / SENTENCES if demo else Path(config.input)
    counts: Counts = "any" if demo else config.row_counts
    tasks = SentenceTasks.read(folder, counts)
    analogies = place / SENTENCES / ANALOGIES if config.analogies == DEMO else config.analogies
    if analogies is not None:
        read_analogies(Path(analogies))
    if config.image_captions is not None:
        for split in ("train", "dev", "test"):
            read_image_captions(Path(config.image_captions), split)
    every: list[Any] = [*tasks.classification, *tasks.relatedness, *tasks.similarity]
    for name, reason in tasks.missing.items():
        LOG.warning("%s is left out: %s", name, reason)
    return {
        "name": "the made-up world" if demo else "SentEval's tasks",
        "folder": str(folder),
        "counts": counts,
        "rows": {task.name: len(task.table) for task in every},
        "dropped": {task.name: lines for task in every if (lines := getattr(task, "dropped", 0))},
        "missing": tasks.missing,
        "analogies": None if analogies is None else str(analogies),
        "image_captions": config.image_captions,
    }


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
