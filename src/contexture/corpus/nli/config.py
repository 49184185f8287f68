"""Settings of labelled pairs of premise and hypothesis, described in conf/base/parameters/nli.yml."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.config import Lang
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class NliConfig:
    """Pairs to train encoders on."""

    input: str | None = None
    part: Literal["train", "dev"] = "train"
    without_tested: Lang | None = None
    languages: Annotated[list[Lang], Field(min_length=2)] | None = None
