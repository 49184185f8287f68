"""Retrieval question answering, ReQA (Ahmad et al., 2019): find the sentence that answers, within its passage.

Every pair of a passage and one of its sentences is a candidate; a question's right ones are those whose sentence an
answer starts in (two-tower paper, section 4.1).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pandas as pd

from contexture.text.sentences import splitter

#: One question in so many of those trained on is held out as dev: 10 % (section 4.1).
_DEV_EVERY = 10


@dataclass(frozen=True, slots=True)
class ReqaQuestion:
    """A question about a passage, and the characters of the passage at which its answers start."""

    text: str
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReqaPassage:
    """A passage and the questions about it; a reader may yield it more than once, with other questions."""

    title: str
    text: str
    questions: tuple[ReqaQuestion, ...]


def reqa_tables(passages: Iterable[ReqaPassage], lang: str = "en") -> tuple[pd.DataFrame, pd.DataFrame]:
    """The questions and candidates of a retrieval task.

    Each sentence of each passage is a candidate, with or without questions about it. Pairs of equal text are one, and
    questions of equal text are one with all their right candidates. An answer belongs to the sentence that it starts
    in. A question without an answer is left out.

    Returns:
        questions: question_id, question, answers (its right candidate_ids) and tuples (how many tuples of question,
            sentence and passage the files hold for it, repeated ones too), in the order of the passages.
        candidates: candidate_id, passage_id, title, sentence, passage.
        Ids depend on the texts alone, not on other files.

    Raises:
        ValueError: there is no candidate, or no question with an answer.
    """
    spans = splitter(lang).spans
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
            # White space between two sentences goes to the one after it, and what follows the last one to that.
            right_ids = {ids[min(bisect_right(ends, start), len(ids) - 1)]: None for start in question.starts if ids}
            if right_ids:
                answers.setdefault(question.text, Counter()).update(right_ids.keys())
    if not candidates:
        raise ValueError("there is no candidate to retrieve: no passage has a sentence; name files that hold some")
    if not answers:
        raise ValueError("no question has an answer in its passage; name files of questions with answers")
    rows = [(stable_id(text), text, list(right_ids), right_ids.total()) for text, right_ids in answers.items()]
    return (
        pd.DataFrame(rows, columns=["question_id", "question", "answers", "tuples"]),
        pd.DataFrame(candidates, columns=["candidate_id", "passage_id", "title", "sentence", "passage"]),
    )


def reqa_counts(questions: pd.DataFrame, candidates: pd.DataFrame) -> dict[str, float]:
    """Table 2 of the two-tower paper for a task, in words between white space instead of its tokens.

    A question that the files hold twice counts twice in `tuples` and once in `queries`, as in the paper. The mean
    length `document_words` is that of sentence and passage together, over all candidates.
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
    """Split questions into train, dev and test (section 4.1) by the seed and the ids alone.

    The questions are put in one random order; the first `share` of them are trained on but for every tenth, which is
    dev, and the rest is test. So with one seed the train and dev questions of a smaller share are also those of a
    larger one. At least one question is train, one dev if two are not test, and one test.

    Returns "train", "dev" or "test" by question_id, in the order of `question_ids`. Raises ValueError for fewer than
    two questions, an id twice, or a share outside (0, 1).
    """
    ids = list(question_ids)
    if not 0 < share < 1:
        raise ValueError(f"share is {share}; it must lie above 0 and below 1, so that some questions are left to test")
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
    """16 hexadecimal digits that depend on the text alone."""
    return blake2b(text.encode(), digest_size=8).hexdigest()
