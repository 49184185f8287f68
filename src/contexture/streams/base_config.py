"""What the settings of every stream have in common."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, Needs
from contexture.strict import STRICT, Positive, checked


@dataclass(config=STRICT, frozen=True)
class Sampling:
    """How examples are sampled: what all streams that sample from the corpus have in common."""

    # Files, hence partitions, of each table.
    files: Positive = Field(default=16, kw_only=True)


@dataclass(config=STRICT, frozen=True)
class StreamConfig:
    """What the settings of every stream tell: how its examples are sampled, and how they are read."""

    #: Where its class is: module and name.
    implementation: ClassVar[str]
    #: Where the function is that makes its examples with Spark.
    tables: ClassVar[str]
    #: The folder of its examples; streams of one folder share them.
    examples: ClassVar[str]
    #: What its examples are made of: the corpus, or what the parameters of that name say, `bitext` or `nli`.
    made_of: ClassVar[str] = "corpus"
    #: Keys that a run may set otherwise than its system.
    run_keys: ClassVar[tuple[str, ...]] = ()

    def needs(self, lengths: Lengths) -> Needs:
        """Positions and token types that its batches need of a Transformer."""
        return Needs()


def apply_run_settings(config: StreamConfig, overrides: Mapping[str, Any], *keys: str) -> Any:
    """The settings of a stream with those of a run, which stand below `keys`.

    Raises ValueError for keys that there are not, or that belong to its sampling.
    """
    if rejected := sorted(set(overrides) - set(config.run_keys)):
        raise ValueError(f"{'.'.join(keys)}: a run can set {list(config.run_keys)}, not {rejected}")
    values = {field.name: getattr(config, field.name) for field in fields(config)} | dict(overrides)
    return checked(type(config), values, *keys)
