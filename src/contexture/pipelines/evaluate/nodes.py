"""Nodes of the stage `evaluate`."""

import json
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.folders import work_folder
from contexture.pipelines.contestants import contestants
from contexture.pipelines.pretrain.nodes import seed_folder
from contexture.pipelines.trainings import side_by_side
from contexture.systems.config import SystemConfig
from contexture.systems.registry import task_of
from contexture.tasks.base import Contestant
from contexture.tasks.sentences.config import WORD_AVERAGE

RECORDS, FACTS = "records.json", "facts.json"
#: Sentences of the corpus whose embedding is timed.
TIMED = 2000


def evaluate(
    task: str,
    config: SystemConfig,
    guests: Mapping[str, SystemConfig],
    compute: ComputeConfig,
    inputs: Sequence[str],
    data: Path,
    models: Path,
    results: Path,
    vectors: Path,
    *given: Path,
) -> Path:
    """Measure all variants of a system, and its guests, on a task; `results` gets records, facts and tables.

    `inputs` are the names of what is given: tables of the corpus that the task asks for by name, then what was made of
    encoders, to wait for it.
    """
    there = dict(zip(inputs, given, strict=True))
    own = contestants(config, task, models / "pretrained", there.get("finetuned"))
    every = [*own, *(one for name, guest in guests.items() for one in _guests(name, guest, config, models))]
    measured = task_of(task)
    if config.word_average and "words" not in measured.corpus:  # a task that is given words has the row by itself
        every.append(Contestant(WORD_AVERAGE, 0, (str(there["words"]),)))
    more = {name: there[name] for name in measured.corpus if name in there}
    vectors.mkdir(parents=True, exist_ok=True)
    each = side_by_side(compute, f"evaluation on {task.replace('_', ' ')}")
    found = measured.evaluate(config.task(task), every, data, vectors, each, **more)
    with work_folder(results) as work:
        (work / RECORDS).write_text(json.dumps(found.records), encoding="utf-8")
        (work / FACTS).write_text(json.dumps(found.facts), encoding="utf-8")
        for name, table in found.tables.items():
            table.to_parquet(work / f"{name}.parquet")
    return results


def time_embedding(
    config: SystemConfig, guests: Mapping[str, SystemConfig], models: Path, paragraphs: Path, *encoders: Path
) -> dict[str, float]:
    """Variant, or guest → sentences that it embeds a second, of the first seed; `encoders` are there to wait for."""
    from contexture.encoders.models import load_models
    from contexture.vocabulary.tokenizers import paragraph_texts

    texts = list(islice(paragraph_texts(paragraphs, "sentences"), TIMED))
    named: dict[str, Sequence[str]] = {}
    for name, variant in config.measured.items():
        runs = [str(seed_folder(models / "pretrained", run, 0)) for run in config.runs_of(name)]
        named[name] = runs or [str(variant.model)]
    visiting = [one for name, guest in guests.items() for one in _guests(name, guest, config, models)]
    named |= {one.variant: one.encoders for one in visiting if one.seed == 0}
    found = {}
    for name, folders in named.items():
        model = load_models(folders)
        model.embed(texts[:100])
        began = time.perf_counter()
        model.embed(texts)
        found[name] = len(texts) / (time.perf_counter() - began)
    return found


def _guests(name: str, guest: SystemConfig, host: SystemConfig, models: Path) -> list[Contestant]:
    """The variants of another system, frozen, of as many seeds as it has."""
    pretrained = models.parent / name / "pretrained"
    return [
        Contestant(
            f"{name}: {variant}", seed, tuple(str(seed_folder(pretrained, run, seed)) for run in guest.runs_of(variant))
        )
        for seed in range(min(guest.seeds, host.seeds))
        for variant in guest.measured
    ]
