"""The encoder of a system as a registered model of MLflow."""

import importlib.metadata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import mlflow
from huggingface_hub import ModelCard
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from contexture.encoders.saved import CARD_FILE

#: Alias of the version with the highest score.
BEST_ALIAS = "best"
#: Tags of a version: name and value of its score.
METRIC_TAG, SCORE_TAG = "metric", "score"
#: MLflow allows so many characters.
MAX_DESCRIPTION_CHARS = 5000


@dataclass(frozen=True)
class EncoderVersion:
    """An encoder to register, and what MLflow shows of it."""

    folder: Path
    #: Of the registered model, which all versions share.
    description: str
    tags: Mapping[str, str]
    #: Name and value of its metric; None: it was not measured.
    score: tuple[str, float] | None = None

    @property
    def card(self) -> str:
        """Text of its model card."""
        return str(ModelCard.load(self.folder / CARD_FILE).text).strip()[:MAX_DESCRIPTION_CHARS]

    @property
    def version_tags(self) -> dict[str, str]:
        """Tags of the version, with its score."""
        score = {} if self.score is None else {METRIC_TAG: self.score[0], SCORE_TAG: repr(self.score[1])}
        return {**self.tags, **score}


def register_encoder(name: str, encoder: EncoderVersion, run_id: str) -> None:
    """Log an encoder to the MLflow run `run_id` and register it as the next version of the model `name`.

    The run is the active one or a finished one. The version has the encoder's card as its description. The alias
    `best` moves to it unless an older version has a higher score in the same metric. `mlflow models serve` serves the
    model. Its code is logged as a file and its weights as safetensors: nothing is pickled.
    """
    client = MlflowClient()  # unlike mlflow.register_model, it prints nothing
    with _activated(client, run_id):
        model = mlflow.pyfunc.log_model(
            name=name,
            python_model=str(Path(__file__).with_name("served_encoder.py")),
            artifacts={"encoder": str(encoder.folder)},
            pip_requirements=[f"contexture=={importlib.metadata.version('contexture')}"],
            input_example=(["a text to embed"], {"role": ""}),  # its parameters are those that `predict` accepts
        )
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name, {"system": encoder.tags["system"]}, encoder.description)
    client.update_registered_model(name, encoder.description)
    version = client.create_model_version(
        name,
        model.model_uri,
        run_id,
        tags=encoder.version_tags,
        description=encoder.card,
        model_id=model.model_id,
    )
    versions = client.search_model_versions(f"name = '{name}'")
    client.set_registered_model_alias(name, BEST_ALIAS, select_best(version, versions).version)


@contextmanager
def _activated(client: MlflowClient, run_id: str) -> Iterator[None]:
    """Make a run the active one in the `with` block; a finished one keeps the time of its end."""
    if (active := mlflow.active_run()) is not None and active.info.run_id == run_id:
        yield
        return
    ended = client.get_run(run_id).info
    with mlflow.start_run(run_id=run_id, nested=True):
        yield
    client.set_terminated(run_id, ended.status, ended.end_time)


def select_best(newest: ModelVersion, versions: list[ModelVersion]) -> ModelVersion:
    """Return the version with the highest score in the metric of the newest one, which wins ties."""
    rivals = [version for version in versions if version.tags.get(METRIC_TAG) == newest.tags.get(METRIC_TAG)]
    if METRIC_TAG not in newest.tags:
        return newest
    return max(rivals, key=lambda version: (float(version.tags[SCORE_TAG]), int(version.version)))
