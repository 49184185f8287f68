"""Titles of tasks, data sets, protocols and reference variants."""

from collections.abc import Iterable, Mapping

from contexture.tasks.base import AFTER as AFTER
from contexture.tasks.registry import TASKS as SPECS

#: Task of a record → specification of the evaluation task.
RECORD_SPECS = {name: spec for spec in SPECS.values() for name in (spec.name, *spec.subtasks)}
#: Task of a record → title, in the order of tables.
TASKS = {name: spec.title if name == spec.name else spec.subtasks[name] for name, spec in RECORD_SPECS.items()}
DATA = {"demo": "the demo's made-up world"} | {
    name: title for spec in SPECS.values() for name, title in spec.data.items()
}
#: Protocol → title; further protocols are the share of questions used for fine-tuning, such as "80%".
PROTOCOLS = {name: title for spec in SPECS.values() for name, title in spec.protocols.items()}
#: Protocols for single similarity scores of frozen encoders; `frozen` uses the default score of the encoder.
SCORE_PROTOCOLS = ("by_attention", "by_cosine", "by_dot")
#: Ends the names of variants that combine an encoder with BM25, and their labels.
BM25_SUFFIX, BM25_LABEL = "+bm25", " + BM25"
#: Ends the names of protocols → ends their titles.
PROTOCOL_SUFFIXES = {" open": ", open domain", " ablation": ", ablation"}
#: Baselines without encoder training → label.
REFERENCES = {
    "bm25": "BM25",
    "word_average": "Average of word vectors",
    "untrained": "Untrained",
    "published": "Published weights",
    "word_overlap": "Word overlap",
    "majority": "Most frequent label",
    "file_order": "File order",
    "random_order": "Random",
}


def protocol_name(protocol: str) -> str:
    """Return the title of a protocol, also of a share ("80%"), a variation ("80% open"), and of transfer.

    Transfer is fine-tuning on another set first, as in "grouped_after_asnq".
    """
    for suffix, title in PROTOCOL_SUFFIXES.items():
        if protocol.endswith(suffix):
            return protocol_name(protocol.removesuffix(suffix)) + title
    protocol, _, first = protocol.partition(AFTER)
    if first:
        return f"{protocol_name(protocol)}, after {DATA.get(first, first)}"
    return PROTOCOLS.get(protocol, f"fine-tuned on {protocol}" if protocol[:1].isdigit() else protocol)


def label_variant(variant: str, labels: Mapping[str, str]) -> str:
    """Return the label of a variant; "+bm25" ends the name of an encoder that is combined with BM25."""
    if variant in labels:
        return labels[variant]
    if variant.endswith(BM25_SUFFIX):
        return label_variant(variant.removesuffix(BM25_SUFFIX), labels) + BM25_LABEL
    return REFERENCES.get(variant, variant)


def sort_tasks(tasks: Iterable[str]) -> list[str]:
    """Sort tasks by the order of tables, unknown tasks last."""
    known = set(tasks)
    return [*(task for task in TASKS if task in known), *sorted(known - set(TASKS))]
