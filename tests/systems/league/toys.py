"""A small league, its numbers chosen by hand."""

from collections.abc import Sequence

from contexture.reporting.records import Record
from tests.reporting.make import COST, measured

SEARCH = ("retrieval", "demo", "frozen", "recall_at_10")
TUNED = ("retrieval", "demo", "80%", "recall_at_10")


def league(
    variant: str, values: Sequence[float], place: tuple[str, ...] = SEARCH, trained: bool = True
) -> list[Record]:
    """Records of the system `league`, with the cost of training or without."""
    return measured(variant, values, *place, system="league", cost=COST if trained else None)


def costly(variant: str, values: Sequence[float], **cost: float) -> list[Record]:
    """The same of a training that cost something else."""
    return measured(variant, values, *SEARCH, system="league", cost={**COST, **cost})


RECORDS = [
    *league("mlm", [0.10, 0.12, 0.14]),
    *league("ict", [0.40, 0.42, 0.44]),
    *league("bfs", [0.39, 0.44, 0.40]),
    *league("bm25", [0.30], trained=False),
    *league("random", [0.05, 0.04, 0.06], trained=False),
    *league("mlm", [0.50, 0.52, 0.51], TUNED),
    *league("ict", [0.51, 0.52, 0.50], TUNED),
    *league("ict", [0.45, 0.46, 0.44], ("retrieval", "demo", "5%", "recall_at_10")),
    *league("mlm", [0.9] * 3, ("retrieval", "demo", "frozen open", "recall_at_10")),
    *(r for t in ("mr", "trec") for r in league("mlm", [0.6, 0.7, 0.8], (t, "demo", "senteval", "accuracy"))),
    *league("ict", [0.9, 0.9, 0.9], ("mr", "demo", "senteval", "accuracy")),
    *league("two towers: ict", [0.2, 0.2, 0.2]),
]
