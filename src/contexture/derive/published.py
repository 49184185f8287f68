"""Load published models of transformers, from safetensors alone."""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoTokenizer

from contexture.encoders.models import hash_model
from contexture.encoders.named import first_error_line, is_hub_reachable
from contexture.encoders.quiet import quiet_loading
from contexture.folders import expand_home
from contexture.packages import encoder_path

#: Texts of one forward pass.
BATCH_TEXTS = 32


@dataclass(frozen=True)
class PublishedModel:
    """A model in evaluation mode, on the GPU if there is one, and its tokenizer."""

    model: Any
    tokenizer: Any

    @property
    def checksum(self) -> str:
        """SHA-256 of settings, weights and tokenizer."""
        settings = self.model.config.to_dict()
        settings.pop("_name_or_path", None)
        return hash_model(repr(sorted(settings.items(), key=str)), self.model, self.tokenizer)

    def tokenize(self, *texts: list[str], max_tokens: int) -> Any:
        """Return the padded inputs of texts, or of pairs of texts, on the device of the model."""
        inputs = self.tokenizer(*texts, return_tensors="pt", padding=True, truncation=True, max_length=max_tokens)
        return inputs.to(self.model.device)


def load_published(key: str, name: str, auto_class: Any) -> PublishedModel:
    """Load a model by folder or name with a class of transformers, such as AutoModel.

    Raises ValueError, naming the configuration `key`, if the model is missing or has no safetensors weights.
    """
    try:
        folder = expand_home(encoder_path(name))
        source, local = (str(folder), True) if folder.exists() else (name, not is_hub_reachable(name))
        with quiet_loading():
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
            model = auto_class.from_pretrained(source, local_files_only=local, use_safetensors=True)
    except Exception as error:  # of any type, from any library
        raise ValueError(
            f"{key}: {name} cannot be loaded ({first_error_line(error)}); give the folder of a model with safetensors "
            "weights, or its name on the Hugging Face hub"
        ) from error
    return PublishedModel(model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer)
