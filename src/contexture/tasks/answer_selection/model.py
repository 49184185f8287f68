"""A fine-tuned answer-selection model: an encoder with room for its inputs, and a head; and both on disk."""

from dataclasses import asdict
from pathlib import Path

import torch
from pydantic import TypeAdapter
from torch import nn

from contexture.encoders.base import Encoder
from contexture.encoders.transformer import Transformer, resize_token_types
from contexture.tasks.answer_selection.head import AnswerSelection, AnswerSettings
from contexture.tasks.finetuned import load_finetuned, save_finetuned

SETTINGS = "answer_selection.json"


class AnswerModel(nn.Module):
    """Encoder and head of one fine-tuned variant."""

    def __init__(self, encoder: Encoder, settings: AnswerSettings) -> None:
        """Raises ValueError for an encoder without states of tokens."""
        super().__init__()
        self.encoder, self.settings = encoder, settings
        self.task = AnswerSelection(settings, encoder)

    def save(self, folder: Path) -> None:
        """The encoder as all encoders are saved, the head and, last, the settings beside it."""
        save_finetuned(self, folder, SETTINGS, asdict(self.settings))


def load_answer_model(folder: str | Path) -> AnswerModel:
    """A model that `AnswerModel.save` wrote, ready to score, on the GPU where there is one.

    Raises ValueError, naming the folder, where something is missing or damaged.
    """

    def made(encoder: Encoder, settings: bytes) -> AnswerModel:
        return AnswerModel(encoder, TypeAdapter(AnswerSettings).validate_json(settings))

    return load_finetuned(Path(folder), SETTINGS, made, "answer-selection model")


def make_room(encoder: Encoder, positions: int, types: int) -> None:
    """Give an encoder the positions and token types that joint inputs need, where it was trained with fewer.

    New rows of the table of positions start as copies of the old ones, which follow one another again and again
    (Longformer, section 5), those of token types as copies of the first. ValueError for an encoder without states.
    """
    network = encoder.document
    if not isinstance(network, Transformer):
        raise ValueError(
            f"{encoder.name} is a {type(network).__name__}: a model that reads texts together is fine-tuned on a "
            "transformer"
        )
    resize_token_types(network.model, types)
    first = encoder.specials.first_position
    needed = first + positions
    old = network.base.embeddings.position_embeddings
    if old.num_embeddings < needed:
        rows = torch.arange(needed)
        rows[first:] = first + (rows[first:] - first) % (old.num_embeddings - first)
        new = nn.Embedding(needed, old.embedding_dim, old.padding_idx)
        new.weight = nn.Parameter(old.weight.detach()[rows])
        network.base.embeddings.position_embeddings = new
        network.model.config.max_position_embeddings = needed
