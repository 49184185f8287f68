"""Margins of a cross-encoder, from which `margin_distillation` learns (GPL: Wang et al., 2022, section 3.3)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification

from contexture.derive.passages import decode_documents, decode_texts
from contexture.derive.published import BATCH_TEXTS, load_published
from contexture.encoders.models import join_parts
from contexture.progress import progress
from contexture.retrieval.top import Scores
from contexture.streams.pairs.batches import flatten

#: Tokens of query and passage that are read.
MAX_TOKENS = 512


class CrossEncoder:
    """A sequence classifier with one logit, which scores a query and a passage together."""

    def __init__(self, name: str) -> None:
        """Load the model; raises ValueError, naming the key, if that fails or it has several logits."""
        key = "derive.margins.model"
        self.model = load_published(key, name, AutoModelForSequenceClassification)
        if (count := self.model.model.config.num_labels) != 1:
            raise ValueError(
                f"{key}: {name} has {count} logits; give a cross-encoder with one, such as "
                "cross-encoder/ms-marco-MiniLM-L6-v2"
            )

    def score(self, queries: Sequence[str], passages: Sequence[str]) -> Scores:
        """Return the logits (N,) of N queries with their passages."""
        scores = [np.empty(0, np.float32)]
        for start in progress(len(queries), "margins", "batch", range(0, len(queries), BATCH_TEXTS)):
            texts = (list(side[start : start + BATCH_TEXTS]) for side in (queries, passages))
            with torch.inference_mode():
                logits = self.model.model(**self.model.tokenize(*texts, max_tokens=MAX_TOKENS)).logits[:, 0]
            scores.append(logits.float().cpu().numpy())
        return np.concatenate(scores)


def add_margins(pairs: pa.Table, cross_encoder: CrossEncoder, tokenizer: Tokenizer) -> pa.Table:
    """Return pairs of the stream `hard_pairs` with `margins`: the document's score minus that of each negative."""
    queries = decode_texts(tokenizer, pairs["query"])
    documents = decode_documents(tokenizer, pairs["title"], pairs["passage"])
    negatives = decode_documents(tokenizer, flatten(pairs["negative_titles"]), flatten(pairs["negative_passages"]))
    count = len(negatives) // max(1, len(pairs))
    scores = cross_encoder.score(queries, list(map(join_parts, documents)))
    repeated = [query for query in queries for _ in range(count)]
    negative_scores = cross_encoder.score(repeated, list(map(join_parts, negatives))).reshape(len(pairs), count)
    margins = pa.array((scores[:, None] - negative_scores).tolist(), pa.list_(pa.float32()))
    return pairs.set_column(pairs.column_names.index("margins"), "margins", margins)
