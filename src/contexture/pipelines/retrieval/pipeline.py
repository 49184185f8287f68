"""The stages `finetune` and `evaluate` of two towers."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.retrieval.nodes import (
    finetune_all,
    measure,
    measure_indexes,
    measure_open_domain,
    rank_all,
    rank_bm25,
)

#: Variants that are also measured among pairs of the corpus, and the one whose vectors indexes are compared on.
OPEN_DOMAIN = ("ict", "ict_bfs_wlp")
INDEXED = "ict_bfs_wlp"


def create_pipeline(system: str, variants: Sequence[str]) -> Pipeline:
    """Towers and questions → fine-tuned towers → ranks → records; every variant is a pre-training run."""
    parameters = f"params:{system}"
    questions, candidates = "encoded_questions@table", "encoded_candidates@table"
    tuning = [
        node(
            fixed(finetune_all, variant),
            [
                "encoded_questions@file",
                "encoded_candidates@file",
                f"{variant}-pretrained",
                parameters,
                f"{variant}-finetuned_place",
            ],
            f"{variant}-finetuned",
            name=f"finetune_{variant}",
            tags="finetune",
        )
        for variant in variants
    ]
    ranking = [
        node(
            fixed(rank_all, variant),
            [questions, candidates, f"{variant}-finetuned", parameters, f"{variant}-vectors_place"],
            f"{variant}-ranks",
            name=f"rank_{variant}",
            tags="evaluate",
        )
        for variant in variants
    ]
    measuring = [
        node(rank_bm25, [questions, candidates, parameters], ["bm25-ranks", "bm25_speed"], name="rank_bm25"),
        node(
            fixed(measure, system),
            ["reqa_report", *(f"{variant}-ranks" for variant in ("bm25", *variants))],
            ["question_recalls", "reqa_metrics"],
            name="measure",
        ),
        node(
            fixed(measure_open_domain, system, OPEN_DOMAIN),
            [
                questions,
                candidates,
                "passages@files",
                "tokenizer",
                "reqa_report",
                parameters,
                "open-vectors_place",
                *(f"{variant}-finetuned" for variant in OPEN_DOMAIN),
            ],
            "open_domain_metrics",
            name="measure_open_domain",
        ),
        node(
            measure_indexes,
            [questions, f"{INDEXED}-finetuned", parameters, f"{INDEXED}-vectors_place", f"{INDEXED}-ranks"],
            "index_report",
            name="measure_indexes",
        ),
    ]
    return Pipeline(tuning, namespace=system, parameters={parameters}, tags="finetune") + Pipeline(
        [*ranking, *measuring],
        namespace=system,
        parameters={parameters},
        inputs={"reqa_report", "tokenizer"},
        tags="evaluate",
    )
