"""All tasks by name, in the order of the tables."""

from contexture.imports import resolve
from contexture.tasks.spec import TaskSpec

_NAMES = (
    "retrieval",
    "beir",
    "answer_selection",
    "fact_verification",
    "ranking",
    "pairs",
    "bitext_retrieval",
    "language_bias",
    "multi_hop",
    "held_out",
    "reviews",
    "sentences",
)

TASKS: dict[str, TaskSpec] = {name: resolve(f"contexture.tasks.{name}.spec:SPEC") for name in _NAMES}
