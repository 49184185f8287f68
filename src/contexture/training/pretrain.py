"""Pre-train one encoder from example files."""

import json
import logging
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from contexture.encoders.files import save_encoder
from contexture.objectives.base import Objective
from contexture.seeding import mix
from contexture.streams.base import MixedBatches, Stream
from contexture.training.budget import MAX_OVERRUN, STEPS_FILE, resolve_budgets
from contexture.training.checkpoints import Checkpoints, load_checkpoint, remove_checkpoint
from contexture.training.config import Pretraining, PretrainRun
from contexture.training.curves import remove_later_curves
from contexture.training.held_out import HeldOutBatches, HeldOutLoss, open_held_out
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.prepare import PreparedRun, RunFiles, prepare
from contexture.training.ranks import get_rank
from contexture.training.recorder import Recorder, read_totals
from contexture.training.rest import RestOfRun
from contexture.training.snapshots import Snapshots
from contexture.training.trainer import TimeLimit, fit

LOG = logging.getLogger(__name__)
OBJECTIVES_FILE = "objectives.safetensors"
SUMMARY_FILE = "training.json"
ILLUSTRATIONS_FILE = "shown.json"


def pretrain(config: Pretraining, seed: int, files: RunFiles, folder: Path) -> None:
    """Train a run, from its checkpoint if there is one, and save encoder, objectives and a summary in `folder`.

    The result is a function of (config, seed, files).
    """
    rank = get_rank()
    prepared = prepare(config, seed, files, rank)
    trained: dict[str, Any] = {"steps": 0}
    if prepared.objectives:
        trained = train(config, seed, prepared, folder, rank, files.rest, open_held_out(config, files, prepared))
    if rank == 0:
        save_encoder(prepared.encoder, folder)
        save_heads(prepared.objectives, folder)
        save_summary(prepared, trained, folder)
        save_illustrations(config, prepared, folder)
        remove_checkpoint(folder)


def train(
    config: Pretraining,
    seed: int,
    prepared: PreparedRun,
    folder: Path,
    rank: int,
    rest: RestOfRun | None = None,
    held_out: HeldOutBatches | None = None,
) -> dict[str, Any]:
    """Train a prepared run for the steps of the schedule; return their number `steps` and losses on `held_out` text.

    Budgets in minutes need `rest`; they end a training whose steps take longer than measured. The loss on held-out text
    may end it, too; then the best weights are kept.
    """
    settings, encoder = config.settings, prepared.encoder
    recipe, seconds = resolve_budgets(config, prepared, folder, rank, rest)
    module = ScheduledObjectives(
        encoder,
        prepared.objectives,
        prepared.streams,
        config.stream_by_objective,
        recipe.get_weights,
        recipe.steps,
        settings.optimizer,
        mix(seed, 1),
    )
    kept = HeldOutLoss(held_out, settings.held_out, recipe) if held_out and settings.held_out else None
    if load_checkpoint(module, folder, kept):
        LOG.info("resuming %s, seed %d, at step %d of %d", config.run, seed, module.first_step, module.steps)
    if rank == 0:
        remove_later_curves(folder, module.first_step)

    def streams_at(step: int) -> dict[str, Stream]:
        """Return the streams of the stage of an optimizer step."""
        return prepared.stages[recipe.get_stage_number(step)]

    batches = MixedBatches(streams_at, range(module.first_step, module.steps), prepared.passes)
    fit(
        module,
        batches,
        folder,
        precision=choose_precision(settings.precision, module, batches[0], folder, rank),
        callbacks=[
            # Before the checkpoint, which has its totals.
            Recorder(folder, settings.log_every, settings.checkpoint_every),
            # Before the checkpoint of the same step, so that a killed run misses no snapshot and no measurement.
            Snapshots(folder, recipe.steps, settings.snapshots, lambda snapshot: save_encoder(encoder, snapshot)),
            *([kept] if kept else []),
            Checkpoints(folder, settings.checkpoint_every, kept),
            *([] if seconds is None else [TimeLimit(MAX_OVERRUN * seconds * (1 - module.first_step / module.steps))]),
        ],
        accumulated=prepared.passes,
        devices=settings.devices,
        workers=settings.loader_workers,
    )
    if kept is None:
        return {"steps": module.step}
    kept.restore_best(module)
    return {"steps": module.step, "held_out": kept.summary(module.step)}


def save_heads(objectives: dict[str, Objective], folder: Path) -> None:
    """Save the weights of objectives in one file in `folder`, if they have any."""
    heads = {
        f"{name}.{key}": tensor.contiguous().cpu()
        for name, objective in objectives.items()
        for key, tensor in objective.state_dict().items()
    }
    if heads:
        save_file(heads, folder / OBJECTIVES_FILE)


def save_summary(prepared: PreparedRun, trained: dict[str, Any], folder: Path) -> None:
    """Save what `train` returned, the numbers of parameters and the cost of training; see `read_summary`."""
    modules = (prepared.encoder, *prepared.objectives.values())
    updated = {id(p): p.numel() for module in modules for p in module.parameters() if p.requires_grad}
    encoder = {id(p): p.numel() for p in prepared.encoder.parameters()}
    summary = trained | {"parameters": sum(encoder.values()), "trained_parameters": sum(updated.values())}
    (folder / SUMMARY_FILE).write_text(json.dumps(summary | read_totals(folder), indent=1), encoding="utf-8")


def save_illustrations(config: Pretraining, prepared: PreparedRun, folder: Path) -> None:
    """Save illustrations of what objectives learned, `{objective: {…}}`; most objectives have none."""
    illustrations, encoder = {}, prepared.encoder.eval()
    for name, objective in prepared.objectives.items():
        stream = prepared.streams[config.stream_by_objective[name]]
        # Collate lazily, one row at a time.
        batches = (stream.collate(stream.rows.take(number, 1), 0, 1) for number in range(stream.rows.rows))
        if illustration := objective.inspect(encoder, batches):
            illustrations[name] = illustration
    if illustrations:
        (folder / ILLUSTRATIONS_FILE).write_text(json.dumps(illustrations), encoding="utf-8")


def read_illustrations(folder: Path) -> dict[str, Any]:
    """Read the illustrations of a finished run, by objective; empty if there are none."""
    return _read_json(folder / ILLUSTRATIONS_FILE) if (folder / ILLUSTRATIONS_FILE).exists() else {}


def read_summary(folder: Path) -> dict[str, Any]:
    """Read `steps`, `tokens`, `flops`, `seconds`, `parameters` (of the encoder) and `trained_parameters` of a run.

    With held-out documents, `held_out` has their losses: `start`, before the first step; `loss`, of the saved encoder,
    which is that of `step`; `best` and `best_step`; and `last`. `stopped_early` is true if patience ended the training.
    With questions, it has their mean reciprocal rank, too: `mrr_start`, and `mrr` of the saved encoder.
    """
    return _read_json(folder / SUMMARY_FILE)


def read_stage_steps(recipe: PretrainRun, folder: Path) -> list[int]:
    """Return the steps that a finished training made in each stage; fewer than planned if it was stopped early."""
    if (folder / STEPS_FILE).exists():
        planned = [steps for steps, _ in json.loads((folder / STEPS_FILE).read_text(encoding="utf-8"))]
    else:
        planned = [stage.steps or 0 for stage in recipe.schedule]
    made = read_summary(folder)["steps"]
    ends = [min(end, made) for end in accumulate(planned, initial=0)]
    return [end - start for start, end in pairwise(ends)]


def _read_json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content
