"""Records of a small league."""

from collections.abc import Sequence

from contexture.reporting.records import Record
from tests.reporting.make import COST, measured

SEARCH = ("retrieval", "demo", "frozen", "recall_at_10")
TUNED = ("retrieval", "demo", "80%", "recall_at_10")


def make_records(
    variant: str, values: Sequence[float], key: tuple[str, ...] = SEARCH, trained: bool = True
) -> list[Record]:
    """Records of the system `make_records`, with the cost of training or without."""
    return measured(variant, values, *key, system="league", cost=COST if trained else None)


def make_costly_records(variant: str, values: Sequence[float], **cost: float) -> list[Record]:
    """Return records with other training costs."""
    return measured(variant, values, *SEARCH, system="league", cost={**COST, **cost})


RECORDS = [
    *make_records("mlm", [0.10, 0.12, 0.14]),
    *make_records("ict", [0.40, 0.42, 0.44]),
    *make_records("bfs", [0.39, 0.44, 0.40]),
    *make_records("bm25", [0.30], trained=False),
    *make_records("untrained", [0.05, 0.04, 0.06], trained=False),
    *make_records("mlm", [0.50, 0.52, 0.51], TUNED),
    *make_records("ict", [0.51, 0.52, 0.50], TUNED),
    *make_records("ict", [0.45, 0.46, 0.44], ("retrieval", "demo", "5%", "recall_at_10")),
    *make_records("mlm", [0.9] * 3, ("retrieval", "demo", "frozen open", "recall_at_10")),
    *(r for t in ("mr", "trec") for r in make_records("mlm", [0.6, 0.7, 0.8], (t, "demo", "senteval", "accuracy"))),
    *make_records("ict", [0.9, 0.9, 0.9], ("mr", "demo", "senteval", "accuracy")),
    *make_records("two towers: ict", [0.2, 0.2, 0.2]),
]
