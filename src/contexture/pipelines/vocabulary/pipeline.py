"""The stage `vocabulary`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.vocabulary.nodes import make_tokenizer


def create_pipeline() -> Pipeline:
    """Paragraphs → tokenizer."""
    return Pipeline(
        [
            node(
                make_tokenizer,
                ["paragraphs@files", "params:vocabulary", "tokenizer_place"],
                "tokenizer",
                name="make_tokenizer",
            )
        ],
        tags="vocabulary",
    )
