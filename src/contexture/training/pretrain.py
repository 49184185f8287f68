"""Pre-train one encoder from example files."""

import logging
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from pydantic import TypeAdapter

from contexture.objectives.base import Objective
from contexture.objectives.config import OBJECTIVE_CONFIGS
from contexture.objectives.registry import OBJECTIVES
from contexture.systems.mspp.batches import prepare_mspp
from contexture.systems.quick_thoughts.batches import prepare_quick_thoughts
from contexture.systems.two_tower.prepare import prepare_two_tower
from contexture.training.checkpoints import Checkpoints, load_checkpoint, remove_checkpoint
from contexture.training.config import PretrainRun
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.prepare import Prepared
from contexture.training.recorder import Recorder
from contexture.training.seeding import mix
from contexture.training.systems import System
from contexture.training.trainer import Tracking, fit
from contexture.vocabulary.tokenizers import SpecialTokens, load_tokenizer

LOG = logging.getLogger(__name__)
#: System → what makes its encoder and batches.
PREPARE: dict[str, Any] = {
    "mspp": prepare_mspp,
    "quick_thoughts": prepare_quick_thoughts,
    "two_tower": prepare_two_tower,
}


def pretrain(
    config: System,
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
    prepared: Prepared = PREPARE[config.system](config, run, seed, examples, tokenizer, tokens, start)
    encoder = prepared.encoder
    objectives = build_objectives(recipe, encoder, tokens)
    rank = int(os.environ.get("RANK", "0"))
    if recipe.steps and prepared.batches is not None:
        module = ScheduledObjectives(
            encoder, objectives, recipe.weights_at, recipe.steps, settings.optimizer, mix(seed, 1)
        )
        if load_checkpoint(module, folder):
            LOG.info("resuming %s, seed %d, at step %d of %d", run, seed, module.first_step, module.steps)
        batches = prepared.batches(range(module.first_step, module.steps), rank)
        fit(
            module,
            batches,
            folder,
            precision=choose_precision(settings.precision, encoder, batches[0]),
            log_every=settings.log_every,
            callbacks=[
                Recorder(encoder, settings.log_every),
                # Before the checkpoint of the same step: what a killed run kept is then never behind it.
                *prepared.callbacks(folder),
                Checkpoints(folder, settings.checkpoint_every),
            ],
            accumulated=prepared.accumulated,
            devices=settings.devices,
            workers=settings.loader_workers,
            tracking=tracking,
        )
    if rank == 0:
        prepared.save(objectives, folder)
        remove_checkpoint(folder)


def build_objectives(recipe: PretrainRun, encoder: Any, tokens: SpecialTokens) -> dict[str, Objective]:
    """Every objective of the schedule, with the settings of the run."""
    objectives = {}
    for name in dict.fromkeys(name for stage in recipe.schedule for name in stage.weights):
        settings: Any = TypeAdapter(OBJECTIVE_CONFIGS[name]).validate_python(recipe.objectives.get(name, {}))
        objectives[name] = OBJECTIVES[name](settings, encoder, tokens)
    return objectives


def examples_identity(folder: Path) -> dict[str, int]:
    """What tells one table of examples from another, cheaply: its rows and bytes."""
    files = sorted(folder.rglob("*.parquet"))
    return {
        "rows": sum(pq.ParquetFile(file).metadata.num_rows for file in files),
        "bytes": sum(file.stat().st_size for file in files),
    }
