"""Pre-train one encoder from example files."""

import json
import logging
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from contexture.encoders.files import save_encoder
from contexture.objectives.base import Objective
from contexture.seeding import mix
from contexture.streams.base import MixedBatches, Stream
from contexture.training.budget import resolved
from contexture.training.checkpoints import Checkpoints, load_checkpoint, remove_checkpoint
from contexture.training.config import Pretraining
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.prepare import Files, Prepared, prepare
from contexture.training.ranks import own_rank
from contexture.training.recorder import Recorder, totals_of
from contexture.training.snapshots import Snapshots
from contexture.training.trainer import fit

LOG = logging.getLogger(__name__)
OBJECTIVE_WEIGHTS = "objectives.safetensors"
SUMMARY = "training.json"
SHOWN = "shown.json"


def pretrain(config: Pretraining, seed: int, files: Files, folder: Path) -> None:
    """Train a run from its checkpoint or start, and write all to `folder`. Deterministic in (config, seed, files)."""
    rank = own_rank()
    prepared = prepare(config, seed, files, rank)
    steps = train(config, seed, prepared, folder, rank) if prepared.objectives else 0
    if rank == 0:
        save_encoder(prepared.encoder, folder)
        save_heads(prepared.objectives, folder)
        save_summary(prepared, steps, folder)
        save_shown(config, prepared, folder)
        remove_checkpoint(folder)


def train(config: Pretraining, seed: int, prepared: Prepared, folder: Path, rank: int) -> int:
    """Take all steps of the schedule; returns their number."""
    settings, encoder = config.settings, prepared.encoder
    recipe = resolved(config, prepared, folder, rank)
    module = ScheduledObjectives(
        encoder,
        prepared.objectives,
        prepared.streams,
        config.stream_of,
        recipe.weights_at,
        recipe.steps,
        settings.optimizer,
        mix(seed, 1),
    )
    if load_checkpoint(module, folder):
        LOG.info("resuming %s, seed %d, at step %d of %d", config.run, seed, module.first_step, module.steps)

    def streams_at(step: int) -> dict[str, Stream]:
        return prepared.stages[recipe.stage_at(step)]

    batches = MixedBatches(streams_at, range(module.first_step, module.steps), prepared.passes)
    fit(
        module,
        batches,
        folder,
        precision=choose_precision(settings.precision, module, batches[0], folder, rank),
        callbacks=[
            Recorder(folder, settings.log_every),
            # Before the checkpoint of the same step: the snapshots of a killed run are never behind it.
            Snapshots(folder, recipe.steps, settings.snapshots, lambda snapshot: save_encoder(encoder, snapshot)),
            Checkpoints(folder, settings.checkpoint_every),
        ],
        accumulated=prepared.passes,
        devices=settings.devices,
        workers=settings.loader_workers,
    )
    return recipe.steps


def save_heads(objectives: dict[str, Objective], folder: Path) -> None:
    """Save the objectives' own weights."""
    heads = {
        f"{name}.{key}": tensor.contiguous().cpu()
        for name, objective in objectives.items()
        for key, tensor in objective.state_dict().items()
    }
    if heads:
        save_file(heads, folder / OBJECTIVE_WEIGHTS)


def save_summary(prepared: Prepared, steps: int, folder: Path) -> None:
    """Save the size of what was trained and the cost: see `summary_of`."""
    modules = (prepared.encoder, *prepared.objectives.values())
    trained = {id(p): p.numel() for module in modules for p in module.parameters() if p.requires_grad}
    encoder = {id(p): p.numel() for p in prepared.encoder.parameters()}
    summary = {"steps": steps, "parameters": sum(encoder.values()), "trained_parameters": sum(trained.values())}
    (folder / SUMMARY).write_text(json.dumps(summary | totals_of(folder), indent=1), encoding="utf-8")


def save_shown(config: Pretraining, prepared: Prepared, folder: Path) -> None:
    """Save what objectives show of a finished training on a few examples: `{objective: {…}}`; most show nothing."""
    examples, encoder = {}, prepared.encoder.eval()
    for name, objective in prepared.objectives.items():
        stream = prepared.streams[config.stream_of[name]]
        # Collated lazily, each row once.
        batches = (stream.collate(stream.rows.take(number, 1), 0, 1) for number in range(stream.rows.rows))
        if example := objective.inspect(encoder, batches):
            examples[name] = example
    if examples:
        (folder / SHOWN).write_text(json.dumps(examples), encoding="utf-8")


def shown_of(folder: Path) -> dict[str, Any]:
    """What the objectives of a finished run show, by their names; empty if none does."""
    return _read_json(folder / SHOWN) if (folder / SHOWN).exists() else {}


def summary_of(folder: Path) -> dict[str, Any]:
    """`steps`, `tokens`, `flops`, `seconds` of a finished run, `parameters` of its encoder and `trained_parameters`."""
    return _read_json(folder / SUMMARY)


def _read_json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
