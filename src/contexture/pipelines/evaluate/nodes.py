"""Nodes of the stage `evaluate`."""

import json
import time
from itertools import islice
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.folders import work_folder
from contexture.paths import DETAILS_FILE, RECORDS_FILE
from contexture.pipelines.named import select_group
from contexture.pipelines.trainings import parallel_map
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.base import WORD_AVERAGE, EvaluatedEncoder
from contexture.tasks.registry import TASKS

#: Sentences of the corpus whose embedding is timed.
NUM_TIMED_SENTENCES = 2000


def evaluate(
    system: ResolvedSystem,
    task: str,
    compute: ComputeConfig,
    data: Path,
    models_dir: Path,
    results_dir: Path,
    vectors_dir: Path,
    **inputs: Path,
) -> Path:
    """Measure all variants of a system, and those it includes, on a task; write records, details and tables.

    `inputs` are tables of the corpus, as `corpus/<name>`; others are only waited for.
    """
    corpus = select_group(inputs, "corpus")
    spec, config = TASKS[task], system.config
    encoders = [*system.encoders(task, models_dir), *system.included_encoders(models_dir)]
    if config.word_average and "words" not in spec.corpus:  # tasks that read words add the row themselves
        encoders.append(EvaluatedEncoder(WORD_AVERAGE, config.first_seed, (str(corpus["words"]),)))
    tables = {name: corpus[name] for name in spec.corpus if name in corpus}
    vectors_dir.mkdir(parents=True, exist_ok=True)
    parallel = parallel_map(compute, f"evaluation on {task.replace('_', ' ')}")
    results = spec.load().evaluate(config.task(task), encoders, data, vectors_dir, parallel, **tables)
    with work_folder(results_dir) as work:
        (work / RECORDS_FILE).write_text(json.dumps(results.records), encoding="utf-8")
        (work / DETAILS_FILE).write_text(json.dumps(results.details), encoding="utf-8")
        for name, table in results.tables.items():
            table.to_parquet(work / f"{name}.parquet")
    return results_dir


def time_embedding(system: ResolvedSystem, models_dir: Path, paragraphs: Path, *encoders: Path) -> dict[str, float]:
    """Return variant → sentences embedded per second (first seed); `encoders` are only waited for."""
    from contexture.encoders.models import load_models
    from contexture.vocabulary.tokenizers import paragraph_texts

    first_seed = system.config.first_seed
    texts = list(islice(paragraph_texts(paragraphs, "sentences"), NUM_TIMED_SENTENCES))
    encoder_dirs = {
        name: system.encoder_dirs(name, first_seed, models_dir) or (str(variant.model),)
        for name, variant in system.config.all_variants.items()
    }
    included = system.included_encoders(models_dir)
    encoder_dirs |= {encoder.variant: encoder.models for encoder in included if encoder.seed == first_seed}
    speeds = {}
    for name, folders in encoder_dirs.items():
        model = load_models(folders)
        model.embed(texts[:100])
        start = time.perf_counter()
        model.embed(texts)
        speeds[name] = len(texts) / (time.perf_counter() - start)
    return speeds
