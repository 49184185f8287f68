"""A fine-tuned pair classifier: an encoder and a linear layer on the vectors of two sentences; and both on disk."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from contexture.encoders.base import TEXTS_AT_ONCE, Encoder, tokenized
from contexture.encoders.layout import Ints, select
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.tasks.finetuned import evaluating, load_finetuned, save_finetuned
from contexture.tasks.pairs.config import FeatureKind
from contexture.tasks.pairs.features import ROWS, features_of, select_cross_layers

SETTINGS = "pairs.json"
#: Features of models whose settings do not name any: before the key existed, cross-sequence layers were always read.
UNNAMED_FEATURES: FeatureKind = "cross"


class PairClassification(Objective):
    """Cross-entropy of a linear softmax on `features_of` the vectors of two sentences."""

    def __init__(self, encoder: Encoder, classes: int, dropout: float = 0.0, features: FeatureKind = "vectors") -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.features = features
        width = (4 if select_cross_layers(encoder, features) is None else 2) * encoder.dimension
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, classes)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        """Loss of the vectors (2B, D) of first, then second sentences against `labels` (B,)."""
        return Loss(nn.functional.cross_entropy(self.logits(encoder, *states.chunk(2)), batch["labels"]))

    def logits(self, encoder: Encoder, first: Tensor, second: Tensor) -> Tensor:
        """Vectors (B, D) of both sentences → (B, classes)."""
        cross = select_cross_layers(encoder, self.features)
        logits: Tensor = self.linear(self.dropout(features_of(first, second, cross)))
        return logits.float()


class PairTexts:
    """The different sentences of some pairs, tokenized once by the vocabulary of an encoder."""

    def __init__(self, first: list[str], second: list[str], encoder: Encoder) -> None:
        texts, places = np.unique(np.array([*first, *second], dtype=object), return_inverse=True)
        self.parts = tokenized(texts.tolist(), encoder.vocabulary)
        #: Of each pair, where its sentences stand among them.
        self.first, self.second = np.split(places.astype(np.int64), 2)
        #: Whether a sentence has a token.
        self.there = self.parts.lengths.sum(axis=1) > 0

    def vectors(self, encoder: Encoder) -> Tensor:
        """Of each sentence, without a role, on the encoder's device; 0 for one without a token."""
        found = np.zeros((len(self.there), encoder.dimension), np.float32)
        rows: Ints = np.flatnonzero(self.there)
        for start in range(0, len(rows), TEXTS_AT_ONCE):
            some = rows[start : start + TEXTS_AT_ONCE]
            found[some] = encoder.embed_tokens(select(self.parts, some))
        return torch.from_numpy(found).to(next(encoder.parameters()).device)

    @torch.inference_mode()
    def predicted(self, encoder: Encoder, task: PairClassification) -> Ints:
        """The class of each pair."""
        vectors = self.vectors(encoder)
        pairs = torch.from_numpy(np.stack([self.first, self.second], axis=1)).to(vectors.device)
        with evaluating(encoder, task):
            found = [task.logits(encoder, *vectors[some].unbind(1)).argmax(1) for some in torch.split(pairs, ROWS)]
        classes: Ints = torch.cat(found).cpu().numpy()
        return classes


class PairModel(nn.Module):
    """Encoder and linear layer of one fine-tuned variant, and the names of the classes."""

    def __init__(
        self, encoder: Encoder, classes: list[str], dropout: float = 0.0, features: FeatureKind = "vectors"
    ) -> None:
        super().__init__()
        self.encoder, self.classes = encoder, classes
        self.task = PairClassification(encoder, len(classes), dropout, features)

    def save(self, folder: Path) -> None:
        """Write the encoder, the linear layer and, last, the classes and the kind of features."""
        save_finetuned(self, folder, SETTINGS, {"classes": self.classes, "features": self.task.features})


def load_pair_model(folder: str | Path) -> PairModel:
    """Load a model that `PairModel.save` wrote, ready to predict, onto the GPU if the machine has one.

    A model that was saved without the key `features` is loaded with `UNNAMED_FEATURES`.

    Raises ValueError, naming the folder, if a file is missing or damaged.
    """

    def build_model(encoder: Encoder, settings: bytes) -> PairModel:
        saved = json.loads(settings)
        features = saved.get("features", UNNAMED_FEATURES)
        if features not in get_args(FeatureKind):
            raise ValueError(f"{SETTINGS}: features is {features!r}, not one of {get_args(FeatureKind)}")
        return PairModel(encoder, saved["classes"], features=features)

    return load_finetuned(Path(folder), SETTINGS, build_model, "pair classifier")
