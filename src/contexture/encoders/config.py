"""What an encoder is made of: sizes, or published weights, and how sentences are laid out in its input."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT

#: Evidence heads of the MSPP paper (section 3.3).
HeadKind = Literal["ie_k", "ae_k", "ie_1"]
#: One linear layer (paper), or dropout, dense, tanh, dropout, linear (released code).
HeadStyle = Literal["linear", "released"]


@dataclass(config=STRICT, frozen=True)
class EncoderConfig:
    """A Transformer encoder, from scratch at the sizes below or continued from published weights."""

    # Name or folder of published masked-language-model weights (roberta-base, …); sizes then come from it.
    init_from: str | None = None
    # Width of the hidden states.
    hidden_size: Annotated[int, Field(gt=0)] = 128
    # Number of Transformer layers.
    layers: Annotated[int, Field(gt=0)] = 2
    # Attention heads per layer; must divide hidden_size.
    heads: Annotated[int, Field(gt=0)] = 2
    # Width of the feed-forward layers.
    intermediate_size: Annotated[int, Field(gt=0)] = 512
    # Dropout on hidden states and attention probabilities.
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1

    def __post_init__(self) -> None:
        if self.init_from is None and self.hidden_size % self.heads:
            raise ValueError(f"heads ({self.heads}) must divide hidden_size ({self.hidden_size})")


@dataclass(config=STRICT, frozen=True)
class TransformerTowers:
    """Towers that are Transformers: a linear layer on the pooled states (two-tower paper, section 4.1)."""

    encoder: EncoderConfig
    kind: Literal["transformer"] = "transformer"
    # Length of the vectors.
    embedding_size: Annotated[int, Field(gt=0)] = 512
    # What the linear layer reads: the state of [CLS] (paper), or the mean over the tokens, which small models trained
    # from scratch learn far sooner.
    pooling: Literal["cls", "mean"] = "cls"
    # One network for queries and documents, or one for each.
    shared: bool = True


@dataclass(config=STRICT, frozen=True)
class BagOfWordsTowers:
    """The paper's BoW-MLP (section 4.2): the mean of the tokens' embeddings through two tanh layers."""

    kind: Literal["bag_of_words"]
    # Length of a token's embedding; 4,096 makes it as large as BERT-base.
    word_size: Annotated[int, Field(gt=0)] = 4096
    # Width of the first layer.
    hidden_size: Annotated[int, Field(gt=0)] = 512
    # Length of the vectors: the width of the second.
    embedding_size: Annotated[int, Field(gt=0)] = 512
    shared: bool = True


TowersConfig = Annotated[TransformerTowers | BagOfWordsTowers, Field(discriminator="kind")]


@dataclass(config=STRICT, frozen=True)
class PairLayoutConfig:
    """Inputs of the two towers (two-tower paper, section 4.1), special tokens included."""

    # Queries are cut to this length …
    query_tokens: Annotated[int, Field(ge=8)] = 64
    # … and documents (title and passage, or sentence and passage) to this one.
    document_tokens: Annotated[int, Field(ge=16)] = 288

    @property
    def longest(self) -> int:
        """Positions that a tower needs."""
        return max(self.query_tokens, self.document_tokens)


@dataclass(config=STRICT, frozen=True)
class GruSentences:
    """A GRU whose last state is the sentence (Quick-Thoughts, section 3)."""

    kind: Literal["gru"] = "gru"
    # Length of a word's embedding; fixed ones have the length of the word vectors.
    word_size: Annotated[int, Field(gt=0)] = 620
    # Length of the vector, both directions together.
    embedding_size: Annotated[int, Field(gt=0)] = 1200
    bidirectional: bool = False
    # trained: embeddings of its own for the trained words. fixed: word vectors, never changed (MC-QT's other channel).
    words: Literal["trained", "fixed"] = "trained"

    def __post_init__(self) -> None:
        if self.bidirectional and self.embedding_size % 2:
            raise ValueError(f"embedding_size {self.embedding_size} is of two directions: it must be even")


@dataclass(config=STRICT, frozen=True)
class BagOfWordsSentences:
    """The sum of the words' embeddings (Quick-Thoughts, appendix B)."""

    kind: Literal["bag_of_words"]
    # Length of an embedding, hence of the vector.
    embedding_size: Annotated[int, Field(gt=0)] = 300


@dataclass(config=STRICT, frozen=True)
class TransformerSentences:
    """A Transformer over words, from scratch: the mean of its states through a linear layer."""

    kind: Literal["transformer"]
    encoder: EncoderConfig
    # Length of the vector.
    embedding_size: Annotated[int, Field(gt=0)] = 512

    def __post_init__(self) -> None:
        if self.encoder.init_from is not None:
            raise ValueError("a Transformer over words starts from scratch: init_from must be null")


SentenceEncoderConfig = Annotated[
    GruSentences | BagOfWordsSentences | TransformerSentences, Field(discriminator="kind")
]


@dataclass(config=STRICT, frozen=True)
class SentenceLayoutConfig:
    """Sentences of a corpus in their order (Quick-Thoughts, section 4.3)."""

    # Sentences are cut to so many words.
    sentence_words: Annotated[int, Field(ge=3)] = 50
    # documents: the neighbours of a sentence are of its own document. cross: whatever stands next to it in the batch,
    # such as the first sentence of the next document (released code).
    boundaries: Literal["documents", "cross"] = "documents"


@dataclass(config=STRICT, frozen=True)
class LayoutConfig:
    """The joint input of k+1 sentences (MSPP paper, section 3.2)."""

    # k, the number of candidates that are read together with s0.
    candidates: Annotated[int, Field(gt=0)] = 5
    # L, the slot of every sentence: cut to it, special tokens included.
    sentence_tokens: Annotated[int, Field(ge=3)] = 64
    # slots: token j of sentence i stands at position i*L + j (paper). tokens: positions count the tokens
    # that are there and skip the padding (released code).
    positions: Literal["slots", "tokens"] = "slots"
    # What stands for a sentence: the state of its [CLS] (paper), or the mean over its tokens, which small models
    # trained from scratch learn far sooner.
    pooling: Literal["cls", "mean"] = "cls"

    @property
    def width(self) -> int:
        """Positions of the whole input, padding included."""
        return self.sentence_tokens * (self.candidates + 1)
