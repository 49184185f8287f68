"""The fine-tuned model of claims and its inputs."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder, tokenize_texts
from contexture.encoders.config import HeadStyle, LabelHeadKind, LayoutConfig
from contexture.encoders.heads import LabelHead, sentence_states
from contexture.encoders.layout import Batch, Ints
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT
from contexture.tasks.fact_verification.config import PAIRWISE
from contexture.tasks.fact_verification.splits import PLACEHOLDER
from contexture.tasks.finetuned import Examples, FinetunedModel, Step, chunk_by_length, lay_out
from contexture.tasks.pairs.features import encode_labels


class ClaimInputs(Examples):
    """Model inputs of claims and their evidence."""

    noun = "claims"

    def __init__(
        self, claims: pd.DataFrame, classes: Sequence[str], head: LabelHeadKind, encoder: Encoder, layout: LayoutConfig
    ) -> None:
        self.pairwise, self.specials, self.layout = head in PAIRWISE, encoder.specials, layout
        pairs = zip(claims["claim"], claims["evidence"], strict=True)
        texts = [[str(claim), *evidence[: layout.candidates]] for claim, evidence in pairs]
        read = tokenize_texts([text for example in texts for text in example], encoder.vocabulary)
        ids = iter(np.split(read.tokens, np.cumsum(read.lengths)[:-1]))
        #: Token ids of each claim and its evidence sentences.
        self.texts = [[next(ids) for _ in example] for example in texts]
        self.labels = encode_labels(claims["label"].tolist(), classes)

    def __len__(self) -> int:
        return len(self.labels)

    def training_batch(self, step: Step) -> Batch:
        """Return the batch of this device's claims."""
        return self.batch(step.device_rows)

    @property
    def tokens(self) -> Ints:
        """The number of tokens of each claim and its evidence."""
        return np.array([sum(map(len, example)) for example in self.texts], np.int64)

    def batch(self, rows: Ints) -> Batch:
        """Return the model input of claims, with `labels` (B,) and the mask `present` (B, S) of sentences or pairs.

        Joint inputs have S = k+1, the claim first. Pairs have S = k and one input row each; `pair_rows` (P,) and
        `pair_slots` (P,) are their positions in `present`.
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


@dataclass(config=STRICT, frozen=True)
class VerifierSettings:
    """Settings of a fine-tuned model besides its weights."""

    head: LabelHeadKind
    head_style: HeadStyle
    layout: LayoutConfig
    #: The labels, in the order of the logits.
    classes: Annotated[list[str], Field(min_length=2)]


class ClaimVerification(Objective):
    """Cross-entropy of the label of a claim."""

    def __init__(self, settings: VerifierSettings, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.head = LabelHead(settings.head, encoder.hidden_size, len(settings.classes), settings.head_style)

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Return the loss of states (B, T, H), or (P, T, H) of pairs, against `labels` (B,)."""
        return Loss(nn.functional.cross_entropy(self.logits(states, batch), batch["labels"]))

    def logits(self, states: Tensor, batch: StreamBatch) -> Tensor:
        """Return logits (B, labels) from the states of a batch of `ClaimInputs`."""
        sentences, present = sentence_states(states, batch["pooling"]), batch["present"]
        if "pair_rows" in batch:
            pairs = sentences[:, 0]
            sentences = pairs.new_zeros(*present.shape, pairs.shape[1])
            sentences = sentences.index_put((batch["pair_rows"], batch["pair_slots"]), pairs)
        logits: Tensor = self.head(sentences, present)
        return logits.float()


class Verifier(FinetunedModel):
    """Encoder and head of one fine-tuned variant."""

    settings_class, head_class = VerifierSettings, ClaimVerification
    settings_file, title = "fact_verification.json", "model of claims"
    settings: VerifierSettings
    task: ClaimVerification

    def inputs(self, claims: pd.DataFrame) -> ClaimInputs:
        """Return the tokenized model inputs of a table of claims."""
        settings = self.settings
        return ClaimInputs(claims, settings.classes, settings.head, self.encoder, settings.layout)

    def probabilities(self, inputs: ClaimInputs) -> Tensor:
        """Return the probability of each label for each claim, (N, labels)."""
        probabilities = torch.empty(len(inputs), len(self.settings.classes))
        for rows, _, logits in self.predict(inputs.batch, chunk_by_length(inputs.tokens)):
            probabilities[rows] = logits.softmax(dim=1).cpu()
        return probabilities

    def judge(self, claim: str, evidence: Sequence[str]) -> dict[str, float]:
        """Return label → probability for a claim, from at most the first k sentences of evidence."""
        read = [*evidence][: self.settings.layout.candidates] or [PLACEHOLDER]
        row = pd.DataFrame({"claim": [claim], "evidence": [read], "label": [self.settings.classes[0]]})
        [probabilities] = self.probabilities(self.inputs(row)).tolist()
        return dict(zip(self.settings.classes, probabilities, strict=True))


load_verifier = Verifier.load
