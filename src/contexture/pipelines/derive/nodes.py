"""Nodes of the stage `derive`. Each keeps a finished folder whose settings, examples and models have not changed."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from contexture.folders import is_finished, read_identity, work_folder
from contexture.paths import encoder_dir
from contexture.pipelines.pretrain.nodes import pretrain_one
from contexture.streams.pairs.config import QUERIES
from contexture.systems.config import SAMPLING_SEED, SystemConfig
from contexture.training.corpus_info import read_corpus_info, write_corpus_info

#: Counts of a finished folder.
COUNTS_FILE = "counts.json"
#: Counts, and their folder.
Derived = tuple[dict[str, Any], Path]


def write_questions(config: SystemConfig, passages: Path, vocabulary: Path, output_dir: Path) -> Derived:
    """Write questions for passages as pairs to `output_dir/queries`."""
    from contexture.derive.queries import QueryWriter, write_queries
    from contexture.training.launcher import examples_identity, folder_checksum
    from contexture.vocabulary.tokenizers import load_tokenizer

    assert config.derive is not None
    writer = QueryWriter(config.derive.queries, SAMPLING_SEED)
    identity = {
        "queries": asdict(config.derive.queries),
        "model": writer.model.checksum,
        **_held_out_identity(config),
        "lengths": asdict(config.sampled_lengths),
        "passages": examples_identity(passages),
        "vocabulary": folder_checksum(vocabulary),
    }

    def write(work_dir: Path) -> dict[str, Any]:
        tokenizer, _ = load_tokenizer(vocabulary)
        return write_queries(
            passages, writer, tokenizer, config.sampled_lengths, work_dir / QUERIES, config.held_out_share
        )

    return write_once(output_dir, identity, write)


def mine_negatives(
    config: SystemConfig,
    passages: Path,
    pairs: Path,
    vocabulary: Path,
    pretrained_dir: Path,
    output_dir: Path,
    queries: Path | None = None,
) -> Derived:
    """Write sampled pairs, and all pairs of `queries`, with hard negatives: a table for each task in `output_dir`.

    If a run of the system mines, its untrained encoder is saved in `pretrained_dir`, where pre-training reuses it.
    """
    from contexture.derive.negatives import NegativeMiner, add_negatives, sample_pairs, write_pairs
    from contexture.derive.passages import TEXT_COLUMNS
    from contexture.retrieval.candidates import Retriever
    from contexture.training.launcher import examples_identity, folder_checksum
    from contexture.vocabulary.tokenizers import load_tokenizer

    assert config.derive is not None
    settings, stream, encoder = config.derive.negatives, config.streams["pairs"], config.derive.encoder
    if encoder in config.pretrain.runs:
        run, encoder = encoder, str(encoder_dir(pretrained_dir, encoder, SAMPLING_SEED))
        pretrain_one(config, run, SAMPLING_SEED, {"pairs": pairs}, vocabulary, None, Path(encoder))
    retriever = Retriever([encoder], TEXT_COLUMNS)
    identity = {
        "negatives": asdict(settings),
        "encoder": retriever.model.identity,
        **_held_out_identity(config),
        "pairs": examples_identity(pairs) | {"tasks": stream.selected_tasks, "mixture": stream.mixture},
        "queries": read_identity(queries) if queries else None,
        "lengths": asdict(config.sampled_lengths),
        "passages": examples_identity(passages),
        "vocabulary": folder_checksum(vocabulary),
    }

    def write(work_dir: Path) -> dict[str, Any]:
        tables = sample_pairs(pairs, stream.selected_tasks, stream.mixture, settings.pairs, SAMPLING_SEED)
        if queries:
            tables[QUERIES] = pq.read_table(queries / QUERIES)
        index_dir = work_dir / "index"
        index_dir.mkdir(exist_ok=True)
        tokenizer, _ = load_tokenizer(vocabulary)
        miner = NegativeMiner(passages, retriever, tokenizer, settings, index_dir, config.held_out_share)
        mined = {
            task: add_negatives(table, miner.mine(table), miner.passages, config.sampled_lengths)
            for task, table in tables.items()
            if len(table)
        }
        counts = {task: len(table) for task, table in mined.items()}
        total, sampled = sum(counts.values()), sum(map(len, tables.values()))
        if not total:
            raise ValueError(
                f"derive.negatives: none of {sampled} pairs has {settings.count} negatives; lower count, or raise "
                "depth or max_score_share"
            )
        for task, table in mined.items():
            write_pairs(table, work_dir / task)
        shutil.rmtree(index_dir)
        write_corpus_info(work_dir, read_corpus_info(pairs))
        num_tokens = sum(len(query) for table in mined.values() for query in table["query"])
        return {
            "pairs": total,
            "pairs_with_too_few_negatives": sampled - total,
            "pairs_by_task": counts,
            "mean_query_tokens": num_tokens / total,
        }

    return write_once(output_dir, identity, write)


def score_margins(config: SystemConfig, mined_pairs: Path, vocabulary: Path, output_dir: Path) -> Derived:
    """Write mined pairs with the margins of a cross-encoder."""
    from contexture.derive.margins import CrossEncoder, add_margins
    from contexture.derive.negatives import write_pairs
    from contexture.vocabulary.tokenizers import load_tokenizer

    assert config.derive is not None and config.derive.margins.model is not None
    cross_encoder = CrossEncoder(config.derive.margins.model)
    identity = {"mined": read_identity(mined_pairs), "model": cross_encoder.model.checksum}

    def write(work_dir: Path) -> dict[str, Any]:
        tokenizer, _ = load_tokenizer(vocabulary)
        for folder in sorted(path for path in mined_pairs.iterdir() if path.is_dir()):
            write_pairs(add_margins(pq.read_table(folder), cross_encoder, tokenizer), work_dir / folder.name)
        write_corpus_info(work_dir, read_corpus_info(mined_pairs))
        return read_counts(mined_pairs)

    return write_once(output_dir, identity, write)


def write_once(folder: Path, identity: dict[str, Any], write: Callable[[Path], dict[str, Any]]) -> Derived:
    """Return the counts of a folder and the folder, which `write` fills unless it was made with this identity."""
    if not is_finished(folder, identity):
        with work_folder(folder, identity) as work_dir:
            (work_dir / COUNTS_FILE).write_text(json.dumps(write(work_dir)), encoding="utf-8")
    return read_counts(folder), folder


def read_counts(folder: Path) -> dict[str, Any]:
    """Read the counts of a finished folder."""
    counts: dict[str, Any] = json.loads((folder / COUNTS_FILE).read_text(encoding="utf-8"))
    return counts


def _held_out_identity(config: SystemConfig) -> dict[str, float]:
    """Return the share of held-out documents, on which derived examples depend; {} without such documents."""
    return {"held_out_share": config.held_out_share} if config.held_out_share else {}
