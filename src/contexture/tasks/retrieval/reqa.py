"""Retrieval question answering, ReQA (Ahmad et al., 2019).

Each pair of a sentence and its passage is a candidate. A candidate is right if an answer starts in its sentence
(two-tower paper, section 4.1).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pandas as pd

from contexture.text.sentences import get_splitter

#: Every tenth training question is dev (section 4.1).
_DEV_EVERY = 10


@dataclass(frozen=True, slots=True)
class ReqaQuestion:
    """A question, and the character offsets in the passage at which its answers start."""

    text: str
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReqaPassage:
    """A passage and its questions; readers may yield a passage again with other questions."""

    title: str
    text: str
    questions: tuple[ReqaQuestion, ...]


def reqa_tables(passages: Iterable[ReqaPassage], lang: str = "en") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of questions and candidates of a retrieval task, made from passages with questions.

    Candidates with equal text are merged, and so are questions with equal text. Questions without an answer are left
    out. Ids depend on the texts alone.

    Returns:
        questions: question_id, question, answers (right candidate_ids) and tuples (number of question, sentence and
            passage tuples in the files, with repetitions).
        candidates: candidate_id, passage_id, title, sentence, passage.

    Raises:
        ValueError: there are no candidates, or no questions with an answer.
    """
    spans = get_splitter(lang).find_spans
    answers: dict[str, Counter[str]] = {}
    candidates: list[tuple[str, str, str, str, str]] = []
    known: dict[str, tuple[list[int], list[str]]] = {}
    for passage in passages:
        passage_id = stable_id(passage.text)
        if passage_id not in known:
            sentence_spans = spans(passage.text)
            sentences = [passage.text[start:end] for start, end in sentence_spans]
            id_of: dict[str, str] = {}
            for number, sentence in enumerate(sentences):
                if sentence not in id_of:
                    id_of[sentence] = f"{passage_id}#{number}"
                    candidates.append((id_of[sentence], passage_id, passage.title, sentence, passage.text))
            known[passage_id] = [end for _, end in sentence_spans], [id_of[sentence] for sentence in sentences]
        ends, ids = known[passage_id]
        for question in passage.questions:
            # White space belongs to the sentence after it, at the end of the passage to the last sentence.
            right_ids = {ids[min(bisect_right(ends, start), len(ids) - 1)]: None for start in question.starts if ids}
            if right_ids:
                answers.setdefault(question.text, Counter()).update(right_ids.keys())
    if not candidates:
        raise ValueError("there are no candidates to retrieve: no passage contains a sentence; check the input files")
    if not answers:
        raise ValueError("no question has an answer in its passage; check the input files")
    rows = [(stable_id(text), text, list(right_ids), right_ids.total()) for text, right_ids in answers.items()]
    return (
        pd.DataFrame(rows, columns=["question_id", "question", "answers", "tuples"]),
        pd.DataFrame(candidates, columns=["candidate_id", "passage_id", "title", "sentence", "passage"]),
    )


def reqa_counts(questions: pd.DataFrame, candidates: pd.DataFrame) -> dict[str, float]:
    """Return the numbers and mean lengths in the two-tower paper's table 2, in words instead of tokens.

    A repeated question counts twice in `tuples` and once in `queries`, as in the paper. `document_words` is the mean
    length of sentence and passage together.
    """
    passages = candidates.drop_duplicates("passage_id").set_index("passage_id")["passage"].str.split().str.len()
    documents = candidates["sentence"].str.split().str.len() + candidates["passage_id"].map(passages)
    return {
        "queries": len(questions),
        "candidates": len(candidates),
        "tuples": int(questions["tuples"].sum()),
        "passages": len(passages),
        "query_words": float(questions["question"].str.split().str.len().mean()),
        "document_words": float(documents.mean()),
    }


def split_questions(question_ids: Sequence[str], share: float, seed: int) -> pd.Series:
    """Return the part of each question, train, dev or test (section 4.1), by the seed and the ids alone.

    In one random order, the first `share` is train, except every tenth question, which is dev; the rest is test. So
    the train and dev questions of a smaller share are also those of a larger one. At least one question is train and
    one is test.

    Returns "train", "dev" or "test" by question_id, in the order of `question_ids`. Raises ValueError for fewer than
    two questions, a repeated id, or a share outside (0, 1).
    """
    ids = list(question_ids)
    if not 0 < share < 1:
        raise ValueError(f"share is {share}; it must be above 0 and below 1")
    if len(ids) < 2:
        raise ValueError(f"{len(ids)} questions cannot be split into train and test; give two or more")
    if len(set(ids)) < len(ids):
        raise ValueError("a question_id occurs twice; give each question once")
    order = sorted(ids, key=lambda question_id: (stable_id(f"{seed}/{question_id}"), question_id))
    num_train = min(max(round(share * len(ids)), 1), len(ids) - 1)
    splits = {
        question_id: "test" if rank >= num_train else "dev" if rank % _DEV_EVERY == 1 else "train"
        for rank, question_id in enumerate(order)
    }
    index = pd.Index(ids, name="question_id")
    return pd.Series([splits[question_id] for question_id in ids], index=index, name="split")


def stable_id(text: str) -> str:
    """Return an id of a text: 16 hexadecimal digits that depend on the text alone."""
    return blake2b(text.encode(), digest_size=8).hexdigest()
