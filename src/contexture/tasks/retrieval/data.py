"""Questions and (sentence, passage) candidates of ReQA as token ids (two-tower paper, section 4.1)."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pandas as pd
from tokenizers import Tokenizer

from contexture.encoders.config import PairLayoutConfig
from contexture.encoders.layout import Sentences

#: Columns of token ids: a question has one part, a candidate two.
QUESTION, CANDIDATE = ("tokens",), ("sentence_tokens", "passage_tokens")


def encode_reqa(
    questions: pd.DataFrame, candidates: pd.DataFrame, tokenizer: Tokenizer, layout: PairLayoutConfig
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Add token ids, without special tokens and cut to what a tower can read.

    The questions get `tokens`, the candidates `sentence_tokens` and `passage_tokens`.
    """
    asked = encode(questions["question"], tokenizer, layout.query_tokens)
    said = {
        f"{part}_tokens": encode(candidates[part], tokenizer, layout.document_tokens)
        for part in ("sentence", "passage")
    }
    return questions.assign(tokens=asked), candidates.assign(**said)


def encode(texts: pd.Series, tokenizer: Tokenizer, limit: int) -> pd.Series:
    """Each text as at most `limit` ids; equal texts are tokenized once."""
    codes, unique = pd.factorize(texts)
    ids = [encoding.ids[:limit] for encoding in tokenizer.encode_batch_fast(list(unique), add_special_tokens=False)]
    return pd.Series([ids[code] for code in codes], index=texts.index, dtype=object)


def plain_texts(texts: Sequence[str], tokenizer: Tokenizer) -> Sentences:
    """Texts → token ids, one part each."""
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return texts_of(pd.DataFrame({"tokens": [encoding.ids for encoding in encodings]}), QUESTION)


def texts_of(table: pd.DataFrame, columns: Sequence[str]) -> Sentences:
    """Rows of a table of token ids → texts of as many parts as there are `columns`."""
    parts = [table[column].tolist() for column in columns]
    lengths = np.array([[len(ids) for ids in part] for part in parts], dtype=np.int64).T.reshape(-1, len(columns))
    pieces = list(chain.from_iterable(zip(*parts, strict=True)))
    tokens = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in pieces]) if pieces else np.empty(0, np.int64)
    return Sentences(tokens, lengths)
