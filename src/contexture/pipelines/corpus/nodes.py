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
from contexture.corpus import pages as tables
from contexture.corpus.card import card
from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.evaluation import Evaluation
from contexture.corpus.sources.protocol import SourceFile
from contexture.tasks.base import TASK_FILE, DocumentTask
from contexture.tasks.registry import TASKS

LOG = logging.getLogger(__name__)


def learn_sentences(corpus: CorpusConfig, sources: dict[str, Any]) -> dict[str, Any]:
    """Learn the sentence boundaries of each language from a sample of the sources."""
    from contexture.corpus.sentence_training import train_sentences

    languages = train_sentences(source_files(sources), corpus)
    for lang, language in languages.items():
        LOG.info("%s: %d abbreviations", lang, len(language["abbreviations"]))
    return dict(languages)


def parse_pages(corpus: CorpusConfig, sources: dict[str, Any], languages: dict[str, Any]) -> DataFrame:
    """Return all pages of the sources, with their paragraphs or the reason to drop them."""
    return tables.read_pages(SparkSession.builder.getOrCreate(), source_files(sources), corpus, languages)


def find_paragraphs(corpus: CorpusConfig, pages: DataFrame) -> DataFrame:
    """Return the paragraphs of the kept pages, with resolved links."""
    return tables.paragraphs(pages, corpus)


def learn_main_content(cleaning: CleaningConfig, paragraphs: DataFrame) -> dict[str, Any]:
    """Return the classifier of main content and its quality on held-out documents; {} if it is off."""
    if cleaning.main_content is None:
        return {}
    model, quality = main_content.train(paragraphs)
    LOG.info("main content, held out: %s", quality["held_out"])
    return {"model": asdict(model), "quality": quality}


def clean_paragraphs(
    corpus: CorpusConfig, cleaning: CleaningConfig, paragraphs: DataFrame, classifier: dict[str, Any], *tasks: Path
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the paragraphs to learn from, and a report with counts and a sample of the dropped ones.

    `tasks` are the data folders of `cleaning.evaluation`.
    """
    model = main_content.load(classifier["model"]) if classifier else None
    evaluation, missing = read_evaluation(cleaning.evaluation, tasks)
    judged = rules.clean(paragraphs, cleaning, corpus.files, model, evaluation)
    report = {"languages": rules.count(judged), "sample": rules.sample_dropped(judged, cleaning)}
    if cleaning.evaluation:
        dropped = [counts["dropped"].get(rules.EVALUATION_DOCUMENT, 0) for counts in report["languages"].values()]
        report["evaluation"] = {
            "tasks": ", ".join(task for task in cleaning.evaluation if task not in missing),
            "documents": rules.count_documents(judged, rules.EVALUATION_DOCUMENT) if evaluation else 0,
            "paragraphs": sum(dropped),
            "missing": missing,
        }
    return rules.kept(judged), report


def read_evaluation(tasks: Sequence[str], folders: Sequence[Path]) -> tuple[Evaluation | None, dict[str, str]]:
    """Return the documents of these tasks, and for each task without documents the reason."""
    import pandas as pd

    documents = []
    missing: dict[str, str] = {}
    for name, folder in zip(tasks, folders, strict=True):
        task = TASKS[name].load()
        assert isinstance(task, DocumentTask)  # `config.check_evaluation`
        if (table := task.documents(folder)) is None:
            reasons = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))["missing"]
            missing[name] = "; ".join(reasons.values())
            LOG.warning("no document could be kept out of the corpus for %s: %s", name, missing[name])
        else:
            documents.append(table)
    if not documents:
        return None, missing
    combined = pd.concat(documents)
    return Evaluation.of(combined["title"], combined["text"]), missing


def report_corpus(
    corpus: CorpusConfig,
    pages: DataFrame,
    paragraphs: DataFrame,
    cleaned: dict[str, Any],
    classifier: dict[str, Any],
) -> tuple[dict[str, Any], str]:
    """Return counts and the corpus card; ValueError if no paragraph is left.

    `paragraphs_found` − `paragraphs_dropped` = `paragraphs_out`; `pages_out` − `pages_left_empty` = documents.
    """
    from contexture.reporting.corpus_card import render_corpus_card

    counts = tables.report(pages, corpus)
    dropped: Counter[str] = Counter(counts["paragraphs_dropped"])
    counts["paragraphs_found"] += dropped.total()
    for language in cleaned["languages"].values():
        dropped.update(language["dropped"])
    counts["paragraphs_dropped"] = {reason: number for reason, number in dropped.items() if number}
    content = card(paragraphs)
    columns = ("paragraphs", "sentences", "links", "documents", "resolved")
    totals = {column: sum(language[column] for language in content["languages"].values()) for column in columns}
    counts |= {f"{column}_out": totals[column] for column in ("paragraphs", "sentences", "links")}
    counts |= {"pages_left_empty": counts["pages_out"] - totals["documents"], "links_resolved": totals["resolved"]}
    LOG.info("corpus: %s", counts)
    if not counts["paragraphs_out"]:
        raise ValueError(f"the corpus holds no paragraph: {counts}; is corpus.input the right file?")
    if "evaluation" in cleaned:
        counts["evaluation"] = cleaned["evaluation"]
    if classifier:
        counts["main_content"] = classifier["quality"]["held_out"]
    return counts, render_corpus_card(content, counts, cleaned["sample"])


def source_files(sources: dict[str, Any]) -> list[SourceFile]:
    """Return the files of the corpus."""
    return TypeAdapter(list[SourceFile]).validate_python(sources["corpus"])
