"""Scores of a fine-tuned model for the candidates of each question."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.tasks.answer_selection.data import AnswerInputs, AnswerRows, Rows, group_size
from contexture.tasks.answer_selection.head import relevance
from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.protocols import group_candidates, rerank, top_k_by
from contexture.tasks.finetuned import by_length

Scores = npt.NDArray[np.float64]


def consecutive_groups(answers: pd.DataFrame, size: int) -> list[Rows]:
    """Rows of each question in groups of `size`, as they stand; the last group of a question may be short."""
    groups: list[Rows] = []
    for rows in answers.groupby("question_id", sort=False).indices.values():
        groups += [np.asarray(rows)[group] for group in group_candidates(len(rows), size)]
    return groups


def score(model: AnswerModel, inputs: AnswerInputs, groups: Sequence[Rows]) -> Scores:
    """The log-odds of every row that stands in a group; NaN for the others."""
    scores = np.full(len(inputs.rows), np.nan)
    lengths = inputs.rows.lengths
    tokens = np.array([lengths[rows].sum() for rows in groups])
    chunks = by_length(tokens)
    for numbers, _, logits in model.predict(lambda chunk: inputs.batch([groups[i] for i in chunk]), chunks):
        for number, odds in zip(numbers, relevance(logits).cpu().numpy(), strict=True):
            scores[groups[number]] = odds[: len(groups[number])]
    return scores


def score_candidates(model: AnswerModel, question: str, candidates: Sequence[str]) -> Scores:
    """The log-odds (candidates,) that each candidate answers the question.

    As many as the model has room for are read together, as they stand.
    """
    answers = pd.DataFrame({"question_id": "", "question": question, "candidate": candidates, "label": 0})
    return score(model, *inputs_of(model, answers))


def inputs_of(model: AnswerModel, answers: pd.DataFrame) -> tuple[AnswerInputs, list[Rows]]:
    """A model's inputs made of a table of answers, and the groups in which it reads all of them."""
    size = group_size(model.settings.head, model.settings.layout)
    rows = AnswerRows.in_memory(answers, model.encoder, size)
    inputs = AnswerInputs(rows, model.settings.head, model.encoder, model.settings.layout)
    return inputs, consecutive_groups(answers, size)


def score_model(model: AnswerModel, answers: pd.DataFrame, pairwise: Scores | None = None) -> pd.DataFrame:
    """Score the answers of one split.

    Returns question_id, candidate_id, label, score, protocol. `grouped`: all candidates, in consecutive groups of k.
    With the scores of the pairwise model also `reranked`: its top k, ordered anew (MSPP paper, table 2).
    """
    inputs, all_groups = inputs_of(model, answers)
    columns = answers[["question_id", "candidate_id", "label"]]
    grouped = score(model, inputs, all_groups)
    tables = [columns.assign(score=grouped, protocol="grouped")]
    if pairwise is not None:
        first = columns.assign(score=pairwise)
        groups = top_k_by(first, model.settings.layout.candidates)
        second = score(model, inputs, groups)
        tables.append(rerank(first, second).assign(protocol="reranked"))
    return pd.concat(tables, ignore_index=True)
