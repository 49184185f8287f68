"""Nodes of the stages `finetune` and `evaluate` of two towers."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.folders import work_folder
from contexture.pipelines.pairs.nodes import parameters_of
from contexture.tasks.retrieval.reqa import split_questions

#: A row of a table of ranks, beside the question's id and what `question_ranks` finds.
RUN = ["variant", "seed", "split"]
RANKS = [*RUN, "question_id", "rank", "sentence_rank"]


def share_name(share: float) -> str:
    """A share in percent as records have it; `model_of` has the folders."""
    return f"{share:g}%"


def model_of(models: Path, share: float, seed: int) -> Path:
    """The folder of the towers that were fine-tuned on a share of the questions."""
    return models / f"share-{share:g}" / f"seed-{seed}"


def finetune_all(
    variant: str, questions: Path, candidates: Path, pretrained: Path, system: dict[str, Any], place: Path
) -> Path:
    """Fine-tune one variant with every share and seed; an empty folder where there are no questions."""
    from contexture.pipelines.tracking import child_run
    from contexture.tasks.retrieval.finetune import finetune_retrieval

    config = parameters_of(system)
    shutil.rmtree(place, ignore_errors=True)  # or seeds of an earlier run would pass for seeds of this one
    place.mkdir()
    if pd.read_parquet(questions, columns=["question_id"]).empty:
        return place
    for share in config.finetune.shares:
        for seed in range(config.seeds):
            folder, start = model_of(place, share, seed), pretrained / f"seed-{seed}"
            folder.parent.mkdir(exist_ok=True)
            tags = {"variant": variant, "seed": str(seed), "share": share_name(share)}
            name = f"finetune {variant} {share:g} % seed {seed}"
            with child_run(name, tags) as tracking, work_folder(folder) as work:
                finetune_retrieval(config, variant, share, seed, questions, candidates, start, work, tracking)
    return place


def rank_all(
    variant: str,
    questions: pd.DataFrame,
    candidates: pd.DataFrame,
    models: Path,
    system: dict[str, Any],
    place: Path,
) -> pd.DataFrame:
    """Where each test question's answer was found among all candidates, for every share and seed."""
    from contexture.tasks.retrieval.model import question_ranks_of

    config = parameters_of(system)
    tables = [pd.DataFrame(columns=RANKS)]
    for share in config.finetune.shares if not questions.empty else ():
        for seed in range(config.seeds):
            tested = questions[tested_on(questions, share, seed)]
            vectors = model_of(place, share, seed)
            ranks = question_ranks_of(model_of(models, share, seed), tested, candidates, vectors)
            tables.append(ranks.assign(variant=variant, seed=seed, split=share_name(share))[RANKS])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def rank_bm25(questions: pd.DataFrame, candidates: pd.DataFrame, system: dict[str, Any]) -> tuple[pd.DataFrame, Any]:
    """BM25's ranks of the same test questions, and how fast it searched."""
    from contexture.metrics.bm25 import Bm25
    from contexture.tasks.retrieval.ranks import RECALL_AT, question_ranks

    config = parameters_of(system)
    if questions.empty:
        return pd.DataFrame(columns=RANKS), []
    index = Bm25((candidates["sentence"] + " " + candidates["passage"]).tolist(), config.bm25)
    began = time.perf_counter()
    _, found = index.search(questions["question"].tolist(), min(max(RECALL_AT), len(candidates)))
    speed = {"what": "BM25 search", "unit": "queries", "per_second": len(questions) / (time.perf_counter() - began)}
    ranks = question_ranks(questions, candidates, found)
    tables = [
        ranks[tested_on(questions, share, seed)].assign(variant="bm25", seed=seed, split=share_name(share))[RANKS]
        for share in config.finetune.shares
        for seed in range(config.seeds)
    ]
    return pd.concat(tables, ignore_index=True), [speed]


def tested_on(questions: pd.DataFrame, share: float, seed: int) -> Any:
    """Whether each question is one that is neither trained on nor held out."""
    return split_questions(questions["question_id"].tolist(), share / 100, seed).eq("test").to_numpy()


def measure(system: str, sources: dict[str, Any], *ranks: pd.DataFrame) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """The recalls of every question, and their means as records."""
    from contexture.tasks.retrieval.ranks import average_recalls, recalls

    table = pd.concat(ranks, ignore_index=True)
    if table.empty:
        return table, []
    table = pd.concat([table[RUN], recalls(table)], axis=1)
    return table, average_recalls(table, system, sources["name"])


def measure_open_domain(
    system_name: str,
    variants: Sequence[str],
    questions: pd.DataFrame,
    candidates: pd.DataFrame,
    passages: Path,
    tokenizer: Path,
    sources: dict[str, Any],
    system: dict[str, Any],
    place: Path,
    *models: Path,
) -> list[dict[str, Any]]:
    """The same among the candidates and pairs of the corpus (section 4.4); nothing where none are asked for."""
    from contexture.tasks.retrieval.model import corpus_pairs
    from contexture.tasks.retrieval.ranks import grow

    config = parameters_of(system)
    count = config.evaluation.open_domain_pairs
    if not count or questions.empty:
        return []
    others = corpus_pairs(passages, tokenizer, config.layout, count, config.sampling_seed)
    grown = grow(candidates, others, count, config.sampling_seed)
    tables = [
        rank_all(variant, questions, grown, folder, system, place / variant)
        for variant, folder in zip(variants, models, strict=True)
    ]
    tables.append(rank_bm25(questions, grown, system)[0])
    return measure(system_name, sources | {"name": f"{sources['name']}_open"}, *tables)[1]


def measure_indexes(
    questions: pd.DataFrame, models: Path, system: dict[str, Any], place: Path, ranked: pd.DataFrame
) -> list[dict[str, Any]]:
    """Approximate indexes against exact search, on the vectors of the towers trained on most; `ranked` made them."""
    from contexture.metrics.search_index import compare_indexes
    from contexture.metrics.vectors import open_vectors
    from contexture.tasks.retrieval.model import embed_questions

    config = parameters_of(system)
    if not config.evaluation.indexes or ranked.empty:
        return []
    share = max(config.finetune.shares)
    vectors = open_vectors(model_of(place, share, 0))
    queries = embed_questions(model_of(models, share, 0), questions)
    found = compare_indexes(vectors, queries, min(100, len(vectors)), config.evaluation.indexes)
    return [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]
