"""The stage `sources`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.sources.nodes import locate_sources, read_reqa, read_sentence_tasks


def create_pipeline() -> Pipeline:
    """Made-up world or the user's files → their manifest, and the questions."""
    return Pipeline(
        [
            node(
                locate_sources,
                [
                    "params:corpus",
                    "params:answers",
                    "params:retrieval",
                    "params:sentence_tasks",
                    "params:demo",
                    "demo_place",
                ],
                ["sources", "answers"],
                name="locate_sources",
                tags="sources",
            ),
            node(
                read_reqa,
                ["params:retrieval", "sources", "demo_place"],
                ["questions", "candidates", "reqa_report"],
                name="read_reqa",
                tags="sources",
            ),
        ]
    )


def create_sentence_tasks_pipeline() -> Pipeline:
    """Tasks of encoders of sentences, checked before any work starts."""
    return Pipeline(
        [
            node(
                read_sentence_tasks,
                ["params:sentence_tasks", "params:words", "sources", "demo_place"],
                "sentence_tasks",
                name="read_sentence_tasks",
                tags="sources",
            )
        ]
    )
