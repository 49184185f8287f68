"""Settings that all streams share."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, TableSizes
from contexture.strict import STRICT, Positive, key_error, validate


@dataclass(config=STRICT, frozen=True)
class Sampling:
    """Sampling settings that all streams from the corpus share."""

    # Files, hence partitions, of each table.
    files: Positive = Field(default=16, kw_only=True)


@dataclass(config=STRICT, frozen=True)
class StreamConfig:
    """Base of the settings of streams: how examples are sampled and read."""

    #: Its class, as "module:name".
    implementation: ClassVar[str]
    #: The function that defines its tables of examples, as "module:name"; None: the stage `derive` writes them.
    tables: ClassVar[str | None] = None
    #: The folder of its examples, which several streams may share.
    examples: ClassVar[str]
    #: The data that its examples are sampled from: `corpus`, the parameters `bitext` or `nli`, or the stage `derive`.
    source: ClassVar[str] = "corpus"
    #: Settings that a run may override.
    run_keys: ClassVar[tuple[str, ...]] = ()

    @property
    def has_documents(self) -> bool:
        """Whether its examples are from documents of the corpus, some of which can be held out."""
        return self.source == "corpus"

    def needs(self, lengths: Lengths) -> TableSizes:
        """Return how many positions and token types a Transformer needs for this stream's batches."""
        return TableSizes()


def apply_run_settings(config: StreamConfig, overrides: Mapping[str, Any], *keys: str) -> Any:
    """Return a stream's settings with a run's overrides. Errors name `keys`, the overrides' configuration keys.

    Raises ValidationError for keys that do not exist or that belong to sampling.
    """
    if rejected := sorted(set(overrides) - set(config.run_keys)):
        known = ", ".join(config.run_keys) or "no key of this stream"
        raise key_error(f"a run can set {known}, not {', '.join(rejected)}", *keys)
    values = {field.name: getattr(config, field.name) for field in fields(config)} | dict(overrides)
    return validate(type(config), values, *keys)
