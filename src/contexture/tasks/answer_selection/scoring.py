"""Score candidates with a fine-tuned model."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from contexture.tasks.answer_selection.baselines import Scores
from contexture.tasks.answer_selection.data import AnswerInputs, AnswerRows, RowNumbers, get_group_size
from contexture.tasks.answer_selection.head import relevance
from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.protocols import rerank, select_top_k
from contexture.tasks.finetuned import chunk_by_length


def group_candidates(answers: pd.DataFrame, size: int) -> list[RowNumbers]:
    """Return the row numbers of each question's candidates, in groups of at most `size` consecutive candidates."""
    of_questions = [np.asarray(rows) for rows in answers.groupby("question_id", sort=False).indices.values()]
    return [rows[start : start + size] for rows in of_questions for start in range(0, len(rows), size)]


def score_groups(model: AnswerModel, inputs: AnswerInputs, groups: Sequence[RowNumbers]) -> Scores:
    """Return each row's log-odds of being a right answer, from reading its group together; NaN for rows in no group."""
    scores = np.full(len(inputs.rows), np.nan)
    lengths = inputs.rows.lengths
    chunks = chunk_by_length(np.array([lengths[rows].sum() for rows in groups]))
    for numbers, _, logits in model.predict(lambda chunk: inputs.batch([groups[i] for i in chunk]), chunks):
        for number, odds in zip(numbers, relevance(logits).cpu().numpy(), strict=True):
            scores[groups[number]] = odds[: len(groups[number])]
    return scores


def score_candidates(model: AnswerModel, question: str, candidates: Sequence[str]) -> Scores:
    """Return the log-odds (candidates,) that each candidate answers the question.

    A joint model reads consecutive groups of k candidates.
    """
    answers = pd.DataFrame({"question_id": "", "question": question, "candidate": candidates, "label": 0})
    return score_groups(model, *make_inputs(model, answers))


def make_inputs(model: AnswerModel, answers: pd.DataFrame) -> tuple[AnswerInputs, list[RowNumbers]]:
    """Return the tokenized inputs of a model for a table of answers, and the row numbers that it reads together."""
    settings = model.settings
    size = get_group_size(settings.head, settings.layout)
    rows = AnswerRows.in_memory(answers, model.encoder, size)
    return AnswerInputs(rows, settings.head, model.encoder, settings.layout), group_candidates(answers, size)


def score_model(model: AnswerModel, answers: pd.DataFrame, pairwise: Scores | None = None) -> pd.DataFrame:
    """Return the scores of a split's candidates by a fine-tuned model.

    Columns: question_id, candidate_id, label, score and protocol: `grouped` for all candidates in consecutive groups of
    k, and, with scores of the pairwise model, `reranked` for its top k in a new order (MSPP paper, Table 2).
    """
    inputs, groups = make_inputs(model, answers)
    columns = answers[["question_id", "candidate_id", "label"]]
    tables = [columns.assign(score=score_groups(model, inputs, groups), protocol="grouped")]
    if pairwise is not None:
        first = columns.assign(score=pairwise)
        second = score_groups(model, inputs, select_top_k(first, model.settings.layout.candidates))
        tables.append(rerank(first, second).assign(protocol="reranked"))
    return pd.concat(tables, ignore_index=True)
