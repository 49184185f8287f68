"""Questions and candidate answers as token ids, in the groups that a model reads together."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from tokenizers import Tokenizer

from contexture.encoders.config import HeadKind, LayoutConfig
from contexture.encoders.layout import Batch, Sentences, Specials, joint_layout, pair_layout

IGNORED = -100
Rows = npt.NDArray[np.int64]


def encode_answers(answers: pd.DataFrame, tokenizer: Tokenizer, max_tokens: int) -> pd.DataFrame:
    """Add `question_tokens` and `candidate_tokens`, lists of at most `max_tokens` ids without special tokens."""

    def encode(texts: pd.Series) -> pd.Series:
        encodings = tokenizer.encode_batch_fast(texts.tolist(), add_special_tokens=False)
        return pd.Series([encoding.ids[:max_tokens] for encoding in encodings], index=texts.index)

    questions = answers.drop_duplicates("question")["question"]
    tokens = dict(zip(questions, encode(questions), strict=True))
    return answers.assign(
        question_tokens=answers["question"].map(tokens), candidate_tokens=encode(answers["candidate"])
    )


class AnswerInputs:
    """Model inputs made of the rows of one split of encoded answers."""

    def __init__(self, answers: pd.DataFrame, head: HeadKind, specials: Specials, layout: LayoutConfig) -> None:
        self.head, self.specials, self.layout = head, specials, layout
        self.group_size = 1 if head == "ie_1" else layout.candidates
        self.questions = [np.asarray(ids, dtype=np.int64) for ids in answers["question_tokens"]]
        self.candidates = [np.asarray(ids, dtype=np.int64) for ids in answers["candidate_tokens"]]
        self.labels = answers["label"].to_numpy(dtype=np.int64)

    def batch(self, groups: Sequence[Rows]) -> Batch:
        """Groups of at most k rows of one question each → model input with `labels` (B, k); −100 is an empty slot."""
        size = self.group_size
        lengths = np.full((len(groups), size + 1), -1, dtype=np.int64)
        labels = np.full((len(groups), size), IGNORED, dtype=np.int64)
        tokens = []
        for i, rows in enumerate(groups):
            texts = [self.questions[rows[0]], *(self.candidates[row] for row in rows)]
            lengths[i, : len(texts)] = [len(text) for text in texts]
            labels[i, : len(rows)] = self.labels[rows]
            tokens += texts
        sentences = Sentences(np.concatenate(tokens), lengths)
        if self.head == "ie_1":
            batch = pair_layout(sentences, self.specials, self.layout)
        else:
            batch = joint_layout(sentences, self.specials, self.layout)
        return batch | {"labels": torch.from_numpy(labels)}


def read_answers(file: Path, split: str) -> pd.DataFrame:
    """One split of the encoded answers; ValueError where the file lacks it."""
    answers = pd.read_parquet(file)
    found = answers[answers["split"] == split].reset_index(drop=True)
    if found.empty:
        raise ValueError(f"{file}: no rows of split {split!r}, only {sorted(answers['split'].unique())}")
    return found
