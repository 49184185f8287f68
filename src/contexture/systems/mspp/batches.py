"""MSPP: one encoder over joint examples."""

from pathlib import Path

from safetensors.torch import save_file

from contexture.encoders.transformer import (
    TransformerEncoder,
    build_encoder,
    load_encoder,
    save_encoder,
    start_from_frequencies,
)
from contexture.objectives.base import Objective
from contexture.training.config import MsppSystem
from contexture.training.data import JointBatches, ShuffledRows, joint_examples
from contexture.training.prepare import Prepared
from contexture.training.seeding import mix
from contexture.vocabulary.tokenizers import SpecialTokens

#: Examples whose words are counted before training from scratch.
FREQUENCY_SAMPLE = 10_000
OBJECTIVE_WEIGHTS = "objectives.safetensors"


def prepare_mspp(
    config: MsppSystem, run: str, seed: int, examples: Path, tokenizer: Path, tokens: SpecialTokens, start: Path | None
) -> Prepared:
    """The encoder of `start`, another run's folder, or the configured one, and batches of joint examples."""
    layout, settings = config.layout, config.pretrain
    encoder = (
        load_encoder(start) if start else build_encoder(config.encoder, layout.width, layout.candidates + 1, tokens)
    )
    rows = ShuffledRows(examples, ["sentences", "labels"], mix(seed, 2))
    if start is None and config.encoder.init_from is None:
        sample, _ = joint_examples(rows.take(0, min(rows.rows, FREQUENCY_SAMPLE)), layout.candidates)
        start_from_frequencies(encoder, sample.tokens)

    def batches(steps: range, rank: int) -> JointBatches:
        return JointBatches(
            rows,
            encoder.specials(tokens),
            layout,
            batch_size=settings.batch_size,
            accumulated=settings.accumulated,
            steps=steps,
            rank=rank,
            ranks=settings.devices,
        )

    def save(objectives: dict[str, Objective], folder: Path) -> None:
        save_masked(encoder, objectives, tokenizer, folder)

    return Prepared(encoder, batches, save, settings.accumulated)


def save_masked(encoder: TransformerEncoder, objectives: dict[str, Objective], tokenizer: Path, folder: Path) -> None:
    """Encoder and tokenizer in Hugging Face's layout, and the heads of the objectives beside them."""
    save_encoder(encoder, tokenizer, folder)
    heads = {
        f"{name}.{key}": tensor.contiguous().cpu()
        for name, objective in objectives.items()
        for key, tensor in objective.state_dict().items()
    }
    save_file(heads, folder / OBJECTIVE_WEIGHTS)
