"""Towers on disk, in the layout of sentence-transformers, which can load them as they are.

Shared towers lie in the folder itself, separate ones in its folders `query` and `document`. For sentence-transformers
a document of two parts is one text: title + " [SEP] " + passage, with the separator that the tokenizer has.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load_model, save_file
from torch import nn
from transformers import AutoModel

from contexture.encoders.config import PairLayoutConfig, TowersConfig
from contexture.encoders.towers import BagOfWordsTower, Tower, TransformerTower, TwoTowers
from contexture.vocabulary.tokenizers import copy_tokenizer, load_tokenizer

SETTINGS = "towers.json"
_MODULES = (
    ("", "sentence_transformers.models.Transformer"),
    ("1_Pooling", "sentence_transformers.models.Pooling"),
    ("2_Dense", "sentence_transformers.models.Dense"),
)


def save_towers(towers: TwoTowers, tokenizer: Path, folder: Path) -> None:
    """Write weights (safetensors), settings and the tokenizer."""
    settings = {"towers": asdict(towers.config), "layout": asdict(towers.layout)}
    _write_json(folder / SETTINGS, settings)
    copy_tokenizer(tokenizer, folder)
    if towers.config.shared:
        _save(towers.document, folder, towers.layout.document_tokens)
        return
    for tower, name, limit in (
        (towers.query, "query", towers.layout.query_tokens),
        (towers.document, "document", towers.layout.document_tokens),
    ):
        place = folder / name
        place.mkdir(exist_ok=True)
        copy_tokenizer(tokenizer, place)
        _save(tower, place, limit)


def load_towers(folder: Path) -> TwoTowers:
    """Towers that `save_towers` wrote; ValueError, naming the folder, where something is missing or damaged."""
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        config: Any = TypeAdapter(TowersConfig).validate_python(settings["towers"])
        layout = TypeAdapter(PairLayoutConfig).validate_python(settings["layout"])
        query = _load(config, folder if config.shared else folder / "query")
        document = query if config.shared else _load(config, folder / "document")
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{folder} holds no whole towers ({error}); train them again") from error
    return TwoTowers(query, document, config, layout)


def checksum(folder: Path) -> str:
    """SHA-256 of the weights and settings of towers, by which vectors know what made them."""
    found = hashlib.sha256()
    for file in sorted([folder / SETTINGS, *folder.rglob("*.safetensors")]):
        found.update(file.relative_to(folder).as_posix().encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def is_towers(folder: Path) -> bool:
    """Whether towers were saved in a folder."""
    return (folder / SETTINGS).exists()


def _save(tower: Tower, folder: Path, limit: int) -> None:
    if isinstance(tower, BagOfWordsTower):
        save_file(
            {name: tensor.contiguous().cpu() for name, tensor in tower.state_dict().items()},
            folder / "model.safetensors",
        )
        return
    tower.model.save_pretrained(folder)
    modules = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(_MODULES)]
    _write_json(folder / "modules.json", modules)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": limit, "do_lower_case": False})
    _write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "dot"})
    width, size = tower.projection.in_features, tower.projection.out_features
    pooling = {
        "word_embedding_dimension": width,
        "pooling_mode_cls_token": tower.pooling == "cls",
        "pooling_mode_mean_tokens": tower.pooling == "mean",
    }
    dense = {
        "in_features": width,
        "out_features": size,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    _write_json(folder / "1_Pooling" / "config.json", pooling)
    _write_json(folder / "2_Dense" / "config.json", dense)
    weights = {f"linear.{name}": tensor.contiguous().cpu() for name, tensor in tower.projection.state_dict().items()}
    save_file(weights, folder / "2_Dense" / "model.safetensors")


def _load(config: Any, folder: Path) -> Tower:
    if config.kind == "bag_of_words":
        bag = BagOfWordsTower(config, load_tokenizer(folder)[1].vocab_size)
        load_model(bag, str(folder / "model.safetensors"))
        return bag
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False, local_files_only=True)
    tower = TransformerTower(model, config.pooling, config.embedding_size)
    load_model(nn.ModuleDict({"linear": tower.projection}), str(folder / "2_Dense" / "model.safetensors"))
    return tower


def _write_json(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")
