"""Save and load encoders: `encoder.json`, weights as safetensors, and the vocabulary.

A Transformer is saved in Hugging Face's format, with files for sentence-transformers. A shared network is saved in the
folder itself, two networks in `query` and `document`. For sentence-transformers a document of two parts is one text:
title + " [SEP] " + passage, with the tokenizer's separator.
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

from contexture.encoders.bag_of_words import Static
from contexture.encoders.base import Encoder, build_network
from contexture.encoders.config import EncoderConfig, GruConfig, Role, TableSizes, TransformerConfig
from contexture.encoders.network import Network, make_embedding
from contexture.encoders.quiet import quiet_loading
from contexture.encoders.saved import (
    SETTINGS_FILE,
    WEIGHTS_FILE,
    damaged_error,
    encoder_checksum,
    model_name,
    read_settings,
)
from contexture.encoders.transformer import Transformer
from contexture.folders import hash_file
from contexture.vocabulary.tokenizers import TOKENIZER_FILE, copy_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

#: Files of a Transformer: weights of tokens in the mean, projections of CMLM, layers across sequences.
TOKEN_WEIGHTS, PROJECTIONS, CROSS = "token_weights.safetensors", "projections.safetensors", "cross.safetensors"
#: Folders of sentence-transformers' modules. With several special tokens the tokenizer of `0_Transformer` writes them
#: and `1_CNN` concatenates their states.
STATIC, TRANSFORMER, STATES = "0_StaticEmbedding", "0_Transformer", "1_CNN"
POOLING, LAST_POOLING, PROJECTION, NORMALIZE = "1_Pooling", "2_Pooling", "2_Dense", "3_Normalize"


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Save an encoder's vocabulary, weights and, last, its settings in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder.vocabulary.copy(folder)
    for role, network in encoder.networks.items():
        network_dir = _network_dir(folder, encoder.config, role)
        if network_dir != folder:
            encoder.vocabulary.copy(network_dir)
        limit = encoder.lengths.for_role("document" if encoder.config.shared else role)
        _save_network(network, network_dir, limit, encoder.config.norm is not None)
    settings = {
        "encoder": asdict(encoder.config),
        "lengths": asdict(encoder.lengths),
        "dimension": encoder.dimension,
        "weights": _weights_checksum(folder),
    }
    (folder / SETTINGS_FILE).write_text(json.dumps(settings, indent=1), encoding="utf-8")


def load_encoder(folder: Path, head: bool | None = None) -> Encoder:
    """Load a saved encoder in evaluation mode; raises ValueError, naming the folder, if it is damaged.

    `head`: whether a Transformer predicts tokens, with a new head if none was saved; None: as saved.
    """
    try:
        settings = read_settings(folder)
        config = settings.config
        if settings.weights != _weights_checksum(folder):
            raise ValueError("the weights are not those that were saved")
        vocabulary = Vocabulary.load(folder)
        query = _load_network(config, _network_dir(folder, config, "query"), vocabulary, head)
        document = query if config.shared else _load_network(config, folder / "document", vocabulary, head)
        if isinstance(config, GruConfig) and config.words == "fixed":
            document.words = query.words  # one table for both, as in `build_encoder`
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise damaged_error(folder, error) from error
    encoder = Encoder(query, document, config, settings.lengths, vocabulary)
    encoder.name, encoder.identity = model_name(folder), {"encoder": encoder_checksum(folder)}
    return encoder.eval()


def _network_dir(folder: Path, config: EncoderConfig, role: Role) -> Path:
    """Return the folder of a role's network in an encoder's folder: the folder itself if both roles share a network."""
    return folder if config.shared else folder / role


def _weights_checksum(folder: Path) -> str:
    """Return the SHA-256 of the weights and tokenizers in an encoder's folder."""
    checksum = hashlib.sha256()
    names = [WEIGHTS_FILE, f"{TRANSFORMER}/{WEIGHTS_FILE}", "tokenizer.json", f"{PROJECTION}/{WEIGHTS_FILE}"]
    names += [TOKEN_WEIGHTS, PROJECTIONS, CROSS]
    for file in sorted(folder / part / name for part in ("", "query", "document") for name in names):
        if file.exists():
            checksum.update(file.relative_to(folder).as_posix().encode())
            checksum.update(hash_file(file))
    return checksum.hexdigest()


def _extra_modules(network: Transformer) -> dict[str, nn.Module]:
    """Return file → module for parts of a Transformer that are not in Hugging Face's format."""
    modules = {PROJECTIONS: network.projections, CROSS: network.cross}
    return {name: module for name, module in modules.items() if module is not None}


def _save_network(network: Network, folder: Path, max_tokens: int, is_normalized: bool) -> None:
    """Write a network's weights and, if sentence-transformers has its modules, the files with which it loads them."""
    if not isinstance(network, Transformer):
        save_model(network, str(folder / WEIGHTS_FILE))
        # StaticEmbedding divides by the number of tokens, not by the sum of their weights: only directions agree.
        if isinstance(network, Static) and (is_normalized or network.token_weights is None):
            _export_static(network, folder, max_tokens, is_normalized)
        return
    model_dir = folder / TRANSFORMER if network.num_leading > 1 else folder
    network.model.save_pretrained(model_dir)
    if network.projection is not None:
        _save_projection(network.projection, folder / PROJECTION)
    if network.token_weights is not None:
        save_file({"weight": network.token_weights.cpu()}, folder / TOKEN_WEIGHTS)
    for name, module in _extra_modules(network).items():
        save_model(module, str(folder / name))
    if network.token_weights is not None or network.projections is not None:
        return  # sentence-transformers has no such modules
    modules = [("", "Transformer"), (POOLING, "Pooling")]
    if network.num_leading > 1:
        _export_special_tokens(network, folder)
        modules = [(TRANSFORMER, "Transformer"), (STATES, "CNN"), (LAST_POOLING, "Pooling")]
    pooling_dir = folder / modules[-1][0]
    modules += [(PROJECTION, "Dense")] if network.projection else []
    _write_modules(folder, modules, is_normalized)
    _write_json(model_dir / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": False})
    modes = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens", "last": "lasttoken"}
    pooling = {"word_embedding_dimension": network.model.config.hidden_size * network.num_leading}
    pooling |= {f"pooling_mode_{mode}": network.pooling == name for name, mode in modes.items()}
    _write_json(pooling_dir / "config.json", pooling)


def _export_special_tokens(network: Transformer, folder: Path) -> None:
    """Write modules of sentence-transformers that concatenate the states of several special tokens.

    The tokenizer writes the tokens. Kernel n of a convolution moves the state of token n to the first position, whose
    state then is [E_0; …; E_{N−1}].
    """
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    cls, sep = (str(tokenizer.id_to_token(token)) for token in (network.tokens.cls, network.tokens.sep))
    more = [cls if token == network.tokens.cls else f"[S{number}]" for number, token in enumerate(network.extra, 1)]
    tokenizer.add_special_tokens([token for token in more if token != cls])
    ids = {token: tokenizer.token_to_id(token) for token in (cls, sep, *more)}
    if [ids[token] for token in more] != list(network.extra):
        raise ValueError(f"{folder}: the tokenizer does not give the special tokens {more} the ids after its subwords")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{' '.join((cls, *more))} $A {sep}", special_tokens=list(ids.items())
    )
    copy_tokenizer(folder, folder / TRANSFORMER)
    tokenizer.save(str(folder / TRANSFORMER / TOKENIZER_FILE))
    width = network.model.config.hidden_size
    sizes = [2 * number + 1 for number in range(network.num_leading)]
    convolution = {"in_word_embedding_dimension": width, "out_channels": width, "kernel_sizes": sizes}
    _write_json(folder / STATES / "cnn_config.json", convolution)
    weights: dict[str, torch.Tensor] = {}
    for number, size in enumerate(sizes):
        kernel = torch.zeros(width, width, size)
        kernel[:, :, -1] = torch.eye(width)
        weights |= {f"convs.{number}.weight": kernel, f"convs.{number}.bias": torch.zeros(width)}
    save_file(weights, folder / STATES / WEIGHTS_FILE)


def _save_projection(projection: nn.Linear, folder: Path) -> None:
    """Write the linear layer as a Dense module of sentence-transformers."""
    dense = {
        "in_features": projection.in_features,
        "out_features": projection.out_features,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    _write_json(folder / "config.json", dense)
    weights = {f"linear.{name}": tensor.contiguous().cpu() for name, tensor in projection.state_dict().items()}
    save_file(weights, folder / WEIGHTS_FILE)


def _export_static(network: Static, folder: Path, max_tokens: int, is_normalized: bool) -> None:
    """Write a static network as a module of sentence-transformers: embeddings, multiplied by the weights of tokens."""
    static_dir = folder / STATIC
    static_dir.mkdir(exist_ok=True)
    weighted = network.words.weight.detach()
    if network.token_weights is not None:
        weighted = weighted * network.token_weights[:, None]
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    # Words without an embedding get that of the unknown word.
    if (more := tokenizer.get_vocab_size() - len(weighted)) > 0:
        weighted = torch.cat([weighted, weighted[network.tokens.unk].expand(more, -1)])
    save_file({"embedding.weight": weighted.contiguous().cpu()}, static_dir / WEIGHTS_FILE)
    tokenizer.enable_truncation(max_tokens)
    tokenizer.save(str(static_dir / TOKENIZER_FILE))
    _write_modules(folder, [(STATIC, "StaticEmbedding")], is_normalized)


def _write_modules(folder: Path, modules: list[tuple[str, str]], normalized: bool) -> None:
    """Write sentence-transformers' list of modules (path, class), with Normalize last if vectors are `normalized`."""
    if normalized:
        modules = [*modules, (NORMALIZE, "Normalize")]
        (folder / NORMALIZE).mkdir(exist_ok=True)
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(modules)
    ]
    _write_json(folder / "modules.json", listed)
    _write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine" if normalized else "dot"})


def _load_network(config: EncoderConfig, folder: Path, vocabulary: Vocabulary, head: bool | None) -> Network:
    """Load the network of an encoder with this config from its folder; `head` as in `load_encoder`."""
    if isinstance(config, TransformerConfig):
        return _load_transformer(config, folder, vocabulary, head)
    with safe_open(str(folder / WEIGHTS_FILE), "pt") as file:
        words = file.get_tensor("words.weight")
    fixed = isinstance(config, GruConfig) and config.words == "fixed"
    table = make_embedding(words).requires_grad_(False) if fixed else None
    network = build_network(config, TableSizes(), len(words), vocabulary, table, head=False)
    load_model(network, str(folder / WEIGHTS_FILE))
    return network


def _load_transformer(
    config: TransformerConfig, folder: Path, vocabulary: Vocabulary, head: bool | None
) -> Transformer:
    """Load a Transformer network with its extra modules; `head` as in `load_encoder`."""
    model_dir = folder / TRANSFORMER if config.cross is not None and config.cross.tokens > 1 else folder
    if head is None:
        with safe_open(str(model_dir / WEIGHTS_FILE), "pt") as file:
            head = any(name.startswith(("cls.", "lm_head.")) for name in file.keys())  # noqa: SIM118 - no dict
    with quiet_loading():
        model = (
            AutoModelForMaskedLM.from_pretrained(model_dir, local_files_only=True)
            if head
            else AutoModel.from_pretrained(model_dir, local_files_only=True, add_pooling_layer=False)
        )
    network = Transformer(model, config, vocabulary.tokens)
    if network.projection is not None:
        load_model(nn.ModuleDict({"linear": network.projection}), str(folder / PROJECTION / WEIGHTS_FILE))
    if network.token_weights is not None:
        network.token_weights.copy_(load_file(folder / TOKEN_WEIGHTS)["weight"])
    for name, module in _extra_modules(network).items():
        load_model(module, str(folder / name))
    return network


def _write_json(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")
