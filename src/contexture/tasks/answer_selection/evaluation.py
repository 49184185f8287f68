"""Evaluate all encoders on the questions of dev and test, frozen and fine-tuned, and baselines without training."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from contexture.encoders.base import TextEncoder
from contexture.encoders.models import load_models
from contexture.encoders.saved import is_encoder
from contexture.metrics.ranking import METRICS, question_metrics
from contexture.metrics.scores import QUESTION, to_records
from contexture.retrieval.vectors import normalize
from contexture.tasks.answer_selection.baselines import Scores, file_order, idf_of, random_order, word_overlap
from contexture.tasks.answer_selection.details import measure_latency, rescued
from contexture.tasks.answer_selection.files import SPLITS
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.protocols import ranked
from contexture.tasks.answer_selection.scoring import score_model
from contexture.tasks.answer_selection.sets import tables
from contexture.tasks.base import (
    AFTER,
    EvaluatedEncoder,
    ParallelMap,
    Results,
    list_seeds,
    measure_encoders,
    serial_map,
)
from contexture.tasks.examples import to_read

NAME = "answer_selection"
HELD_OUT = ("dev", "test")
COLUMNS = [*QUESTION, "candidate_id", "label", "score"]
#: All candidates' scores are kept for sets of at most so many in dev and test: one run on ASNQ has 930,062.
KEPT = 100_000
#: Rows whose texts are embedded at a time, and maximal number of texts whose words are counted.
ROWS_AT_ONCE, TEXTS_COUNTED = 100_000, 1_000_000


class _Run(NamedTuple):
    """A run on test: its −MAP, variant, protocol, seed and scores."""

    rank: tuple[float, str, str, int]
    scores: pd.DataFrame


def evaluate_answers(
    encoders: Sequence[EvaluatedEncoder],
    folder: Path,
    options: Sequence[str] = (),
    rounds: int = 0,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """P@1, MAP and MRR of all encoders and baselines on a set; the tables `scores` and `questions` have more.

    The fact `examples` has test questions of the best encoder, `latency` the seconds of models, and `rescued`
    questions that joint models answer and pairs do not.

    Args:
        encoders: the one whose head is ie_1 is the pairwise model: the joint models of its seed re-rank its top k.
        folder: of the set, as `sets.write_set` writes it; its name is that of the data.
        options: the models that were fine-tuned on the set. The protocols of one that learned from another set before
            are called so: `grouped_after_asnq`.
        rounds: of the measurement of latency; 0: none.
        each: measures encoders in parallel or one by one.
    """
    parts = {split: pd.read_parquet(folder / f"{split}.parquet").assign(split=split) for split in HELD_OUT}
    parts = {split: part for split, part in parts.items() if len(part)}
    if not parts or not encoders:
        return Results()
    runs = chain(
        _frozen(encoders, parts, parallel_map),
        _baselines(list_seeds(encoders), parts, _idf(folder)),
        *(_finetuned(encoders, option, parts) for option in options),
    )
    keep = sum(map(len, parts.values())) <= KEPT
    pairwise = {encoder.variant: encoder.head == "ie_1" for encoder in encoders}
    best: _Run | None = None
    kept, measured, compared = [], [], []
    for run in runs:
        scores, variant = run[COLUMNS], run["variant"].iloc[0]
        kept += [scores] if keep else []
        measured.append(question_metrics(scores))
        if variant in pairwise and run["split"].iloc[0] == "test":
            best = min(filter(None, [best, *_protocols(scores, measured[-1])]), key=lambda run: run.rank)
            protocol = "grouped" if pairwise[variant] else "reranked"
            compared.append(scores[scores["protocol"] == protocol])
    questions = pd.concat(measured, ignore_index=True).sort_values(QUESTION, kind="stable", ignore_index=True)
    details: dict[str, Any] = {"examples": [_examples(best, parts["test"], folder.name)] if best else []}
    if rounds and "test" in parts and folder.name in options:
        latency = _latency(encoders, folder.name, parts["test"], rounds)
        details["latency"] = {folder.name: latency} if latency else {}
    if compared and (changed := rescued(pd.concat(compared, ignore_index=True), parts["test"])):
        details["rescued"] = {folder.name: changed}
    saved = {"questions": questions} | ({"scores": pd.concat(kept, ignore_index=True)} if keep else {})
    return Results(to_records(questions, METRICS, NAME, folder.name), details, saved)


def cosines(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    """The cosine of each row's question and candidate, each in its role; 0 if either vector is 0."""
    blocks = [_block(model, answers[first : first + ROWS_AT_ONCE]) for first in range(0, len(answers), ROWS_AT_ONCE)]
    return np.concatenate(blocks)


def _block(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    left, questions = pd.factorize(answers["question"])
    right, candidates = pd.factorize(answers["candidate"])
    queries, documents = (
        normalize(model.embed(list(questions), "query")),
        normalize(model.embed(list(candidates), "document")),
    )
    scores: Scores = np.einsum("nd,nd->n", queries[left], documents[right], dtype=np.float64)
    return scores


def _frozen(
    encoders: Sequence[EvaluatedEncoder], parts: dict[str, pd.DataFrame], parallel_map: ParallelMap
) -> Iterator[pd.DataFrame]:
    scores = measure_encoders(_cosines, encoders, parallel_map, parts)
    for encoder in encoders:
        for split, values in scores[encoder.models].items():
            yield _run(parts[split].assign(score=values), encoder.variant, encoder.seed, split)


def _cosines(encoders: tuple[str, ...], parts: dict[str, pd.DataFrame]) -> dict[str, Scores]:
    model = load_models(encoders)
    return {split: cosines(model, part) for split, part in parts.items()}


def _baselines(seeds: Sequence[int], parts: dict[str, pd.DataFrame], idf: dict[str, float]) -> Iterator[pd.DataFrame]:
    for split, part in parts.items():
        for seed in seeds:
            yield _run(part.assign(score=random_order(part, seed)), "random_order", seed, split)
            yield _run(part.assign(score=file_order(part)), "file_order", seed, split)
            yield _run(part.assign(score=word_overlap(part, idf)), "word_overlap", seed, split)


def _idf(folder: Path) -> dict[str, float]:
    """Of the candidates of all splits, or the first of them."""
    read = (text for split in SPLITS for table in tables(folder / f"{split}.parquet") for text in table["candidate"])
    return idf_of(islice(read, TEXTS_COUNTED))


def _finetuned(
    encoders: Sequence[EvaluatedEncoder], option: str, parts: dict[str, pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    pairwise: dict[tuple[int, str], Scores] = {}
    suffix = "".join(option.partition(AFTER)[1:])
    # The sort is stable: the pairwise models come first.
    for encoder in sorted(encoders, key=lambda encoder: encoder.head != "ie_1"):
        if encoder.finetuned is None or not is_encoder(encoder.finetuned / option):
            continue
        model, seed = load_answer_model(encoder.finetuned / option), encoder.seed
        for split, part in parts.items():
            if encoder.head == "ie_1":
                scores = score_model(model, part)
                pairwise.setdefault((seed, split), scores["score"].to_numpy(np.float64))
            else:
                scores = score_model(model, part, pairwise.get((seed, split)))
            yield _run(scores.assign(protocol=scores["protocol"] + suffix), encoder.variant, seed, split)


def _latency(
    encoders: Sequence[EvaluatedEncoder], option: str, answers: pd.DataFrame, rounds: int
) -> list[dict[str, Any]]:
    """Of the first model with each head; other models with it are as large."""
    first: dict[str, Path] = {}
    for encoder in encoders:
        if encoder.head is not None and encoder.finetuned and is_encoder(encoder.finetuned / option):
            first.setdefault(encoder.head, encoder.finetuned / option)
    return measure_latency({head: load_answer_model(folder) for head, folder in sorted(first.items())}, answers, rounds)


def _protocols(scores: pd.DataFrame, questions: pd.DataFrame) -> Iterator[_Run]:
    """A run on test by its protocols."""
    variant, seed = str(questions["variant"].iloc[0]), int(questions["seed"].iloc[0])
    for protocol, value in questions.groupby("protocol")["map"].mean().items():
        yield _Run((-float(value), variant, str(protocol), seed), scores[scores["protocol"] == protocol])


def _examples(best: _Run, answers: pd.DataFrame, data: str) -> dict[str, Any]:
    """Questions with a right candidate at the top, and others."""
    texts = answers[["question_id", "candidate_id", "question", "candidate"]]
    scored = ranked(best.scores).merge(texts, "left", on=["question_id", "candidate_id"])
    first = scored.groupby("question_id").head(1)
    right = scored[scored["label"] == 1].drop_duplicates("question_id").set_index("question_id")["candidate"]

    def row(number: int) -> dict[str, str]:
        top = first.iloc[number]
        return {"question": top["question"], "found": top["candidate"], "right": right[top["question_id"]]}

    _, variant, protocol, _ = best.rank
    return to_read(variant, protocol, (first["label"] == 1).tolist(), row) | {"data": data}


def _run(scores: pd.DataFrame, variant: str, seed: int, split: str) -> pd.DataFrame:
    """Add the columns of a run; its protocol is `frozen` unless the scores have one."""
    return scores.assign(variant=variant, seed=seed, split=split, protocol=scores.get("protocol", "frozen"))
