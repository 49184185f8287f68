"""Encoders on disk, one format for all: `encoder.json`, weights as safetensors, and the vocabulary.

A Transformer lies in Hugging Face's layout and, with the files beside it, in that of sentence-transformers, which loads
it as it is; what is shared lies in the folder itself, two networks in its folders `query` and `document`. For
sentence-transformers a document of two parts is one text: title + " [SEP] " + passage, with the tokenizer's separator.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, load_model, save_file, save_model
from tokenizers import Tokenizer, processors
from torch import nn
from transformers import AutoModel, AutoModelForMaskedLM

from contexture.encoders.base import Encoder, build_network
from contexture.encoders.config import EncoderConfig, GruConfig, Needs, TransformerConfig
from contexture.encoders.network import Network
from contexture.encoders.quiet import quiet_loading
from contexture.encoders.saved import SETTINGS, WEIGHTS, damaged, encoder_checksum, model_name, saved
from contexture.encoders.static import Static
from contexture.encoders.transformer import Transformer
from contexture.encoders.words import embedding_of
from contexture.vocabulary.tokenizers import TOKENIZER_FILE, copy_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

PROJECTION = "2_Dense"
#: Of a Transformer that weighs tokens: what each counts.
TOKEN_WEIGHTS = "token_weights.safetensors"
#: Of a Transformer whose vectors are means of projections.
PROJECTIONS = "projections.safetensors"
#: Of a Transformer with layers across sequences.
CROSS = "cross.safetensors"
POOLING, LAST_POOLING, NORMALIZE, STATIC = "1_Pooling", "2_Pooling", "3_Normalize", "0_StaticEmbedding"
#: Of a Transformer with several special tokens: itself, with a tokenizer that writes them, and what joins their states.
TRANSFORMER, STATES = "0_Transformer", "1_CNN"


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write weights, vocabulary and, last, the settings."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder.vocabulary.copy(folder)
    for role, network in encoder.networks.items():
        place = folder if encoder.config.shared else folder / role
        if place != folder:
            encoder.vocabulary.copy(place)
        limit = encoder.lengths.of("document" if encoder.config.shared else role)
        _save(network, place, limit, encoder.config.norm is not None)
    settings = {
        "encoder": asdict(encoder.config),
        "lengths": asdict(encoder.lengths),
        "dimension": encoder.dimension,
        "weights": _checksum(folder),
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=1), encoding="utf-8")


def load_encoder(folder: Path, head: bool | None = None) -> Encoder:
    """An encoder that `save_encoder` wrote, ready to embed.

    `head`: whether a Transformer shall predict tokens, with a new head if it was saved without; None: as it was saved.
    Raises ValueError, naming the folder, where something is missing or damaged.
    """
    try:
        settings = saved(folder)
        config = settings.config
        if settings.weights != _checksum(folder):
            raise ValueError("the weights are not those that were saved")
        vocabulary = Vocabulary.load(folder)
        query = _load(config, folder if config.shared else folder / "query", vocabulary, head)
        document = query if config.shared else _load(config, folder / "document", vocabulary, head)
        if isinstance(config, GruConfig) and config.words == "fixed":
            document.words = query.words  # one table for both, as when they were built
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise damaged(folder, error) from error
    encoder = Encoder(query, document, config, settings.lengths, vocabulary)
    encoder.name, encoder.identity = model_name(folder), {"encoder": encoder_checksum(folder)}
    return encoder.eval()


def _checksum(folder: Path) -> str:
    found = hashlib.sha256()
    own = [WEIGHTS, f"{TRANSFORMER}/{WEIGHTS}", "tokenizer.json", f"{PROJECTION}/{WEIGHTS}"]
    own += [TOKEN_WEIGHTS, PROJECTIONS, CROSS]
    for file in sorted(folder / place / name for place in ("", "query", "document") for name in own):
        if file.exists():
            found.update(file.relative_to(folder).as_posix().encode())
            with file.open("rb") as content:
                found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()


def _save(network: Network, folder: Path, limit: int, normalized: bool) -> None:
    if not isinstance(network, Transformer):
        save_model(network, str(folder / WEIGHTS))
        if isinstance(network, Static):
            _export_static(network, folder, limit, normalized)
        return
    network.model.save_pretrained(folder / TRANSFORMER if network.leaders > 1 else folder)
    if network.projection is not None:
        _save_projection(network.projection, folder / PROJECTION)
    if network.token_weights is not None:
        save_file({"weight": network.token_weights.cpu()}, folder / TOKEN_WEIGHTS)
    if network.projections is not None:
        save_model(network.projections, str(folder / PROJECTIONS))
    if network.cross is not None:
        save_model(network.cross, str(folder / CROSS))
    if network.token_weights is not None or network.projections is not None:
        return  # sentence-transformers knows no pooling that weighs subwords, and no such projections
    place = folder / TRANSFORMER if network.leaders > 1 else folder
    last = POOLING
    modules = [("", "Transformer"), (POOLING, "Pooling")]
    if network.leaders > 1:
        _export_special_tokens(network, folder)
        last = LAST_POOLING
        modules = [(TRANSFORMER, "Transformer"), (STATES, "CNN"), (LAST_POOLING, "Pooling")]
    modules += [(PROJECTION, "Dense")] if network.projection else []
    _write_modules(folder, modules, normalized)
    _write_json(place / "sentence_bert_config.json", {"max_seq_length": limit, "do_lower_case": False})
    pooling = {
        "word_embedding_dimension": network.model.config.hidden_size * network.leaders,
        "pooling_mode_cls_token": network.pooling == "cls",
        "pooling_mode_mean_tokens": network.pooling == "mean",
        "pooling_mode_max_tokens": network.pooling == "max",
        "pooling_mode_lasttoken": network.pooling == "last",
    }
    _write_json(folder / last / "config.json", pooling)


def _export_special_tokens(network: Transformer, folder: Path) -> None:
    """Several special tokens for sentence-transformers, of modules that it has: a tokenizer that writes them …

    … and a convolution that moves the state of token n to the place of the first, with a kernel of its own for each n;
    the state of the first token there is then [E_0; …; E_{N−1}].
    """
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    cls, sep = (str(tokenizer.id_to_token(one)) for one in (network.tokens.cls, network.tokens.sep))
    more = [cls if one == network.tokens.cls else f"[S{place}]" for place, one in enumerate(network.more, 1)]
    tokenizer.add_special_tokens([one for one in more if one != cls])
    ids = {one: tokenizer.token_to_id(one) for one in (cls, sep, *more)}
    if [ids[one] for one in more] != list(network.more):
        raise ValueError(f"{folder}: the tokenizer has holes where the special tokens {more} belong")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{' '.join((cls, *more))} $A {sep}", special_tokens=list(ids.items())
    )
    copy_tokenizer(folder, folder / TRANSFORMER)
    tokenizer.save(str(folder / TRANSFORMER / TOKENIZER_FILE))
    width = network.model.config.hidden_size
    sizes = [2 * place + 1 for place in range(network.leaders)]
    convolution = {"in_word_embedding_dimension": width, "out_channels": width, "kernel_sizes": sizes}
    _write_json(folder / STATES / "cnn_config.json", convolution)
    weights: dict[str, torch.Tensor] = {}
    for place, size in enumerate(sizes):
        kernel = torch.zeros(width, width, size)
        kernel[:, :, -1] = torch.eye(width)
        weights |= {f"convs.{place}.weight": kernel, f"convs.{place}.bias": torch.zeros(width)}
    save_file(weights, folder / STATES / WEIGHTS)


def _save_projection(projection: nn.Linear, folder: Path) -> None:
    """As sentence-transformers has a linear layer."""
    dense = {
        "in_features": projection.in_features,
        "out_features": projection.out_features,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    _write_json(folder / "config.json", dense)
    weights = {f"linear.{name}": tensor.contiguous().cpu() for name, tensor in projection.state_dict().items()}
    save_file(weights, folder / WEIGHTS)


def _export_static(network: Static, folder: Path, limit: int, normalized: bool) -> None:
    """For sentence-transformers, whose mean is of all tokens alike: the weights are part of the embeddings.

    So its vectors have the direction of ours, and the length where that is given or all tokens weigh alike.
    """
    place = folder / STATIC
    place.mkdir(exist_ok=True)
    weighted = network.words.weight.detach()
    if network.token_weights is not None:
        weighted = weighted * network.token_weights[:, None]
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    if (more := tokenizer.get_vocab_size() - len(weighted)) > 0:  # words without an embedding are the unknown word
        weighted = torch.cat([weighted, weighted[network.tokens.unk].expand(more, -1)])
    save_file({"embedding.weight": weighted.contiguous().cpu()}, place / WEIGHTS)
    tokenizer.enable_truncation(limit)
    tokenizer.save(str(place / TOKENIZER_FILE))
    _write_modules(folder, [(STATIC, "StaticEmbedding")], normalized)


def _write_modules(folder: Path, modules: list[tuple[str, str]], normalized: bool) -> None:
    """What sentence-transformers does one after the other, and how it compares vectors."""
    every = [*modules, *([(NORMALIZE, "Normalize")] if normalized else [])]
    described = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(every)
    ]
    _write_json(folder / "modules.json", described)
    if normalized:
        (folder / NORMALIZE).mkdir(exist_ok=True)
    _write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine" if normalized else "dot"})


def _load(config: EncoderConfig, folder: Path, vocabulary: Vocabulary, head: bool | None) -> Network:
    if isinstance(config, TransformerConfig):
        place = folder / TRANSFORMER if config.cross is not None and config.cross.tokens > 1 else folder
        with safe_open(str(place / WEIGHTS), "pt") as file:
            saved = any(name.startswith(("cls.", "lm_head.")) for name in file.keys())  # noqa: SIM118 - no dict
        kind: Any = AutoModelForMaskedLM if (saved if head is None else head) else AutoModel
        options = {} if kind is AutoModelForMaskedLM else {"add_pooling_layer": False}
        with quiet_loading():
            model = kind.from_pretrained(place, local_files_only=True, **options)
        network = Transformer(model, config, vocabulary.tokens)
        if network.projection is not None:
            load_model(torch.nn.ModuleDict({"linear": network.projection}), str(folder / PROJECTION / WEIGHTS))
        if network.token_weights is not None:
            network.token_weights.copy_(load_file(folder / TOKEN_WEIGHTS)["weight"])
        if network.projections is not None:
            load_model(network.projections, str(folder / PROJECTIONS))
        if network.cross is not None:
            load_model(network.cross, str(folder / CROSS))
        return network
    with safe_open(str(folder / WEIGHTS), "pt") as file:
        words = file.get_tensor("words.weight")
    fixed = isinstance(config, GruConfig) and config.words == "fixed"
    table = embedding_of(words).requires_grad_(False) if fixed else None
    other = build_network(config, Needs(), len(words), vocabulary, table, head=False)
    load_model(other, str(folder / WEIGHTS))
    return other


def _write_json(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")
