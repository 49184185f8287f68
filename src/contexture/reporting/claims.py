"""Claims of a paper, from the `claims.yml` of a system."""

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.reporting.published import UniqueKeyLoader
from contexture.reporting.records import METRICS, ScoreKey
from contexture.strict import STRICT, check_names, key_error, validate

FILE = "claims.yml"
#: Metrics that follow from the cost of a training.
COST_METRICS = {"steps_per_second": "training steps per second"}
#: Costs that two rows may have to share.
Cost = Literal["seconds", "flops", "tokens", "steps"]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Text, ...], Field(min_length=1)]


@dataclass(config=STRICT, frozen=True)
class ClaimMeasure:
    """What is measured: the mean of a metric over tasks and data sets, or a metric of `COST_METRICS`."""

    title: Text
    metric: Text
    # Names in the records; empty for a metric of costs.
    tasks: tuple[Text, ...] = ()
    data: tuple[Text, ...] = ()
    protocol: str = ""
    split: Literal["train", "dev", "test"] = "test"

    def __post_init__(self) -> None:
        check_names("metric", [self.metric], {*METRICS, *COST_METRICS}, "metric")
        if self.is_cost == bool(self.tasks and self.data and self.protocol):
            raise key_error(f"{self.metric} needs {'no' if self.is_cost else 'its'} tasks, data and protocol", "tasks")

    @property
    def is_cost(self) -> bool:
        """Whether the metric follows from the cost of a training."""
        return self.metric in COST_METRICS

    def score_key(self, task: str, data: str, protocol: str | None) -> ScoreKey:
        """Return the key of one of its scores in the records; `protocol` replaces the measure's."""
        return ScoreKey(task, data, protocol or self.protocol, self.metric, self.split)


@dataclass(config=STRICT, frozen=True)
class ClaimRow:
    """A row that a claim compares: a variant, or the difference of two."""

    variant: Text
    # Untrained start of the variant, of equal width. null: there is none, such as for BM25.
    untrained: Text | None = None
    # Protocol of the untrained start, such as "frozen" for rows that are only fine-tuned. Default: that of the row.
    untrained_protocol: Text | None = None
    # Variant whose score is subtracted.
    minus: Text | None = None
    # Default: that of the measure.
    protocol: Text | None = None
    # System of the records. Default: that of the file.
    system: Text | None = None

    @property
    def label(self) -> str:
        """Name of the row: "ct_1_64 (by_attention)"."""
        name = f"({self.variant} − {self.minus})" if self.minus else self.variant
        return f"{name} ({self.protocol})" if self.protocol else name


@dataclass(config=STRICT, frozen=True)
class ClaimComparison:
    """Two rows, and how the score of `a` compares with that of `b` according to the paper."""

    a: ClaimRow
    b: ClaimRow
    # Names of measures. The comparison must hold on each.
    measures: Names
    direction: Literal["higher", "lower", "equal"] = "higher"
    # Points. higher: a − b is more than this (negative: not much lower). lower: b − a is. equal: both differ by less.
    margin: float = 0.0
    # Cost of which the row that the scores favour must not have had more, up to a quarter; if equal, neither row.
    equal_cost: Cost | None = None

    def __post_init__(self) -> None:
        if self.direction == "equal" and self.margin <= 0:
            raise key_error("equal scores need a margin above 0, in points", "margin")

    @property
    def label(self) -> str:
        """The comparison in signs: "combine > uni"."""
        sign = {"higher": ">", "lower": "<", "equal": "≈"}[self.direction]
        return f"{self.a.label} {sign} {self.b.label}"


@dataclass(config=STRICT, frozen=True)
class PaperClaim:
    """A claim of a paper, and the comparisons that decide it together."""

    # In our words.
    statement: Text
    # Section or table of the paper.
    source: Text
    comparisons: Annotated[tuple[ClaimComparison, ...], Field(min_length=1)]
    # Folder under conf/ in which the rows are configured.
    environment: Text
    # Command that repeats the comparisons; words in capitals are paths.
    command: Text
    # Further systems whose rows with the same names also decide it.
    also_in: tuple[Text, ...] = ()
    # A run decides the claim only if its command has this text, such as "words.vectors=".
    needs: str = ""
    # What is missing to decide it here: data, seeds, a GPU.
    missing: str = ""
    # What to keep in mind about the comparison.
    note: str = ""

    def __post_init__(self) -> None:
        environment = "base" if "--env" not in self.command else self.command.split("--env")[1].split()[0]
        if environment != self.environment:
            raise key_error(f"the command runs the environment {environment}, not {self.environment}", "command")
        if self.needs not in self.command:
            raise key_error(f"the command does not have {self.needs!r}", "needs")


@dataclass(config=STRICT, frozen=True)
class PaperClaims:
    """Content of a `claims.yml`."""

    paper: Text
    measures: dict[str, ClaimMeasure]
    claims: dict[str, PaperClaim] = field(default_factory=dict)

    def __post_init__(self) -> None:
        used = set[str]()
        for name, claim in self.claims.items():
            for position, comparison in enumerate(claim.comparisons):
                key = ("claims", name, "comparisons", str(position), "measures")
                check_names("measure", comparison.measures, self.measures, *key)
                used.update(comparison.measures)
        if unused := sorted(set(self.measures) - used):
            raise key_error(f"no claim uses {', '.join(unused)}; remove it", "measures")


def read_claims(package: str) -> PaperClaims:
    """Read the claims of a system's package, `contexture.systems.<system>`.

    Raises:
        ValueError: with the file, key and fault.
    """
    file = resources.files(package) / FILE
    return parse_claims(file.read_text("utf-8"), f"{package.rpartition('.')[2]}/{FILE}")


def parse_claims(text: str, source: str) -> PaperClaims:
    """Parse the text of a `claims.yml`; ValueError with `source`, key and fault."""
    try:
        claims: PaperClaims = validate(PaperClaims, yaml.load(text, UniqueKeyLoader))
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from error
    return claims


@cache
def read_all_claims(systems: tuple[str, ...]) -> Mapping[str, PaperClaims]:
    """Return system → claims, of the systems that have a `claims.yml`; ValueError for an id in two files."""
    packages = {name: f"contexture.systems.{name}" for name in systems}
    claims = {
        name: read_claims(package) for name, package in packages.items() if (resources.files(package) / FILE).is_file()
    }
    owners: dict[str, str] = {}
    for name, paper in claims.items():
        for identifier in paper.claims:
            if identifier in owners:
                raise ValueError(f"{name}/{FILE}: {identifier} is also in {owners[identifier]}/{FILE}; rename one")
            owners[identifier] = name
    return claims
