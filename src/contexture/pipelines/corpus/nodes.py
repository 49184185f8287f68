"""Nodes of the stage `corpus`."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus import cleaning as rules
from contexture.corpus import main_content
from contexture.corpus import pages as rooms
from contexture.corpus.card import card
from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.evaluation import Evaluation
from contexture.corpus.sources.protocol import SourceFile
from contexture.tasks.base import TASK_FILE, DocumentTask
from contexture.tasks.registry import TASKS

LOG = logging.getLogger(__name__)


def learn_sentences(corpus: CorpusConfig, sources: dict[str, Any]) -> dict[str, Any]:
    """What is learned of each language's sentences, from a sample of the sources."""
    from contexture.corpus.sentence_training import train_sentences

    learned = train_sentences(files_of(sources), corpus)
    for lang, language in learned.items():
        LOG.info("%s: %d abbreviations", lang, len(language["abbreviations"]))
    return dict(learned)


def parse_pages(corpus: CorpusConfig, sources: dict[str, Any], languages: dict[str, Any]) -> DataFrame:
    """Every page of the sources, with its paragraphs or the reason why it was dropped."""
    return rooms.read_pages(SparkSession.builder.getOrCreate(), files_of(sources), corpus, languages)


def find_paragraphs(corpus: CorpusConfig, pages: DataFrame) -> DataFrame:
    """The paragraphs of the pages that were kept, their links resolved."""
    return rooms.paragraphs(pages, corpus)


def learn_main_content(cleaning: CleaningConfig, paragraphs: DataFrame) -> dict[str, Any]:
    """The classifier of main content and its quality on held-out documents; empty where it is off."""
    if cleaning.main_content is None:
        return {}
    model, quality = main_content.train(paragraphs)
    LOG.info("main content, held out: %s", quality["held_out"])
    return {"model": asdict(model), "quality": quality}


def clean_paragraphs(
    corpus: CorpusConfig, cleaning: CleaningConfig, paragraphs: DataFrame, classifier: dict[str, Any], *tasks: Path
) -> tuple[DataFrame, dict[str, Any]]:
    """The paragraphs worth learning from; counts of the others by reason, and some of them to read.

    `tasks` are the folders of the data of `cleaning.evaluation`.
    """
    model = main_content.load(classifier["model"]) if classifier else None
    evaluation, missing = read_evaluation(cleaning.evaluation, tasks)
    judged = rules.clean(paragraphs, cleaning, corpus.files, model, evaluation)
    found = {"languages": rules.count(judged), "sample": rules.sample_dropped(judged)}
    if cleaning.evaluation:
        dropped = [counts["dropped"].get(rules.EVALUATION_DOCUMENT, 0) for counts in found["languages"].values()]
        found["evaluation"] = {
            "tasks": ", ".join(task for task in cleaning.evaluation if task not in missing),
            "documents": rules.count_documents(judged, rules.EVALUATION_DOCUMENT) if evaluation else 0,
            "paragraphs": sum(dropped),
            "missing": missing,
        }
    return rules.kept(judged), found


def read_evaluation(tasks: Sequence[str], folders: Sequence[Path]) -> tuple[Evaluation | None, dict[str, str]]:
    """What the documents of these tasks are known by, and, by task, why there are none; nothing for no tasks."""
    import pandas as pd

    tables = []
    missing: dict[str, str] = {}
    for name, folder in zip(tasks, folders, strict=True):
        task = TASKS[name].load()
        assert isinstance(task, DocumentTask)  # `config.check_evaluation`
        if (table := task.load_documents(folder)) is None:
            told = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))["missing"]
            missing[name] = "; ".join(told.values())
            LOG.warning("no document could be kept out of the corpus for %s: %s", name, missing[name])
        else:
            tables.append(table)
    if not tables:
        return None, missing
    documents = pd.concat(tables)
    return Evaluation.from_documents(documents["title"], documents["text"]), missing


def report_corpus(
    corpus: CorpusConfig,
    pages: DataFrame,
    paragraphs: DataFrame,
    cleaned: dict[str, Any],
    classifier: dict[str, Any],
) -> tuple[dict[str, Any], str]:
    """Counts and the corpus card; ValueError where no paragraph is left.

    Paragraphs found less those dropped are those that come out; pages out less those left empty are the documents.
    """
    from contexture.reporting.corpus_card import render_corpus_card

    counts = rooms.report(pages, corpus)
    dropped: Counter[str] = Counter(counts["paragraphs_dropped"])
    counts["paragraphs_found"] += dropped.total()
    for language in cleaned["languages"].values():
        dropped.update(language["dropped"])
    counts["paragraphs_dropped"] = {reason: number for reason, number in dropped.items() if number}
    content = card(paragraphs)
    for name, column in (("paragraphs", "paragraphs"), ("sentences", "sentences"), ("links", "links")):
        counts[f"{name}_out"] = sum(language[column] for language in content["languages"].values())
    documents = sum(language["documents"] for language in content["languages"].values())
    counts["pages_left_empty"] = counts["pages_out"] - documents
    counts["links_resolved"] = sum(language["resolved"] for language in content["languages"].values())
    LOG.info("corpus: %s", counts)
    if not counts["paragraphs_out"]:
        raise ValueError(f"the corpus holds no paragraph: {counts}; is corpus.input the right file?")
    if "evaluation" in cleaned:
        counts["evaluation"] = cleaned["evaluation"]
    if classifier:
        counts["main_content"] = classifier["quality"]["held_out"]
    return counts, render_corpus_card(content, counts, cleaned["sample"])


def files_of(sources: dict[str, Any]) -> list[SourceFile]:
    """The files of the corpus, as the stage `sources` found them."""
    return TypeAdapter(list[SourceFile]).validate_python(sources["corpus"])
