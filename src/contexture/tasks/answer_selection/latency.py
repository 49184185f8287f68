"""How long models take to answer: the pairwise one reads each candidate alone, a joint one k at a time.

MSPP paper, appendix C.3: 71 seconds against 81 for WikiQA's questions on one GPU.
"""

import time
from collections.abc import Mapping
from statistics import median
from typing import Any

import pandas as pd

from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.scoring import inputs_of, score
from contexture.tasks.finetuned import BATCH


def measure_latency(models: Mapping[str, AnswerModel], answers: pd.DataFrame, rounds: int) -> list[dict[str, Any]]:
    """Score all candidates with each model, in turns, so that other work on the machine slows all alike.

    Returns:
        One dict a model: `head` (its key), `seconds` (the median of the rounds, after a round of warm-up), `rounds`,
        `passes` (inputs that are read, each of a question and its candidates), `tokens` (of all of them, without
        padding), `parameters` and `device`.
    """
    made = {head: inputs_of(model, answers) for head, model in models.items()}
    seconds: dict[str, list[float]] = {head: [] for head in models}
    for _ in range(rounds + 1):
        for head, model in models.items():
            began = time.perf_counter()
            score(model, *made[head])
            seconds[head].append(time.perf_counter() - began)
    rows = []
    for head, model in models.items():
        inputs, groups = made[head]
        batches = (inputs.batch(groups[first : first + BATCH]) for first in range(0, len(groups), BATCH))
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
