"""Claims and their evidence as token ids, in the inputs that a model reads."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from contexture.encoders.base import Encoder, tokenized
from contexture.encoders.config import LabelHeadKind, LayoutConfig
from contexture.encoders.layout import Batch, Ints
from contexture.tasks.fact_verification.config import PAIRWISE
from contexture.tasks.finetuned import Examples, Step, lay_out
from contexture.tasks.pairs.features import Labels, coded


class ClaimInputs(Examples):
    """Model inputs made of the claims of one split, by the vocabulary of an encoder."""

    noun = "claims"

    def __init__(
        self, claims: pd.DataFrame, classes: Sequence[str], head: LabelHeadKind, encoder: Encoder, layout: LayoutConfig
    ) -> None:
        self.pairwise, self.specials, self.layout = head in PAIRWISE, encoder.specials, layout
        pairs = zip(claims["claim"], claims["evidence"], strict=True)
        texts = [[str(claim), *evidence[: layout.candidates]] for claim, evidence in pairs]
        read = tokenized([text for example in texts for text in example], encoder.vocabulary)
        ids = iter(np.split(read.tokens, np.cumsum(read.lengths)[:-1]))
        #: The token ids of each claim and of its sentences of evidence.
        self.texts = [[next(ids) for _ in example] for example in texts]
        self.labels: Labels = coded(claims["label"].tolist(), classes)

    def __len__(self) -> int:
        return len(self.labels)

    def training_batch(self, step: Step) -> Batch:
        """See `Examples`."""
        return self.batch(step.own_rows)

    @property
    def tokens(self) -> Ints:
        """Of each claim and its evidence together."""
        return np.array([sum(map(len, example)) for example in self.texts], np.int64)

    def batch(self, rows: Ints) -> Batch:
        """Claims → model input with `labels` (B,) and `present` (B, S), which sentences, or pairs, are there.

        Joint inputs have S = k+1, the claim first. Of pairs S = k; they stand one behind the other, so that the input
        has a row a pair, and `pair_rows` (P,), `pair_slots` (P,) tell where each belongs.
        """
        texts, slots = [self.texts[row] for row in rows], self.layout.candidates
        sizes = np.array([[len(example) - 1] for example in texts])
        labels = {"labels": torch.from_numpy(self.labels[rows])}
        if not self.pairwise:
            batch = lay_out(texts, slots + 1, self.specials, self.layout)
            return batch | labels | {"present": torch.from_numpy(np.arange(slots + 1) <= sizes)}
        present = torch.from_numpy(np.arange(slots) < sizes)
        pair_rows, pair_slots = present.nonzero(as_tuple=True)
        pairs = [(claim, text) for claim, *evidence in texts for text in evidence]
        batch = lay_out(pairs, 2, self.specials, self.layout, pairwise=True)
        return batch | labels | {"present": present, "pair_rows": pair_rows, "pair_slots": pair_slots}
