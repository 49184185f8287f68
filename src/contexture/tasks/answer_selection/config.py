"""Where the questions of answer selection come from, and how a model of them is fine-tuned."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.encoders.config import HeadStyle, LayoutConfig
from contexture.strict import STRICT
from contexture.tasks.settings import FinetuneSettings
from contexture.training.config import OptimizerConfig, Positive, StreamConfig


@dataclass(config=STRICT, frozen=True)
class AnswersConfig:
    """Where the answer-selection questions come from."""

    # demo (questions about the made-up world), or a folder with WikiQA-{train,dev,test}.tsv, plain or .gz.
    input: str = DEMO


@dataclass(config=STRICT, frozen=True)
class AnswerSelectionSettings(FinetuneSettings):
    """How a model is fine-tuned on questions and their candidate answers; frozen encoders need none of it.

    The defaults are the MSPP paper's values for WikiQA (section 4.1).
    """

    # Inputs per optimizer step, over all devices: groups of k candidates, or pairs.
    batch_size: Positive = 32
    # Passes over the training questions at most.
    epochs: Positive = 40
    # Epochs without a better MAP on the development set before training stops.
    patience: Positive = 5
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=2e-6))
    # linear (paper) or released (dropout, dense, tanh, dropout, linear).
    head_style: HeadStyle = "linear"
    # How a question and its candidates are laid out in one input; null where the system's own examples say it.
    layout: LayoutConfig | None = None

    def completed(self, streams: Iterable[StreamConfig]) -> Self:
        """The same with the layout of a stream that has one, unless there is one."""
        layouts = (one.layout for one in streams if hasattr(one, "layout"))
        return replace(self, layout=self.layout or next(layouts, None))
