"""Questions that a sequence-to-sequence model writes for passages (doc2query; GPL: Wang et al., 2022, section 3.1)."""

import heapq
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForSeq2SeqLM

from contexture.derive.config import QueriesConfig
from contexture.derive.negatives import write_pairs
from contexture.derive.passages import cut_passage, take_passages, write_passages
from contexture.derive.published import BATCH_TEXTS, load_published
from contexture.encoders.config import Lengths
from contexture.progress import progress
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import Rows
from contexture.seeding import mix

#: Tokens of a passage that are read, and of a question that are written.
MAX_PASSAGE_TOKENS, MAX_QUERY_TOKENS = 350, 64
#: Sampling of several questions (GPL, appendix).
SAMPLING: dict[str, Any] = {"do_sample": True, "top_k": 25, "top_p": 0.95}


class QueryWriter:
    """A model that writes questions."""

    def __init__(self, config: QueriesConfig, seed: int) -> None:
        """Load the model; raises ValueError, naming the key, if that fails."""
        assert config.model is not None
        self.config, self.seed = config, seed
        self.model = load_published("derive.queries.model", config.model, AutoModelForSeq2SeqLM)

    def write(self, texts: list[str]) -> list[list[str]]:
        """Return the different questions of each text, without empty ones; a function of the seed and all texts."""
        questions: list[list[str]] = []
        count = self.config.per_passage
        for start in progress(len(texts), "questions", "batch", range(0, len(texts), BATCH_TEXTS)):
            inputs = self.model.tokenize(texts[start : start + BATCH_TEXTS], max_tokens=MAX_PASSAGE_TOKENS)
            with torch.random.fork_rng(), torch.inference_mode():
                torch.manual_seed(mix(self.seed, start))
                written = self.model.model.generate(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    max_new_tokens=MAX_QUERY_TOKENS,
                    num_beams=1,
                    num_return_sequences=count,
                    **(SAMPLING if count > 1 else {"do_sample": False}),
                )
            decoded = [text.strip() for text in self.model.tokenizer.batch_decode(written, skip_special_tokens=True)]
            groups = (decoded[first : first + count] for first in range(0, len(decoded), count))
            questions += [list(dict.fromkeys(filter(None, group))) for group in groups]
        return questions


def choose_passages(passages: ParquetRows, count: int, seed: int) -> Rows:
    """Return the sorted rows of `count` passages; the choice is a function of the seed and their ids."""
    keys = (
        (blake2b(f"{seed}:{passage_id}".encode(), digest_size=8).digest(), row)
        for row, (passage_id,) in enumerate(passages.tuples(["passage_id"]))
    )
    return np.array(sorted(row for _, row in heapq.nsmallest(count, keys)), np.int64)


def write_queries(
    passages_dir: Path,
    writer: QueryWriter,
    tokenizer: Tokenizer,
    lengths: Lengths,
    folder: Path,
    held_out_share: float = 0.0,
) -> dict[str, int]:
    """Write pairs of a question and its passage to `folder`, with the columns of pairs; return counts.

    See also `write_passages`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    work_file = folder / "passages.unfinished"
    passages = write_passages(passages_dir, work_file, held_out_share)
    rows = choose_passages(passages, writer.config.passages, writer.seed)
    table = take_passages(passages, rows, ["passage_id", "title", "text", "title_tokens", "tokens"])
    work_file.unlink()
    selected = table.to_pylist()
    written = writer.write([f"{passage['title']} {passage['text']}".strip() for passage in selected])
    pairs = []
    for passage, questions in zip(selected, written, strict=True):
        title, encodings = passage["title_tokens"], tokenizer.encode_batch_fast(questions, add_special_tokens=False)
        document = {"title": title, "passage": cut_passage(passage["tokens"], title, lengths)}
        queries = [encoding.ids[: lengths.query - 2] for encoding in encodings if encoding.ids]
        document |= {"document": passage["passage_id"], "document_pairs": len(queries)}
        pairs += [{"query": query} | document for query in queries]
    schema = dict.fromkeys(("query", "title", "passage"), pa.list_(pa.int32()))
    schema |= {"document": pa.string(), "document_pairs": pa.int64()}
    write_pairs(pa.Table.from_pylist(pairs, pa.schema(schema)), folder)
    return {"passages": len(selected), "questions": len(pairs)}
