"""Child runs of MLflow for all trainings, with settings, curves and the card of the model."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from contexture.encoders.saved import CARD_FILE
from contexture.folders import UNFINISHED
from contexture.pipelines.parameters import flatten
from contexture.training.curves import read_curves

#: Tag of a child run: where the model is.
FOLDER_TAG = "model_folder"
POLL_SECONDS = 30.0
#: Numbers in one request to MLflow.
MAX_BATCH_METRICS = 1000
MAX_SETTING_CHARS = 250


@contextmanager
def child_run(name: str, tags: dict[str, str], settings: dict[str, Any], folder: Path) -> Iterator[None]:
    """Open a child run of MLflow with the settings of a training, and log the curves in `folder` as they grow.

    Its artifact is the model's card. The weights are in `folder`, which the tag `model_folder` names, relative to the
    working folder if possible. An error of the block marks the run FAILED. Without an active run, nothing is tracked.
    """
    parent = mlflow.active_run()
    if parent is None:
        yield
        return
    client = MlflowClient()
    path = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    tags = tags | {MLFLOW_PARENT_RUN_ID: parent.info.run_id, FOLDER_TAG: path.as_posix()}
    run = client.create_run(parent.info.experiment_id, run_name=name, tags=tags)
    client.log_batch(run.info.run_id, params=[Param(*item) for item in format_settings(settings).items()])
    curves, status = _CurveLogger(client, run.info.run_id, folder), "FAILED"
    try:
        yield
        status = "FINISHED"
        if (card := folder / CARD_FILE).exists():
            client.log_artifact(run.info.run_id, str(card))
    finally:
        curves.close()
        client.set_terminated(run.info.run_id, status)


def format_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as parameters of MLflow: dotted key → value, without empty values."""
    return {key: str(value)[:MAX_SETTING_CHARS] for key, value in flatten(settings) if value not in (None, [], {})}


class _CurveLogger:
    """Reads the curves from the files of a training, which runs in another process and does not know MLflow."""

    def __init__(self, client: MlflowClient, run_id: str, folder: Path) -> None:
        self.client, self.run_id, self.folder = client, run_id, folder
        self.last_step, self.ended = -1, threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop following the training and log the rest of its curves."""
        self.ended.set()
        self.thread.join()
        self._log(self.folder)

    def _follow(self) -> None:
        """Log new points every `POLL_SECONDS` until the training ends; runs in the thread."""
        while not self.ended.wait(POLL_SECONDS):
            self._log(self.folder.with_name(self.folder.name + UNFINISHED), is_ended=False)

    def _log(self, folder: Path, is_ended: bool = True) -> None:
        """Log the points of the curves in `folder` that are not logged yet.

        Until the training has ended, the last step is left out: measurements may still be added to it.
        """
        table = read_curves(folder)
        table = table if is_ended else table[table["step"] < table["step"].max()]
        table = table[table["step"] > self.last_step]
        if table.empty:
            return
        points = [
            Metric(str(name), float(value), 0, int(row["step"]))
            for _, row in table.iterrows()
            for name, value in row.drop("step").dropna().items()
        ]
        for start in range(0, len(points), MAX_BATCH_METRICS):
            self.client.log_batch(self.run_id, metrics=points[start : start + MAX_BATCH_METRICS])
        self.last_step = int(table["step"].max())
