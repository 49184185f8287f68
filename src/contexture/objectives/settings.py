"""Settings of all objectives, without torch: a run is checked before torch is loaded."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import CrossConfig, EncoderConfig, HeadStyle, Lengths
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT, Positive

Share = Annotated[float, Field(gt=0, lt=1)]
#: Position of a sequence's first word: random for each sequence (Cross-Thought's paper), random for each batch (its
#: released code), or right after the special tokens (BERT).
Starts = Literal["each", "one", "fixed"]


@dataclass(config=STRICT, frozen=True)
class MaskingConfig(ObjectiveConfig):
    """Masking of tokens. The defaults are BERT's."""

    # Share of the tokens to predict, special tokens excluded.
    probability: Share = 0.15
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    unit: ClassVar[str] = "nats per masked token"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """Raise ValueError for an encoder without states of tokens, or one that reads only from left to right."""
        super().check(encoder, lengths)
        if encoder.is_causal:
            raise ValueError(
                "predicts tokens from both sides, but an encoder with pooling: last reads only the left side"
            )


@dataclass(config=STRICT, frozen=True)
class MlmConfig(MaskingConfig):
    """Masked language modelling. `starts` other than fixed requires the stream `short_sequences`."""

    # Position of the first word. fixed: right after the special tokens. each, one: random, for each sequence or each
    # batch.
    starts: Starts = "fixed"
    implementation: ClassVar[str] = "contexture.objectives.mlm:MaskedLanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("joint", "passages", "sequences", "short_sequences")
    title: ClassVar[str] = "MLM"
    description: ClassVar[str] = "predicts masked words"

    @property
    def readable_streams(self) -> tuple[str, ...]:
        """Names of the streams that MLM can read: all, or only short sequences if words are moved (`starts`)."""
        return self.streams if self.starts == "fixed" else ("short_sequences",)


@dataclass(config=STRICT, frozen=True)
class CmlmConfig(MaskingConfig):
    """Conditional masked language modelling. The defaults are the paper's."""

    # 80 of 256 (section 3). Appendix B also tries 40, 60 and 100.
    probability: Share = 80 / 256
    # N: projections of the vector before the second sequence, which are the vector and N − 1 perceptrons of it.
    projections: Annotated[int, Field(ge=0)] = 15
    # Whether they are also concatenated with the states of masked tokens (section 5.1, skip).
    skip: bool = False
    implementation: ClassVar[str] = "contexture.objectives.cmlm:ConditionalMaskedLanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("sequence_pairs",)
    title: ClassVar[str] = "CMLM"
    description: ClassVar[str] = "predicts masked words with the help of its neighbour's vector"
    measures: ClassVar[dict[str, str]] = {
        "conditioning_gain": "predicted right by its neighbour's vector, above another's",
    }

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """Raise ValueError as `MaskingConfig.check`, and if encoder or lengths do not fit CMLM's projections."""
        super().check(encoder, lengths)
        room, mean_of = lengths.document - 2, getattr(encoder, "projections", None)
        if self.projections > room:
            raise ValueError(
                f"puts {self.projections} projections before sequences of at most {room} tokens; lower projections or "
                "raise lengths.document"
            )
        if not encoder.shared or getattr(encoder, "embedding_size", None) is not None:
            raise ValueError(
                "needs an encoder whose pooled state is the size of its embeddings: set shared to true and "
                "embedding_size to null"
            )
        if mean_of is not None and mean_of != self.projections:
            raise ValueError(
                f"trains {self.projections} projections, but the encoder averages {mean_of}; set both alike"
            )
        if self.skip and not self.projections:
            raise ValueError("has skip but no projections; set projections above 0 or skip to false")
        if mean_of is not None and self.skip:
            raise ValueError("has skip, which cannot be combined with an encoder of projections; set skip to false")


@dataclass(config=STRICT, frozen=True)
class CrossThoughtConfig(MaskingConfig):
    """Cross-Thought: masking and positions. The defaults are the paper's."""

    # Position of the first word. fixed: right after the special tokens. each, one: random, for each sequence or each
    # batch.
    starts: Starts = "each"
    implementation: ClassVar[str] = "contexture.objectives.cross_thought:CrossThought"
    streams: ClassVar[tuple[str, ...]] = ("sequence_samples",)
    title: ClassVar[str] = "Cross-Thought"
    description: ClassVar[str] = "predicts masked words with the help of the other sequences' vectors"
    measures: ClassVar[dict[str, str]] = {
        "own_share": "attention to other sequences of the same document",
        "own_chance": "the same if attention were uniform",
    }
    nats: ClassVar[dict[str, str]] = {
        "gain": "gain from all other sequences",
        "own_gain": "gain from the same document's sequences",
    }

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """Raise ValueError as `MaskingConfig.check`, and if layers across sequences are missing or do not fit."""
        super().check(encoder, lengths)
        cross: CrossConfig | None = getattr(encoder, "cross", None)
        if cross is None:
            raise ValueError("trains layers across sequences, which the encoder does not have; set cross: {tokens: 1}")
        limit = min(lengths.query, lengths.document) - 2
        if cross.tokens > limit:
            raise ValueError(
                f"{cross.tokens} special tokens, a word and a [SEP] do not fit into {limit + 2} tokens; lower "
                f"cross.tokens to at most {limit} or raise lengths"
            )
        if not encoder.shared:
            raise ValueError("reads all sequences with one network; set the encoder's shared to true")


@dataclass(config=STRICT, frozen=True)
class LmConfig(ObjectiveConfig):
    """Left-to-right language modelling."""

    # Position of the first word. fixed: right after the special tokens. each, one: random, for each sequence or each
    # batch.
    starts: Starts = "fixed"
    implementation: ClassVar[str] = "contexture.objectives.lm:LanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("short_sequences",)
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "LM"
    unit: ClassVar[str] = "nats per token"
    description: ClassVar[str] = "predicts every next word"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """Raise ValueError for an encoder without states of tokens, or one that does not read from left to right."""
        super().check(encoder, lengths)
        if not encoder.is_causal:
            raise ValueError("predicts the next token, which the encoder reads; set its pooling to last")


@dataclass(config=STRICT, frozen=True)
class MsppConfig(ObjectiveConfig):
    """Prediction of the sentences of a paragraph."""

    # ie_k reads each candidate's state, ae_k and the state of the question.
    head: Literal["ie_k", "ae_k"] = "ie_k"
    # linear: the paper's. released: dropout, dense, tanh, dropout, linear (released code).
    style: HeadStyle = "linear"
    # true: the classifier reads the input that MLM masked, in one pass (released code; not specified in the paper).
    # false: a second pass over the clean input.
    masked_input: bool = True
    implementation: ClassVar[str] = "contexture.objectives.mspp:MultiSentencesInParagraph"
    streams: ClassVar[tuple[str, ...]] = ("joint",)
    reads_states: ClassVar[bool] = True
    title: ClassVar[str] = "MSPP"
    unit: ClassVar[str] = "nats per candidate"
    description: ClassVar[str] = "tells which sentences share a paragraph, reading them together"


@dataclass(config=STRICT, frozen=True)
class InBatchNegativesConfig(ObjectiveConfig):
    """Softmax over the documents of a batch."""

    # Subtract the log frequency of each document, which corrects for frequent negatives.
    log_q: bool = False
    implementation: ClassVar[str] = "contexture.objectives.in_batch_negatives:InBatchNegatives"
    streams: ClassVar[tuple[str, ...]] = ("pairs", "hard_pairs")
    title: ClassVar[str] = "In-batch softmax"
    unit: ClassVar[str] = "nats per query"
    description: ClassVar[str] = "finds the passage that a sentence was taken from"

    @property
    def readable_streams(self) -> tuple[str, ...]:
        """See `ObjectiveConfig.readable_streams`. Hard negatives are not drawn by frequency."""
        return ("pairs",) if self.log_q else self.streams


@dataclass(config=STRICT, frozen=True)
class MarginDistillationConfig(ObjectiveConfig):
    """Regression on the margins of a cross-encoder (MarginMSE; GPL: Wang et al., 2022)."""

    # The cross-encoder's margins are multiplied by it: its scores and those of the encoder differ in scale.
    scale: Annotated[float, Field(gt=0)] = 1.0
    implementation: ClassVar[str] = "contexture.objectives.margin_distillation:MarginDistillation"
    streams: ClassVar[tuple[str, ...]] = ("hard_pairs",)
    title: ClassVar[str] = "Margin distillation"
    unit: ClassVar[str] = "squared error per negative"
    description: ClassVar[str] = "predicts by how much a cross-encoder prefers a passage to a similar one"


@dataclass(config=STRICT, frozen=True)
class IctConfig(InBatchNegativesConfig):
    """Softmax over a batch of pairs of the Inverse Cloze Task."""

    title: ClassVar[str] = "ICT"
    streams: ClassVar[tuple[str, ...]] = ("pairs",)
    stream_settings: ClassVar[dict[str, Any]] = {"tasks": ["ict"]}


@dataclass(config=STRICT, frozen=True)
class BfsConfig(InBatchNegativesConfig):
    """Softmax over a batch of pairs of Body First Selection."""

    title: ClassVar[str] = "BFS"
    description: ClassVar[str] = "finds a passage by a sentence from the beginning of its document"
    streams: ClassVar[tuple[str, ...]] = ("pairs",)
    stream_settings: ClassVar[dict[str, Any]] = {"tasks": ["bfs"]}


@dataclass(config=STRICT, frozen=True)
class WlpConfig(InBatchNegativesConfig):
    """Softmax over a batch of pairs of Wiki Link Prediction."""

    title: ClassVar[str] = "WLP"
    description: ClassVar[str] = "finds a passage that links to the document of a sentence"
    streams: ClassVar[tuple[str, ...]] = ("pairs",)
    stream_settings: ClassVar[dict[str, Any]] = {"tasks": ["wlp"]}


@dataclass(config=STRICT, frozen=True)
class BitextObjectiveConfig(ObjectiveConfig):
    """Softmax over the translations of a batch in both directions (CMLM, section 4)."""

    # null: scores are inner products (paper). A number: cosines, multiplied by it after the margin is subtracted.
    scale: Annotated[float, Field(gt=0)] | None = None
    implementation: ClassVar[str] = "contexture.objectives.bitext:BitextRetrieval"
    streams: ClassVar[tuple[str, ...]] = ("bitext",)
    title: ClassVar[str] = "Bitext retrieval"
    unit: ClassVar[str] = "nats per pair"
    description: ClassVar[str] = "finds a sentence's translation among others"


@dataclass(config=STRICT, frozen=True)
class NliConfig(ObjectiveConfig):
    """Softmax over entailment, neutral and contradiction."""

    implementation: ClassVar[str] = "contexture.objectives.nli:NaturalLanguageInference"
    streams: ClassVar[tuple[str, ...]] = ("nli",)
    title: ClassVar[str] = "Cross-lingual NLI"
    unit: ClassVar[str] = "nats per pair"
    description: ClassVar[str] = "tells whether a sentence follows from one of another language"


@dataclass(config=STRICT, frozen=True)
class QuickThoughtsConfig(ObjectiveConfig):
    """Softmax over the sentences of a batch."""

    # A sentence's score with itself. excluded: no candidate (paper). zero: a candidate with score 0 (released code).
    self_score: Literal["excluded", "zero"] = "excluded"
    # Log-probabilities of a sentence's context. mean: sentences have equal weight (released code). sum: sentences with
    # more context have more weight (paper, equation 2).
    context: Literal["mean", "sum"] = "mean"
    implementation: ClassVar[str] = "contexture.objectives.quick_thoughts:QuickThoughts"
    streams: ClassVar[tuple[str, ...]] = ("contiguous",)
    title: ClassVar[str] = "Quick-Thoughts"
    unit: ClassVar[str] = "nats per sentence"
    description: ClassVar[str] = "picks a sentence's neighbours among others"


@dataclass(config=STRICT, frozen=True)
class SkipThoughtConfig(ObjectiveConfig):
    """Decoders of the previous and the next sentence, which start from the sentence's vector."""

    # gru (Kiros et al., 2015), or transformer, as in later papers with Transformer encoders.
    decoder: Literal["gru", "transformer"] = "gru"
    # Transformer: number of layers.
    layers: Positive = 6
    # Transformer: attention heads, which must divide the size of word embeddings.
    heads: Positive = 8
    implementation: ClassVar[str] = "contexture.objectives.skip_thought:SkipThought"
    streams: ClassVar[tuple[str, ...]] = ("contiguous",)
    title: ClassVar[str] = "Skip-Thought"
    unit: ClassVar[str] = "nats per word"
    description: ClassVar[str] = "writes a sentence's neighbours word by word"


@dataclass(config=STRICT, frozen=True)
class SimcseConfig(ObjectiveConfig):
    """Softmax over the sentences of a batch, encoded twice with dropout."""

    # Divides the cosines.
    temperature: Annotated[float, Field(gt=0)] = 0.05
    implementation: ClassVar[str] = "contexture.objectives.simcse:Simcse"
    streams: ClassVar[tuple[str, ...]] = ("sentences",)
    title: ClassVar[str] = "SimCSE"
    unit: ClassVar[str] = "nats per sentence"
    description: ClassVar[str] = "tells a sentence, read twice with dropout, from all others"


@dataclass(config=STRICT, frozen=True)
class TsdaeConfig(ObjectiveConfig):
    """Reconstruction of a sentence from the vector of its remaining tokens."""

    # Share of the tokens to delete.
    deletion: Share = 0.6
    # Attention heads of the decoder, which must divide the size of word embeddings.
    heads: Positive = 2
    # The decoder has positions, and no token too many is left.
    revision: ClassVar[int] = 1
    implementation: ClassVar[str] = "contexture.objectives.tsdae:Tsdae"
    streams: ClassVar[tuple[str, ...]] = ("sentences",)
    title: ClassVar[str] = "TSDAE"
    unit: ClassVar[str] = "nats per token"
    description: ClassVar[str] = "writes a sentence again after most of its words were deleted"
