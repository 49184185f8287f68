"""Model that MLflow serves: texts → vectors. MLflow runs this file."""

from pathlib import Path
from typing import Any

import mlflow
from mlflow.pyfunc.model import PythonModel


class ServedEncoder(PythonModel):
    """An encoder behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the encoder from the artifacts of the MLflow model."""
        from contexture.encoders.base import prepare_for_inference
        from contexture.encoders.files import load_encoder

        self.encoder = prepare_for_inference(load_encoder(Path(context.artifacts["encoder"])))

    def predict(self, context: Any, model_input: list[str], params: dict[str, Any] | None = None) -> Any:
        """Embed documents, or queries with `params` {"role": "query"} → (B, D)."""
        return self.encoder.embed(model_input, "query" if (params or {}).get("role") == "query" else "document")


mlflow.models.set_model(ServedEncoder())
