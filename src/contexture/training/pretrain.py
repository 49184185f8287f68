"""Pre-train one encoder from example files."""

import logging
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from pydantic import TypeAdapter
from safetensors.torch import save_file

from contexture.encoders.transformer import (
    TransformerEncoder,
    build_encoder,
    load_encoder,
    save_encoder,
    start_from_frequencies,
)
from contexture.objectives.base import Objective
from contexture.objectives.config import OBJECTIVE_CONFIGS
from contexture.objectives.registry import OBJECTIVES
from contexture.text.vocabulary import SpecialTokens, load_tokenizer
from contexture.training.checkpoints import Checkpoints, load_checkpoint
from contexture.training.config import PretrainRun, SystemConfig
from contexture.training.data import JointBatches, ShuffledRows, joint_examples
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.recorder import Recorder
from contexture.training.seeding import mix
from contexture.training.trainer import Tracking, fit

LOG = logging.getLogger(__name__)
#: Examples whose words are counted before training from scratch.
FREQUENCY_SAMPLE = 10_000
OBJECTIVE_WEIGHTS = "objectives.safetensors"


def pretrain(
    config: SystemConfig,
    run: str,
    seed: int,
    examples: Path,
    tokenizer: Path,
    folder: Path,
    start: Path | None = None,
    tracking: Tracking | None = None,
) -> None:
    """Train run `run` of the system and write encoder, tokenizer, heads and curves to `folder`.

    It begins with the encoder in `start`, another run's folder, or with the configured one; where `folder` holds a
    checkpoint it is resumed. Deterministic in (config, seed, examples, start).
    """
    settings, recipe = config.pretrain, config.pretrain.runs[run]
    tokens = load_tokenizer(tokenizer)[1]
    torch.manual_seed(mix(seed, 0))
    encoder = load_encoder(start) if start else build_encoder(config.encoder, config.layout, tokens)
    rows = ShuffledRows(examples, ["sentences", "labels"], mix(seed, 2))
    if start is None and config.encoder.init_from is None:
        sample, _ = joint_examples(rows.take(0, min(rows.rows, FREQUENCY_SAMPLE)), config.layout.candidates)
        start_from_frequencies(encoder, sample.tokens)
    objectives = build_objectives(recipe, encoder, tokens)
    if recipe.steps:
        module = ScheduledObjectives(
            encoder, objectives, recipe.weights_at, recipe.steps, settings.optimizer, mix(seed, 1)
        )
        if load_checkpoint(module, folder):
            LOG.info("resuming %s, seed %d, at step %d of %d", run, seed, module.first_step, module.steps)
        batches = JointBatches(
            rows,
            encoder.specials(tokens),
            config.layout,
            batch_size=settings.batch_size,
            accumulated=settings.accumulated,
            steps=range(module.first_step, module.steps),
            rank=int(os.environ.get("RANK", "0")),
            ranks=settings.devices,
        )
        fit(
            module,
            batches,
            folder,
            precision=choose_precision(settings.precision, encoder, batches[0]),
            clip_norm=settings.optimizer.clip_norm,
            log_every=settings.log_every,
            callbacks=[
                Recorder(encoder, settings.log_every),
                Checkpoints(folder, settings.checkpoint_every),
            ],
            accumulated=settings.accumulated,
            devices=settings.devices,
            workers=settings.loader_workers,
            tracking=tracking,
        )
    if os.environ.get("RANK", "0") == "0":
        save_pretrained(encoder, objectives, tokenizer, folder)


def build_objectives(recipe: PretrainRun, encoder: TransformerEncoder, tokens: SpecialTokens) -> dict[str, Objective]:
    """Every objective of the schedule, with the settings of the run."""
    objectives = {}
    for name in dict.fromkeys(name for stage in recipe.schedule for name in stage.weights):
        settings: Any = TypeAdapter(OBJECTIVE_CONFIGS[name]).validate_python(recipe.objectives.get(name, {}))
        objectives[name] = OBJECTIVES[name](settings, encoder, tokens)
    return objectives


def save_pretrained(
    encoder: TransformerEncoder, objectives: dict[str, Objective], tokenizer: Path, folder: Path
) -> None:
    """Encoder and tokenizer in Hugging Face's layout, and the heads of the objectives beside them."""
    save_encoder(encoder, tokenizer, folder)
    heads = {
        f"{name}.{key}": tensor.contiguous().cpu()
        for name, objective in objectives.items()
        for key, tensor in objective.state_dict().items()
    }
    save_file(heads, folder / OBJECTIVE_WEIGHTS)


def examples_identity(folder: Path) -> dict[str, int]:
    """What tells one table of examples from another, cheaply: its rows and bytes."""
    files = sorted(folder.glob("*.parquet"))
    return {
        "rows": sum(pq.ParquetFile(file).metadata.num_rows for file in files),
        "bytes": sum(file.stat().st_size for file in files),
    }
