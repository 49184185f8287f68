"""All encoders on everything that is measured of encoders of sentences.

A sentence is embedded once by each encoder, whatever the encoders that it is part of.
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
from contexture.tasks.sentences.analogies import ALL, analogies, read_analogies
from contexture.tasks.sentences.config import ENSEMBLE, Neighbours, SentenceSettings
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.evaluation import Evaluation, ensemble, evaluate_sentences
from contexture.tasks.sentences.image_captions import (
    SPLITS,
    CaptionedImages,
    ImageCaptionConfig,
    rank_image_captions,
    read_image_captions,
)
from contexture.tasks.sentences.neighbours import embedded, nearest_neighbours
from contexture.tasks.sentences.probe_protocols import PROTOCOLS, Protocol
from contexture.tasks.sentences.tables import distinct
from contexture.tasks.sentences.vectors import VectorStore
from contexture.training.snapshots import snapshots, time_of
from contexture.vocabulary.tokenizers import paragraph_texts

LOG = logging.getLogger(__name__)
#: Words of a sentence whose nearest neighbours are worth reading.
QUERY_WORDS = range(6, 26)
#: Of the draw of the sentences whose neighbours are shown.
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
    """Probes, relatedness and similarity of every encoder, and of the ensemble of each seed.

    Returns records; the strengths C that were chosen, with variant, seed, task and protocol; and by variant how many
    sentences have the zero vector.
    """
    protocol = PROTOCOLS[settings.protocol]
    encoders = dict.fromkeys(encoder for evaluated in evaluated for encoder in evaluated.models)
    # First, as some are parts of several encoders.
    parallel_map(_embed, [(encoder, tasks, data, store) for encoder in encoders])
    measured = parallel_map(_measure, [(encoder, tasks, data, protocol, store) for encoder in evaluated])
    evaluations: dict[tuple[str, int], Evaluation] = {}
    zeros: dict[str, int] = {}
    for encoder, (evaluation, count) in zip(evaluated, measured, strict=True):
        evaluations[encoder.variant, encoder.seed] = evaluation
        zeros[encoder.variant] = count
    evaluations |= _ensembles(settings.ensemble, evaluations)
    records, chosen = [], []
    for (variant, seed), evaluation in evaluations.items():
        key = {"variant": variant, "seed": seed}
        records += [key | dict(row) for row in evaluation.rows(data)]
        strengths = evaluation.chosen().items()
        chosen += [key | {"task": task, "protocol": protocol.name, "c": c} for task, c in strengths if c]
    return records, chosen, zeros


def _embed(encoder: str, tasks: SentenceTasks, data: str, store: VectorStore) -> None:
    store([encoder], tasks.sentences(), f"tasks/{data}")


def _measure(
    encoder: EvaluatedEncoder, tasks: SentenceTasks, data: str, protocol: Protocol, store: VectorStore
) -> tuple[Evaluation, int]:
    vectors = store(encoder.models, tasks.sentences(), f"tasks/{data}")
    LOG.info("%s, seed %d: %d tasks of %s", encoder.variant, encoder.seed, len(tasks), data)
    return evaluate_sentences(vectors, tasks, protocol), vectors.zeros()


def _ensembles(
    members: Sequence[str], evaluations: Mapping[tuple[str, int], Evaluation]
) -> dict[tuple[str, int], Evaluation]:
    """The ensemble of each seed; a member of one seed is part of all."""
    by_member = [
        {seed: evaluation for (variant, seed), evaluation in evaluations.items() if variant == name} for name in members
    ]
    found = {}
    for seed in sorted({seed for by_seed in by_member for seed in by_seed}):
        of_seed = [by_seed[seed] if len(by_seed) > 1 else next(iter(by_seed.values())) for by_seed in by_member]
        found[ENSEMBLE, seed] = ensemble(of_seed)
    return found


def search_corpus(
    settings: Neighbours,
    encoders: Sequence[EvaluatedEncoder],
    corpus: Path,
    analogy_set: Mapping[str, str] | None,
    store: VectorStore,
) -> tuple[Records, Records]:
    """Nearest neighbours of sentences of the corpus (section 4.4.4), and sentence analogies (appendix A).

    Of each variant the lowest seed is searched. `corpus` is the folder of the table of paragraphs, `analogy_set` has
    `name` and `path`. Returns records of the analogies; and the neighbours: model, query, neighbour and cosine.
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
        table = nearest_neighbours(queries, vectors(queries), embedded(pool, vectors))
        neighbours += [
            {"model": variant, "query": query, "neighbour": neighbour, "cosine": cosine}
            for query, neighbour, cosine in table.itertuples(index=False)
        ]
        if tuples is None or analogy_set is None:
            continue
        for row in analogies(tuples, vectors, embedded(pool, vectors)).to_dict("records"):
            data = analogy_set["name"] if row["category"] == ALL else f"{analogy_set['name']}/{row['category']}"
            records += [
                make_record(variant, encoder.seed, "analogies", data, row[metric], "nearest", metric=metric)
                for metric in ("accuracy", "accuracy_excluding")
            ]
    return records, neighbours


def draw_queries(pool: Iterable[str], count: int) -> list[str]:
    """At most `count` sentences of `QUERY_WORDS` words, drawn from the pool, in its order."""
    suitable = [text for text in pool if len(text.split()) in QUERY_WORDS]
    rows = np.random.default_rng(QUERY_SEED).choice(len(suitable), min(count, len(suitable)), replace=False)
    return [suitable[row] for row in sorted(rows)]


def rank_captions(encoders: Sequence[EvaluatedEncoder], caption_set: Mapping[str, str], store: VectorStore) -> Records:
    """Images and captions, a set with `name` and `path`, ranked by one another (section 4.4.3)."""
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


class QueryAlone:
    """The vectors that an encoder gives queries (f), at length 1 if those of both roles are."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.name = encoder, encoder.name
        self.unit = encoder.config.plain == "both" and encoder.config.unit
        self.dimension = encoder.network("query").size
        self.identity: dict[str, Any] = {**encoder.identity, "role": "query", "unit": self.unit}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Vectors (N, D), the same for every role."""
        vectors = self.encoder.embed(texts, "query")
        return normalize(vectors) if self.unit else vectors


def measure_over_time(
    protocol: str, encoders: Sequence[EvaluatedEncoder], tasks: SentenceTasks, store: VectorStore
) -> Records:
    """Figures of the snapshots of encoders of one encoder, f alone (appendix C, Figure 2).

    Returns run (the variant), seed, step, seconds of training, task, metric and value.
    """
    records: Records = []
    sentences = tasks.sentences()
    for encoder in encoders:
        for snapshot in snapshots(Path(encoder.models[0])):
            LOG.info("%s, seed %d, step %s", encoder.variant, encoder.seed, snapshot.name)
            model = store.load(str(snapshot))
            assert isinstance(model, Encoder)
            vectors = store.embed(QueryAlone(model), str(snapshot), sentences, "over_time")
            key = {"run": encoder.variant, "seed": encoder.seed} | time_of(snapshot)
            rows = evaluate_sentences(vectors, tasks, PROTOCOLS[protocol]).rows("")
            records += [key | {name: row[name] for name in ("task", "metric", "value")} for row in rows]
    return records
