"""Nodes of the stage `evaluate` of encoders of sentences."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from contexture.config import QuickThoughtsParameters
from contexture.pipelines.contiguous.nodes import parameters_of
from contexture.vocabulary.tokenizers import paragraph_texts

LOG = logging.getLogger(__name__)
#: The variant that needs no training, and that of several variants' averaged log-probabilities.
WORD_AVERAGE, ENSEMBLE = "word_average", "ensemble"
#: Words of a sentence whose nearest neighbours are worth reading.
QUERY_WORDS = range(6, 26)

Results = dict[str, Any]
#: Variant → the runs whose vectors it concatenates.
Variants = Mapping[str, Sequence[str]]


def measure_all(
    system_name: str, runs: Sequence[str], variants: Variants, tasks: Results, words: Path, system: Results,
    place: Path, *models: Path,
) -> Results:  # fmt: skip
    """Every variant and seed on every task: records, the strengths chosen, and how many sentences had no known word.

    `models` are the folders of the runs. A sentence is embedded once by each run.
    """
    from contexture.tasks.sentences.evaluation import Evaluation, SentenceTasks, evaluate_sentences
    from contexture.tasks.sentences.probe_protocols import PROTOCOLS

    config, folders = parameters_of(system), dict(zip(runs, models, strict=True))
    protocol = PROTOCOLS[config.evaluation.protocol]
    read = SentenceTasks.read(Path(tasks["folder"]), tasks["counts"])
    sentences = read.sentences()
    found: Results = {"records": [], "chosen": [], "zero_vectors": {}}

    def keep(variant: str, seed: int, evaluation: Evaluation) -> None:
        key = {"system": system_name, "variant": variant, "seed": seed}
        found["records"] += [key | row for row in evaluation.rows()]
        found["chosen"] += [
            key | {"task": task, "protocol": protocol.name, "c": c} for task, c in evaluation.chosen().items() if c
        ]

    done: dict[str, Evaluation] = {}
    for seed in range(config.seeds):
        for variant in [*variants, *([WORD_AVERAGE] if seed == 0 else [])]:
            LOG.info("%s, seed %d: %d sentences, %d tasks", variant, seed, len(sentences), len(read))
            vectors = vectors_of(variant, variants, folders, seed, words, config, sentences, place)
            done[variant] = evaluate_sentences(vectors, read, protocol)
            keep(variant, seed, done[variant])
            found["zero_vectors"][variant] = vectors.zeros()
        if members := config.evaluation.ensemble:
            keep(ENSEMBLE, seed, ensemble_of([done[name] for name in members]))
    return found


def ensemble_of(evaluations: Sequence[Any]) -> Any:
    """The ensemble of several variants on every task with a classifier."""
    from contexture.tasks.sentences.ensemble import ensemble, relatedness_ensemble
    from contexture.tasks.sentences.evaluation import Evaluation

    first = evaluations[0]
    return Evaluation(
        first.protocol,
        {task: ensemble([one.probes[task] for one in evaluations]) for task in first.probes},
        {task: relatedness_ensemble([one.relatedness[task] for one in evaluations]) for task in first.relatedness},
        {},
    )


def vectors_of(
    variant: str, variants: Variants, folders: Mapping[str, Path], seed: int, words: Path,
    config: QuickThoughtsParameters, sentences: Sequence[str], place: Path,
) -> Any:  # fmt: skip
    """The vectors of distinct sentences for a variant: those of its runs side by side, or the words' average.

    They lie in `place` by run and seed, where those that were made before are taken.
    """
    from contexture.encoders.models import EncoderModel, WordAverage
    from contexture.tasks.sentences.vectors import CombinedVectors, embed_sentences

    if variant == WORD_AVERAGE:
        return embed_sentences(WordAverage(words), sentences, place / WORD_AVERAGE)
    parts = []
    for run in variants[variant]:
        encoders = folders[run] / f"seed-{seed}"
        if config.evaluation.expansion:
            encoders = expanded(encoders, words, place / "expanded" / run / encoders.name)
        model = EncoderModel(encoders, unit=config.evaluation.unit_vectors)
        parts.append(embed_sentences(model, sentences, place / run / f"seed-{seed}"))
    return parts[0] if len(parts) == 1 else CombinedVectors(parts)


def expanded(source: Path, words: Path, folder: Path) -> Path:
    """The encoders in `source` with embeddings for all words that have a vector, in `folder`."""
    from contexture.encoders.expansion import expand_words
    from contexture.encoders.sentence_encoder_files import load_sentence_encoders, save_sentence_encoders
    from contexture.folders import work_folder
    from contexture.vocabulary.tokenizers import load_tokenizer
    from contexture.vocabulary.words import load_word_vectors

    encoders = load_sentence_encoders(source)
    expand_words(encoders, load_word_vectors(words), load_tokenizer(words)[1].unk)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(folder) as work:
        save_sentence_encoders(encoders, source, work)
    return folder


def search_corpus(
    system_name: str, runs: Sequence[str], variants: Variants, tasks: Results, paragraphs: Path, words: Path,
    system: Results, place: Path, *models: Path,
) -> Results:  # fmt: skip
    """Nearest neighbours of some of the corpus's sentences (section 4.4.4), and sentence analogies (appendix A)."""
    from contexture.tasks.sentences.analogies import analogies
    from contexture.tasks.sentences.analogy_files import read_analogies
    from contexture.tasks.sentences.neighbours import embedded, nearest_neighbours

    config, folders = parameters_of(system), dict(zip(runs, models, strict=True))
    asked = config.evaluation.neighbours
    pool = list(dict.fromkeys(islice(paragraph_texts(paragraphs, "sentences"), asked.pool)))
    queries = queries_of(pool, asked.queries, config.sampling_seed)
    tuples = None if tasks["analogies"] is None else read_analogies(Path(tasks["analogies"]))
    told = [] if tuples is None else [text for column in "abcd" for text in tuples[column]]
    found: Results = {"neighbours": [], "records": []}
    for variant in asked.variants:
        LOG.info("%s: neighbours of %d sentences among %d", variant, len(queries), len(pool))
        every = list(dict.fromkeys([*pool, *told]))
        vectors = vectors_of(variant, variants, folders, 0, words, config, every, place)
        table = nearest_neighbours(queries, vectors(queries), embedded(pool, vectors))
        found["neighbours"] += [{"model": variant} | row for row in table.drop(columns="rank").to_dict("records")]
        if tuples is not None:
            shares = analogies(tuples, vectors, embedded(pool, vectors))
            key = {"system": system_name, "variant": variant, "seed": 0, "task": "analogies"}
            found["records"] += [
                key | {"split": row["category"], "metric": metric, "value": row[metric]}
                for row in shares.to_dict("records")
                for metric in ("accuracy", "accuracy_excluding")
            ]
    return found


def queries_of(pool: Iterable[str], count: int, seed: int) -> list[str]:
    """So many sentences of `QUERY_WORDS` words, drawn from the pool, in its order (fewer where it has no more)."""
    fit = [text for text in pool if len(text.split()) in QUERY_WORDS]
    chosen = np.random.default_rng(seed).choice(len(fit), min(count, len(fit)), replace=False)
    return [fit[place] for place in sorted(chosen)]


def rank_captions(
    system_name: str, runs: Sequence[str], variants: Variants, tasks: Results, words: Path, system: Results,
    place: Path, *models: Path,
) -> list[dict[str, Any]]:  # fmt: skip
    """Images and captions ranked by one another (section 4.4.3), where there are some."""
    from contexture.tasks.sentences.caption_files import read_image_captions
    from contexture.tasks.sentences.image_captions import CaptionedImages, ImageCaptionConfig, rank_image_captions
    from contexture.tasks.sentences.vectors import distinct

    if tasks["image_captions"] is None:
        return []
    config, folders = parameters_of(system), dict(zip(runs, models, strict=True))
    parts = [read_image_captions(Path(tasks["image_captions"]), split) for split in ("train", "dev", "test")]
    captions = distinct(part.captions for part in parts)
    records = []
    for seed in range(config.seeds):
        for variant in variants:
            LOG.info("%s, seed %d: images and captions", variant, seed)
            vectors = vectors_of(variant, variants, folders, seed, words, config, captions, place)
            train, dev, test = (CaptionedImages(part.images, vectors(part.captions)) for part in parts)
            metrics = rank_image_captions(train, dev, test, ImageCaptionConfig(), seed)
            key = {"system": system_name, "variant": variant, "seed": seed, "task": "image_captions", "split": "test"}
            records += [key | {"metric": metric, "value": value} for metric, value in metrics.items()]
    return records


def measure_over_time(
    runs: Sequence[str], tasks: Results, system: Results, place: Path, *models: Path
) -> list[dict[str, Any]]:
    """What the snapshots of runs give, f alone (appendix C, Figure 2)."""
    from contexture.encoders.models import EncoderModel
    from contexture.tasks.sentences.evaluation import SentenceTasks, evaluate_sentences
    from contexture.tasks.sentences.probe_protocols import PROTOCOLS
    from contexture.tasks.sentences.vectors import embed_sentences
    from contexture.training.snapshots import snapshots, time_of

    config, folders = parameters_of(system), dict(zip(runs, models, strict=True))
    asked, found = config.evaluation.over_time, []
    there = [name for name in asked.tasks if name in tasks["rows"]]
    if not (asked.runs and there):
        return []
    read = SentenceTasks.read(Path(tasks["folder"]), tasks["counts"], there)
    for run in asked.runs:
        for seed in range(config.seeds):
            for snapshot in snapshots(folders[run] / f"seed-{seed}"):
                LOG.info("%s, seed %d, step %s", run, seed, snapshot.name)
                model = EncoderModel(snapshot, f_alone=True, unit=config.evaluation.unit_vectors)
                vectors = embed_sentences(model, read.sentences(), place / run / f"seed-{seed}" / snapshot.name)
                key = {"run": run, "seed": seed} | time_of(snapshot)
                measured = evaluate_sentences(vectors, read, PROTOCOLS[config.evaluation.protocol]).rows()
                found += [
                    key | {"task": row["task"], "metric": row["metric"], "value": row["value"]} for row in measured
                ]
    return found
