"""Every contestant on the questions of dev and test: frozen, fine-tuned, and what needs no training beside them."""

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
from contexture.retrieval.vectors import unit
from contexture.tasks.answer_selection.baselines import Scores, file_order, idf_of, random_order, word_overlap
from contexture.tasks.answer_selection.files import SPLITS
from contexture.tasks.answer_selection.latency import measure_latency
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.protocols import ranked
from contexture.tasks.answer_selection.rescued import rescued
from contexture.tasks.answer_selection.scoring import score_model
from contexture.tasks.answer_selection.sets import tables
from contexture.tasks.base import AFTER, Contestant, Each, Results, measure_encoders, one_by_one, seeds_of
from contexture.tasks.examples import to_read

NAME = "answer_selection"
HELD_OUT = ("dev", "test")
COLUMNS = [*QUESTION, "candidate_id", "label", "score"]
#: Scores of all candidates are kept of sets of at most so many in dev and test: of ASNQ one run's have 930,062 rows.
KEPT = 100_000
#: Rows whose texts are embedded at a time, and texts at most that tell how rare words are.
ROWS_AT_ONCE, TEXTS_COUNTED = 100_000, 1_000_000


class _Shown(NamedTuple):
    """Of the run with the best MAP on test: what it is called, and its scores."""

    run: tuple[str, str, int]
    value: float
    scores: pd.DataFrame


def evaluate_answers(
    contestants: Sequence[Contestant],
    folder: Path,
    options: Sequence[str] = (),
    rounds: int = 0,
    each: Each = one_by_one,
) -> Results:
    """P@1, MAP and MRR of all contestants and of the baselines on a set; the tables `scores` and `questions` have more.

    The fact `examples` has some test questions of the best contestant to read, `latency` how long models take, and
    `rescued` questions that reading candidates jointly answers and pairs do not.

    Args:
        contestants: the seeds of the baselines are theirs, too. The one whose head is ie_1 is the pairwise model: the
            joint models of its seed order its first k anew.
        folder: of the set, as `sets.write_set` writes it; its name is that of the data.
        options: the models that were fine-tuned on the set. The protocols of one that learned from another set before
            are called so: `grouped_after_asnq`.
        rounds: how often models answer in turns, to see how long they take; 0: not at all.
        each: how encoders are measured, side by side or one by one.
    """
    parts = {split: pd.read_parquet(folder / f"{split}.parquet").assign(split=split) for split in HELD_OUT}
    parts = {split: part for split, part in parts.items() if len(part)}
    if not parts or not contestants:
        return Results()
    runs = chain(
        _frozen(contestants, parts, each),
        _baselines(seeds_of(contestants), parts, _idf(folder)),
        *(_finetuned(contestants, option, parts) for option in options),
    )
    keep = sum(map(len, parts.values())) <= KEPT
    ours = {one.variant for one in contestants}
    shown: _Shown | None = None
    kept, measured, judged = [], [], []
    for run in runs:
        scores = run[COLUMNS]
        kept += [scores] if keep else []
        measured.append(question_metrics(scores))
        if run["variant"].iloc[0] in ours and run["split"].iloc[0] == "test":
            shown = _better(shown, scores, measured[-1])
            judged += [scores[scores["protocol"] == _judged(contestants, run["variant"].iloc[0])]]
    questions = pd.concat(measured, ignore_index=True).sort_values(QUESTION, kind="stable", ignore_index=True)
    facts: dict[str, Any] = {"examples": [_examples(shown, parts["test"], folder.name)] if shown else []}
    if rounds and "test" in parts and folder.name in options:
        told = _latency(contestants, folder.name, parts["test"], rounds)
        facts["latency"] = {folder.name: told} if told else {}
    if judged and (changed := rescued(pd.concat(judged, ignore_index=True), parts["test"])):
        facts["rescued"] = {folder.name: changed}
    found = {"questions": questions} | ({"scores": pd.concat(kept, ignore_index=True)} if keep else {})
    return Results(to_records(questions, METRICS, NAME, folder.name), facts, found)


def cosines(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    """The cosine of every row's question and candidate, each in its role; 0 where either vector is 0."""
    found = [_block(model, answers[first : first + ROWS_AT_ONCE]) for first in range(0, len(answers), ROWS_AT_ONCE)]
    return np.concatenate(found)


def _block(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    asked, questions = pd.factorize(answers["question"])
    said, candidates = pd.factorize(answers["candidate"])
    left, right = unit(model.embed(list(questions), "query")), unit(model.embed(list(candidates), "document"))
    scores: Scores = np.einsum("nd,nd->n", left[asked], right[said], dtype=np.float64)
    return scores


def _frozen(contestants: Sequence[Contestant], parts: dict[str, pd.DataFrame], each: Each) -> Iterator[pd.DataFrame]:
    """Contestants that start from the same encoders have the same scores, which are computed once."""
    known = measure_encoders(_cosines, contestants, each, parts)
    for one in contestants:
        for split, scores in known[one.encoders].items():
            yield _run(parts[split].assign(score=scores), one.variant, one.seed, split)


def _cosines(encoders: tuple[str, ...], parts: dict[str, pd.DataFrame]) -> dict[str, Scores]:
    model = load_models(encoders)
    return {split: cosines(model, part) for split, part in parts.items()}


def _baselines(seeds: Sequence[int], parts: dict[str, pd.DataFrame], idf: dict[str, float]) -> Iterator[pd.DataFrame]:
    for split, part in parts.items():
        for seed in seeds:
            scores = {
                "random_order": random_order(part, seed),
                "file_order": file_order(part),
                "word_overlap": word_overlap(part, idf),
            }
            yield from (_run(part.assign(score=found), name, seed, split) for name, found in scores.items())


def _idf(folder: Path) -> dict[str, float]:
    """Of the candidates of all splits, or the first of them."""
    read = (text for split in SPLITS for table in tables(folder / f"{split}.parquet") for text in table["candidate"])
    return idf_of(islice(read, TEXTS_COUNTED))


def _finetuned(
    contestants: Sequence[Contestant], option: str, parts: dict[str, pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    pairwise: dict[tuple[int, str], Scores] = {}
    before = option.partition(AFTER)[2]
    for one in sorted(contestants, key=lambda one: one.head != "ie_1"):  # stable: the pairwise models come first
        if one.finetuned is None or not is_encoder(one.finetuned / option):
            continue
        model = load_answer_model(one.finetuned / option)
        for split, part in parts.items():
            first = None if one.head == "ie_1" else pairwise.get((one.seed, split))
            found = score_model(model, part, first)
            if one.head == "ie_1":
                pairwise.setdefault((one.seed, split), found["score"].to_numpy(np.float64))
            protocol = found["protocol"] + (f"{AFTER}{before}" if before else "")
            yield _run(found.assign(protocol=protocol), one.variant, one.seed, split)


def _judged(contestants: Sequence[Contestant], variant: str) -> str:
    """The protocol of a pairwise variant that joint ones order anew, or theirs."""
    pairwise = any(one.head == "ie_1" for one in contestants if one.variant == variant)
    return "grouped" if pairwise else "reranked"


def _latency(
    contestants: Sequence[Contestant], option: str, answers: pd.DataFrame, rounds: int
) -> list[dict[str, Any]]:
    """Of the first model with each head; other models with it are as large."""
    first: dict[str, Path] = {}
    for one in contestants:
        if one.head is not None and one.finetuned is not None and is_encoder(one.finetuned / option):
            first.setdefault(one.head, one.finetuned / option)
    return measure_latency({head: load_answer_model(place) for head, place in sorted(first.items())}, answers, rounds)


def _better(shown: _Shown | None, scores: pd.DataFrame, questions: pd.DataFrame) -> _Shown:
    """The best so far; of equal ones the first by name."""
    variant, seed = str(questions["variant"].iloc[0]), int(questions["seed"].iloc[0])
    for protocol, value in questions.groupby("protocol")["map"].mean().items():
        run = variant, str(protocol), seed
        if shown is None or (-value, run) < (-shown.value, shown.run):
            shown = _Shown(run, float(value), scores[scores["protocol"] == protocol])
    assert shown is not None
    return shown


def _examples(shown: _Shown, answers: pd.DataFrame, data: str) -> dict[str, Any]:
    """Of the best run: questions with a right candidate at the top, and others."""
    texts = answers[["question_id", "candidate_id", "question", "candidate"]]
    scored = ranked(shown.scores).merge(texts, "left", on=["question_id", "candidate_id"])
    first = scored.groupby("question_id").head(1)
    right = scored[scored["label"] == 1].drop_duplicates("question_id").set_index("question_id")["candidate"]

    def row(place: int) -> dict[str, str]:
        found = first.iloc[place]
        return {"question": found["question"], "found": found["candidate"], "right": right[found["question_id"]]}

    variant, protocol, _ = shown.run
    return to_read(variant, protocol, (first["label"] == 1).tolist(), row) | {"data": data}


def _run(scores: pd.DataFrame, variant: str, seed: int, split: str) -> pd.DataFrame:
    """The scores of one run, as rows of the table of all; frozen, unless the protocol is there."""
    return scores.assign(variant=variant, seed=seed, split=split, protocol=scores.get("protocol", "frozen"))
