"""The data of a run as inputs in MLflow: names, digests and counts, no text and no paths."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.data.code_dataset_source import CodeDatasetSource
from mlflow.data.meta_dataset import MetaDataset

from contexture.reporting.provenance import hash_corpus, hash_json
from contexture.tasks.base import TASK_FILE
from contexture.tasks.task_folder import hash_files, read_report

#: MLflow allows 36.
DIGEST_CHARS = 16


class CountedDataset(MetaDataset):
    """A data set of which MLflow stores name, digest and counts."""

    def __init__(self, name: str, origin: str, digest: str, counts: Mapping[str, Any]) -> None:
        """`origin`: stage of the pipeline that wrote the data; `digest`: SHA-256."""
        source = CodeDatasetSource({"stage": origin})
        super().__init__(source, name, digest[:DIGEST_CHARS])
        self.counts = counts

    @property
    def profile(self) -> Mapping[str, Any]:
        """The counts."""
        return self.counts

    def to_dict(self) -> dict[str, str]:
        """Return the values that MLflow stores; the base class leaves out the profile."""
        return {**super().to_dict(), "profile": json.dumps(self.profile)}


def log_corpus(name: str, sources: Mapping[str, Any], counts: Mapping[str, Any]) -> None:
    """Log the corpus as an input of the active run; `sources` is the manifest, `counts` those of `counts.json`."""
    profile = {key: counts[key] for key in ("pages_out", "paragraphs_out", "sentences_out") if key in counts}
    mlflow.log_input(CountedDataset(name, "corpus", hash_corpus(sources), profile), context="training")


def log_task(task: str, folder: Path) -> None:
    """Log the data of a task as an input of the active run; nothing if all its sets are missing."""
    report = read_report(folder)
    if not report["counts"]:
        return
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != TASK_FILE)
    content = [report["name"], report["counts"], list(hash_files(files).values())]
    dataset = CountedDataset(f"{task}: {report['name']}", "tasks", hash_json(content), report["counts"])
    mlflow.log_input(dataset, context="evaluation")
