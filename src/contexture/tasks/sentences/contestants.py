"""All contestants on everything that is measured of encoders of sentences: figures, as records, and what is to be read.

A sentence is embedded once by each encoder, whatever the contestants that it is part of.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from contexture.encoders.base import Array, Encoder, Text
from contexture.encoders.config import Role
from contexture.retrieval.vectors import unit
from contexture.tasks.base import Contestant, Each, Row, one_by_one
from contexture.tasks.sentences.analogies import ALL, analogies
from contexture.tasks.sentences.analogy_files import read_analogies
from contexture.tasks.sentences.caption_files import SPLITS, read_image_captions
from contexture.tasks.sentences.config import ENSEMBLE, Neighbours, SentenceSettings
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.ensemble import ensemble, relatedness_ensemble
from contexture.tasks.sentences.evaluation import Evaluation, evaluate_sentences
from contexture.tasks.sentences.image_captions import CaptionedImages, ImageCaptionConfig, rank_image_captions
from contexture.tasks.sentences.neighbours import embedded, nearest_neighbours
from contexture.tasks.sentences.probe_protocols import PROTOCOLS, Protocol
from contexture.tasks.sentences.tables import distinct
from contexture.tasks.sentences.vectors import VectorStore
from contexture.training.snapshots import snapshots, time_of
from contexture.vocabulary.tokenizers import paragraph_texts

LOG = logging.getLogger(__name__)
#: Words of a sentence whose nearest neighbours are worth reading.
QUERY_WORDS = range(6, 26)

Records = list[dict[str, Any]]


def measure_tasks(
    settings: SentenceSettings,
    contestants: Sequence[Contestant],
    tasks: SentenceTasks,
    data: str,
    store: VectorStore,
    each: Each = one_by_one,
) -> tuple[Records, Records, dict[str, int]]:
    """Probes, relatedness and similarity of every contestant, and of the ensemble of each seed.

    Returns:
        Records; the strengths C that were chosen, with variant, seed, task and protocol; and by variant how many
        sentences have the zero vector.
    """
    protocol = PROTOCOLS[settings.protocol]
    encoders = dict.fromkeys(encoder for one in contestants for encoder in one.encoders)
    # First, as some are parts of several contestants.
    each(_embed, [(encoder, tasks, data, store) for encoder in encoders])
    measured = each(_measure, [(one, tasks, data, protocol, store) for one in contestants])
    done = {(one.variant, one.seed): found for one, (found, _) in zip(contestants, measured, strict=True)}
    zeros = {one.variant: count for one, (_, count) in zip(contestants, measured, strict=True)}
    if settings.ensemble:
        members = {
            name: {seed: found for (of, seed), found in done.items() if of == name} for name in settings.ensemble
        }
        for seed in sorted({seed for by_seed in members.values() for seed in by_seed}):
            done[ENSEMBLE, seed] = ensemble_of([_of_seed(by_seed, seed) for by_seed in members.values()])
    records, chosen = [], []
    for (variant, seed), found in done.items():
        key = {"variant": variant, "seed": seed}
        records += [key | dict(row) for row in found.rows(data)]
        chosen += [key | {"task": task, "protocol": protocol.name, "c": c} for task, c in found.chosen().items() if c]
    return records, chosen, zeros


def _embed(encoder: str, tasks: SentenceTasks, data: str, store: VectorStore) -> None:
    store([encoder], tasks.sentences(), f"tasks/{data}")


def _measure(
    one: Contestant, tasks: SentenceTasks, data: str, protocol: Protocol, store: VectorStore
) -> tuple[Evaluation, int]:
    vectors = store(one.encoders, tasks.sentences(), f"tasks/{data}")
    LOG.info("%s, seed %d: %d tasks of %s", one.variant, one.seed, len(tasks), data)
    return evaluate_sentences(vectors, tasks, protocol), vectors.zeros()


def ensemble_of(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The ensemble of several variants on every task with a classifier."""
    first = evaluations[0]
    return Evaluation(
        first.protocol,
        {task: ensemble([one.probes[task] for one in evaluations]) for task in first.probes},
        {task: relatedness_ensemble([one.relatedness[task] for one in evaluations]) for task in first.relatedness},
        {},
    )


def search_corpus(
    asked: Neighbours, seed: int, contestants: Sequence[Contestant], corpus: Path, told: Mapping[str, str] | None,
    store: VectorStore,
) -> tuple[Records, Records]:  # fmt: skip
    """Nearest neighbours of some of the corpus's sentences (section 4.4.4), and sentence analogies (appendix A).

    Args:
        asked: whose, and among how many.
        seed: of the draw of the queries.
        contestants: those of each variant's lowest seed are searched.
        corpus: folder of the table of paragraphs.
        told: `name` and `path` of the analogies; None: none.
        store: of the vectors.

    Returns:
        Records of the analogies; and the neighbours: model, query, neighbour and cosine.
    """
    pool = list(dict.fromkeys(islice(paragraph_texts(corpus, "sentences"), asked.pool)))
    queries = queries_of(pool, asked.queries, seed)
    tuples = read_analogies(Path(told["path"])) if told else None
    every = distinct([pool, *([] if tuples is None else (tuples[column] for column in "abcd"))])
    records: Records = []
    neighbours: Records = []
    for variant in asked.variants:
        LOG.info("%s: neighbours of %d sentences among %d", variant, len(queries), len(pool))
        one = min((one for one in contestants if one.variant == variant), key=lambda one: one.seed)
        vectors = store(one.encoders, every, "corpus")
        table = nearest_neighbours(queries, vectors(queries), embedded(pool, vectors))
        shown = ("query", "neighbour", "cosine")
        neighbours += [{"model": variant} | {name: row[name] for name in shown} for row in table.to_dict("records")]
        if tuples is None or told is None:
            continue
        for row in analogies(tuples, vectors, embedded(pool, vectors)).to_dict("records"):
            data = told["name"] if row["category"] == ALL else f"{told['name']}/{row['category']}"
            records += [
                _record(one, "analogies", data, "nearest", metric, row[metric])
                for metric in ("accuracy", "accuracy_excluding")
            ]
    return records, neighbours


def queries_of(pool: Iterable[str], count: int, seed: int) -> list[str]:
    """So many sentences of `QUERY_WORDS` words, drawn from the pool, in its order (fewer where it has no more)."""
    fit = [text for text in pool if len(text.split()) in QUERY_WORDS]
    chosen = np.random.default_rng(seed).choice(len(fit), min(count, len(fit)), replace=False)
    return [fit[place] for place in sorted(chosen)]


def rank_captions(contestants: Sequence[Contestant], told: Mapping[str, str], store: VectorStore) -> Records:
    """Images and captions, `name` and `path` of which are `told`, ranked by one another (section 4.4.3)."""
    parts = [read_image_captions(Path(told["path"]), split) for split in SPLITS]
    captions = distinct(part.captions for part in parts)
    records: Records = []
    for one in contestants:
        LOG.info("%s, seed %d: images and captions", one.variant, one.seed)
        vectors = store(one.encoders, captions, "captions")
        train, dev, test = (CaptionedImages(part.images, vectors(part.captions)) for part in parts)
        found = rank_image_captions(train, dev, test, ImageCaptionConfig(), one.seed)
        records += [_record(one, "image_captions", told["name"], "ranking", *figure) for figure in found.items()]
    return records


class QueryAlone:
    """The vectors that an encoder gives queries (f), at length 1 where those of both roles are."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.name = encoder, encoder.name
        self.unit = encoder.config.plain == "both" and encoder.config.unit
        self.dimension = encoder.network("query").size
        self.identity: dict[str, Any] = {**encoder.identity, "role": "query", "unit": self.unit}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Vectors (N, D), the same for every role."""
        vectors = self.encoder.embed(texts, "query")
        return unit(vectors) if self.unit else vectors


def measure_over_time(
    protocol: str, contestants: Sequence[Contestant], tasks: SentenceTasks, store: VectorStore
) -> Records:
    """What the snapshots of contestants of one encoder give, f alone (appendix C, Figure 2).

    Returns:
        run (the variant), seed, step, seconds of training, task, metric and value.
    """
    found: Records = []
    sentences = tasks.sentences()
    for one in contestants:
        for snapshot in snapshots(Path(one.encoders[0])):
            LOG.info("%s, seed %d, step %s", one.variant, one.seed, snapshot.name)
            model = store.load(str(snapshot))
            assert isinstance(model, Encoder)
            vectors = store.embed(QueryAlone(model), str(snapshot), sentences, "over_time")
            key = {"run": one.variant, "seed": one.seed} | time_of(snapshot)
            rows = evaluate_sentences(vectors, tasks, PROTOCOLS[protocol]).rows("")
            found += [key | {name: row[name] for name in ("task", "metric", "value")} for row in rows]
    return found


def _of_seed(by_seed: Mapping[int, Evaluation], seed: int) -> Evaluation:
    """What a variant has of a seed; what has but one seed stands for every one."""
    return by_seed[seed] if len(by_seed) > 1 else next(iter(by_seed.values()))


def _record(one: Contestant, task: str, data: str, protocol: str, metric: str, value: float) -> dict[str, Any]:
    row = Row(task=task, data=data, protocol=protocol, split="test", metric=metric, value=value)
    return {"variant": one.variant, "seed": one.seed, **row}
