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

from contexture.encoders.base import Array, Text, TextEncoder
from contexture.encoders.config import Role
from contexture.encoders.models import SentenceTransformersModel, load_models
from contexture.folders import find_upwards
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
        """Return the vectors (N, D) of all texts of the batches `inputs`.

        Documents with a title are embedded as title and body, except by published models: these get MTEB's joined text.
        """
        batches = list(inputs)
        role = ROLES.get(prompt_type)
        texts: list[Text] = [text for batch in batches for text in batch["text"]]
        if role == "document" and "title" in batches[0] and not isinstance(self.model, SentenceTransformersModel):
            texts = [pair for batch in batches for pair in zip(batch["title"], batch["body"], strict=True)]
        vectors: Array = self.model.embed(texts, role)
        return vectors


def evaluate_mteb(models: Sequence[str], tasks: Sequence[str], results_dir: Path | None) -> tuple[str, dict[str, Any]]:
    """Return the main scores of concatenated models on tasks as a table, and as a dictionary with `rows`.

    A task is a name of MTEB, which downloads its data, or a folder (see `local`). `results_dir` gets all scores in
    MTEB's own layout. Raises ValueError for an unknown name, a wrong folder, two tasks of one name, or data that cannot
    be downloaded.
    """
    opened, warnings = _open_tasks(tasks)
    encoder: Any = MtebEncoder(load_models(models))
    cache = mteb.ResultCache(results_dir) if results_dir else None
    try:
        results = mteb.evaluate(encoder, opened, cache=cache, overwrite_strategy="always", show_progress_bar=False)
    except ConnectionError as error:
        raise ValueError(f"{error}; connect to the internet, or name the folder of a task") from error
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
    details = {"model": encoder.model.name, "identity": encoder.model.identity, "mteb": mteb.__version__, "rows": rows}
    lines = [f"{encoder.model.name}: {encoder.model.dimension} dimensions", "", *_format_table(rows), *warnings]
    return "\n".join(lines) + "\n", details


def _format_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of a table of scores in percent."""
    table = [("task", "score", "metric", "split", "subset")]
    table += [(row["task"], f"{100 * row['value']:.2f}", row["metric"], row["split"], row["subset"]) for row in rows]
    task_width, metric_width, split_width = (max(len(cells[column]) for cells in table) for column in (0, 2, 3))
    return [
        f"{task:<{task_width}}  {score:>6}  {metric:<{metric_width}}  {split:<{split_width}}  {subset}"
        for task, score, metric, split, subset in table
    ]


def _open_tasks(names: Sequence[str]) -> tuple[list[AbsTask], list[str]]:
    """Return the tasks by their names or folders, and warnings about their files."""
    tasks: list[AbsTask] = []
    warnings: list[str] = []
    for name in names:
        task, notes = _open_task(name)
        if task.metadata.name in [other.metadata.name for other in tasks]:
            raise ValueError(f"{name}: another task is named {task.metadata.name!r}; rename a folder or remove one")
        tasks.append(task)
        warnings += notes
    return tasks, warnings


def _open_task(name: str) -> tuple[AbsTask, list[str]]:
    """Return a task by its name or folder, and warnings about its files."""
    folder = find_upwards(Path(name)) if "/" in name else Path(name)
    if folder.is_dir():
        return open_task(folder)
    if "/" in name:
        raise ValueError(f"{name}: there is no such folder")
    try:
        return mteb.get_task(name), []
    except KeyError:
        known = [task.metadata.name for task in mteb.get_tasks(exclude_superseded=False)]
        raise ValueError(f"{explain_unknown('task', [name], known)}; or name a folder") from None
