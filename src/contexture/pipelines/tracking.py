"""MLflow child runs: one for every training under the run of `kedro run`."""

import importlib.metadata
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from contexture.folders import UNFINISHED
from contexture.training.curves import read_curves

#: Seconds between two looks at the curves of a training that is under way.
POLL = 30.0
#: Numbers that MLflow takes at a time.
BATCH = 1000


@contextmanager
def child_run(name: str, tags: dict[str, str], folder: Path) -> Iterator[None]:
    """A run under the active one that gets the curves of the training in `folder`, while it goes on and at its end.

    It is marked FAILED where the block raises. Nothing happens where nothing is tracked.
    """
    parent = mlflow.active_run()
    if parent is None:
        yield
        return
    client = MlflowClient()
    tags = tags | {MLFLOW_PARENT_RUN_ID: parent.info.run_id}
    run = client.create_run(parent.info.experiment_id, run_name=name, tags=tags)
    curves = _Curves(client, run.info.run_id, folder)
    try:
        yield
    except BaseException:
        curves.end()
        client.set_terminated(run.info.run_id, "FAILED")
        raise
    curves.end()
    client.set_terminated(run.info.run_id, "FINISHED")


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


def log_encoder(encoder: Path) -> None:
    """Keep an encoder in the active run as a model that `mlflow models serve` can serve; nothing where none is tracked.

    Its code is logged as a file and its weights as safetensors: nothing is pickled.
    """
    if mlflow.active_run() is None:
        return
    mlflow.pyfunc.log_model(
        name="encoder",
        python_model=str(Path(__file__).with_name("served_encoder.py")),
        artifacts={"encoder": str(encoder)},
        pip_requirements=[f"contexture=={importlib.metadata.version('contexture')}"],
        input_example=["a text to embed"],
    )
