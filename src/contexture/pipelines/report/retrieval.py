"""Nodes of the stage `report` of two towers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.config import TwoTowerParameters
from contexture.pipelines.pairs.nodes import parameters_of
from contexture.pipelines.report.nodes import histories, save_report
from contexture.pipelines.retrieval.nodes import model_of, share_name
from contexture.reporting.curves import History
from contexture.reporting.report import ReportContext, Retrieval, render_report
from contexture.training.curves import read_curves

NOTE = (
    "Ours: towers of the sizes above, trained on the text above. The paper pre-trains BERT-base (12 layers × 768) on "
    "all of Wikipedia for 100,000 steps of 8,192 pairs and searches 101,951 (SQuAD) or 239,008 (Natural Questions) "
    "candidates. Unless the configuration says the same, the numbers are not comparable; what can be compared is the "
    "order of the rows."
)


def write_retrieval_report(
    name: str,
    runs: Sequence[str],
    metrics: list[dict[str, Any]],
    open_domain: list[dict[str, Any]],
    indexes: list[dict[str, Any]],
    speeds: list[dict[str, Any]],
    pairs: dict[str, Any],
    sources: dict[str, Any],
    reqa: dict[str, Any],
    corpus_report: dict[str, Any],
    system: dict[str, Any],
    ablation: Path,
    place: Path,
    *folders: Path,
) -> tuple[Path, list[dict[str, Any]]]:
    """Tables with the published numbers beside ours, curves and counts; `folders` are those of pre-training, then of
    fine-tuning. Records of the ablation are taken up where that was run. Returns the report and all its records.
    """
    config = parameters_of(system)
    pretrained = dict(zip(runs, folders[: len(runs)], strict=True))
    finetuned = dict(zip(runs, folders[len(runs) :], strict=True))
    records = metrics + open_domain
    if ablation.exists():
        records = records + json.loads(ablation.read_text(encoding="utf-8"))
    context = ReportContext(
        system=name,
        title="Two-tower retrieval: which passage answers",
        note=" ".join([NOTE, *untrained(pairs), *([reqa["missing"]] if "missing" in reqa else [])]),
        run=what_was_run(config, sources),
        counts={"Corpus": corpus_report, "Questions": reqa.get("counts", {})},
        files={
            f"data/08_reporting/{name}/metrics.json": "every number of this page",
            f"data/07_model_output/{name}": "ranks and recalls of every question, vectors of the candidates",
            f"data/06_models/{name}": "towers, fine-tuned towers and the search index, with their curves",
        },
        retrieval=Retrieval(
            pairs=pairs,
            sets={reqa["name"]: reqa["counts"]} if "counts" in reqa else {},
            indexes=indexes,
            speeds=speeds,
            commands={
                f"{reqa['name']}_ablation": f"the command of this run, with --pipelines {name}_ablation,",
                f"{reqa['name']}_open": f"the command of this run, with {name}.evaluation.open_domain_pairs above 0,",
            },
        ),
    )
    curves = histories("pretrain", pretrained, config.seeds) + finetuning(finetuned, config)
    return save_report(render_report(records, curves, context), place), records


def untrained(pairs: dict[str, Any]) -> list[str]:
    """What must be known of rows whose pre-training task found no pair in the text."""
    return [
        f"This text has no pairs of {task.upper()}: the row of that name was not pre-trained, and mixtures are of the "
        "other tasks."
        for task, counted in pairs.items()
        if not counted["pairs"]
    ]


def finetuning(folders: dict[str, Path], config: TwoTowerParameters) -> list[History]:
    """The curves of every variant, share and seed."""
    found = []
    for share in config.finetune.shares:
        for variant, folder in folders.items():
            for seed in range(config.seeds):
                log = read_curves(model_of(folder, share, seed))
                if not log.empty:
                    found.append(History(f"finetune {share_name(share)}", variant, seed, log))
    return found


def what_was_run(config: TwoTowerParameters, sources: dict[str, Any]) -> dict[str, str]:
    """The lines at the head of the report."""
    encoders = []
    for name, towers in config.encoders.items():
        if towers.kind == "transformer":
            sizes = f"{towers.encoder.layers} layers × {towers.encoder.hidden_size}, from scratch"
            size = towers.encoder.init_from or sizes
        else:
            size = f"words of {towers.word_size}, {towers.hidden_size} hidden"
        encoders.append(f"{name}: {size}, vectors of {towers.embedding_size}")
    steps = ", ".join(f"{run} {recipe.steps:,}" for run, recipe in config.pretrain.runs.items() if recipe.steps)
    return {
        "Text": ", ".join(Path(file["path"]).name for file in sources["corpus"]),
        "Encoders": "; ".join(encoders),
        "Pre-training": f"steps: {steps}; {config.pretrain.batch_size} pairs each",
        "Fine-tuning": f"up to {config.finetune.steps:,} steps of {config.finetune.batch_size} questions",
        "Seeds": ", ".join(map(str, range(config.seeds))),
    }
