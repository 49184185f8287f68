"""A fine-tuned sentiment classifier: an encoder and a linear layer on the vector of a review."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder, tokenize_texts
from contexture.encoders.layout import Ints, select_rows
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT
from contexture.tasks.finetuned import Examples, FinetunedModel, Step, embed_all, evaluation_mode

#: Negative, positive.
NUM_CLASSES = 2
#: Dropout of the vector in training; the encoder keeps its configured dropout.
DROPOUT = 0.1


@dataclass(config=STRICT, frozen=True)
class ReviewModelSettings:
    """Settings saved with the weights of a fine-tuned model; there are none."""


class ReviewClassification(Objective):
    """Cross-entropy of a linear softmax on the vector of a review."""

    def __init__(self, settings: ReviewModelSettings, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.dropout = nn.Dropout(DROPOUT)
        self.linear = nn.Linear(encoder.dimension, NUM_CLASSES)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        """Return the loss of vectors (B, D) against `labels` (B,)."""
        return Loss(nn.functional.cross_entropy(self.logits(states), batch["labels"]))

    def logits(self, vectors: Tensor) -> Tensor:
        """Return logits (B, 2) of the vectors (B, D) of reviews."""
        logits: Tensor = self.linear(self.dropout(vectors))
        return logits.float()


class ReviewModel(FinetunedModel):
    """Encoder and linear layer of a fine-tuned variant."""

    settings_class, head_class = ReviewModelSettings, ReviewClassification
    settings_file, title = "reviews.json", "review classifier"
    task: ReviewClassification


class ReviewInputs(Examples):
    """Labelled reviews. Those without a token are not trained on."""

    noun = "reviews"

    def __init__(self, texts: Sequence[str], labels: Sequence[int], encoder: Encoder, tokens_at_once: int = 0) -> None:
        """`labels`: 1 for positive reviews; `tokens_at_once`: tokens per encoder pass in training."""
        self.encoder, self.tokens_at_once = encoder, tokens_at_once
        self.texts, self.labels = tokenize_texts([*texts], encoder.vocabulary), np.array(labels, np.int64)
        self.trained_on: Ints = np.flatnonzero(self.texts.lengths.sum(axis=1) > 0)

    def __len__(self) -> int:
        return len(self.trained_on)

    def training_batch(self, step: Step) -> dict[str, Any]:
        """Return the labels and, by role, the texts of this device's reviews in a step."""
        rows = self.trained_on[step.device_rows]
        texts = select_rows(self.texts, rows)
        by_role = {role: self.encoder.batch(texts, role, self.tokens_at_once) for role in self.encoder.plain_roles}
        return {"labels": torch.from_numpy(self.labels[rows])} | by_role

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Return the vectors (B, D) of a batch's reviews, without a role."""
        return encoder.combine_roles({role: batch[role] for role in encoder.plain_roles})

    @torch.inference_mode()
    def is_right(self, model: ReviewModel) -> npt.NDArray[np.bool_]:
        """Return whether the model predicts each review's label; a review without tokens has a zero vector."""
        encoder = model.encoder
        vectors = embed_all(encoder, self.texts, self.trained_on)
        with evaluation_mode(encoder, model.task):
            logits = model.task.logits(torch.from_numpy(vectors).to(next(encoder.parameters()).device))
        right: npt.NDArray[np.bool_] = logits.argmax(1).cpu().numpy() == self.labels
        return right
