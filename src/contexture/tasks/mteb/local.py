"""Tasks of MTEB from a local folder, for machines without internet.

The files, plain or gzipped, say what kind of task a folder is:

- retrieval: BEIR's layout, `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`; main score nDCG@10.
- similarity (STS): `test.jsonl` with `sentence1`, `sentence2` and `score`; main score Spearman with cosines.
- classification: `train.jsonl` and `test.jsonl` with `text` and `label`; main score accuracy.
"""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTask, AbsTaskClassification, AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata

from contexture.tasks.beir.files import DOCUMENTS_FILE, QUERIES_FILE, write_set
from contexture.tasks.retrieval.reqa_files import get_field, iter_lines, parse_json

TRAIN, TEST, SUBSET = "train", "test", "default"
_CORPUS, _HELP = "corpus.jsonl", "docs/sentence-evaluation.md"
_PAIR_LAYOUT = "a line must be an object with sentence1 and sentence2, which are text, and score, a number"
_EXAMPLE_LAYOUT = "a line must be an object with text and label, which is text or a whole number"


def open_task(folder: Path) -> tuple[AbsTask, list[str]]:
    """Return the task of a folder, with its data loaded and the folder's name, and warnings about its files.

    Raises ValueError, naming the file and the line, if the folder has no layout of a task or its data cannot be scored.
    """
    if _find_file(folder, _CORPUS):
        return _open_retrieval(folder)
    test_file, train_file = (_find_file(folder, f"{split}.jsonl") for split in (TEST, TRAIN))
    if test_file is None:
        raise ValueError(f"{folder}: no task: there is neither {_CORPUS} (retrieval) nor {TEST}.jsonl; see {_HELP}")
    task = _open_similarity(folder, test_file) if train_file is None else _open_classes(folder, train_file, test_file)
    return task, []


def _find_file(folder: Path, name: str) -> Path | None:
    """Return the plain or gzipped file of a folder, if there is one."""
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _open_retrieval(folder: Path) -> tuple[AbsTask, list[str]]:
    """Return the task of a folder in BEIR's layout, and warnings about unknown ids."""
    with tempfile.TemporaryDirectory() as temporary_dir:
        set_dir = Path(temporary_dir) / "set"
        _, warnings = write_set(str(folder), folder, TEST, set_dir)
        documents, queries = (pd.read_parquet(set_dir / file) for file in (DOCUMENTS_FILE, QUERIES_FILE))
    relevant = {
        query: dict(zip(names, scores, strict=True))
        for query, names, scores in zip(queries["id"], queries["documents"], queries["scores"], strict=True)
    }
    if any(score % 1 for scores in relevant.values() for score in scores.values()):
        raise ValueError(f"{folder}/qrels/{TEST}.tsv: MTEB needs whole numbers as scores")
    data = RetrievalSplitData(
        corpus=Dataset.from_pandas(documents),
        queries=Dataset.from_pandas(queries[["id", "text"]]),
        relevant_docs={
            query: {name: int(score) for name, score in scores.items()} for query, scores in relevant.items()
        },
        top_ranked=None,
    )
    task: Any = _make_task(AbsTaskRetrieval, folder, "Retrieval", "ndcg_at_10", {SUBSET: {TEST: data}})
    task.ignore_identical_ids = True  # as BEIR does
    return task, warnings


def _open_similarity(folder: Path, file: Path) -> Any:
    """Return the task of pairs with scores; its bounds are those of the scores."""
    rows: list[dict[str, Any]] = []
    for position, record in _read_records(file, _PAIR_LAYOUT):
        score = record["score"] if isinstance(record, dict) and "score" in record else None
        if not isinstance(score, int | float) or not math.isfinite(score):
            raise ValueError(f"{position}: no number under the key 'score'; {_PAIR_LAYOUT}")
        pair = {key: get_field(record, key, str, position, _PAIR_LAYOUT) for key in ("sentence1", "sentence2")}
        rows.append({**pair, "score": float(score)})
    scores = [row["score"] for row in rows]
    if min(scores) == max(scores):
        raise ValueError(f"{file}: all scores are {scores[0]:g}, so that no correlation exists; add pairs")
    task: Any = _make_task(AbsTaskSTS, folder, "STS", "cosine_spearman", DatasetDict({TEST: Dataset.from_list(rows)}))
    task.min_score, task.max_score = min(scores), max(scores)
    return task


def _open_classes(folder: Path, train_file: Path, test_file: Path) -> AbsTask:
    """Return the task of texts with labels, which become numbers from 0 in sorted order."""
    train, test = _read_examples(train_file), _read_examples(test_file)
    labels = sorted({label for _, label in train}, key=lambda label: (isinstance(label, str), label))
    if len(labels) < 2:
        raise ValueError(f"{train_file}: all labels are {labels[0]!r}; add examples of another label")
    if unknown := [label for _, label in test if label not in labels]:
        raise ValueError(f"{test_file}: {train_file.name} has no example of the label {unknown[0]!r}")
    splits = {
        split: Dataset.from_list([{"text": text, "label": labels.index(label)} for text, label in examples])
        for split, examples in ((TRAIN, train), (TEST, test))
    }
    task: AbsTask = _make_task(AbsTaskClassification, folder, "Classification", "accuracy", DatasetDict(splits))
    return task


def _read_examples(file: Path) -> list[tuple[str, str | int]]:
    """Return texts and labels."""
    examples = []
    for position, record in _read_records(file, _EXAMPLE_LAYOUT):
        text = get_field(record, "text", str, position, _EXAMPLE_LAYOUT)
        label = record.get("label")
        if not isinstance(label, str | int):
            raise ValueError(f"{position}: no text or whole number under the key 'label'; {_EXAMPLE_LAYOUT}")
        examples.append((text, label))
    return examples


def _read_records(file: Path, layout: str) -> Sequence[tuple[str, Any]]:
    """Return the position, for errors, and the value of each line that is not blank; raise ValueError if none is."""
    records = [
        (f"{file}, line {number}", parse_json(file, line, number)) for number, line in iter_lines(file) if line.strip()
    ]
    if not records:
        raise ValueError(f"{file} is empty; {layout}")
    return records


def _make_task(base: type[Any], folder: Path, kind: str, main_score: str, data: Any) -> Any:
    """Return a task of MTEB's class `base` with loaded data."""
    name = folder.resolve().name
    metadata = TaskMetadata(
        name=name,
        description=f"a local folder, {name}",
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
