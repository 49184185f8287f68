"""Nodes of the stage `examples`."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from contexture.pipelines.sources.nodes import describe_corpus
from contexture.systems.config import SystemConfig
from contexture.tasks.registry import TASKS
from contexture.training.corpus_info import write_corpus_info

LOG = logging.getLogger(__name__)
#: Documents that examples are made of: all, or those with training examples or on which the loss is measured.
DocumentPart = Literal["all", "training", "held_out"]
#: Tables with rows of documents.
OF_DOCUMENTS = ("documents", "paragraphs")


def count_examples(
    count: Callable[..., dict[str, Any]],
    examples_dir: Path,
    sources: dict[str, Any],
    cleaning_report: dict[str, Any],
    *tables: Any,
) -> tuple[dict[str, Any], Path]:
    """Return `count(*tables)` and the examples' folder, after writing the corpus's name and licence there."""
    counts = count(*tables)
    write_corpus_info(examples_dir, describe_corpus(sources, cleaning_report["languages"]))
    LOG.info("examples: %s", counts)
    return counts, examples_dir


def select_documents(
    make: Callable[..., Any], reads: Sequence[str], share: float, part: DocumentPart, *tables: Any
) -> Any:
    """Return `make(*tables)` of a part of the documents; `reads` has the names of the tables."""
    return make(
        *(
            _select(table, share, part) if name in OF_DOCUMENTS else table
            for name, table in zip(reads, tables, strict=True)
        )
    )


def count_documents(
    count: Callable[..., dict[str, Any]], share: float, part: DocumentPart, *tables: Any
) -> dict[str, Any]:
    """Return `count(*tables)` with a part of the documents, the last table.

    Raises ValueError if held-out documents have no examples.
    """
    *counted, documents = tables
    try:
        return count(*counted, _select(documents, share, part))
    except ValueError as error:
        if part == "held_out":
            raise ValueError(f"held-out documents: {error}; or raise pretrain.held_out.share, {share:g}") from error
        raise


def _select(table: Any, share: float, part: DocumentPart) -> Any:
    """Return the rows of a part of the documents. The part of a document depends on its id only."""
    from contexture.streams.draws import uniform_draw

    is_held_out = uniform_draw(0, "held-out loss", "doc_id") < share
    return table.where(is_held_out if part == "held_out" else ~is_held_out)


def training_config(config: SystemConfig, **data: Path) -> dict[str, Any]:
    """Return the settings that `contexture train` needs besides examples; `data` maps tasks to folders.

    Raises ValueError if a task cannot be fine-tuned on its data.
    """
    for task, folder in data.items():
        TASKS[task].load().check_settings(config.task(task), folder)
    return config.to_dict()
