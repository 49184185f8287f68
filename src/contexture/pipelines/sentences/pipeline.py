"""The stage `evaluate` of encoders of sentences."""

from collections.abc import Mapping, Sequence

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.sentences.nodes import measure_all, measure_over_time, rank_captions, search_corpus


def create_pipeline(system: str, runs: Sequence[str], variants: Mapping[str, Sequence[str]]) -> Pipeline:
    """Encoders and tasks → records; `variants` maps each to the runs whose vectors it concatenates."""
    parameters = f"params:{system}"
    models = [f"{run}-pretrained" for run in runs]
    return Pipeline(
        [
            node(
                fixed(measure_all, system, runs, variants),
                ["sentence_tasks", "words", parameters, "tasks-vectors_place", *models],
                "sentence_results",
                name="measure_sentences",
            ),
            node(
                fixed(search_corpus, system, runs, variants),
                ["sentence_tasks", "paragraphs@files", "words", parameters, "corpus-vectors_place", *models],
                "search_results",
                name="search_corpus",
            ),
            node(
                fixed(rank_captions, system, runs, variants),
                ["sentence_tasks", "words", parameters, "captions-vectors_place", *models],
                "caption_results",
                name="rank_captions",
            ),
            node(
                fixed(measure_over_time, runs),
                ["sentence_tasks", parameters, "over_time-vectors_place", *models],
                "quality_over_time",
                name="measure_over_time",
            ),
        ],
        namespace=system,
        parameters={parameters},
        inputs={"sentence_tasks", "paragraphs@files", "words"},
        tags="evaluate",
    )
