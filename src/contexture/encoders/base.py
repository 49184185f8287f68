"""The one interface of all encoders: texts in, vectors out, with roles where it has them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from contexture.encoders.bag_of_words import BagOfWords
from contexture.encoders.bag_of_words_mlp import BagOfWordsMlp
from contexture.encoders.config import (
    ROLES,
    BagOfWordsConfig,
    BagOfWordsMlpConfig,
    EncoderConfig,
    GruConfig,
    Lengths,
    Needs,
    Role,
    StaticConfig,
    TransformerConfig,
)
from contexture.encoders.cross import CrossLayers
from contexture.encoders.gru import Gru
from contexture.encoders.layout import Batch, Sentences, Specials, row_lengths, select
from contexture.encoders.network import Network
from contexture.encoders.projections import Projections
from contexture.encoders.starts import start_from_vectors, weigh_tokens
from contexture.encoders.static import Static
from contexture.encoders.transformer import (
    Transformer,
    build_transformer,
    layer_flops,
    resize_positions,
    resize_token_types,
)
from contexture.encoders.words import embedding_of, new_words
from contexture.vocabulary.vocabulary import Vocabulary

#: A text, or its two parts: title and passage, sentence and passage.
Text = str | tuple[str, str]
Array = npt.NDArray[np.float32]
#: `chunks`, batches of texts of like length, and `rows` (B,), where each text stands in their concatenation.
TextBatch = Mapping[str, Any]

#: Tokens, padding included, of one forward pass: what fits the caches of a CPU, and what keeps a GPU busy.
TOKENS_AT_ONCE, TOKENS_AT_ONCE_ON_CPU = 16384, 2048
#: Texts that are tokenized and laid out together.
TEXTS_AT_ONCE = 4096


class TextEncoder(Protocol):
    """Whatever turns texts into vectors: encoders of this project, of others, averages of word vectors.

    It gives the same text the same vector whatever is beside it (but for rounding); `identity`, JSON values, is what
    the vectors depend on.
    """

    name: str
    identity: dict[str, Any]

    @property
    def dimension(self) -> int:
        """Length of the vectors of texts of no role."""

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Vectors (N, D) of N texts; without a role they are `dimension` long."""


class Encoder(nn.Module):
    """One network for all roles, or one for each.

    With `recompute`, only one chunk of a batch is in memory at a time: its activations are thrown away and computed
    again in the backward pass (gradient caching). The gradient is the same, dropout included.
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
        """The network that plays a role."""
        return self.query if role == "query" else self.document

    @property
    def networks(self) -> dict[Role, Network]:
        """The different networks, by the first role that they play."""
        return (
            {"query": self.query} if self.query is self.document else {"query": self.query, "document": self.document}
        )

    @property
    def plain_roles(self) -> tuple[Role, ...]:
        """The roles whose vectors make up that of a text of no role."""
        if self.config.plain == "both":
            return ROLES if len(self.networks) > 1 else ("query",)
        return (self.config.plain,)

    @property
    def dimension(self) -> int:
        """Length of the vector of a text of no role."""
        return sum(self.network(role).size for role in self.plain_roles)

    def forward(self, texts: TextBatch, role: Role) -> Tensor:
        """Vectors (B, D) of a batch of texts, in its order."""
        network = self.network(role)
        found = self._each(network, network.vectors, texts["chunks"])
        if self.config.norm is not None:
            found = self.config.norm * nn.functional.normalize(found.float(), dim=-1)
        return found[texts["rows"]]

    def plain(self, texts: Mapping[Role, TextBatch]) -> Tensor:
        """Vectors (B, `dimension`) of texts of no role, from their batch of each of the `plain_roles`."""
        found = [self(texts[role], role).float() for role in self.plain_roles]
        if self.config.plain == "both" and self.config.unit:
            found = [nn.functional.normalize(vectors, dim=-1) for vectors in found]
        return torch.cat(found, dim=-1)

    def pooled(self, texts: TextBatch) -> Tensor:
        """What the states of a batch of documents are pooled to, (B, H), before anything is made of it."""
        network = self._transformer
        return self._each(network.pooled, network.pooled_of, texts["chunks"])[texts["rows"]]

    def sequence_states(self, chunks: Sequence[Batch]) -> list[Tensor]:
        """Hidden states (B, T, H) of each chunk of documents, special tokens in front."""
        network = self._transformer
        if self.recompute and torch.is_grad_enabled():
            return [checkpoint(network.whole, chunk, use_reentrant=False) for chunk in chunks]
        return network.whole_of(chunks)

    def _each(self, one: Callable[[Batch], Tensor], all_: Callable[[Sequence[Batch]], Tensor], chunks: Any) -> Tensor:
        """What is made of all chunks at once, or, to save memory, of one after the other."""
        if self.recompute and torch.is_grad_enabled():
            return torch.cat([checkpoint(one, chunk, use_reentrant=False) for chunk in chunks])
        return all_(chunks)

    def batch(self, parts: Sentences, role: Role, tokens_at_once: int) -> TextBatch:
        """Texts as token ids, of one or two parts, cut to the length of their role → what `forward` reads."""
        chunks, rows = self.network(role).chunks(parts, self.lengths.of(role), tokens_at_once)
        return {"chunks": chunks, "rows": rows}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Vectors (N, D) of texts; 0 for one without a word, whatever the network would make of it."""
        vectors = np.zeros((len(texts), self.network(role).size if role else self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = texts[start : start + TEXTS_AT_ONCE]
            parts = tokenized(some, self.vocabulary)
            there = np.flatnonzero(parts.lengths.sum(axis=1))
            if len(there):
                vectors[start + there] = self.embed_tokens(_rows(parts, there), role)
        return vectors

    @torch.inference_mode()
    def embed_tokens(self, parts: Sentences, role: Role | None = None) -> Array:
        """The same for texts as token ids, each with a word."""
        device = next(self.parameters()).device
        tokens_at_once = TOKENS_AT_ONCE_ON_CPU if device.type == "cpu" else TOKENS_AT_ONCE
        training = self.training
        self.eval()
        roles = (role,) if role else self.plain_roles
        batches = {one: to_device(self.batch(parts, one, tokens_at_once), device) for one in roles}
        found = self(batches[role], role) if role else self.plain(batches)
        self.train(training)
        vectors: Array = found.float().cpu().numpy()
        return vectors

    def states(self, batch: Batch, prefix: Tensor | None = None) -> Tensor:
        """Hidden states (B, T, H) of a batch of tokens, behind a prefix (B, N, H) if there is one.

        ValueError for an architecture without them.
        """
        return self._transformer.states(batch, prefix)

    def token_logits(self, states: Tensor) -> Tensor:
        """States (N, H) of the positions that count → logits (N, V)."""
        return self._transformer.token_logits(states)

    def flops(self, batch: Mapping[str, Any]) -> Tensor:
        """Forward and backward FLOPs of the layers for a batch of a stream: tokens, or texts by role."""
        if "attention_mask" in batch:
            return self.layer_flops(row_lengths(batch))
        if "sequences" in batch:
            return self.layer_flops(row_lengths(batch["sequences"]))
        if "texts" in batch:
            lengths = row_lengths(batch["texts"])
            return torch.stack([network.flops(lengths) for network in self.networks.values()]).sum()
        sides = [self.network(role).flops(row_lengths(batch[role])) for role in ROLES if role in batch]
        return torch.stack(sides).sum()

    def layer_flops(self, lengths: Tensor) -> Tensor:
        """Those for rows of `lengths` (B,) tokens."""
        return layer_flops(self._transformer.base, lengths)

    @property
    def cross(self) -> CrossLayers | None:
        """Layers across sequences, where it has them (Cross-Thought)."""
        return self.document.cross if isinstance(self.document, Transformer) else None

    @property
    def projections(self) -> Projections | None:
        """Those whose mean is a vector, where it is."""
        return self._transformer.projections

    @property
    def hidden_size(self) -> int:
        """Width of the hidden states."""
        return int(self._transformer.model.config.hidden_size)

    @property
    def specials(self) -> Specials:
        """How the networks place special tokens and positions."""
        return self.document.specials

    @property
    def _transformer(self) -> Transformer:
        if not isinstance(self.document, Transformer):
            kind = type(self.document).__name__
            raise ValueError(f"{self.name}: a {kind} has no states of tokens: this needs a transformer")
        return self.document

    def make_room(self, positions: int, types: int) -> None:
        """Give it the positions and token types that joint inputs need; ValueError for one without states of tokens."""
        model = self._transformer.model
        resize_token_types(model, types)
        resize_positions(model, self.specials.first_position, positions)


def tokenized(texts: Sequence[Text], vocabulary: Vocabulary) -> Sentences:
    """Texts → token ids; all of one part, or all of two (ValueError where they are mixed)."""
    split = [text if isinstance(text, tuple) else (text,) for text in texts]
    width = len(split[0]) if split else 1
    if any(len(text) != width for text in split):
        raise ValueError("texts of one part and texts of two are embedded in calls of their own")
    parts = [part for text in split for part in text]
    unique = {part: place for place, part in enumerate(dict.fromkeys(parts))}
    encodings = vocabulary.tokenizer.encode_batch_fast(list(unique), add_special_tokens=False)
    known = [np.asarray(encoding.ids, dtype=np.int64) for encoding in encodings]
    ids = [known[unique[part]] for part in parts]
    lengths = np.array([len(part) for part in ids], dtype=np.int64).reshape(-1, width)
    return Sentences(np.concatenate(ids) if ids else np.empty(0, np.int64), lengths)


def to_device(batch: Any, device: torch.device) -> Any:
    """Tensors in nested dicts and lists, moved."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, Mapping):
        return {name: to_device(value, device) for name, value in batch.items()}
    if isinstance(batch, list):
        return [to_device(value, device) for value in batch]
    return batch


def on_device(encoder: Encoder) -> Encoder:
    """The encoder on the device that there is, ready to embed."""
    return encoder.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def build_encoder(
    config: EncoderConfig, lengths: Lengths, vocabulary: Vocabulary, needs: Needs | None = None, head: bool = False
) -> Encoder:
    """A new encoder.

    Args:
        config: its architecture and sizes.
        lengths: how texts are cut.
        vocabulary: what its tokens are.
        needs: positions and token types of batches of tokens, beside those that texts need.
        head: whether it predicts tokens.
    """
    room = (needs or Needs()) | Needs(positions=max(lengths.query, lengths.document))
    fixed = None
    if isinstance(config, GruConfig) and config.words == "fixed":
        fixed = embedding_of(torch.from_numpy(np.array(vocabulary.vectors))).requires_grad_(False)
    query = build_network(config, room, vocabulary.trained, vocabulary, fixed, head)
    document = query if config.shared else build_network(config, room, vocabulary.trained, vocabulary, fixed, head)
    for network in {query, document}:
        if config.start == "word_vectors" and fixed is None:
            start_from_vectors(network, vocabulary)
        if network.token_weights is not None:
            weigh_tokens(network.token_weights, vocabulary)
    return Encoder(query, document, config, lengths, vocabulary)


def build_network(
    config: EncoderConfig, needs: Needs, words: int, vocabulary: Vocabulary, fixed: nn.Embedding | None, head: bool
) -> Network:
    """A new network with so many words of its own, or with `fixed` ones."""
    tokens = vocabulary.tokens
    if isinstance(config, TransformerConfig):
        return build_transformer(config, needs, words, tokens, head)
    if isinstance(config, BagOfWordsMlpConfig):
        return BagOfWordsMlp(config, words, tokens)
    if isinstance(config, BagOfWordsConfig):
        return BagOfWords(config, words, tokens)
    if isinstance(config, StaticConfig):
        return Static(config, words, tokens)
    if isinstance(config, GruConfig):
        return Gru(config, fixed or new_words(words, config.word_size), tokens)
    raise TypeError(f"no architecture is made by {type(config).__name__}")


def _rows(parts: Sentences, rows: npt.NDArray[np.int64]) -> Sentences:
    return parts if len(rows) == len(parts.lengths) else select(parts, rows)
