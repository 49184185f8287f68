"""What tasks, data, protocols and what nobody trains are called; others are called as the records call them."""

from collections.abc import Iterable

from contexture.tasks.base import AFTER as AFTER
from contexture.tasks.registry import TASKS as SPECS

#: Task of the records → the task that measures it.
RECORD_SPECS = {name: spec for spec in SPECS.values() for name in (spec.name, *spec.subtasks)}
#: In the order of the tables.
TASKS = {name: spec.title if name == spec.name else spec.subtasks[name] for name, spec in RECORD_SPECS.items()}
DATA = {"demo": "the demo's made-up world"} | {
    name: title for spec in SPECS.values() for name, title in spec.data.items()
}
#: How encoders are measured; besides, there are shares of the questions trained on, such as "80%".
PROTOCOLS = {name: title for spec in SPECS.values() for name, title in spec.protocols.items()}
#: Protocols that report one score of a frozen encoder each; the protocol `frozen` reports its default score.
SCORE_PROTOCOLS = ("by_attention", "by_cosine", "by_dot")
#: What costs no training of an encoder: the least that one must beat.
REFERENCES = {
    "bm25": "BM25",
    "word_average": "Average of word vectors",
    "random": "Untrained",
    "published": "Published weights, as they were",
    "word_overlap": "Words in common",
    "majority": "The most frequent label",
    "file_order": "Order of the file",
    "random_order": "Random order",
}


def protocol_name(protocol: str) -> str:
    """How a protocol is called; a share of the questions, "80%", is one that encoders were fine-tuned on.

    `grouped_after_asnq` is what `grouped` is called, after ASNQ, from which was learned before.
    """
    protocol, _, first = protocol.partition(AFTER)
    if first:
        return f"{protocol_name(protocol)}, after {DATA.get(first, first)}"
    return PROTOCOLS.get(protocol, f"fine-tuned on {protocol}" if protocol[:1].isdigit() else protocol)


def sort_tasks(tasks: Iterable[str]) -> list[str]:
    """Tasks in the order of the tables, unknown ones last."""
    known = set(tasks)
    return [*(task for task in TASKS if task in known), *sorted(known - set(TASKS))]
