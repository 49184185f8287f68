"""Training examples and fine-tuned models: an encoder, a head and their settings."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from contexture.encoders.base import MAX_BATCH_TEXTS, Encoder, prepare_for_inference, to_device
from contexture.encoders.config import ROLES, LayoutConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.layout import (
    Batch,
    Ints,
    Sentences,
    SpecialTokenFormat,
    joint_layout,
    pair_layout,
    row_lengths,
    select_rows,
)
from contexture.seeding import mix

HEAD_FILE = "head.safetensors"
#: Rows of a chunk of `chunk_by_length`.
CHUNK_ROWS = 64


@dataclass(frozen=True)
class Step:
    """The example numbers of one optimizer step, over all devices."""

    rows: Ints
    epoch: int
    seed: int
    rank: int
    ranks: int

    @property
    def device_rows(self) -> Ints:
        """The example numbers of this device in the step."""
        return self.rows[self.rank :: self.ranks]

    def make_generator(self, row: int) -> np.random.Generator:
        """Return a random generator that seed, epoch and example number `row` determine."""
        return np.random.default_rng(mix(self.seed, self.epoch, row))


class Examples(ABC):
    """The training examples of a task as encoder inputs."""

    #: Plural noun for the examples in errors.
    noun: ClassVar[str]
    #: Whether the last batch of an epoch may be smaller, down to one example over all devices. Otherwise examples that
    #: do not fill a batch are skipped in the epoch, and each device has the same number.
    small_last_batch: ClassVar[bool] = False

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @abstractmethod
    def training_batch(self, step: Step) -> Mapping[str, Any]:
        """Return the model inputs and labels of this device's examples in an optimizer step."""

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        """Return states (B, T, H) of a batch of tokens, or role → vectors (B, D) of a batch of texts."""
        if "input_ids" in batch:
            return encoder.transformer.states(dict(batch))
        return {role: encoder(batch[role], role) for role in ROLES}


class FinetunedModel(nn.Module):
    """An encoder and a head on its states.

    A subclass sets `settings_class` (a dataclass), `head_class` (called with settings and encoder), `settings_file`,
    and `title`, the name of the model in errors.
    """

    settings_class: ClassVar[type]
    head_class: ClassVar[Callable[..., nn.Module]]
    settings_file: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, encoder: Encoder, settings: Any) -> None:
        """Raise ValueError if the head cannot use the encoder's states."""
        super().__init__()
        self.encoder, self.settings = encoder, settings
        self.task: Any = type(self).head_class(settings, encoder)

    @classmethod
    def create(cls, encoder: Encoder, **settings: Any) -> Self:
        """Return a model of an encoder and a new, untrained head. Raise ValidationError for invalid settings."""
        return cls(encoder, TypeAdapter(cls.settings_class).validate_python(settings))

    def save(self, folder: Path) -> None:
        """Write the encoder, the head and the settings to `folder`, in this order."""
        save_encoder(self.encoder, folder)
        save_file({name: weight.cpu() for name, weight in self.task.state_dict().items()}, folder / HEAD_FILE)
        (folder / self.settings_file).write_text(json.dumps(asdict(self.settings), indent=1), encoding="utf-8")

    @classmethod
    def load_settings(cls, folder: Path) -> Any:
        """Return the settings of a saved model."""
        return TypeAdapter(cls.settings_class).validate_json((folder / cls.settings_file).read_bytes())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return a saved model in evaluation mode, on the GPU if there is one.

        Raise ValueError with the folder if a file is missing or damaged.
        """
        folder = Path(folder)
        encoder = load_encoder(folder)
        try:
            model = cls(encoder, cls.load_settings(folder))
            model.task.load_state_dict(load_file(folder / HEAD_FILE))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ValueError(f"{folder}: incomplete {cls.title} ({error}); fine-tune it again") from error
        return model.to(next(prepare_for_inference(encoder).parameters()).device).eval()

    @torch.inference_mode()
    def predict(self, make_batch: Callable[[Ints], Batch], chunks: Iterable[Ints]) -> Iterator[tuple[Ints, Batch, Any]]:
        """Yield row numbers, batch (by `make_batch`) and logits of each chunk of row numbers, without dropout."""
        device = next(self.parameters()).device
        with evaluation_mode(self.encoder, self.task):
            for rows in chunks:
                batch = to_device(make_batch(rows), device)
                yield rows, batch, self.task.logits(self.encoder.transformer.states(batch), batch)


def lay_out(
    texts: Sequence[Sequence[Ints]],
    slots: int,
    specials: SpecialTokenFormat,
    layout: LayoutConfig,
    pairwise: bool = False,
) -> Batch:
    """Return a Transformer batch with one row per example, a joint input of up to `slots` texts (token ids).

    With `pairwise`, each example must have two texts, which become the input of a cross-encoder.
    `lengths` in the batch are the numbers of tokens of its rows.
    """
    lengths = np.full((len(texts), slots), -1, np.int64)
    for row, example in zip(lengths, texts, strict=True):
        row[: len(example)] = [len(text) for text in example]
    tokens = np.concatenate([text for example in texts for text in example]).astype(np.int64)
    batch = (pair_layout if pairwise else joint_layout)(Sentences(tokens, lengths), specials, layout)
    return batch | {"lengths": row_lengths(batch).tolist()}


def chunk_by_length(lengths: Ints) -> list[Ints]:
    """Return the row numbers sorted by length, shortest first, in chunks of `CHUNK_ROWS`."""
    order = np.argsort(lengths, kind="stable")
    return [order[start : start + CHUNK_ROWS] for start in range(0, len(order), CHUNK_ROWS)]


def embed_all(encoder: Encoder, texts: Sentences, rows: Ints) -> npt.NDArray[np.float32]:
    """Return vectors (N, D) of N tokenized texts: those in `rows` are embedded, the others are zero vectors."""
    vectors = np.zeros((len(texts.lengths), encoder.dimension), np.float32)
    for start in range(0, len(rows), MAX_BATCH_TEXTS):
        chunk = rows[start : start + MAX_BATCH_TEXTS]
        vectors[chunk] = encoder.embed_tokens(select_rows(texts, chunk))
    return vectors


@contextmanager
def evaluation_mode(*modules: nn.Module) -> Iterator[None]:
    """Put modules in evaluation mode inside the `with` block, and back in their modes after it."""
    modes = [module.training for module in modules]
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for module, training in zip(modules, modes, strict=True):
            module.train(training)
