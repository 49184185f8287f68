"""A frozen encoder on every task there is: probes, relatedness, similarity (Quick-Thoughts, sections 4.4 and B)."""

from dataclasses import dataclass
from typing import Any

from contexture.progress import progress
from contexture.tasks.base import Row
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.probe import ProbeResult, probe
from contexture.tasks.sentences.probe_protocols import Protocol
from contexture.tasks.sentences.relatedness import RelatednessResult, relatedness
from contexture.tasks.sentences.similarity import SimilarityResult, similarity
from contexture.tasks.sentences.vectors import Lookup

#: The protocol of similarity, which trains nothing.
COSINE = "cosine"
#: The subset of similarity tasks that have but one.
ONLY = "test"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was measured, by task."""

    protocol: str
    """Of the probes and regressions."""
    probes: dict[str, ProbeResult]
    relatedness: dict[str, RelatednessResult]
    similarity: dict[str, SimilarityResult]

    def rows(self, data: str) -> list[Row]:
        """All figures, measured on the test rows of `data`, a subset of a task being `<data>/<subset>`."""
        trained: dict[str, Any] = {**self.probes, **self.relatedness}
        rows = [
            _row(task, data, self.protocol, metric, value)
            for task, result in trained.items()
            for metric, value in result.metrics.items()
        ]
        for task, found in self.similarity.items():
            for row in found.subsets.to_dict("records"):
                where = data if row["subset"] == ONLY else f"{data}/{row['subset']}"
                rows += [_row(task, where, COSINE, metric, float(row[metric])) for metric in ("pearson", "spearman")]
            rows += [_row(task, data, COSINE, metric, value) for metric, value in found.aggregates.items()]
        return rows

    def chosen(self) -> dict[str, list[float]]:
        """The strength C that each probe and regression chose, one for each outer fold."""
        trained: dict[str, Any] = {**self.probes, **self.relatedness}
        return {task: [float(c) for c in result.chosen] for task, result in trained.items()}


def _row(task: str, data: str, protocol: str, metric: str, value: float) -> Row:
    return Row(task=task, data=data, protocol=protocol, split="test", metric=metric, value=value)


def evaluate_sentences(vectors: Lookup, tasks: SentenceTasks, protocol: Protocol) -> Evaluation:
    """Run every task on the vectors of its sentences; a progress bar says which is on.

    Raises:
        ValueError: a vector is not finite, or a task cannot be split or correlated, naming the task.
    """
    evaluation = Evaluation(protocol.name, {}, {}, {})
    with progress(len(tasks), "evaluate", "task") as bar:
        for probed in tasks.classification:
            bar.set_postfix_str(f"{probed.name}: probe")
            evaluation.probes[probed.name] = probe(probed, vectors, protocol)
            bar.update()
        for related in tasks.relatedness:
            bar.set_postfix_str(f"{related.name}: relatedness")
            evaluation.relatedness[related.name] = relatedness(related, vectors, protocol)
            bar.update()
        for alike in tasks.similarity:
            bar.set_postfix_str(f"{alike.name}: similarity")
            evaluation.similarity[alike.name] = similarity(alike, vectors)
            bar.update()
    return evaluation
