"""Tasks of MTEB from a local folder, for machines without internet.

The files say what kind of task a folder is:

- retrieval: BEIR's layout, `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`; main score nDCG@10.
- similarity (STS): `test.jsonl` with `sentence1`, `sentence2` and `score`; main score Spearman with cosines.
- classification: `train.jsonl` and `test.jsonl` with `text` and `label` (a number); main score accuracy.
"""

import csv
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTask, AbsTaskClassification, AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata

TEST, SUBSET = "test", "default"
SENTENCES, EXAMPLE = ("sentence1", "sentence2", "score"), ("text", "label")


def open_task(folder: Path) -> AbsTask:
    """Return the task of a folder, with its data loaded; its name is that of the folder.

    Raises ValueError, naming the file, if the folder has no layout of a task, or a line has other keys.
    """
    if (folder / "corpus.jsonl").exists():
        return _open_retrieval(folder)
    test_file = folder / f"{TEST}.jsonl"
    if not test_file.exists():
        raise ValueError(f"{folder}: no task: there is neither corpus.jsonl (retrieval) nor {test_file.name}")
    if (folder / "train.jsonl").exists():
        splits = {
            split: Dataset.from_list(_read_lines(folder / f"{split}.jsonl", EXAMPLE)) for split in ("train", TEST)
        }
        task: AbsTask = _make_task(AbsTaskClassification, folder, "Classification", "accuracy", DatasetDict(splits))
        return task
    rows = _read_lines(test_file, SENTENCES)
    scores = [row["score"] for row in rows]
    similarity: Any = _make_task(
        AbsTaskSTS, folder, "STS", "cosine_spearman", DatasetDict({TEST: Dataset.from_list(rows)})
    )
    similarity.min_score, similarity.max_score = min(scores), max(scores)
    return similarity  # type: ignore[no-any-return]


def _open_retrieval(folder: Path) -> AbsTask:
    """Return the task of a folder in BEIR's layout."""
    documents, queries = (_read_lines(folder / name, ("_id", "text")) for name in ("corpus.jsonl", "queries.jsonl"))
    relevant: dict[str, dict[str, int]] = {}
    with (folder / f"qrels/{TEST}.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    data = RetrievalSplitData(
        corpus=Dataset.from_list(
            [{"id": row["_id"], "title": row.get("title") or "", "text": row["text"]} for row in documents]
        ),
        queries=Dataset.from_list(
            [{"id": row["_id"], "text": row["text"]} for row in queries if row["_id"] in relevant]
        ),
        relevant_docs=relevant,
        top_ranked=None,
    )
    task: AbsTask = _make_task(AbsTaskRetrieval, folder, "Retrieval", "ndcg_at_10", {SUBSET: {TEST: data}})
    return task


def _make_task(base: type[Any], folder: Path, kind: Any, main_score: str, data: Any) -> Any:
    """Return a task of MTEB's class `base` with loaded data."""
    metadata = TaskMetadata(
        name=folder.name,
        description=f"a local folder, {folder.name}",
        dataset={"path": str(folder), "revision": "local"},
        type=kind,
        category="t2t",
        eval_splits=[TEST],
        eval_langs=["mul-Latn"],
        main_score=main_score,
    )
    task = type(base.__name__, (base,), {"metadata": metadata})()
    task.dataset, task.data_loaded = data, True
    return task


def _read_lines(file: Path, keys: Collection[str]) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines; raise ValueError, with the line, if a key is missing."""
    rows = []
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                missing = [key for key in keys if key not in row]
            except (ValueError, TypeError) as error:
                raise ValueError(f"{file}, line {number}: no JSON object ({error})") from None
            if missing:
                raise ValueError(f"{file}, line {number}: {', '.join(missing)} missing; a row has {', '.join(keys)}")
            rows.append(row)
    if not rows:
        raise ValueError(f"{file} is empty")
    return rows
