"""Results on held-out documents for the model card of an exported encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

from huggingface_hub import EvalResult

from contexture.tasks.held_out.spec import SPEC
from contexture.tasks.passage_ranking import BM25, COMPARED_METRIC, HYBRID


def card_results(records: Sequence[Mapping[str, Any]], variant: str) -> tuple[str, list[EvalResult]]:
    """Return a section with nDCG@10 of the first seed by kind of question, and the encoder's own as results.

    The section is "" without records.
    """
    searches = {BM25: "BM25", variant: "this encoder", variant + HYBRID: "both"}
    first_seed = min((record["seed"] for record in records), default=0)
    values = {
        (record["data"], record["variant"]): record["value"]
        for record in records
        if record["metric"] == COMPARED_METRIC and record["variant"] in searches and record["seed"] == first_seed
    }
    if not values:
        return "", []
    kinds = {kind: SPEC.data.get(kind, kind) for kind, _ in values}
    lines = ["", "## Results", ""]
    lines += ["nDCG@10 in percent, on questions from held-out documents, searched in the whole text:", ""]
    lines += [f"| | {' | '.join(searches.values())} |", "|---|---|---|---|"]
    for kind, title in kinds.items():
        cells = [f"{100 * values[kind, name]:.1f}" if (kind, name) in values else "–" for name in searches]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    results = [
        _to_result(kind, title, values[kind, variant]) for kind, title in kinds.items() if (kind, variant) in values
    ]
    return "\n".join([*lines, ""]), results


def _to_result(kind: str, title: str, value: float) -> EvalResult:
    return EvalResult(
        task_type="text-retrieval",
        task_name="Retrieval",
        dataset_type=f"held-out-{kind}",
        dataset_name=f"Held-out documents: {title}",
        metric_type=COMPARED_METRIC,
        metric_name="nDCG@10",
        metric_value=round(value, 4),
    )
