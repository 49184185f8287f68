"""A fine-tuned model that judges claims: an encoder with room for its inputs, and a head; and both on disk."""

from collections.abc import Sequence
from typing import Annotated

import pandas as pd
import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.config import HeadStyle, LabelHeadKind, LayoutConfig
from contexture.encoders.heads import LabelHead, sentence_states
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT
from contexture.tasks.fact_verification.inputs import ClaimInputs
from contexture.tasks.fact_verification.splits import PLACEHOLDER
from contexture.tasks.finetuned import FinetunedModel, by_length


@dataclass(config=STRICT, frozen=True)
class VerifierSettings:
    """What the weights of a fine-tuned model alone do not tell."""

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
        """Loss of states (B, T, H), or (P, T, H) of pairs, against `labels` (B,)."""
        return Loss(nn.functional.cross_entropy(self.logits(states, batch), batch["labels"]))

    def logits(self, states: Tensor, batch: StreamBatch) -> Tensor:
        """(B, labels) of a batch of `ClaimInputs`."""
        found, present = sentence_states(states, batch["pooling"]), batch["present"]
        if "pair_rows" in batch:
            pairs = found[:, 0]
            found = pairs.new_zeros(*present.shape, pairs.shape[1])
            found = found.index_put((batch["pair_rows"], batch["pair_slots"]), pairs)
        logits: Tensor = self.head(found, present)
        return logits.float()


class Verifier(FinetunedModel):
    """Encoder and head of one fine-tuned variant."""

    settings_class, head_class = VerifierSettings, ClaimVerification
    settings_file, title = "fact_verification.json", "model of claims"
    settings: VerifierSettings
    task: ClaimVerification

    def inputs(self, claims: pd.DataFrame) -> ClaimInputs:
        """Claims as the model reads them."""
        settings = self.settings
        return ClaimInputs(claims, settings.classes, settings.head, self.encoder, settings.layout)

    def probabilities(self, inputs: ClaimInputs) -> Tensor:
        """(N, labels), whatever stands beside a claim."""
        probabilities = torch.empty(len(inputs), len(self.settings.classes))
        for rows, _, logits in self.predict(inputs.batch, by_length(inputs.tokens)):
            probabilities[rows] = logits.softmax(dim=1).cpu()
        return probabilities

    def judge(self, claim: str, evidence: Sequence[str]) -> dict[str, float]:
        """Label → probability; as many sentences of evidence are read as the model has room for, as they stand."""
        read = [*evidence][: self.settings.layout.candidates] or [PLACEHOLDER]
        row = pd.DataFrame({"claim": [claim], "evidence": [read], "label": [self.settings.classes[0]]})
        [found] = self.probabilities(self.inputs(row)).tolist()
        return dict(zip(self.settings.classes, found, strict=True))


load_verifier = Verifier.load
