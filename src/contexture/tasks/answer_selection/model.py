"""A fine-tuned answer-selection model on disk."""

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter
from safetensors.torch import load_file, save_file
from torch import nn

from contexture.encoders.transformer import TransformerEncoder, load_encoder, save_encoder
from contexture.tasks.answer_selection.head import AnswerSelection, AnswerSettings
from contexture.vocabulary.tokenizers import SpecialTokens, load_tokenizer

SETTINGS = "answer_selection.json"
HEAD = "head.safetensors"


class AnswerModel(nn.Module):
    """Encoder and head of one fine-tuned variant."""

    def __init__(self, encoder: TransformerEncoder, settings: AnswerSettings, tokens: SpecialTokens) -> None:
        super().__init__()
        self.encoder, self.settings, self.tokens = encoder, settings, tokens
        self.task = AnswerSelection(settings, encoder, tokens)

    def save(self, folder: Path, tokenizer: Path) -> None:
        """Encoder and tokenizer in Hugging Face's layout, the head and the settings beside them."""
        save_encoder(self.encoder, tokenizer, folder)
        save_file(self.task.state_dict(), folder / HEAD)
        (folder / SETTINGS).write_text(json.dumps(asdict(self.settings), indent=1), encoding="utf-8")


def load_answer_model(folder: Path) -> AnswerModel:
    """A model that `AnswerModel.save` wrote, ready to score."""
    text = (folder / SETTINGS).read_text(encoding="utf-8")
    settings = TypeAdapter(AnswerSettings).validate_json(text)
    model = AnswerModel(load_encoder(folder), settings, load_tokenizer(folder)[1])
    model.task.load_state_dict(load_file(folder / HEAD))
    return model.eval()
