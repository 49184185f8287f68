"""Questions that pairs answer wrongly and a joint model, which orders their first k anew, rightly (Table 4)."""

from typing import Any

import numpy as np
import pandas as pd

from contexture.tasks.answer_selection.protocols import ranked
from contexture.tasks.examples import FEW

#: Candidates that are shown of a question, as in the paper.
SHOWN = 5


def rescued(runs: pd.DataFrame, answers: pd.DataFrame) -> dict[str, Any]:
    """Some such questions, from all over, of the joint variant that has most of them with the first seed.

    Args:
        runs: scores of the pairwise model (`grouped`) and of joint models (`reranked`): variant, seed, protocol,
            question_id, candidate_id, label, score.
        answers: the questions and candidates: question_id, candidate_id, question, candidate.

    Returns:
        `variant`, the joint one; `count` of such questions and `lost`, of those that the pairwise model alone answers;
        and `questions`, each with `question` and `candidates` in the pairwise order: `candidate`, `right`, and
        `chosen`, whether the joint model puts it first. Nothing where there is no pairwise or no joint model.
    """
    runs = runs[runs["seed"] == runs["seed"].min()] if len(runs) else runs
    pairs, joint = (runs[runs["protocol"] == protocol] for protocol in ("grouped", "reranked"))
    if pairs.empty or joint.empty:
        return {}
    pairs = pairs[pairs["variant"] == pairs["variant"].iloc[0]]  # by the first one joint models order anew
    before = _first(pairs)
    found = {}
    for variant, rows in joint.groupby("variant"):
        after = _first(rows)
        right, was = after["label"].eq(1), before["label"].reindex(after.index).eq(1)
        found[str(variant)] = after[right & ~was], int((was & ~right).sum())
    variant = max(sorted(found), key=lambda name: len(found[name][0]))
    chosen, lost = found[variant]
    places = np.linspace(0, len(chosen) - 1, min(FEW, len(chosen))).round().astype(int)
    questions = [_shown(pairs, answers, str(chosen.index[place]), chosen.iloc[place]) for place in places]
    return {"variant": variant, "count": len(chosen), "lost": lost, "questions": questions}


def _first(scores: pd.DataFrame) -> pd.DataFrame:
    """The row at the top of each question."""
    return ranked(scores).groupby("question_id").head(1).set_index("question_id")


def _shown(pairs: pd.DataFrame, answers: pd.DataFrame, question: str, chosen: "pd.Series[Any]") -> dict[str, Any]:
    texts = answers[["question_id", "candidate_id", "question", "candidate"]]
    best = ranked(pairs[pairs["question_id"] == question]).head(SHOWN)
    rows = best.merge(texts, "left", on=["question_id", "candidate_id"])
    candidates = [
        {"candidate": row.candidate, "right": bool(row.label), "chosen": row.candidate_id == chosen["candidate_id"]}
        for row in rows.itertuples()
    ]
    return {"question": rows["question"].iloc[0], "candidates": candidates}
