"""Specification of the toy task."""

from contexture.metrics.measures import Metric
from contexture.tasks.settings import SourceSettings, TaskSettings
from contexture.tasks.spec import LeagueUse, TaskSpec

SPEC = TaskSpec(
    name="toy",
    title="Toy task",
    settings=TaskSettings,
    source=SourceSettings,
    implementation="contexture.tasks.toy.task:ToyTask",
    data={"toy_box": "The toy box"},
    protocols={"frozen": "frozen"},
    metrics={"toy_score": Metric("toy score")},
    league=(
        LeagueUse("Play", "Play with toys.", "For play", "toy_score", "toy score", "100 if all toys work", task="toy"),
    ),
)
