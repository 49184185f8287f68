"""Settings of derived examples, checked before a run."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.named import is_model_path
from contexture.folders import expand_home
from contexture.packages import encoder_path
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class NegativesConfig:
    """Mining of hard negatives by BM25 and by an encoder."""

    # Negatives of each pair. Pairs with fewer are dropped.
    count: Positive = 2
    # Best passages of each ranking that are candidates.
    depth: Positive = 50
    # A candidate whose encoder score exceeds this share of the document's score may be an answer: it is left out.
    max_score_share: Annotated[float, Field(gt=0, le=1)] = 0.95
    # Maximum number of sampled pairs.
    pairs: Positive = 20_000


@dataclass(config=STRICT, frozen=True)
class QueriesConfig:
    """Questions that a sequence-to-sequence model writes for passages (doc2query, InPars, GPL)."""

    # Folder or name of a published model. null: no questions.
    model: str | None = None
    # Questions of each passage: one is decoded greedily, several are sampled.
    per_passage: Positive = 1
    # Maximum number of passages.
    passages: Positive = 5_000


@dataclass(config=STRICT, frozen=True)
class MarginsConfig:
    """Scores of a cross-encoder, which `margin_distillation` distills."""

    # Folder or name of a published sequence classifier with one logit. null: no margins.
    model: str | None = None


@dataclass(config=STRICT, frozen=True)
class DeriveConfig:
    """Examples that are derived from the pairs of the stream `pairs`, for the stream `hard_pairs`."""

    # Encoder that mines: an untrained run of this system, or folder or name of a published model.
    encoder: str
    negatives: NegativesConfig = Field(default_factory=NegativesConfig)
    queries: QueriesConfig = Field(default_factory=QueriesConfig)
    margins: MarginsConfig = Field(default_factory=MarginsConfig)

    @property
    def published_models(self) -> dict[str, str]:
        """Key → name or folder of the models that transformers loads."""
        models = {"queries": self.queries.model, "margins": self.margins.model}
        return {f"{key}.model": model for key, model in models.items() if model is not None}


def check_path(model: str) -> Path | None:
    """Return the folder of a model, None for a name; raise ValueError if `model` is a path that does not exist."""
    folder = expand_home(encoder_path(model))
    if folder.exists():
        return folder
    if is_model_path(model):
        raise ValueError(f"{model}: there is no such folder; give the folder of a model, or its name")
    return None


def check_weights(model: str) -> None:
    """Raise ValueError if `model` is a path without a published model in safetensors format."""
    folder = check_path(model)
    if folder and not ((folder / "config.json").exists() and list(folder.glob("*.safetensors"))):
        raise ValueError(
            f"{model}: config.json or *.safetensors is missing; save the model there with save_pretrained, as "
            "safetensors"
        )
