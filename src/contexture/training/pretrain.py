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
    """Train a run and write encoder, heads, curves and what was spent to `folder`.

    It begins with the encoder in `files.start`, another run's folder, or with the configured one; where `folder` holds
    a checkpoint it is resumed. Deterministic in (config, seed, files).
    """
    rank = own_rank()
    prepared = prepare(config, seed, files, rank)
    steps = 0
    if prepared.objectives:
        steps = train(config, seed, prepared, folder, rank)
    if rank == 0:
        save_encoder(prepared.encoder, folder)
        save_heads(prepared.objectives, folder)
        save_summary(prepared, steps, folder)
        save_shown(config, prepared, folder)
        remove_checkpoint(folder)


def train(config: Pretraining, seed: int, prepared: Prepared, folder: Path, rank: int) -> int:
    """Take all steps of the schedule; their number."""
    settings, encoder = config.settings, prepared.encoder
    stream_of = {name: config.recipe.stream_of(name, config.streams) for name in config.recipe.names}
    recipe = resolved(config, stream_of, prepared, folder, rank)
    module = ScheduledObjectives(
        encoder,
        prepared.objectives,
        prepared.streams,
        stream_of,
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
        log_every=settings.log_every,
        callbacks=[
            Recorder(folder, settings.log_every),
            # Before the checkpoint of the same step: what a killed run kept is then never behind it.
            Snapshots(folder, recipe.steps, settings.snapshots, lambda place: save_encoder(encoder, place)),
            Checkpoints(folder, settings.checkpoint_every),
        ],
        accumulated=prepared.passes,
        devices=settings.devices,
        workers=settings.loader_workers,
    )
    return recipe.steps


def save_heads(objectives: dict[str, Objective], folder: Path) -> None:
    """Keep the objectives' own weights beside the encoder's."""
    heads = {
        f"{name}.{key}": tensor.contiguous().cpu()
        for name, objective in objectives.items()
        for key, tensor in objective.state_dict().items()
    }
    if heads:
        save_file(heads, folder / OBJECTIVE_WEIGHTS)


def save_summary(prepared: Prepared, steps: int, folder: Path) -> None:
    """What was trained, and what was spent on it: see `summary_of`."""
    modules = (prepared.encoder, *prepared.objectives.values())
    trained = {id(p): p.numel() for module in modules for p in module.parameters() if p.requires_grad}
    own = {id(p): p.numel() for p in prepared.encoder.parameters()}
    found = {"steps": steps, "parameters": sum(own.values()), "trained_parameters": sum(trained.values())}
    (folder / SUMMARY).write_text(json.dumps(found | totals_of(folder), indent=1), encoding="utf-8")


def save_shown(config: Pretraining, prepared: Prepared, folder: Path) -> None:
    """What objectives show of a finished training, on a few examples: `{objective: {…}}`; most show nothing."""
    found, encoder = {}, prepared.encoder.eval()
    for name, objective in prepared.objectives.items():
        stream = prepared.streams[config.recipe.stream_of(name, config.streams)]
        # Made as they are asked for, each row once.
        batches = (stream.collate(stream.rows.take(number, 1), 0, 1) for number in range(stream.rows.rows))
        if shown := objective.shown(encoder, batches):
            found[name] = shown
    if found:
        (folder / SHOWN).write_text(json.dumps(found), encoding="utf-8")


def shown_of(folder: Path) -> dict[str, Any]:
    """What the objectives of a finished run show, by their names; nothing where none does."""
    file = folder / SHOWN
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def summary_of(folder: Path) -> dict[str, Any]:
    """`steps`, `tokens`, `flops`, `seconds` of a finished run, `parameters` of its encoder and `trained_parameters`."""
    found: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    return found
