"""A fine-tuned pair classifier: an encoder and a linear layer on the vectors of two sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder, tokenize_texts
from contexture.encoders.layout import Ints, select_rows
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT
from contexture.tasks.finetuned import Examples, FinetunedModel, Step, embed_all, evaluation_mode
from contexture.tasks.pairs.config import FeatureKind
from contexture.tasks.pairs.features import PAIRS_AT_ONCE, compute_features, encode_labels, select_cross_layers

#: Dropout of the features in training; the encoder keeps its configured dropout.
DROPOUT = 0.1


@dataclass(config=STRICT, frozen=True)
class PairModelSettings:
    """Settings saved with the weights of a fine-tuned model."""

    #: The labels, in the order of the logits.
    classes: list[str]
    #: Default of models saved without this key.
    features: FeatureKind = "cross"


class PairClassification(Objective):
    """Cross-entropy of a linear softmax on `compute_features` of two sentences' vectors."""

    def __init__(self, settings: PairModelSettings, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.features = settings.features
        width = (4 if select_cross_layers(encoder, self.features) is None else 2) * encoder.dimension
        self.dropout = nn.Dropout(DROPOUT)
        self.linear = nn.Linear(width, len(settings.classes))
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        """Return the loss of vectors (2B, D), first then second sentences, against `labels` (B,)."""
        return Loss(nn.functional.cross_entropy(self.logits(encoder, *states.chunk(2)), batch["labels"]))

    def logits(self, encoder: Encoder, first: Tensor, second: Tensor) -> Tensor:
        """Return logits (B, classes) of the vectors (B, D) of both sentences."""
        cross = select_cross_layers(encoder, self.features)
        logits: Tensor = self.linear(self.dropout(compute_features(first, second, cross)))
        return logits.float()


class PairModel(FinetunedModel):
    """Encoder and linear layer of a fine-tuned variant."""

    settings_class, head_class = PairModelSettings, PairClassification
    settings_file, title = "pairs.json", "pair classifier"
    settings: PairModelSettings
    task: PairClassification


class PairInputs(Examples):
    """Labelled pairs; each distinct sentence is tokenized once."""

    noun = "pairs"

    def __init__(self, pairs: pd.DataFrame, classes: Sequence[str], encoder: Encoder, tokens_at_once: int = 0) -> None:
        """`tokens_at_once`: tokens per encoder pass in training."""
        self.encoder, self.tokens_at_once = encoder, tokens_at_once
        texts, positions = np.unique(pairs[["first", "second"]].to_numpy(object).T, return_inverse=True)
        self.parts = tokenize_texts(texts.tolist(), encoder.vocabulary)
        #: The first and the second sentence of each pair, (2, N), as rows of `parts`.
        self.sentences: Ints = positions.reshape(2, -1).astype(np.int64)
        self.labels = encode_labels(pairs["label"].tolist(), classes)
        #: Whether a sentence has a token; pairs are trained on if both sentences have one.
        self.has_tokens = self.parts.lengths.sum(axis=1) > 0
        self.trained_on: Ints = np.flatnonzero(self.has_tokens[self.sentences].all(axis=0))

    def __len__(self) -> int:
        return len(self.trained_on)

    def training_batch(self, step: Step) -> dict[str, Any]:
        """Return the labels of a step's pairs and, by role, their 2·B sentences: B first ones, then B second ones."""
        rows = self.trained_on[step.device_rows]
        sentences = select_rows(self.parts, self.sentences[:, rows].ravel())
        roles = self.encoder.plain_roles
        texts = {role: self.encoder.batch(sentences, role, self.tokens_at_once) for role in roles}
        return {"labels": torch.from_numpy(self.labels[rows])} | texts

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Return the vectors (2B, D) of a batch's sentences, without a role."""
        return encoder.combine_roles({role: batch[role] for role in encoder.plain_roles})

    @torch.inference_mode()
    def is_right(self, model: PairModel) -> npt.NDArray[np.bool_]:
        """Return whether the model predicts each pair's label; a sentence without tokens has a zero vector."""
        encoder = model.encoder
        vectors = embed_all(encoder, self.parts, np.flatnonzero(self.has_tokens))
        device = next(encoder.parameters()).device
        first, second = torch.from_numpy(vectors).to(device)[torch.from_numpy(self.sentences).to(device)]
        with evaluation_mode(encoder, model.task):
            chunks = zip(first.split(PAIRS_AT_ONCE), second.split(PAIRS_AT_ONCE), strict=True)
            predicted = [model.task.logits(encoder, *chunk).argmax(1).cpu().numpy() for chunk in chunks]
        right: npt.NDArray[np.bool_] = np.concatenate(predicted) == self.labels
        return right
