"""A frozen encoder on all tasks: probes, relatedness, similarity (Quick-Thoughts, section 4.4 and appendix B)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from contexture.progress import progress
from contexture.tasks.base import Row
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.probe import ProbeResult, run_probe
from contexture.tasks.sentences.probe_protocols import Protocol
from contexture.tasks.sentences.relatedness import RelatednessResult, measure_relatedness
from contexture.tasks.sentences.similarity import SimilarityResult, measure_similarity
from contexture.tasks.sentences.vectors import Lookup

#: Protocol of similarity.
COSINE = "cosine"
#: Subset of similarity tasks with a single subset.
SINGLE_SUBSET = "test"

_Trained = TypeVar("_Trained", ProbeResult, RelatednessResult)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results by task."""

    #: Protocol of the probes and regressions.
    protocol: str
    probes: dict[str, ProbeResult]
    relatedness: dict[str, RelatednessResult]
    similarity: dict[str, SimilarityResult]

    @property
    def trained(self) -> dict[str, ProbeResult | RelatednessResult]:
        """Task → result, of probes and regressions."""
        return {**self.probes, **self.relatedness}

    def rows(self, data: str) -> list[Row]:
        """Return a row for each metric of each task on the test rows; `data` of a subset is `<data>/<subset>`."""
        figures = [
            (task, data, self.protocol, metric, value, result.examples)
            for task, result in self.trained.items()
            for metric, value in result.metrics.items()
        ]
        for task, similar in self.similarity.items():
            for row in similar.subsets.to_dict("records"):
                name = data if row["subset"] == SINGLE_SUBSET else f"{data}/{row['subset']}"
                pairs = int(row["pairs"])
                figures += [
                    (task, name, COSINE, metric, float(row[metric]), pairs) for metric in ("pearson", "spearman")
                ]
            pairs = int(similar.subsets["pairs"].sum())
            figures += [(task, data, COSINE, metric, value, pairs) for metric, value in similar.aggregates.items()]
        return [
            Row(task=task, data=name, protocol=protocol, split="test", metric=metric, value=value, examples=examples)
            for task, name, protocol, metric, value, examples in figures
        ]

    def chosen_strengths(self) -> dict[str, list[float]]:
        """Return task → strengths C of its probe or regression, one per outer fold."""
        return {task: [float(c) for c in result.chosen] for task, result in self.trained.items()}


def evaluate_sentences(vectors: Lookup, tasks: SentenceTasks, protocol: Protocol) -> Evaluation:
    """Return the results of all tasks, measured on their sentences' vectors; show a progress bar.

    Raises ValueError, with the task, for vectors that are not finite and tasks that cannot be split or correlated.
    """
    with progress(len(tasks), "evaluate", "task") as bar:

        def measure_each(
            kind: str, tasks_of_kind: Sequence[Any], measure: Callable[..., Any], *args: Any
        ) -> dict[str, Any]:
            measured = {}
            for task in tasks_of_kind:
                bar.set_postfix_str(f"{task.name}: {kind}")
                measured[task.name] = measure(task, vectors, *args)
                bar.update()
            return measured

        return Evaluation(
            protocol.name,
            measure_each("probe", tasks.classification, run_probe, protocol),
            measure_each("relatedness", tasks.relatedness, measure_relatedness, protocol),
            measure_each("similarity", tasks.similarity, measure_similarity),
        )


def build_ensemble(members: Sequence[Evaluation]) -> Evaluation:
    """Return the results of averaged predictions of several variants with the same seed, on tasks with a classifier."""
    first = members[0]
    probes = {task: average_results([member.probes[task] for member in members]) for task in first.probes}
    degrees = {task: average_results([member.relatedness[task] for member in members]) for task in first.relatedness}
    return Evaluation(first.protocol, probes, degrees, {})


def average_results(results: Sequence[_Trained]) -> _Trained:
    """Return the result of several models' averaged log-probabilities for a task (Quick-Thoughts, section 4.4.2).

    Models are weighted by validation score; scores below 0 count as 0. Raises ValueError if no score is above 0.
    """
    scores = [max(result.validation, 0.0) for result in results]
    if not sum(scores):
        raise ValueError(
            f"{results[0].task}: no model of the ensemble has a validation score above 0; remove the ensemble"
        )
    weights = [score / sum(scores) for score in scores]

    def weighted_sum(values: Iterable[Any]) -> Any:
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    return replace(
        results[0],
        chosen=(),
        validation=float(weighted_sum(result.validation for result in results)),
        log_probabilities=np.asarray(weighted_sum(result.log_probabilities for result in results), np.float32),
    )
