"""What a user may turn about labelled pairs of premise and hypothesis in several languages."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.config import Lang
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class NliConfig:
    """Where the pairs come from, of which encoders are trained."""

    # demo, or a folder with a file for each language, in which the rows of one number are translations of one another:
    # train-en.tsv, train-de.tsv, … (XNLI as XTREME has it): premise, hypothesis, label. null: none.
    input: str | None = None
    # The part that is trained on; where a test is made of it, train on another.
    part: Literal["train", "dev"] = "train"
    # Rows that the task `pairs` tests, where it learns from the same part in this language, are left out; null: none.
    without_tested: Lang | None = None
    # Languages that are read; null: all there are.
    languages: Annotated[list[Lang], Field(min_length=2)] | None = None
