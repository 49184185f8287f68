"""Claims and their evidence as token ids, in the inputs that a model reads."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from contexture.encoders.base import Encoder, tokenized
from contexture.encoders.config import LabelHeadKind, LayoutConfig
from contexture.encoders.layout import Batch, Ints, Sentences, joint_layout, pair_layout, row_lengths, select
from contexture.tasks.fact_verification.config import PAIRWISE
from contexture.tasks.finetuned import Examples, Step
from contexture.tasks.pairs.features import Labels, coded


class ClaimInputs(Examples):
    """Model inputs made of the claims of one split, by the vocabulary of an encoder."""

    noun = "claims"

    def __init__(
        self, claims: pd.DataFrame, classes: Sequence[str], head: LabelHeadKind, encoder: Encoder, layout: LayoutConfig
    ) -> None:
        self.pairwise, self.specials, self.layout = head in PAIRWISE, encoder.specials, layout
        evidence = [list(texts) for texts in claims["evidence"]]
        texts = [text for claim, found in zip(claims["claim"], evidence, strict=True) for text in (str(claim), *found)]
        #: Each claim, and behind it its evidence.
        self.parts = tokenized(texts, encoder.vocabulary)
        #: Sentences of evidence of each claim.
        self.sizes = np.array([len(found) for found in evidence], np.int64)
        self.starts = np.cumsum(self.sizes + 1) - self.sizes - 1
        self.labels: Labels = coded(claims["label"].tolist(), classes)

    def __len__(self) -> int:
        return len(self.labels)

    def training_batch(self, step: Step) -> Batch:
        """See `Examples`."""
        return self.batch(step.own_rows)

    @property
    def tokens(self) -> Ints:
        """Of each claim and its evidence together."""
        found: Ints = np.add.reduceat(self.parts.lengths[:, 0], self.starts)
        return found

    def batch(self, rows: Ints) -> Batch:
        """Claims → model input with `labels` (B,) and `present` (B, S), which sentences, or pairs, are there.

        Joint inputs have S = k+1, the claim first. Of pairs S = k; they stand one behind the other, so that the input
        has a row a pair, and `pair_rows` (P,), `pair_slots` (P,) tell where each belongs. `lengths` are the tokens of
        each row, plain numbers.
        """
        sizes = self.sizes[rows]
        count, slots = len(rows), self.layout.candidates
        present = np.arange(slots) < sizes[:, None]
        row, slot = np.nonzero(present)
        said = self.starts[rows]
        if self.pairwise:
            chosen = np.stack([said[row], said[row] + 1 + slot], axis=1).ravel()
            lengths = self.parts.lengths[chosen].reshape(-1, 2)
            lay_out = pair_layout
        else:
            present = np.concatenate([np.ones((count, 1), np.bool_), present], axis=1)
            row, slot = np.nonzero(present)
            chosen = said[row] + slot
            lengths = np.full((count, slots + 1), -1, np.int64)
            lengths[present] = self.parts.lengths[chosen, 0]
            lay_out = joint_layout
        batch = lay_out(Sentences(select(self.parts, chosen).tokens, lengths), self.specials, self.layout)
        batch |= {"labels": torch.from_numpy(self.labels[rows]), "present": torch.from_numpy(present)}
        if self.pairwise:
            batch |= {"pair_rows": torch.from_numpy(row), "pair_slots": torch.from_numpy(slot)}
        return batch | {"lengths": row_lengths(batch).tolist()}
