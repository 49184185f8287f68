"""Questions that pairs answer wrongly and a joint model, which re-ranks their top k, rightly (Table 4)."""

from typing import Any

import numpy as np
import pandas as pd

from contexture.tasks.answer_selection.protocols import ranked
from contexture.tasks.examples import spread

#: Candidates that are shown of a question, as in the paper.
SHOWN = 5


def rescued(runs: pd.DataFrame, answers: pd.DataFrame) -> dict[str, Any]:
    """Examples of such questions, for the joint variant that has most of them with the first seed.

    Args:
        runs: scores of the pairwise model (`grouped`) and of joint models (`reranked`): variant, seed, protocol,
            question_id, candidate_id, label, score.
        answers: the questions and candidates: question_id, candidate_id, question, candidate.

    Returns:
        `variant`, the joint one; `count` of such questions; `lost`, the count of those that only the pairwise model
        answers; and `questions`, each with `question` and `candidates` in the pairwise order: `candidate`, `right`, and
        `chosen`, whether the joint model puts it first. Empty without a pairwise or a joint model.
    """
    runs = runs[runs["seed"] == runs["seed"].min()]
    pairs, joint = (runs[runs["protocol"] == protocol] for protocol in ("grouped", "reranked"))
    if pairs.empty or joint.empty:
        return {}
    pairs = pairs[pairs["variant"] == pairs["variant"].iloc[0]]  # joint models re-rank the first one
    first = _first(pairs)
    changes = {}
    for variant, rows in joint.groupby("variant"):
        second = _first(rows)
        right, was_right = second["label"].eq(1), first["label"].reindex(second.index).eq(1)
        changes[str(variant)] = second[right & ~was_right], int((was_right & ~right).sum())
    variant = max(sorted(changes), key=lambda name: len(changes[name][0]))
    chosen, lost = changes[variant]
    texts = answers[["question_id", "candidate_id", "question", "candidate"]]
    examples = [chosen.iloc[number] for number in spread(np.arange(len(chosen)))]
    questions = [_question(pairs, texts, str(example.name), example["candidate_id"]) for example in examples]
    return {"variant": variant, "count": len(chosen), "lost": lost, "questions": questions}


def _first(scores: pd.DataFrame) -> pd.DataFrame:
    """The best row of each question."""
    return ranked(scores).groupby("question_id").head(1).set_index("question_id")


def _question(pairs: pd.DataFrame, texts: pd.DataFrame, question: str, chosen: str) -> dict[str, Any]:
    best = ranked(pairs[pairs["question_id"] == question]).head(SHOWN)
    rows = best.merge(texts, "left", on=["question_id", "candidate_id"])
    candidates = [
        {"candidate": row.candidate, "right": bool(row.label), "chosen": row.candidate_id == chosen}
        for row in rows.itertuples()
    ]
    return {"question": rows["question"].iloc[0], "candidates": candidates}
