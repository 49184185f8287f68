"""Settings of every objective, without torch: a run is checked before torch is loaded."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import HeadStyle
from contexture.imports import resolve
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.bitext_config import BitextObjectiveConfig as BitextObjectiveConfig
from contexture.objectives.cmlm_config import CmlmConfig as CmlmConfig
from contexture.objectives.cross_thought_config import CrossThoughtConfig as CrossThoughtConfig
from contexture.objectives.lm_config import LmConfig as LmConfig
from contexture.objectives.masking_config import SequenceMaskingConfig
from contexture.objectives.nli_config import NliConfig as NliConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class MlmConfig(SequenceMaskingConfig):
    """How tokens are masked. `starts` other than fixed is for `short_sequences` alone."""

    implementation: ClassVar[str] = "contexture.objectives.mlm:MaskedLanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("joint", "passages", "sequences", "short_sequences")
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "MLM"
    unit: ClassVar[str] = "nats per masked token"
    explained: ClassVar[str] = "guesses masked words"

    @property
    def readable(self) -> tuple[str, ...]:
        """See `ObjectiveConfig.readable`."""
        return self.streams if self.starts == "fixed" else ("short_sequences",)


@dataclass(config=STRICT, frozen=True)
class MsppConfig(ObjectiveConfig):
    """How the k predictions are made."""

    implementation: ClassVar[str] = "contexture.objectives.mspp:MultiSentencesInParagraph"
    streams: ClassVar[tuple[str, ...]] = ("joint",)
    reads_states: ClassVar[bool] = True
    title: ClassVar[str] = "MSPP"
    unit: ClassVar[str] = "nats per candidate"
    explained: ClassVar[str] = "tells which sentences share a paragraph, reading them together"

    # ie_k reads each candidate's state, ae_k the question's state beside it.
    head: Literal["ie_k", "ae_k"] = "ie_k"
    # linear (paper) or released (dropout, dense, tanh, dropout, linear).
    style: HeadStyle = "linear"
    # true: the input that MLM masked also feeds the classifier, one pass (released code; the paper is silent).
    # false: a second pass over the clean input.
    masked_input: bool = True


@dataclass(config=STRICT, frozen=True)
class InBatchNegativesConfig(ObjectiveConfig):
    """The softmax over the documents of a batch."""

    implementation: ClassVar[str] = "contexture.objectives.in_batch_negatives:InBatchNegatives"
    streams: ClassVar[tuple[str, ...]] = ("pairs",)
    title: ClassVar[str] = "In-batch softmax"
    unit: ClassVar[str] = "nats per query"
    explained: ClassVar[str] = "finds the passage that a sentence was taken from"

    # Subtract the logarithm of each document's frequency, so that frequent ones are not pushed away the more.
    log_q: bool = False


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
class QuickThoughtsConfig(ObjectiveConfig):
    """The softmax over the sentences of a batch."""

    implementation: ClassVar[str] = "contexture.objectives.quick_thoughts:QuickThoughts"
    streams: ClassVar[tuple[str, ...]] = ("contiguous",)
    title: ClassVar[str] = "Quick-Thoughts"
    unit: ClassVar[str] = "nats per sentence"
    explained: ClassVar[str] = "picks a sentence's neighbours among others"

    # Sentences on each side that are a sentence's context: 1 is the paper's context size 3.
    window: Annotated[int, Field(gt=0)] = 1
    # A sentence's score with itself: excluded from the candidates (paper), or 0, which is still one of them (released
    # code).
    self_score: Literal["excluded", "zero"] = "excluded"
    # mean: of the log-probabilities of a sentence's context, each sentence weighing alike (released code).
    # sum: of them, so that sentences with more context weigh more (paper, equation 2).
    context: Literal["mean", "sum"] = "mean"


@dataclass(config=STRICT, frozen=True)
class SkipThoughtConfig(ObjectiveConfig):
    """Decoders of the sentences before and after, which start from the sentence's vector."""

    implementation: ClassVar[str] = "contexture.objectives.skip_thought:SkipThought"
    streams: ClassVar[tuple[str, ...]] = ("contiguous",)
    title: ClassVar[str] = "Skip-Thought"
    unit: ClassVar[str] = "nats per word"
    explained: ClassVar[str] = "writes a sentence's neighbours word by word"

    # gru (Kiros et al., 2015), or a Transformer's layers, as later papers have it beside Transformer encoders …
    decoder: Literal["gru", "transformer"] = "gru"
    # … so many, with so many attention heads, which must divide the length of a word's embedding.
    layers: Annotated[int, Field(gt=0)] = 6
    heads: Annotated[int, Field(gt=0)] = 8


#: Every objective by its name in a schedule: its settings, which tell where its class is. One that has a folder of its
#: own is a line here.
OBJECTIVES: dict[str, type[ObjectiveConfig]] = {
    "bfs": BfsConfig,
    "bitext": BitextObjectiveConfig,
    "cmlm": CmlmConfig,
    "cross_thought": CrossThoughtConfig,
    "ict": IctConfig,
    "in_batch_negatives": InBatchNegativesConfig,
    "lm": LmConfig,
    "mlm": MlmConfig,
    "mspp": MsppConfig,
    "nli": NliConfig,
    "quick_thoughts": QuickThoughtsConfig,
    "simcse": resolve("contexture.objectives.simcse.config:SimcseConfig"),
    "skip_thought": SkipThoughtConfig,
    "tsdae": resolve("contexture.objectives.tsdae.config:TsdaeConfig"),
    "wlp": WlpConfig,
}
