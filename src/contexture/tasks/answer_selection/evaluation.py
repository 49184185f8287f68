"""Evaluate frozen and fine-tuned encoders and baselines on the dev and test questions of a set."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from contexture.encoders.config import BI_ENCODER
from contexture.encoders.models import load_models
from contexture.encoders.saved import is_encoder
from contexture.metrics.ranking import METRICS, question_metrics
from contexture.metrics.scores import QUESTION_COLUMNS, to_records
from contexture.tasks.answer_selection.baselines import (
    Scores,
    compute_idf,
    score_by_file_order,
    score_by_word_overlap,
    score_randomly,
)
from contexture.tasks.answer_selection.bi_encoder import score_by_cosine
from contexture.tasks.answer_selection.details import compare_joint_to_pairwise, measure_latency
from contexture.tasks.answer_selection.files import SPLITS
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.protocols import rank_candidates
from contexture.tasks.answer_selection.scoring import score_model
from contexture.tasks.answer_selection.sets import read_tables
from contexture.tasks.base import (
    AFTER,
    EvaluatedEncoder,
    ParallelMap,
    Results,
    list_seeds,
    measure_encoders,
    serial_map,
)
from contexture.tasks.examples import select_examples

NAME = "answer_selection"
HELD_OUT = ("dev", "test")
COLUMNS = [*QUESTION_COLUMNS, "candidate_id", "label", "score"]
#: The table `scores` is saved for sets with at most this many dev and test candidates; ASNQ has 930,062.
MAX_SCORED_ROWS = 100_000
#: Maximal number of candidates for the idf.
MAX_IDF_TEXTS = 1_000_000


class _RankedRun(NamedTuple):
    """The rank (−MAP, variant, protocol, seed) and scores of a run on test."""

    rank: tuple[float, str, str, int]
    scores: pd.DataFrame


def evaluate_answers(
    encoders: Sequence[EvaluatedEncoder],
    folder: Path,
    options: Sequence[str] = (),
    rounds: int = 0,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Return P@1, MAP and MRR of all encoders and baselines on a set, with the tables `scores` and `questions`.

    The details are `examples` (test questions of the best encoder), `latency` (seconds per model) and `rescued`
    (questions that joint models answer and pairwise ones do not).

    Args:
        encoders: the one with head ie_1 is the pairwise model; the joint models of its seed re-rank its top k.
        folder: output of `sets.write_set`, named like the set.
        options: models that were fine-tuned on the set. A model that was fine-tuned on another set first has protocols
            such as `grouped_after_asnq`.
        rounds: rounds of latency measurement; 0: none.
        parallel_map: measures encoders in parallel or serially.
    """
    parts = {split: pd.read_parquet(folder / f"{split}.parquet").assign(split=split) for split in HELD_OUT}
    parts = {split: part for split, part in parts.items() if len(part)}
    if not parts or not encoders:
        return Results()
    runs = chain(
        _score_by_cosine(encoders, "frozen", parts, parallel_map),
        _score_baselines(list_seeds(encoders), parts, _load_idf(folder)),
        *(
            _score_by_cosine(
                _list_bi_encoders(encoders, option), BI_ENCODER + _protocol_suffix(option), parts, parallel_map
            )
            for option in options
        ),
        *(_score_finetuned(encoders, option, parts) for option in options),
    )
    keep = sum(map(len, parts.values())) <= MAX_SCORED_ROWS
    pairwise = {encoder.variant: encoder.head == "ie_1" for encoder in encoders}
    best: _RankedRun | None = None
    kept, measured, compared = [], [], []
    for run in runs:
        scores, variant = run[COLUMNS], run["variant"].iloc[0]
        kept += [scores] if keep else []
        measured.append(question_metrics(scores))
        if variant in pairwise and run["split"].iloc[0] == "test":
            best = min(filter(None, [best, *_split_by_protocol(scores, measured[-1])]), key=lambda run: run.rank)
            protocol = "grouped" if pairwise[variant] else "reranked"
            compared.append(scores[scores["protocol"] == protocol])
    questions = pd.concat(measured, ignore_index=True).sort_values(QUESTION_COLUMNS, kind="stable", ignore_index=True)
    details: dict[str, Any] = {"examples": [_select_examples(best, parts["test"], folder.name)] if best else []}
    if rounds and "test" in parts and folder.name in options:
        latency = _measure_latency(encoders, folder.name, parts["test"], rounds)
        details["latency"] = {folder.name: latency} if latency else {}
    if compared and (changed := compare_joint_to_pairwise(pd.concat(compared, ignore_index=True), parts["test"])):
        details["rescued"] = {folder.name: changed}
    saved = {"questions": questions} | ({"scores": pd.concat(kept, ignore_index=True)} if keep else {})
    return Results(to_records(questions, METRICS, NAME, folder.name), details, saved)


def _score_by_cosine(
    encoders: Sequence[EvaluatedEncoder], protocol: str, parts: dict[str, pd.DataFrame], parallel_map: ParallelMap
) -> Iterator[pd.DataFrame]:
    """Yield the candidates of each encoder and split, scored by cosine."""
    scores = measure_encoders(_score_splits, encoders, parallel_map, parts)
    for encoder in encoders:
        for split, values in scores[encoder.models].items():
            scored = parts[split].assign(score=values, protocol=protocol)
            yield _add_run_columns(scored, encoder.variant, encoder.seed, split)


def _list_bi_encoders(encoders: Sequence[EvaluatedEncoder], option: str) -> list[EvaluatedEncoder]:
    """Return the encoders that were fine-tuned by cosine as `option`, with the fine-tuned models."""
    return [
        replace(encoder, models=(str(folder),))
        for encoder in encoders
        if encoder.head == BI_ENCODER and (folder := _find_model(encoder, option))
    ]


def _score_splits(encoders: tuple[str, ...], parts: dict[str, pd.DataFrame]) -> dict[str, Scores]:
    """Return split → cosine of each row's question and candidate, by the encoders' concatenated vectors."""
    model = load_models(encoders)
    return {split: score_by_cosine(model, part) for split, part in parts.items()}


def _score_baselines(
    seeds: Sequence[int], parts: dict[str, pd.DataFrame], idf: dict[str, float]
) -> Iterator[pd.DataFrame]:
    """Yield the candidates of each split and seed, scored at random, by file order and by word overlap."""
    for split, part in parts.items():
        for seed in seeds:
            yield _add_run_columns(part.assign(score=score_randomly(part, seed)), "random_order", seed, split)
            yield _add_run_columns(part.assign(score=score_by_file_order(part)), "file_order", seed, split)
            yield _add_run_columns(part.assign(score=score_by_word_overlap(part, idf)), "word_overlap", seed, split)


def _load_idf(folder: Path) -> dict[str, float]:
    """Return word → idf over the candidates of all splits of a set."""
    texts = (
        text for split in SPLITS for table in read_tables(folder / f"{split}.parquet") for text in table["candidate"]
    )
    return compute_idf(islice(texts, MAX_IDF_TEXTS))


def _score_finetuned(
    encoders: Sequence[EvaluatedEncoder], option: str, parts: dict[str, pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    """Yield the candidates of each encoder with a head and split, scored by its model `option` (see `score_model`)."""
    pairwise: dict[tuple[int, str], Scores] = {}
    suffix = _protocol_suffix(option)
    # The sort is stable: the pairwise models come first.
    for encoder in sorted(encoders, key=lambda encoder: encoder.head != "ie_1"):
        folder = _find_model(encoder, option)
        if folder is None or encoder.head == BI_ENCODER:
            continue
        model, seed = load_answer_model(folder), encoder.seed
        for split, part in parts.items():
            if encoder.head == "ie_1":
                scores = score_model(model, part)
                pairwise.setdefault((seed, split), scores["score"].to_numpy(np.float64))
            else:
                scores = score_model(model, part, pairwise.get((seed, split)))
            yield _add_run_columns(scores.assign(protocol=scores["protocol"] + suffix), encoder.variant, seed, split)


def _protocol_suffix(option: str) -> str:
    """Return the end of the protocols of a model that was fine-tuned on another set first: _after_asnq."""
    return "".join(option.partition(AFTER)[1:])


def _find_model(encoder: EvaluatedEncoder, option: str) -> Path | None:
    """Return the folder of the encoder's fine-tuned model `option`; None if there is none."""
    folder = encoder.finetuned_dir and encoder.finetuned_dir / option
    return folder if folder and is_encoder(folder) else None


def _measure_latency(
    encoders: Sequence[EvaluatedEncoder], option: str, answers: pd.DataFrame, rounds: int
) -> list[dict[str, Any]]:
    """Return `measure_latency` of the first fine-tuned model of each kind of head; the others are as large."""
    first: dict[str, Path] = {}
    for encoder in encoders:
        if encoder.head not in (None, BI_ENCODER) and (folder := _find_model(encoder, option)):
            first.setdefault(encoder.head, folder)
    return measure_latency({head: load_answer_model(folder) for head, folder in sorted(first.items())}, answers, rounds)


def _split_by_protocol(scores: pd.DataFrame, questions: pd.DataFrame) -> Iterator[_RankedRun]:
    """Yield the scores of each protocol of a run, with their rank by the MAP of `questions` (`question_metrics`)."""
    variant, seed = str(questions["variant"].iloc[0]), int(questions["seed"].iloc[0])
    for protocol, value in questions.groupby("protocol")["map"].mean().items():
        yield _RankedRun((-float(value), variant, str(protocol), seed), scores[scores["protocol"] == protocol])


def _select_examples(best: _RankedRun, answers: pd.DataFrame, data: str) -> dict[str, Any]:
    """Return example questions of the best run, answered and missed, with the first-ranked candidate."""
    texts = answers[["question_id", "candidate_id", "question", "candidate"]]
    scored = rank_candidates(best.scores).merge(texts, "left", on=["question_id", "candidate_id"])
    first = scored.groupby("question_id").head(1)
    right = scored[scored["label"] == 1].drop_duplicates("question_id").set_index("question_id")["candidate"]

    def describe_example(number: int) -> dict[str, str]:
        """Return a question with its first-ranked candidate and its best right one."""
        top = first.iloc[number]
        return {"question": top["question"], "predicted": top["candidate"], "right": right[top["question_id"]]}

    _, variant, protocol, _ = best.rank
    return select_examples(variant, protocol, (first["label"] == 1).tolist(), describe_example) | {"data": data}


def _add_run_columns(scores: pd.DataFrame, variant: str, seed: int, split: str) -> pd.DataFrame:
    """Return the scores with columns of variant, seed, split and protocol (frozen, if there is none)."""
    return scores.assign(variant=variant, seed=seed, split=split, protocol=scores.get("protocol", "frozen"))
