"""Nodes of the stage `corpus`."""

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus import cleaning as rules
from contexture.corpus import main_content
from contexture.corpus import pages as page_tables
from contexture.corpus.bitext import table as bitext_table
from contexture.corpus.bitext.config import BitextConfig, BitextSet
from contexture.corpus.card import build_card
from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.evaluation import EvaluationTexts
from contexture.corpus.nli.config import NliConfig
from contexture.corpus.nli.files import read_pairs
from contexture.corpus.sources.protocol import SourceFile
from contexture.demo.config import DEMO, DemoConfig
from contexture.demo.languages import language_codes
from contexture.demo.translations import XNLI_DIR, bitext_names
from contexture.demo.write import LANGUAGES_DIR
from contexture.folders import expand_home
from contexture.pipelines.sources.nodes import input_paths
from contexture.reporting.phrases import count_noun
from contexture.tasks.base import TASK_FILE, DocumentTask
from contexture.tasks.registry import TASKS

LOG = logging.getLogger(__name__)


def learn_sentences(corpus: CorpusConfig, sources: dict[str, Any]) -> dict[str, Any]:
    """Return each language's parameters for splitting sentences, learned from a sample of the sources."""
    from contexture.corpus.sentence_training import train_splitters

    languages = train_splitters(source_files(sources), corpus)
    for lang, language in languages.items():
        LOG.info("%s: %d abbreviations", lang, len(language["abbreviations"]))
    return dict(languages)


def parse_pages(corpus: CorpusConfig, sources: dict[str, Any], languages: dict[str, Any]) -> DataFrame:
    """Return all pages of the sources, with their paragraphs or the reason to drop them."""
    return page_tables.read_pages(SparkSession.builder.getOrCreate(), source_files(sources), corpus, languages)


def find_paragraphs(corpus: CorpusConfig, pages: DataFrame) -> DataFrame:
    """Return the paragraphs of the kept pages, with resolved links."""
    return page_tables.extract_paragraphs(pages, corpus)


def learn_main_content(cleaning: CleaningConfig, paragraphs: DataFrame) -> dict[str, Any]:
    """Return the classifier of main content and its quality on held-out documents; {} if it is off."""
    if cleaning.main_content is None:
        return {}
    model, quality = main_content.train_classifier(paragraphs)
    LOG.info("main content, held out: %s", quality["held_out"])
    return {"model": asdict(model), "quality": quality}


def clean_paragraphs(
    corpus: CorpusConfig,
    cleaning: CleaningConfig,
    pages: DataFrame,
    paragraphs: DataFrame,
    classifier: dict[str, Any],
    *tasks: Path,
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the paragraphs to learn from, and a report with counts and a sample of the dropped ones.

    `tasks` are the data folders of `cleaning.evaluation`. Raises ValueError with the counts if no paragraph is left;
    `pages` are read only then.
    """
    model = main_content.load_model(classifier["model"]) if classifier else None
    evaluation, missing = read_evaluation(cleaning.evaluation, tasks)
    judged = rules.mark_dropped_paragraphs(paragraphs, cleaning, corpus.files, model, evaluation)
    report = {"languages": rules.count_paragraphs(judged), "sample": rules.sample_dropped(judged)}
    if not any(counts["paragraphs_out"] for counts in report["languages"].values()):
        raise ValueError(explain_empty_corpus(corpus, page_tables.count_pages(pages, corpus), report["languages"]))
    if cleaning.evaluation:
        dropped = [counts["dropped"].get(rules.EVALUATION_DOCUMENT, 0) for counts in report["languages"].values()]
        report["evaluation"] = {
            "tasks": ", ".join(task for task in cleaning.evaluation if task not in missing),
            "documents": rules.count_documents(judged, rules.EVALUATION_DOCUMENT) if evaluation else 0,
            "paragraphs": sum(dropped),
            "missing": missing,
        }
    return rules.select_kept(judged), report


def explain_empty_corpus(
    corpus: CorpusConfig, counts: Mapping[str, Any], languages: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the message that no paragraph is left, with the number of drops by reason.

    `counts` are those of reading (`count_pages`), `languages` those of cleaning (`count_paragraphs`).
    """
    drops = {
        "pages dropped": counts["dropped"],
        "paragraphs dropped while reading (corpus.min_characters, corpus.list_items)": counts["paragraphs_dropped"],
        "paragraphs dropped by the rules of cleaning": sum_dropped(languages),
    }
    lists = "".join(
        f"; {title}: {', '.join(f'{reason} {number:,}' for reason, number in reasons.items())}"
        for title, reasons in drops.items()
        if reasons
    )
    return (
        f"corpus.input: no paragraph is left of {', '.join(input_paths(corpus))} "
        f"({count_noun(counts['pages_in'], 'page')}){lists}. "
        "Relax these rules in conf/ (docs/cleaning.md), or name another text"
    )


def sum_dropped(languages: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """Return reason → number of paragraphs that cleaning dropped in all languages (`count_paragraphs`)."""
    return sum((Counter(counts["dropped"]) for counts in languages.values()), Counter())


def read_evaluation(tasks: Sequence[str], folders: Sequence[Path]) -> tuple[EvaluationTexts | None, dict[str, str]]:
    """Return the documents of these tasks, to keep out of the corpus; for each task without documents the reason."""
    import pandas as pd

    documents = []
    missing: dict[str, str] = {}
    for name, folder in zip(tasks, folders, strict=True):
        task = TASKS[name].load()
        assert isinstance(task, DocumentTask)  # `config.check_evaluation`
        if (table := task.load_documents(folder)) is None:
            reasons = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))["missing"]
            missing[name] = "; ".join(reasons.values())
            LOG.warning("no document could be kept out of the corpus for %s: %s", name, missing[name])
        else:
            documents.append(table)
    if not documents:
        return None, missing
    combined = pd.concat(documents)
    return EvaluationTexts.from_documents(combined["title"], combined["text"]), missing


def report_corpus(
    corpus: CorpusConfig,
    pages: DataFrame,
    paragraphs: DataFrame,
    cleaned: dict[str, Any],
    classifier: dict[str, Any],
) -> tuple[dict[str, Any], str]:
    """Return the counts of the corpus and the corpus card as HTML.

    `paragraphs_found` − `paragraphs_dropped` = `paragraphs_out`; `pages_out` − `pages_left_empty` = documents.
    """
    from contexture.reporting.corpus_card import render_corpus_card

    counts = page_tables.count_pages(pages, corpus)
    dropped: Counter[str] = Counter(counts["paragraphs_dropped"])
    counts["paragraphs_found"] += dropped.total()
    dropped.update(sum_dropped(cleaned["languages"]))
    counts["paragraphs_dropped"] = {reason: number for reason, number in dropped.items() if number}
    content = build_card(paragraphs)
    columns = ("paragraphs", "sentences", "links", "documents", "resolved")
    totals = {column: sum(language[column] for language in content["languages"].values()) for column in columns}
    counts |= {f"{column}_out": totals[column] for column in ("paragraphs", "sentences", "links")}
    counts |= {"pages_left_empty": counts["pages_out"] - totals["documents"], "links_resolved": totals["resolved"]}
    LOG.info("corpus: %s", counts)
    if "evaluation" in cleaned:
        counts["evaluation"] = cleaned["evaluation"]
    if classifier:
        counts["main_content"] = classifier["quality"]["held_out"]
    return counts, render_corpus_card(content, counts, cleaned["sample"])


def source_files(sources: dict[str, Any]) -> list[SourceFile]:
    """Return the files of the corpus in the manifest `sources`."""
    return TypeAdapter(list[SourceFile]).validate_python(sources["corpus"])


def read_bitext(config: BitextConfig, world: DemoConfig, demo_dir: Path) -> DataFrame:
    """Return the sentence pairs of all bitext sets; `demo_dir` has the made-up world, if it is read."""
    return bitext_table.read_sets(SparkSession.builder.getOrCreate(), locate_demo_sets(config, world, demo_dir))


def clean_bitext(
    config: BitextConfig, world: DemoConfig, demo_dir: Path, pairs: DataFrame
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the sentence pairs to learn from and the counts of each set; warn about sets that look wrong."""
    from contexture.corpus.duplicates import checkpoint_on_disk

    config = locate_demo_sets(config, world, demo_dir)
    cleaned = checkpoint_on_disk(bitext_table.mark_dropped_pairs(pairs))
    report = bitext_table.count_pairs(cleaned, config)
    for name, counts in report.items():
        LOG.info("bitext %s: %s", name, counts)
        if counts["same_language"]:
            languages = " and ".join(counts["languages"])
            LOG.warning("bitext %s: its sides should be %s, but seem to be in one language", name, languages)
        if not counts["pairs_out"]:
            LOG.warning("bitext %s: no pair is left of %d: %s", name, counts["pairs_in"], counts["dropped"])
    return bitext_table.select_kept(cleaned), report


def locate_demo_sets(config: BitextConfig, world: DemoConfig, demo_dir: Path) -> BitextConfig:
    """Return the settings with the input `demo` replaced by a set of files for each language of the made-up world."""
    if config.input != DEMO:
        return config
    sets = {}
    for code in language_codes(world.languages):
        files = [str(demo_dir / LANGUAGES_DIR / name) for name in bitext_names(code)]
        sets[f"demo_{code}"] = BitextSet(files, ("en", code))
    return replace(config, input=sets)


def read_nli(config: NliConfig, demo_dir: Path) -> DataFrame:
    """Return all pairs of premise and hypothesis in all languages; `demo_dir` has the made-up world, if it is read."""
    assert config.input is not None  # `config.Parameters.check_systems`
    folder = demo_dir / LANGUAGES_DIR / XNLI_DIR if config.input == DEMO else expand_home(config.input)
    pairs = read_pairs(config, folder)
    LOG.info("nli: %s", pairs["lang"].value_counts().sort_index().to_dict())
    return SparkSession.builder.getOrCreate().createDataFrame(pairs)
