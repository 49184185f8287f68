"""Passages, pairs, and tiny published models with random weights."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from contexture.vocabulary.tokenizers import load_tokenizer
from tests.training.toys import TOKENS, encode_words, write_pairs

PASSAGES_SCHEMA = pa.schema(
    {
        "passage_id": pa.string(),
        "doc_id": pa.string(),
        "title": pa.string(),
        "text": pa.string(),
        "title_tokens": TOKENS,
        "tokens": TOKENS,
        "links": pa.list_(pa.string()),
        "held_out": pa.bool_(),
    }
)


def make_passage(passage_id: str, title: str, text: str, vocabulary: Path, **values: Any) -> dict[str, Any]:
    tokens = {"title_tokens": encode_words([title], vocabulary), "tokens": encode_words([text], vocabulary)}
    values = {"links": [], "held_out": False} | values
    document = passage_id.partition("#")[0]
    return {"passage_id": passage_id, "doc_id": document, "title": title, "text": text} | tokens | values


def write_passages(rows: list[dict[str, Any]], folder: Path) -> Path:
    folder.mkdir(parents=True)
    half = (len(rows) + 1) // 2
    for part in range(2):
        table = pa.Table.from_pylist(rows[part * half : (part + 1) * half], PASSAGES_SCHEMA)
        pq.write_table(table, folder / f"part-{part}.parquet")
    return folder


def make_pair(query: str, passage: dict[str, Any], vocabulary: Path, title: bool = True) -> dict[str, Any]:
    texts = {"query": encode_words([query], vocabulary), "title": passage["title_tokens"] if title else []}
    texts |= {"passage": passage["tokens"], "document": passage["passage_id"]}
    return texts | {"pair_id": query, "document_pairs": 1}


def write_task(rows: list[dict[str, Any]], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_pairs(rows, folder)


def _save(model: Any, folder: Path, vocabulary: Path, **tokens: str) -> Path:
    tokenizer, _ = load_tokenizer(vocabulary)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", **tokens)
    fast.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def save_query_writer(folder: Path, vocabulary: Path, seed: int = 0) -> Path:
    """Save a tiny T5 with random weights."""
    torch.manual_seed(seed)
    size = load_tokenizer(vocabulary)[1].vocab_size
    sizes = {"d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 2}
    config = T5Config(vocab_size=size, decoder_start_token_id=0, pad_token_id=0, eos_token_id=3, **sizes)
    model = T5ForConditionalGeneration(config)
    torch.nn.init.normal_(model.shared.weight, std=1.0)
    return _save(model, folder, vocabulary, eos_token="[SEP]")


def save_cross_encoder(folder: Path, vocabulary: Path, labels: int = 1, seed: int = 0) -> Path:
    """Save a tiny BERT with random weights."""
    torch.manual_seed(seed)
    size = load_tokenizer(vocabulary)[1].vocab_size
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertForSequenceClassification(BertConfig(vocab_size=size, num_labels=labels, **sizes))
    return _save(model, folder, vocabulary, cls_token="[CLS]", sep_token="[SEP]")
