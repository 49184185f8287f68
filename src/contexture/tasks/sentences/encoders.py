"""Evaluation of all encoders on all sentence tasks.

Each encoder embeds a sentence once, also if it is part of several variants.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from contexture.encoders.base import Array, Encoder, Text
from contexture.encoders.config import Role
from contexture.retrieval.vectors import normalize
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, make_record, serial_map
from contexture.tasks.sentences.analogies import ALL_CATEGORIES, measure_analogies, read_analogies
from contexture.tasks.sentences.config import ENSEMBLE, NeighbourSettings, SentenceSettings
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.evaluation import Evaluation, build_ensemble, evaluate_sentences
from contexture.tasks.sentences.image_captions import (
    SPLITS,
    CaptionedImages,
    ImageCaptionConfig,
    rank_image_captions,
    read_image_captions,
)
from contexture.tasks.sentences.neighbours import embed_blocks, nearest_neighbours
from contexture.tasks.sentences.probe_protocols import PROTOCOLS, Protocol
from contexture.tasks.sentences.tables import distinct
from contexture.tasks.sentences.vectors import VectorStore
from contexture.training.snapshots import list_snapshots, read_time
from contexture.vocabulary.tokenizers import paragraph_texts

LOG = logging.getLogger(__name__)
#: Number of words of query sentences.
QUERY_WORDS = range(6, 26)
#: Seed of the drawn queries.
QUERY_SEED = 0

Records = list[dict[str, Any]]


def measure_tasks(
    settings: SentenceSettings,
    evaluated: Sequence[EvaluatedEncoder],
    tasks: SentenceTasks,
    data: str,
    store: VectorStore,
    parallel_map: ParallelMap = serial_map,
) -> tuple[Records, Records, dict[str, int]]:
    """Return probe, relatedness and similarity scores of every encoder, and of the ensemble of each seed.

    The results are records; the chosen strengths C, with variant, seed, task and protocol; and the number of zero
    vectors by variant.
    """
    protocol = PROTOCOLS[settings.protocol]
    encoders = dict.fromkeys(encoder for evaluated in evaluated for encoder in evaluated.models)
    # Embed first: variants share encoders.
    parallel_map(_cache_vectors, [(encoder, tasks, data, store) for encoder in encoders])
    measured = parallel_map(_measure_encoder, [(encoder, tasks, data, protocol, store) for encoder in evaluated])
    evaluations: dict[tuple[str, int], Evaluation] = {}
    zeros: dict[str, int] = {}
    for encoder, (evaluation, count) in zip(evaluated, measured, strict=True):
        evaluations[encoder.variant, encoder.seed] = evaluation
        zeros[encoder.variant] = count
    evaluations |= _build_ensembles(settings.ensemble, evaluations)
    records, chosen = [], []
    for (variant, seed), evaluation in evaluations.items():
        key = {"variant": variant, "seed": seed}
        records += [key | dict(row) for row in evaluation.rows(data)]
        strengths = evaluation.chosen_strengths().items()
        chosen += [key | {"task": task, "protocol": protocol.name, "c": c} for task, c in strengths if c]
    return records, chosen, zeros


def _cache_vectors(encoder: str, tasks: SentenceTasks, data: str, store: VectorStore) -> None:
    """Embed all sentences of the tasks with an encoder, and keep their vectors in the store."""
    store([encoder], tasks.sentences(), f"tasks/{data}")


def _measure_encoder(
    encoder: EvaluatedEncoder, tasks: SentenceTasks, data: str, protocol: Protocol, store: VectorStore
) -> tuple[Evaluation, int]:
    """Return the results of an encoder on all tasks, and the number of its zero vectors."""
    vectors = store(encoder.models, tasks.sentences(), f"tasks/{data}")
    LOG.info("%s, seed %d: %d tasks of %s", encoder.variant, encoder.seed, len(tasks), data)
    return evaluate_sentences(vectors, tasks, protocol), vectors.count_zeros()


def _build_ensembles(
    members: Sequence[str], evaluations: Mapping[tuple[str, int], Evaluation]
) -> dict[tuple[str, int], Evaluation]:
    """Return the ensemble of each seed, by its name and seed; a member with one seed is part of all."""
    by_member = [
        {seed: evaluation for (variant, seed), evaluation in evaluations.items() if variant == name} for name in members
    ]
    ensembles = {}
    for seed in sorted({seed for by_seed in by_member for seed in by_seed}):
        of_seed = [by_seed[seed] if len(by_seed) > 1 else next(iter(by_seed.values())) for by_seed in by_member]
        ensembles[ENSEMBLE, seed] = build_ensemble(of_seed)
    return ensembles


def search_corpus(
    settings: NeighbourSettings,
    encoders: Sequence[EvaluatedEncoder],
    corpus: Path,
    analogy_set: Mapping[str, str] | None,
    store: VectorStore,
) -> tuple[Records, Records]:
    """Return scores on sentence analogies (appendix A) and nearest neighbours of corpus sentences (section 4.4.4).

    Each variant is searched with its lowest seed. `corpus` is the folder of the paragraphs; `analogy_set` has `name`
    and `path`. Returns records of the analogies, and the neighbours: model, query, neighbour and cosine.
    """
    pool = list(dict.fromkeys(islice(paragraph_texts(corpus, "sentences"), settings.pool)))
    queries = draw_queries(pool, settings.queries)
    tuples = read_analogies(Path(analogy_set["path"])) if analogy_set else None
    sentences = distinct([pool, *([] if tuples is None else (tuples[column] for column in "abcd"))])
    records: Records = []
    neighbours: Records = []
    for variant in settings.variants:
        LOG.info("%s: neighbours of %d sentences among %d", variant, len(queries), len(pool))
        candidates = [encoder for encoder in encoders if encoder.variant == variant]
        encoder = min(candidates, key=lambda candidate: candidate.seed)
        vectors = store(encoder.models, sentences, "corpus")
        table = nearest_neighbours(queries, vectors(queries), embed_blocks(pool, vectors))
        neighbours += [
            {"model": variant, "query": query, "neighbour": neighbour, "cosine": cosine}
            for query, neighbour, cosine in table.itertuples(index=False)
        ]
        if tuples is None or analogy_set is None:
            continue
        for row in measure_analogies(tuples, vectors, embed_blocks(pool, vectors)).to_dict("records"):
            data = (
                analogy_set["name"] if row["category"] == ALL_CATEGORIES else f"{analogy_set['name']}/{row['category']}"
            )
            records += [
                make_record(variant, encoder.seed, "analogies", data, row[metric], "nearest", metric=metric)
                for metric in ("accuracy", "accuracy_excluding")
            ]
    return records, neighbours


def draw_queries(pool: Iterable[str], count: int) -> list[str]:
    """Return at most `count` random sentences of the pool with `QUERY_WORDS` words, in the order of the pool."""
    suitable = [text for text in pool if len(text.split()) in QUERY_WORDS]
    rows = np.random.default_rng(QUERY_SEED).choice(len(suitable), min(count, len(suitable)), replace=False)
    return [suitable[row] for row in sorted(rows)]


def rank_captions(encoders: Sequence[EvaluatedEncoder], caption_set: Mapping[str, str], store: VectorStore) -> Records:
    """Return records of ranking images by captions and captions by images (section 4.4.3), with all encoders.

    `caption_set` has `name` and `path`.
    """
    parts = [read_image_captions(Path(caption_set["path"]), split) for split in SPLITS]
    captions = distinct(part.captions for part in parts)
    records: Records = []
    for encoder in encoders:
        variant, seed = encoder.variant, encoder.seed
        LOG.info("%s, seed %d: images and captions", variant, seed)
        vectors = store(encoder.models, captions, "captions")
        train, dev, test = (CaptionedImages(part.images, vectors(part.captions)) for part in parts)
        metrics = rank_image_captions(train, dev, test, ImageCaptionConfig(), seed)
        records += [
            make_record(variant, seed, "image_captions", caption_set["name"], value, "ranking", metric=metric)
            for metric, value in metrics.items()
        ]
    return records


class QueryEncoder:
    """The query encoder f of an encoder; its vectors have length 1 if those of both roles have."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.name = encoder, encoder.name
        self.unit = encoder.config.plain == "both" and encoder.config.unit
        self.dimension = encoder.network("query").size
        self.identity: dict[str, Any] = {**encoder.identity, "role": "query", "unit": self.unit}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Return vectors (N, D) of texts by the query encoder, whatever the role."""
        vectors = self.encoder.embed(texts, "query")
        return normalize(vectors) if self.unit else vectors


def measure_over_time(
    protocol: str, encoders: Sequence[EvaluatedEncoder], tasks: SentenceTasks, store: VectorStore
) -> Records:
    """Return scores of the query encoder at each snapshot of single-encoder variants (appendix C, Figure 2).

    The keys are run (the variant), seed, step, seconds of training, task, metric and value.
    """
    records: Records = []
    sentences = tasks.sentences()
    for encoder in encoders:
        for snapshot in list_snapshots(Path(encoder.models[0])):
            LOG.info("%s, seed %d, step %s", encoder.variant, encoder.seed, snapshot.name)
            model = store.load(str(snapshot))
            assert isinstance(model, Encoder)
            vectors = store.embed(QueryEncoder(model), str(snapshot), sentences, "over_time")
            key = {"run": encoder.variant, "seed": encoder.seed} | read_time(snapshot)
            rows = evaluate_sentences(vectors, tasks, PROTOCOLS[protocol]).rows("")
            records += [key | {name: row[name] for name in ("task", "metric", "value")} for row in rows]
    return records
