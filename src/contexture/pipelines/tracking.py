"""MLflow child runs: one for every training under the run of `kedro run`."""

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from contexture.training.trainer import Tracking

MODEL_FILES = ("*.json", "*.safetensors")


@contextmanager
def child_run(name: str, tags: dict[str, str]) -> Iterator[Tracking | None]:
    """A run named `name` under the active one, marked FAILED where the block raises; None where nothing is tracked."""
    parent = mlflow.active_run()
    if parent is None:
        yield None
        return
    client = MlflowClient()
    tags = tags | {MLFLOW_PARENT_RUN_ID: parent.info.run_id}
    run = client.create_run(parent.info.experiment_id, run_name=name, tags=tags)
    try:
        yield Tracking(uri=mlflow.get_tracking_uri(), run_id=run.info.run_id)
    except BaseException:
        client.set_terminated(run.info.run_id, "FAILED")
        raise
    client.set_terminated(run.info.run_id, "FINISHED")


def log_model(tracking: Tracking | None, folder: Path) -> None:
    """Keep weights, tokenizer and settings of a trained model as artifacts of its run."""
    if tracking is None:
        return
    for pattern in MODEL_FILES:
        for file in sorted(folder.glob(pattern)):
            MlflowClient().log_artifact(tracking.run_id, str(file), "model")


def log_encoder(towers: Path) -> None:
    """Keep towers in the active run as a model that `mlflow models serve` can serve; nothing where nothing is tracked.

    Its code is logged as a file and its weights as safetensors: nothing is pickled.
    """
    if mlflow.active_run() is None:
        return
    mlflow.pyfunc.log_model(
        name="encoder",
        python_model=str(Path(__file__).with_name("served_encoder.py")),
        artifacts={"towers": str(towers)},
        pip_requirements=[f"contexture=={importlib.metadata.version('contexture')}"],
        input_example=["a text to embed"],
    )
