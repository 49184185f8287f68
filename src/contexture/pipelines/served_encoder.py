"""The model that MLflow serves: texts in, the vectors of the document tower out. MLflow runs this file."""

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import numpy.typing as npt
from mlflow.pyfunc.model import PythonModel


class Encoder(PythonModel):
    """Towers behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Load the towers."""
        from contexture.encoders.tower_files import load_towers
        from contexture.text.vocabulary import load_tokenizer

        folder = Path(context.artifacts["towers"])
        self.towers = load_towers(folder)
        self.tokenizer, self.tokens = load_tokenizer(folder)

    def predict(self, context: Any, model_input: list[str], params: dict[str, Any] | None = None) -> Any:
        """Vectors (B, D) of texts; those with `params` {"tower": "query"} by the query tower."""
        from contexture.encoders.layout import Sentences
        from contexture.evaluation.embedding import embed

        ids = [self.tokenizer.encode(text, add_special_tokens=False).ids for text in model_input]
        lengths = np.array([[len(one)] for one in ids], dtype=np.int64)
        texts = Sentences(np.concatenate([np.asarray(one, dtype=np.int64) for one in ids]), lengths)
        asked = (params or {}).get("tower") == "query"
        layout = self.towers.layout
        tower, limit = (
            (self.towers.query, layout.query_tokens) if asked else (self.towers.document, layout.document_tokens)
        )
        vectors: npt.NDArray[np.float32] = embed(tower, texts, self.towers.specials(self.tokens), limit)
        return vectors


mlflow.models.set_model(Encoder())
