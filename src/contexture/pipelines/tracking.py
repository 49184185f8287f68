"""What MLflow is told beside Kedro's own: a child run for every training, a system's encoder as a model."""

import importlib.metadata
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from contexture.folders import UNFINISHED
from contexture.pipelines.parameters import flattened
from contexture.training.curves import read_curves

#: Seconds between two looks at the curves of a training that is under way.
POLL = 30.0
#: Numbers that MLflow takes at a time.
BATCH = 1000
#: Characters of a setting that are shown.
SHOWN = 250


@contextmanager
def child_run(name: str, tags: dict[str, str], settings: dict[str, Any], folder: Path) -> Iterator[None]:
    """A run under the active one, with the settings of a training and the curves of its `folder`, while they grow.

    It is marked FAILED where the block raises. Nothing happens where nothing is tracked.
    """
    parent = mlflow.active_run()
    if parent is None:
        yield
        return
    client = MlflowClient()
    tags = tags | {MLFLOW_PARENT_RUN_ID: parent.info.run_id}
    run = client.create_run(parent.info.experiment_id, run_name=name, tags=tags)
    client.log_batch(run.info.run_id, params=[Param(*item) for item in shown(settings).items()])
    curves = _Curves(client, run.info.run_id, folder)
    try:
        yield
    except BaseException:
        curves.end()
        client.set_terminated(run.info.run_id, "FAILED")
        raise
    curves.end()
    client.set_terminated(run.info.run_id, "FINISHED")


def shown(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as MLflow's parameters: by their dotted keys, those without a value left out."""
    return {key: str(value)[:SHOWN] for key, value in flattened(settings) if value not in (None, [], {})}


class _Curves:
    """Follows the files of a training, as it need not know MLflow, and runs in another process."""

    def __init__(self, client: MlflowClient, run_id: str, folder: Path) -> None:
        self.client, self.run_id, self.folder = client, run_id, folder
        self.last, self.over = -1, threading.Event()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Log what is left."""
        self.over.set()
        self.thread.join()
        self._log(self.folder)

    def _follow(self) -> None:
        while not self.over.wait(POLL):
            self._log(self.folder.with_name(self.folder.name + UNFINISHED))

    def _log(self, folder: Path) -> None:
        table = read_curves(folder)
        table = table[table["step"] > self.last]
        if table.empty:
            return
        points = [
            Metric(str(name), float(value), 0, int(row["step"]))
            for _, row in table.iterrows()
            for name, value in row.drop("step").dropna().items()
        ]
        for start in range(0, len(points), BATCH):
            self.client.log_batch(self.run_id, metrics=points[start : start + BATCH])
        self.last = int(table["step"].max())


def register_encoder(name: str, encoder: Path) -> None:
    """Keep an encoder in the active run, and as the next version of the registered model `name`.

    `mlflow models serve` serves it. Its code is logged as a file and its weights as safetensors: nothing is pickled.
    Nothing happens where nothing is tracked.
    """
    run = mlflow.active_run()
    if run is None:
        return
    made = mlflow.pyfunc.log_model(
        name=name,
        python_model=str(Path(__file__).with_name("served_encoder.py")),
        artifacts={"encoder": str(encoder)},
        pip_requirements=[f"contexture=={importlib.metadata.version('contexture')}"],
        input_example=["a text to embed"],
    )
    client = MlflowClient()  # says nothing on the console
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    client.create_model_version(name, made.model_uri, run.info.run_id, model_id=made.model_id)
