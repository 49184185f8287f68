"""Settings of every objective. A run is checked before torch is loaded, so this module imports no torch."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import CrossConfig, EncoderConfig, HeadStyle, Lengths
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT, Positive

Share = Annotated[float, Field(gt=0, lt=1)]
#: Where in the table of positions the words of a sequence begin: somewhere else for each (Cross-Thought's paper), at
#: one position for all sequences of a batch (its released code), or right behind the special tokens (BERT).
Starts = Literal["each", "one", "fixed"]


@dataclass(config=STRICT, frozen=True)
class MaskingConfig(ObjectiveConfig):
    """How tokens are masked; the defaults are BERT's."""

    # Share of the tokens, special ones aside, that the model must predict.
    probability: Share = 0.15
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    unit: ClassVar[str] = "nats per masked token"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        if encoder.reads_forward:
            raise ValueError("predicts tokens from both sides, which an encoder with pooling: last does not read")


@dataclass(config=STRICT, frozen=True)
class MlmConfig(MaskingConfig):
    """How tokens are masked. `starts` other than fixed is for `short_sequences` alone."""

    starts: Starts = "fixed"
    implementation: ClassVar[str] = "contexture.objectives.mlm:MaskedLanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("joint", "passages", "sequences", "short_sequences")
    title: ClassVar[str] = "MLM"
    explained: ClassVar[str] = "predicts masked words"

    @property
    def readable_streams(self) -> tuple[str, ...]:
        """See `ObjectiveConfig.readable`."""
        return self.streams if self.starts == "fixed" else ("short_sequences",)


@dataclass(config=STRICT, frozen=True)
class CmlmConfig(MaskingConfig):
    """What of the first sequence helps to predict the second one's masked tokens; the defaults are the paper's."""

    # 80 of 256 (section 3); appendix B tries 40, 60 and 100, too.
    probability: Share = 80 / 256
    # N, the views of the vector that stand in front of the second sequence: itself and N − 1 perceptrons of it.
    projections: Annotated[int, Field(ge=0)] = 15
    # Whether they stand beside the states of the masked tokens as well (section 5.1, skip).
    skip: bool = False
    implementation: ClassVar[str] = "contexture.objectives.cmlm:ConditionalMaskedLanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("sequence_pairs",)
    title: ClassVar[str] = "CMLM"
    explained: ClassVar[str] = "predicts masked words with the help of its neighbour's vector"
    measures: ClassVar[dict[str, str]] = {
        "conditioning_gain": "predicted right by its neighbour's vector, above another's",
    }

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        room, mean_of = lengths.document - 2, getattr(encoder, "projections", None)
        if self.projections > room:
            raise ValueError(
                f"puts {self.projections} projections before sequences of at most {room} tokens: lower projections, or "
                "raise lengths.document"
            )
        if not encoder.shared or getattr(encoder, "embedding_size", None) is not None:
            raise ValueError(
                "reads the pooled state among the embeddings of the same network: the encoder must be shared, without "
                "embedding_size"
            )
        if mean_of is not None and mean_of != self.projections:
            raise ValueError(f"trains {self.projections} projections, the encoder is the mean of {mean_of}")
        if self.skip and not self.projections:
            raise ValueError("has skip, but no projections to put beside the states")
        if mean_of is not None and self.skip:
            raise ValueError("has skip, which goes without an encoder of projections: the paper tries one or the other")


@dataclass(config=STRICT, frozen=True)
class CrossThoughtConfig(MaskingConfig):
    """How tokens are masked, and where the words of a sequence begin; the defaults are the paper's."""

    starts: Starts = "each"
    implementation: ClassVar[str] = "contexture.objectives.cross_thought:CrossThought"
    streams: ClassVar[tuple[str, ...]] = ("sequence_samples",)
    title: ClassVar[str] = "Cross-Thought"
    explained: ClassVar[str] = "predicts masked words with the help of the other sequences' vectors"
    measures: ClassVar[dict[str, str]] = {
        "own_share": "attention to other sequences of the same document",
        "own_chance": "the same if attention were uniform",
    }
    nats: ClassVar[dict[str, str]] = {
        "gain": "gain from all other sequences",
        "own_gain": "gain from the same document's sequences",
    }

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        cross: CrossConfig | None = getattr(encoder, "cross", None)
        if cross is None:
            raise ValueError(
                "trains layers across sequences, which the encoder does not have: give it cross: {tokens: 1}"
            )
        limit = min(lengths.query, lengths.document) - 2
        if cross.tokens > limit:
            raise ValueError(
                f"{cross.tokens} special tokens, a word and a [SEP] do not fit into {limit + 2} tokens: lower "
                f"cross.tokens to at most {limit}, or raise lengths"
            )
        if not encoder.shared:
            raise ValueError("reads all sequences with one network: the encoder must be shared")


@dataclass(config=STRICT, frozen=True)
class LmConfig(ObjectiveConfig):
    """Left-to-right language modelling: where the words of a sequence begin."""

    starts: Starts = "fixed"
    implementation: ClassVar[str] = "contexture.objectives.lm:LanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("short_sequences",)
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "LM"
    unit: ClassVar[str] = "nats per token"
    explained: ClassVar[str] = "predicts every next word"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        if not encoder.reads_forward:
            raise ValueError("predicts the next token, which the encoder would see: set its pooling to last")


@dataclass(config=STRICT, frozen=True)
class MsppConfig(ObjectiveConfig):
    """How the k predictions are made."""

    # ie_k reads each candidate's state, ae_k and the state of the question.
    head: Literal["ie_k", "ae_k"] = "ie_k"
    # linear (paper) or released (dropout, dense, tanh, dropout, linear).
    style: HeadStyle = "linear"
    # true: the input that MLM masked also feeds the classifier, one pass (released code; the paper is silent).
    # false: a second pass over the clean input.
    masked_input: bool = True
    implementation: ClassVar[str] = "contexture.objectives.mspp:MultiSentencesInParagraph"
    streams: ClassVar[tuple[str, ...]] = ("joint",)
    reads_states: ClassVar[bool] = True
    title: ClassVar[str] = "MSPP"
    unit: ClassVar[str] = "nats per candidate"
    explained: ClassVar[str] = "tells which sentences share a paragraph, reading them together"


@dataclass(config=STRICT, frozen=True)
class InBatchNegativesConfig(ObjectiveConfig):
    """The softmax over the documents of a batch."""

    # Subtract the logarithm of each document's frequency, so that frequent ones are not pushed away the more.
    log_q: bool = False
    implementation: ClassVar[str] = "contexture.objectives.in_batch_negatives:InBatchNegatives"
    streams: ClassVar[tuple[str, ...]] = ("pairs",)
    title: ClassVar[str] = "In-batch softmax"
    unit: ClassVar[str] = "nats per query"
    explained: ClassVar[str] = "finds the passage that a sentence was taken from"


@dataclass(config=STRICT, frozen=True)
class IctConfig(InBatchNegativesConfig):
    """The same over a batch of pairs of the Inverse Cloze Task alone."""

    title: ClassVar[str] = "ICT"
    stream_settings: ClassVar[dict[str, Any]] = {"tasks": ["ict"]}


@dataclass(config=STRICT, frozen=True)
class BfsConfig(InBatchNegativesConfig):
    """The same over a batch of pairs of Body First Selection alone."""

    title: ClassVar[str] = "BFS"
    explained: ClassVar[str] = "finds a passage by a sentence from the beginning of its document"
    stream_settings: ClassVar[dict[str, Any]] = {"tasks": ["bfs"]}


@dataclass(config=STRICT, frozen=True)
class WlpConfig(InBatchNegativesConfig):
    """The same over a batch of pairs of Wiki Link Prediction alone."""

    title: ClassVar[str] = "WLP"
    explained: ClassVar[str] = "finds a passage that links to the document of a sentence"
    stream_settings: ClassVar[dict[str, Any]] = {"tasks": ["wlp"]}


@dataclass(config=STRICT, frozen=True)
class BitextObjectiveConfig(ObjectiveConfig):
    """The softmax over the translations of a batch, both ways (CMLM, section 4)."""

    # null: scores are inner products as they are (paper). A number: cosines, times it once the margin is taken off.
    scale: Annotated[float, Field(gt=0)] | None = None
    implementation: ClassVar[str] = "contexture.objectives.bitext:BitextRetrieval"
    streams: ClassVar[tuple[str, ...]] = ("bitext",)
    title: ClassVar[str] = "Bitext retrieval"
    unit: ClassVar[str] = "nats per pair"
    explained: ClassVar[str] = "finds a sentence's translation among others"


@dataclass(config=STRICT, frozen=True)
class NliConfig(ObjectiveConfig):
    """The softmax over entailment, neutral and contradiction."""

    implementation: ClassVar[str] = "contexture.objectives.nli:NaturalLanguageInference"
    streams: ClassVar[tuple[str, ...]] = ("nli",)
    title: ClassVar[str] = "Cross-lingual NLI"
    unit: ClassVar[str] = "nats per pair"
    explained: ClassVar[str] = "tells whether a sentence follows from one of another language"


@dataclass(config=STRICT, frozen=True)
class QuickThoughtsConfig(ObjectiveConfig):
    """The softmax over the sentences of a batch."""

    # A sentence's score with itself: excluded from the candidates (paper), or 0, which is still one of them (released
    # code).
    self_score: Literal["excluded", "zero"] = "excluded"
    # mean: of the log-probabilities of a sentence's context, each sentence weighing alike (released code).
    # sum: of them, so that sentences with more context weigh more (paper, equation 2).
    context: Literal["mean", "sum"] = "mean"
    implementation: ClassVar[str] = "contexture.objectives.quick_thoughts:QuickThoughts"
    streams: ClassVar[tuple[str, ...]] = ("contiguous",)
    title: ClassVar[str] = "Quick-Thoughts"
    unit: ClassVar[str] = "nats per sentence"
    explained: ClassVar[str] = "picks a sentence's neighbours among others"


@dataclass(config=STRICT, frozen=True)
class SkipThoughtConfig(ObjectiveConfig):
    """Decoders of the sentences before and after, which start from the sentence's vector."""

    # gru (Kiros et al., 2015), or a Transformer's layers, as later papers have it beside Transformer encoders.
    decoder: Literal["gru", "transformer"] = "gru"
    # Of the Transformer: its layers, and their attention heads, which must divide the length of a word's embedding.
    layers: Positive = 6
    heads: Positive = 8
    implementation: ClassVar[str] = "contexture.objectives.skip_thought:SkipThought"
    streams: ClassVar[tuple[str, ...]] = ("contiguous",)
    title: ClassVar[str] = "Skip-Thought"
    unit: ClassVar[str] = "nats per word"
    explained: ClassVar[str] = "writes a sentence's neighbours word by word"


@dataclass(config=STRICT, frozen=True)
class SimcseConfig(ObjectiveConfig):
    """Two passes of a sentence through dropout, among the sentences of the batch."""

    # Cosines are divided by it.
    temperature: Annotated[float, Field(gt=0)] = 0.05
    implementation: ClassVar[str] = "contexture.objectives.simcse:Simcse"
    streams: ClassVar[tuple[str, ...]] = ("sentences",)
    title: ClassVar[str] = "SimCSE"
    unit: ClassVar[str] = "nats per sentence"
    explained: ClassVar[str] = "tells a sentence, read twice with dropout, from all others"


@dataclass(config=STRICT, frozen=True)
class TsdaeConfig(ObjectiveConfig):
    """A sentence is written again from the vector of what is left of it."""

    # Share of the tokens that are taken out.
    deletion: Share = 0.6
    # Attention heads of the decoder; must divide the length of its words' embeddings.
    heads: Positive = 2
    implementation: ClassVar[str] = "contexture.objectives.tsdae:Tsdae"
    streams: ClassVar[tuple[str, ...]] = ("sentences",)
    title: ClassVar[str] = "TSDAE"
    unit: ClassVar[str] = "nats per token"
    explained: ClassVar[str] = "writes a sentence again after most of its words were deleted"
