"""Settings of answer selection: sources of questions, and fine-tuning."""

import re
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.strict import STRICT, Positive, Unique, validate
from contexture.tasks.base import AFTER
from contexture.tasks.settings import JointSettings, SourceSettings
from contexture.training.config import OptimizerConfig

#: Pattern of the names of sets, which also name folders of models.
NAME = r"[a-z0-9]+(_[a-z0-9]+)*"


@dataclass(config=STRICT, frozen=True)
class AnswersConfig(SourceSettings):
    """Sources of questions with candidate answers."""

    # demo (questions of the demo), or name → folder with train, dev and test in a published format. Sets named wikiqa,
    # trecqa or asnq must have their published counts.
    input: str | dict[str, str] = DEMO

    def __post_init__(self) -> None:
        if isinstance(self.input, str) and self.input != DEMO:
            raise ValueError(f"input: name the set in {self.input}, such as answer_selection.input.wikiqa={self.input}")
        if wrong := [name for name in self.sets if not re.fullmatch(NAME, name) or AFTER in name]:
            raise ValueError(
                f"input: invalid set name {', '.join(wrong)}; use small letters and digits joined by _, without {AFTER}"
            )

    @property
    def sets(self) -> list[str]:
        """The names of the sets."""
        return [DEMO] if isinstance(self.input, str) else [*self.input]


@dataclass(config=STRICT, frozen=True)
class AnswerModelSettings(JointSettings):
    """How one model is fine-tuned.

    The defaults are the MSPP paper's values for WikiQA (appendix B.1). A batch has `batch_size` groups of k candidates,
    pairs, or questions with their candidates (`bi_encoder`).
    """

    # Maximal number of passes over the training questions.
    epochs: Positive = 40
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=2e-6, warmup_steps=1000))


@dataclass(config=STRICT, frozen=True)
class AnswerSelectionSettings(AnswerModelSettings):
    """How models are fine-tuned, one per set."""

    # Sets to fine-tune on; null: all of answer_selection.input.
    finetune: Annotated[list[Annotated[str, Field(pattern=f"^{NAME}$")]] | None, Unique] = None
    # Set → settings to override, such as {asnq: {epochs: 6}}.
    sets: dict[str, dict[str, Any]] = Field(default_factory=dict)
    # Set → set that further models of it are fine-tuned on first (TANDA: Garg, Vu and Moschitti, 2020). They start from
    # the model of that set and have their own columns in the tables.
    transfer: dict[str, str] = Field(default_factory=dict)
    # Rounds of latency measurement, in which pairwise and joint models answer the test questions in turns; 0: none.
    latency_rounds: Annotated[int, Field(ge=0)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.sets:
            self.get_option_settings(name)
        if self.finetune is None:
            return
        for name, first in self.transfer.items():
            if name == first or not {name, first} <= set(self.finetune):
                raise ValueError(f"transfer.{name}: {first}: must be two different sets of finetune, {self.finetune}")

    def complete_from_source(self, source: AnswersConfig) -> Self:
        """Return the settings with all sets of the source in `finetune`, unless it is set."""
        return self if self.finetune is not None else replace(self, finetune=source.sets)

    def get_option_settings(self, option: str) -> AnswerModelSettings:
        """Return the common settings with the overrides of the option's set."""
        name = get_set_name(option)
        overrides = self.sets.get(name, {})
        if isinstance(optimizer := overrides.get("optimizer"), Mapping):
            overrides = overrides | {"optimizer": _field_values(self.optimizer, OptimizerConfig) | dict(optimizer)}
        settings: AnswerModelSettings = validate(
            AnswerModelSettings, _field_values(self, AnswerModelSettings) | overrides, "sets", name
        )
        return settings

    def get_start_option(self, option: str) -> str | None:
        """Return the option that a model starts from: asnq for wikiqa_after_asnq; None: the pre-trained encoder."""
        return option.partition(AFTER)[2] or None

    def identity(self, option: str) -> dict[str, Any]:
        """Return the settings of `get_option_settings` as a dict: they determine the weights of the model."""
        return asdict(self.get_option_settings(option))

    def get_data_dir(self, option: str, data_dir: Path) -> Path:
        """Return the subfolder of the option's set."""
        return data_dir / get_set_name(option)

    @property
    def options(self) -> list[str]:
        """The models to fine-tune from an encoder, such as wikiqa and wikiqa_after_asnq; each follows its start."""
        return [*(self.finetune or ()), *(f"{name}{AFTER}{first}" for name, first in self.transfer.items())]


def get_set_name(option: str) -> str:
    """Return the set on which the model of an option is fine-tuned last: wikiqa for wikiqa_after_asnq."""
    return option.partition(AFTER)[0]


def _field_values(settings: Any, dataclass_type: type) -> dict[str, Any]:
    """Return field name → value in `settings`, for the fields of a dataclass."""
    return {field.name: getattr(settings, field.name) for field in fields(dataclass_type)}
