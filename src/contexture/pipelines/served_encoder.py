"""The model that MLflow serves: texts in, the vectors of the document tower out. MLflow runs this file."""

from pathlib import Path
from typing import Any

import mlflow
from mlflow.pyfunc.model import PythonModel


class Encoder(PythonModel):
    """Towers behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the towers."""
        from contexture.encoders.tower_files import load_towers
        from contexture.vocabulary.tokenizers import load_tokenizer

        folder = Path(context.artifacts["towers"])
        self.towers = load_towers(folder)
        self.tokenizer, self.tokens = load_tokenizer(folder)

    def predict(self, context: Any, model_input: list[str], params: dict[str, Any] | None = None) -> Any:
        """Vectors (B, D) of texts; those with `params` {"tower": "query"} by the query tower."""
        from contexture.encoders.embedding import embed
        from contexture.tasks.retrieval.data import plain_texts

        texts = plain_texts(model_input, self.tokenizer)
        asked = (params or {}).get("tower") == "query"
        layout = self.towers.layout
        tower, limit = (
            (self.towers.query, layout.query_tokens) if asked else (self.towers.document, layout.document_tokens)
        )
        return embed(tower, texts, self.towers.specials(self.tokens), limit)


mlflow.models.set_model(Encoder())
