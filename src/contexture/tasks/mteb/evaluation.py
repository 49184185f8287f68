"""Evaluate any model on tasks of MTEB."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mteb
from mteb.abstasks import AbsTask
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb.types import PromptType

from contexture.encoders.base import Array, TextEncoder
from contexture.encoders.config import Role
from contexture.encoders.models import load_models
from contexture.messages import explain_unknown
from contexture.tasks.mteb.local import open_task

ROLES: dict[Any, Role] = {PromptType.query: "query", PromptType.document: "document"}
#: MTEB names models like the hub does.
OWNER = "contexture"


class MtebEncoder(AbsEncoder):
    """A model of this project for MTEB: similarities are cosines, and texts have the role of MTEB's prompt type."""

    def __init__(self, model: TextEncoder) -> None:
        self.model = model
        identity = json.dumps(model.identity, sort_keys=True, default=str).encode()
        description = {
            "name": f"{OWNER}/{model.name.replace('/', '-').replace(' ', '-')}",
            "revision": hashlib.sha256(identity).hexdigest()[:12],
            "embed_dim": model.dimension,
            "similarity_fn_name": ScoringFunction.COSINE,
        }
        self.mteb_model_meta = ModelMeta.create_empty(description)

    def encode(self, inputs: Any, *, prompt_type: Any = None, **_: Any) -> Array:
        """Return the vectors (N, D) of all texts of the batches `inputs`."""
        texts = [text for batch in inputs for text in batch["text"]]
        vectors: Array = self.model.embed(texts, ROLES.get(prompt_type))
        return vectors


def evaluate_mteb(models: Sequence[str], tasks: Sequence[str], results_dir: Path | None) -> tuple[str, dict[str, Any]]:
    """Return the main scores of concatenated models on tasks as a table, and as a dictionary with `rows`.

    A task is a name of MTEB, which downloads its data, or a folder (see `local`). `results_dir` gets all scores in
    MTEB's own layout. Raises ValueError for an unknown name or a wrong folder.
    """
    opened = [_open(task) for task in tasks]
    encoder: Any = MtebEncoder(load_models(models))
    cache = mteb.ResultCache(results_dir) if results_dir else None
    results = mteb.evaluate(encoder, opened, cache=cache, overwrite_strategy="always", show_progress_bar=False)
    metrics = {task.metadata.name: task.metadata.main_score for task in opened}
    rows = [
        {
            "model": encoder.model.name,
            "task": result.task_name,
            "split": split,
            "subset": scores["hf_subset"],
            "metric": metrics[result.task_name],
            "value": float(scores["main_score"]),
        }
        for result in results.task_results
        for split, subsets in result.scores.items()
        for scores in subsets
    ]
    lines = [f"{encoder.model.name}: {encoder.model.dimension} dimensions", ""]
    width = max(len(row["task"]) for row in rows)
    lines += [f"{row['task']:<{width}}  {100 * row['value']:6.2f}  {row['split']} {row['subset']}" for row in rows]
    details = {"model": encoder.model.name, "identity": encoder.model.identity, "mteb": mteb.__version__, "rows": rows}
    return "\n".join(lines) + "\n", details


def _open(task: str) -> AbsTask:
    """Return a task by its name or folder."""
    if Path(task).is_dir():
        return open_task(Path(task))
    names = [metadata.metadata.name for metadata in mteb.get_tasks(exclude_superseded=False)]
    if task not in names:
        raise ValueError(f"{explain_unknown('task', [task], names)}; or name a folder")
    return mteb.get_task(task)
