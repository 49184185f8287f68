"""Fine-tuned models: on disk, the encoder as all are saved, its head and, last, the settings; and without dropout."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from contexture.encoders.base import Encoder, on_device
from contexture.encoders.files import load_encoder, save_encoder

HEAD = "head.safetensors"


class Finetuned(Protocol):
    """An encoder and the head that judges its states."""

    @property
    def encoder(self) -> Encoder:
        """What reads."""

    @property
    def task(self) -> nn.Module:
        """The head."""


Model = TypeVar("Model", bound=nn.Module)


def save_finetuned(model: Finetuned, folder: Path, file: str, settings: Mapping[str, Any]) -> None:
    """Write a model to a folder; `file` is that of its settings, without which it is not whole."""
    save_encoder(model.encoder, folder)
    save_file({name: weight.cpu() for name, weight in model.task.state_dict().items()}, folder / HEAD)
    (folder / file).write_text(json.dumps(settings, indent=1), encoding="utf-8")


def load_finetuned(folder: Path, file: str, make: Callable[[Encoder, bytes], Model], what: str) -> Model:
    """A model that `save_finetuned` wrote, ready to be asked, on the GPU where there is one.

    Args:
        folder: of the model.
        file: that of its settings.
        make: the encoder and what the file holds → the model, whose `task` the head is.
        what: what it is called where something is missing or damaged, for which ValueError names the folder.
    """
    encoder = load_encoder(folder)
    try:
        model = make(encoder, (folder / file).read_bytes())
        model.get_submodule("task").load_state_dict(load_file(folder / HEAD))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{folder} holds no whole {what} ({error}); fine-tune it again") from error
    return model.to(next(on_device(encoder).parameters()).device).eval()


@contextmanager
def evaluating(*modules: nn.Module) -> Iterator[None]:
    """Modules without dropout inside the block."""
    before = [module.training for module in modules]
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for module, training in zip(modules, before, strict=True):
            module.train(training)
