"""Questions and candidate answers as token ids, in the groups that a model reads together."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from contexture.encoders.base import Encoder, tokenized
from contexture.encoders.config import HeadKind, LayoutConfig
from contexture.encoders.layout import Batch, Sentences, joint_layout, pair_layout, row_lengths

IGNORED = -100
Rows = npt.NDArray[np.int64]


class AnswerInputs:
    """Model inputs made of the rows of one split of answers, by the vocabulary of an encoder."""

    def __init__(self, answers: pd.DataFrame, head: HeadKind, encoder: Encoder, layout: LayoutConfig) -> None:
        self.head, self.specials, self.layout = head, encoder.specials, layout
        self.group_size = 1 if head == "ie_1" else layout.candidates
        self.questions, self.candidates = (_ids(answers[column], encoder) for column in ("question", "candidate"))
        self.labels = answers["label"].to_numpy(dtype=np.int64)

    def batch(self, groups: Sequence[Rows]) -> Batch:
        """Groups of at most k rows of one question each → model input with `labels` (B, k); −100 is an empty slot.

        `lengths` are the tokens of each row, plain numbers.
        """
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
        lay_out = pair_layout if self.head == "ie_1" else joint_layout
        batch = lay_out(sentences, self.specials, self.layout)
        return batch | {"labels": torch.from_numpy(labels), "lengths": row_lengths(batch).tolist()}


def _ids(texts: pd.Series, encoder: Encoder) -> list[Rows]:
    """The token ids of each text, without special tokens."""
    found = tokenized(texts.tolist(), encoder.vocabulary)
    return np.split(found.tokens, np.cumsum(found.lengths[:-1, 0]))
