"""Nodes of the ablation."""

from pathlib import Path
from typing import Any

import pandas as pd

from contexture.config import AblationRow, TwoTowerParameters
from contexture.encoders.config import TransformerTowers
from contexture.pipelines.pairs.nodes import parameters_of
from contexture.pipelines.pretrain.nodes import pretrain_all_seeds
from contexture.pipelines.retrieval.nodes import finetune_all, measure, rank_all


def ablate(
    name: str,
    pairs: Path,
    tokenizer: Path,
    questions_file: Path,
    candidates_file: Path,
    sources: dict[str, Any],
    system: dict[str, Any],
    place: Path,
) -> list[dict[str, Any]]:
    """Pre-train, fine-tune and measure every row of the list, one after the other."""
    config = parameters_of(system)
    questions, candidates = pd.read_parquet(questions_file), pd.read_parquet(candidates_file)
    records: list[dict[str, Any]] = []
    for row in config.ablation.rows:
        variant = f"layers={row.layers} {row.run} dim={row.embedding_size}"
        changed = changed_parameters(config, row, system)
        folder = place / variant.replace(" ", "_").replace("=", "")
        (folder / "vectors").mkdir(parents=True, exist_ok=True)
        pretrained = pretrain_all_seeds(name, row.run, pairs, tokenizer, changed, folder / "pretrained")
        models = finetune_all(row.run, questions_file, candidates_file, pretrained, changed, folder / "finetuned")
        ranks = rank_all(row.run, questions, candidates, models, changed, folder / "vectors").assign(variant=variant)
        records += measure(name, sources | {"name": f"{sources['name']}_ablation"}, ranks)[1]
    return records


def changed_parameters(config: TwoTowerParameters, row: AblationRow, system: dict[str, Any]) -> dict[str, Any]:
    """The system's parameters with the layers, the length of vectors and the shares of one row."""
    name = config.pretrain.runs[row.run].encoder
    towers = config.encoders[name]
    if not isinstance(towers, TransformerTowers):
        raise ValueError(f"ablation: {row.run} has no layers: it is a bag of words")
    if towers.encoder.init_from:
        raise ValueError(f"ablation: the layers of encoder {name} are those of {towers.encoder.init_from}")
    encoder = system["encoders"][name]
    encoder = encoder | {"embedding_size": row.embedding_size, "encoder": encoder["encoder"] | {"layers": row.layers}}
    return system | {
        "encoders": system["encoders"] | {name: encoder},
        "finetune": system["finetune"] | {"shares": list(config.ablation.shares)},
    }
