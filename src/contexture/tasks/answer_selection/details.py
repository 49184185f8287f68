"""Details of results: latency, and questions that only a joint model answers.

MSPP paper, appendix C.3: 71 seconds for a pairwise and 81 for a joint model on WikiQA, one GPU.
"""

import time
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.protocols import rank_candidates
from contexture.tasks.answer_selection.scoring import make_inputs, score_groups
from contexture.tasks.examples import select_evenly
from contexture.tasks.finetuned import CHUNK_ROWS

#: Candidates per question in the report, as in the paper.
MAX_CANDIDATES = 5


def measure_latency(models: Mapping[str, AnswerModel], answers: pd.DataFrame, rounds: int) -> list[dict[str, Any]]:
    """Return the time that each model needs for all candidates, and its size.

    The models run in turns, so that other load on the machine affects all alike.

    Returns:
        One dict per model: `head` (its key), `seconds` (median of the rounds after one warm-up), `rounds`, `passes`
        (number of inputs), `tokens` (in all inputs, without padding), `parameters` and `device`.
    """
    made = {head: make_inputs(model, answers) for head, model in models.items()}
    seconds: dict[str, list[float]] = {head: [] for head in models}
    for _ in range(rounds + 1):
        for head, model in models.items():
            began = time.perf_counter()
            score_groups(model, *made[head])
            seconds[head].append(time.perf_counter() - began)
    rows = []
    for head, model in models.items():
        inputs, groups = made[head]
        batches = (inputs.batch(groups[first : first + CHUNK_ROWS]) for first in range(0, len(groups), CHUNK_ROWS))
        rows.append(
            {
                "head": head,
                "seconds": median(seconds[head][1:]),
                "rounds": rounds,
                "passes": len(groups),
                "tokens": sum(sum(batch["lengths"]) for batch in batches),
                "parameters": sum(weight.numel() for weight in model.parameters()),
                "device": next(model.parameters()).device.type,
            }
        )
    return rows


def compare_joint_to_pairwise(runs: pd.DataFrame, answers: pd.DataFrame) -> dict[str, Any]:
    """Return questions that a joint model answers by re-ranking and the pairwise model does not (Table 4).

    The joint variant with most such questions for the first seed is chosen.

    Args:
        runs: scores of the pairwise model (`grouped`) and of joint models (`reranked`): variant, seed, protocol,
            question_id, candidate_id, label, score.
        answers: question_id, candidate_id, question, candidate.

    Returns:
        `variant` (the joint one), `count` (such questions), `lost` (questions that only the pairwise model answers) and
        `questions`: `question` and `candidates` in pairwise order with `candidate`, `right` and `chosen` (ranked first
        by the joint model). Empty without a pairwise or a joint model.
    """
    runs = runs[runs["seed"] == runs["seed"].min()]
    pairs, joint = (runs[runs["protocol"] == protocol] for protocol in ("grouped", "reranked"))
    if pairs.empty or joint.empty:
        return {}
    pairs = pairs[pairs["variant"] == pairs["variant"].iloc[0]]  # joint models re-rank the first one
    first = _best_candidates(pairs)
    changes = {}
    for variant, rows in joint.groupby("variant"):
        second = _best_candidates(rows)
        right, was_right = second["label"].eq(1), first["label"].reindex(second.index).eq(1)
        changes[str(variant)] = second[right & ~was_right], int((was_right & ~right).sum())
    variant = max(sorted(changes), key=lambda name: len(changes[name][0]))
    chosen, lost = changes[variant]
    texts = answers[["question_id", "candidate_id", "question", "candidate"]]
    examples = [chosen.iloc[number] for number in select_evenly(np.arange(len(chosen)))]
    questions = [_describe_question(pairs, texts, str(example.name), example["candidate_id"]) for example in examples]
    return {"variant": variant, "count": len(chosen), "lost": lost, "questions": questions}


def _best_candidates(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the first-ranked candidate of each question, by question id."""
    return rank_candidates(scores).groupby("question_id").head(1).set_index("question_id")


def _describe_question(pairs: pd.DataFrame, texts: pd.DataFrame, question_id: str, chosen_id: str) -> dict[str, Any]:
    """Return a question and its best `MAX_CANDIDATES` by the scores `pairs`, marked if right and if `chosen_id`."""
    best = rank_candidates(pairs[pairs["question_id"] == question_id]).head(MAX_CANDIDATES)
    rows = best.merge(texts, "left", on=["question_id", "candidate_id"])
    candidates = [
        {"candidate": row.candidate, "right": bool(row.label), "chosen": row.candidate_id == chosen_id}
        for row in rows.itertuples()
    ]
    return {"question": rows["question"].iloc[0], "candidates": candidates}
