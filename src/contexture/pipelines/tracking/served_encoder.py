"""Model that MLflow serves: texts → vectors. MLflow runs this file."""

from pathlib import Path
from typing import Any

import mlflow
from mlflow.pyfunc.model import PythonModel

from contexture.encoders.config import ROLES


class ServedEncoder(PythonModel):
    """An encoder behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the encoder from the artifacts of the MLflow model."""
        from contexture.encoders.base import prepare_for_inference
        from contexture.encoders.files import load_encoder

        self.encoder = prepare_for_inference(load_encoder(Path(context.artifacts["encoder"])))

    def predict(self, context: Any, model_input: list[str], params: dict[str, Any] | None = None) -> Any:
        """Embed texts → (B, D); as queries or documents with `params` {"role": "query"} or {"role": "document"}."""
        role = (params or {}).get("role") or None
        if role not in (None, *ROLES):
            raise ValueError(f"role {role!r} is unknown; choose one of {', '.join(ROLES)}, or leave it out")
        return self.encoder.embed(model_input, role)


mlflow.models.set_model(ServedEncoder())
