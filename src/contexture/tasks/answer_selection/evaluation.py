"""Every contestant on the questions of dev and test: frozen, fine-tuned, and what needs no training beside them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from contexture.encoders.base import TextEncoder
from contexture.encoders.models import load_models
from contexture.metrics.ranking import METRICS, question_metrics
from contexture.metrics.scores import QUESTION, to_records
from contexture.metrics.vectors import unit
from contexture.tasks.answer_selection.baselines import Scores, file_order, idf_of, random_order, word_overlap
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.scoring import score_model
from contexture.tasks.base import Contestant, Each, Results, one_by_one
from contexture.tasks.examples import to_read

NAME = "answer_selection"
#: The one model that is fine-tuned of a contestant.
MODEL = "model"
SPLITS = ("dev", "test")
COLUMNS = [*QUESTION, "candidate_id", "label", "score"]


def evaluate_answers(
    contestants: Sequence[Contestant], answers: pd.DataFrame, data: str, each: Each = one_by_one
) -> Results:
    """P@1, MAP and MRR of all contestants and of the baselines; the tables `scores` and `questions` hold the details.

    The fact `examples` has some test questions of the best contestant to read.

    Args:
        contestants: the seeds of the baselines are theirs, too. The one whose head is ie_1 is the pairwise model: the
            joint models of its seed order its first k anew.
        answers: of all splits, as `files.read_wikiqa` gives them.
        data: what the questions are called.
        each: how encoders are measured, side by side or one by one.
    """
    parts = {split: answers[answers["split"] == split].reset_index(drop=True) for split in SPLITS}
    parts = {split: part for split, part in parts.items() if len(part)}
    if not parts or not contestants:
        return Results()
    idf = idf_of(answers["candidate"])
    tables = [
        *_frozen(contestants, parts, each),
        *_baselines(sorted({one.seed for one in contestants}), parts, idf),
        *_finetuned(contestants, parts),
    ]
    scores = pd.concat(tables, ignore_index=True)[COLUMNS]
    questions = question_metrics(scores)
    facts = {"examples": _examples(contestants, scores, questions, parts)}
    return Results(to_records(questions, METRICS, NAME, data), facts, {"scores": scores, "questions": questions})


def cosines(model: TextEncoder, answers: pd.DataFrame) -> Scores:
    """The cosine of every row's question and candidate, each in its role; 0 where either vector is 0."""
    asked, questions = pd.factorize(answers["question"])
    said, candidates = pd.factorize(answers["candidate"])
    left, right = unit(model.embed(list(questions), "query")), unit(model.embed(list(candidates), "document"))
    scores: Scores = np.einsum("nd,nd->n", left[asked], right[said], dtype=np.float64)
    return scores


def _frozen(contestants: Sequence[Contestant], parts: dict[str, pd.DataFrame], each: Each) -> Iterator[pd.DataFrame]:
    """Contestants that start from the same encoders have the same scores, which are computed once."""
    encoders = list(dict.fromkeys(one.encoders for one in contestants))
    known = dict(zip(encoders, each(_cosines, [(names, parts) for names in encoders]), strict=True))
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


def _finetuned(contestants: Sequence[Contestant], parts: dict[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    pairwise: dict[tuple[int, str], Scores] = {}
    for one in sorted(contestants, key=lambda one: one.head != "ie_1"):  # stable: the pairwise models come first
        if one.finetuned is None:
            continue
        model = load_answer_model(one.finetuned / MODEL)
        for split, part in parts.items():
            first = None if one.head == "ie_1" else pairwise.get((one.seed, split))
            found = score_model(model, part, first)
            if one.head == "ie_1":
                pairwise.setdefault((one.seed, split), found["score"].to_numpy(np.float64))
            yield _run(found, one.variant, one.seed, split)


def _examples(
    contestants: Sequence[Contestant], scores: pd.DataFrame, questions: pd.DataFrame, parts: dict[str, pd.DataFrame]
) -> list[dict[str, Any]]:
    """Of the run with the best MAP on test: questions with a right candidate at the top, and others."""
    ours = questions[questions["variant"].isin([one.variant for one in contestants]) & (questions["split"] == "test")]
    if ours.empty:
        return []
    run = ["variant", "protocol", "seed"]
    means = ours.groupby(run, as_index=False)["map"].mean()
    best = means.loc[means["map"].idxmax()]
    texts = parts["test"][["question_id", "candidate_id", "question", "candidate"]]
    scored = scores[(scores[run] == best[run]).all(axis=1) & (scores["split"] == "test")]
    scored = scored.merge(texts, on=["question_id", "candidate_id"])
    scored = scored.sort_values("score", ascending=False, kind="stable")
    first = scored.groupby("question_id").head(1).sort_values("question_id")
    right = scored[scored["label"] == 1].drop_duplicates("question_id").set_index("question_id")["candidate"]

    def row(place: int) -> dict[str, str]:
        found = first.iloc[place]
        return {"question": found["question"], "found": found["candidate"], "right": right[found["question_id"]]}

    return [to_read(best["variant"], best["protocol"], (first["label"] == 1).tolist(), row)]


def _run(scores: pd.DataFrame, variant: str, seed: int, split: str) -> pd.DataFrame:
    """The scores of one run, as rows of the table of all; frozen, unless the protocol is there."""
    return scores.assign(variant=variant, seed=seed, split=split, protocol=scores.get("protocol", "frozen"))
