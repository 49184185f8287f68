"""The interface of all encoders: texts in, vectors out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from contexture.encoders.bag_of_words import BagOfWords, BagOfWordsMlp, Static
from contexture.encoders.config import (
    ROLES,
    BagOfWordsConfig,
    BagOfWordsMlpConfig,
    EncoderConfig,
    GruConfig,
    Lengths,
    Role,
    StaticConfig,
    TableSizes,
    TransformerConfig,
)
from contexture.encoders.cross import CrossLayers
from contexture.encoders.gru import Gru
from contexture.encoders.layout import Batch, Sentences, SpecialTokenFormat, row_lengths, select_rows
from contexture.encoders.network import (
    Network,
    copy_word_vectors,
    fill_token_weights,
    make_embedding,
    new_embedding,
)
from contexture.encoders.transformer import Transformer, build_transformer
from contexture.vocabulary.vocabulary import Vocabulary

#: A text, or its two parts: title and passage, sentence and passage.
Text = str | tuple[str, str]
Array = npt.NDArray[np.float32]
#: `chunks`: batches of texts of similar length. `rows` (B,): the position of each text in their concatenation.
TextBatch = Mapping[str, Any]

#: Tokens, padding included, of one forward pass: enough to keep a GPU busy; few enough for the caches of a CPU.
MAX_GPU_BATCH_TOKENS, MAX_CPU_BATCH_TOKENS = 16384, 2048
#: Texts that are tokenized together.
MAX_BATCH_TEXTS = 4096


class TextEncoder(Protocol):
    """A model that embeds each text independently of the others; `identity` (JSON) is all that vectors depend on."""

    name: str
    identity: dict[str, Any]

    @property
    def dimension(self) -> int:
        """Length of the vector of a text without a role."""

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Return vectors (N, D) of N texts as queries or documents (`role`); without a role, D is `dimension`."""


class Encoder(nn.Module):
    """One network for both roles, or one for each.

    With `recompute`, the backward pass computes activations again, one chunk at a time (gradient caching). Gradients
    are the same, with dropout, too.
    """

    def __init__(
        self, query: Network, document: Network, config: EncoderConfig, lengths: Lengths, vocabulary: Vocabulary
    ) -> None:
        super().__init__()
        self.query, self.document = query, document
        self.config, self.lengths, self.vocabulary = config, lengths, vocabulary
        self.recompute = False
        self.name = type(query).__name__
        self.identity: dict[str, Any] = {}

    def network(self, role: Role) -> Network:
        """Return the network that embeds texts of a role (query or document)."""
        return self.query if role == "query" else self.document

    @property
    def networks(self) -> dict[Role, Network]:
        """The distinct networks by role; a network shared by both roles is listed once, as query."""
        if self.query is self.document:
            return {"query": self.query}
        return {"query": self.query, "document": self.document}

    @property
    def plain_roles(self) -> tuple[Role, ...]:
        """The roles whose networks embed a text without a role; its vector is their vectors, concatenated."""
        if self.config.plain == "both":
            return ROLES if len(self.networks) > 1 else ("query",)
        return (self.config.plain,)

    @property
    def dimension(self) -> int:
        """Length of the vector of a text without a role."""
        return sum(self.network(role).size for role in self.plain_roles)

    def forward(self, texts: TextBatch, role: Role) -> Tensor:
        """Return vectors (B, D) of a batch of texts from the network of `role`, in the order of the texts."""
        network = self.network(role)
        vectors = torch.cat(self._apply_to_chunks(network.vectors, texts["chunks"]))
        if self.config.norm is not None:
            vectors = self.config.norm * nn.functional.normalize(vectors.float(), dim=-1)
        return vectors[texts["rows"]]

    def combine_roles(self, texts: Mapping[Role, TextBatch]) -> Tensor:
        """Return vectors (B, `dimension`) of texts without a role, from a batch for each of the `plain_roles`."""
        sides = [self(texts[role], role).float() for role in self.plain_roles]
        if self.config.plain == "both" and self.config.unit:
            sides = [nn.functional.normalize(vectors, dim=-1) for vectors in sides]
        return torch.cat(sides, dim=-1)

    def pooled_states(self, texts: TextBatch) -> Tensor:
        """Return the Transformer's pooled states (B, H), before any projection, of a batch of documents."""
        return torch.cat(self._apply_to_chunks(self.transformer.pooled_states, texts["chunks"]))[texts["rows"]]

    def sequence_states(self, chunks: Sequence[Batch]) -> list[Tensor]:
        """Return the hidden states (B, T, H) of all tokens of each chunk of documents, special tokens first."""
        return [states for part in self._apply_to_chunks(self.transformer.token_states, chunks) for states in part]

    def _apply_to_chunks(self, function: Callable[[Sequence[Batch]], Any], chunks: Sequence[Batch]) -> list[Any]:
        """Return the results of `function` for all chunks at once, or, with `recompute`, for one chunk at a time."""
        if self.recompute and torch.is_grad_enabled():
            return [checkpoint(function, [chunk], use_reentrant=False) for chunk in chunks]
        return [function(chunks)]

    def batch(self, parts: Sentences, role: Role, tokens_at_once: int) -> TextBatch:
        """Return the input of `forward` for texts as token ids, of one or two parts, cut to the length of the role."""
        chunks, rows = self.network(role).chunks(parts, self.lengths.for_role(role), tokens_at_once)
        return {"chunks": chunks, "rows": rows}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Tokenize texts and return their vectors (N, D); 0 for a text without a word."""
        vectors = np.zeros((len(texts), self.network(role).size if role else self.dimension), np.float32)
        for start in range(0, len(texts), MAX_BATCH_TEXTS):
            parts = tokenize_texts(texts[start : start + MAX_BATCH_TEXTS], self.vocabulary)
            with_words = np.flatnonzero(parts.lengths.sum(axis=1))
            if len(with_words):
                chosen = parts if len(with_words) == len(parts.lengths) else select_rows(parts, with_words)
                vectors[start + with_words] = self.embed_tokens(chosen, role)
        return vectors

    @torch.inference_mode()
    def embed_tokens(self, parts: Sentences, role: Role | None = None) -> Array:
        """Return vectors (N, D) of texts that are given as token ids, at least one id each."""
        device = next(self.parameters()).device
        tokens_at_once = max_batch_tokens(device)
        training = self.training
        self.eval()
        roles = (role,) if role else self.plain_roles
        batches = {name: to_device(self.batch(parts, name, tokens_at_once), device) for name in roles}
        embedded = self(batches[role], role) if role else self.combine_roles(batches)
        self.train(training)
        vectors: Array = embedded.float().cpu().numpy()
        return vectors

    def flops(self, batch: Mapping[str, Any]) -> Tensor:
        """Return the total forward and backward FLOPs of the layers for a stream's batch: tokens, or texts by role."""
        if "attention_mask" in batch:
            return self.transformer.layer_flops(row_lengths(batch))
        if "sequences" in batch:
            return self.transformer.layer_flops(row_lengths(batch["sequences"]))
        if "texts" in batch:
            return self.text_flops(row_lengths(batch["texts"]))
        sides = [self.network(role).flops(row_lengths(batch[role])) for role in ROLES if role in batch]
        if "negative" in batch:  # documents
            sides.append(self.document.flops(row_lengths(batch["negative"])))
        return torch.stack(sides).sum()

    def text_flops(self, lengths: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs of all networks for texts of `lengths` (B,) tokens."""
        return torch.stack([network.flops(lengths) for network in self.networks.values()]).sum()

    @property
    def cross(self) -> CrossLayers | None:
        """Cross-Thought's layers across sequences, or None."""
        return self.document.cross if isinstance(self.document, Transformer) else None

    @property
    def hidden_size(self) -> int:
        """Width of the Transformer's hidden states."""
        return int(self.transformer.model.config.hidden_size)

    @property
    def specials(self) -> SpecialTokenFormat:
        """The special tokens' ids, and how they and positions are arranged in the networks' inputs."""
        return self.document.specials

    @property
    def transformer(self) -> Transformer:
        """The network of documents; raises ValueError if it is not a Transformer."""
        if not isinstance(self.document, Transformer):
            kind = type(self.document).__name__
            raise ValueError(f"{self.name}: a {kind} has no states of tokens: this needs a transformer")
        return self.document


def max_batch_tokens(device: torch.device) -> int:
    """Return the number of tokens, padding included, of one forward pass on a device."""
    return MAX_CPU_BATCH_TOKENS if device.type == "cpu" else MAX_GPU_BATCH_TOKENS


def tokenize_texts(texts: Sequence[Text], vocabulary: Vocabulary) -> Sentences:
    """Return the token ids of texts, without special tokens.

    Raises ValueError if texts of one part and texts of two are mixed.
    """
    split = [text if isinstance(text, tuple) else (text,) for text in texts]
    width = len(split[0]) if split else 1
    if any(len(text) != width for text in split):
        raise ValueError("texts of one part and texts of two are mixed: embed them in separate calls")
    parts = [part for text in split for part in text]
    unique = list(dict.fromkeys(parts))
    encodings = vocabulary.tokenizer.encode_batch_fast(unique, add_special_tokens=False)
    ids_of = dict(zip(unique, (np.asarray(encoding.ids, np.int64) for encoding in encodings), strict=True))
    ids = [ids_of[part] for part in parts]
    lengths = np.array([len(part_ids) for part_ids in ids], dtype=np.int64).reshape(-1, width)
    return Sentences(np.concatenate(ids) if ids else np.empty(0, np.int64), lengths)


def to_device(batch: Any, device: torch.device) -> Any:
    """Return the batch with the tensors in its nested dicts and lists moved to `device`."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {name: to_device(value, device) for name, value in batch.items()}
    if isinstance(batch, list):
        return [to_device(value, device) for value in batch]
    return batch


def prepare_for_inference(encoder: Encoder) -> Encoder:
    """Move the encoder to the GPU, if there is one, set evaluation mode, and return the encoder."""
    return encoder.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def build_encoder(
    config: EncoderConfig,
    lengths: Lengths,
    vocabulary: Vocabulary,
    table_sizes: TableSizes | None = None,
    head: bool = False,
) -> Encoder:
    """Return a new encoder with the architecture and initial weights that `config` sets.

    `table_sizes`: minimum numbers of positions and token types. `head`: whether it predicts tokens.
    """
    sizes = (table_sizes or TableSizes()) | TableSizes(positions=max(lengths.query, lengths.document))
    fixed = None
    if isinstance(config, GruConfig) and config.words == "fixed":
        fixed = make_embedding(torch.from_numpy(np.array(vocabulary.vectors))).requires_grad_(False)
    query = build_network(config, sizes, vocabulary.trained, vocabulary, fixed, head)
    document = query if config.shared else build_network(config, sizes, vocabulary.trained, vocabulary, fixed, head)
    for network in {query, document}:
        if config.start == "word_vectors" and fixed is None:
            copy_word_vectors(network, vocabulary)
        if network.token_weights is not None:
            fill_token_weights(network.token_weights, vocabulary)
    return Encoder(query, document, config, lengths, vocabulary)


def build_network(
    config: EncoderConfig,
    table_sizes: TableSizes,
    words: int,
    vocabulary: Vocabulary,
    fixed: nn.Embedding | None,
    head: bool,
) -> Network:
    """Return a new network of `config`'s architecture, with embeddings of `words` words or the `fixed` embeddings."""
    tokens = vocabulary.tokens
    if isinstance(config, TransformerConfig):
        return build_transformer(config, table_sizes, words, tokens, head)
    if isinstance(config, BagOfWordsMlpConfig):
        return BagOfWordsMlp(config, words, tokens)
    if isinstance(config, BagOfWordsConfig):
        return BagOfWords(config, words, tokens)
    if isinstance(config, StaticConfig):
        return Static(config, words, tokens)
    if isinstance(config, GruConfig):
        return Gru(config, fixed or new_embedding(words, config.word_size), tokens)
    raise TypeError(f"no architecture for {type(config).__name__}")
