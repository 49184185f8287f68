"""The stage `vocabulary`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.vocabulary.nodes import make_tokenizer, tokenize


def create_pipeline() -> Pipeline:
    """Paragraphs → tokenizer → documents of token ids."""
    return Pipeline(
        [
            node(
                make_tokenizer,
                ["paragraphs@files", "params:vocabulary", "tokenizer_place"],
                "tokenizer",
                name="make_tokenizer",
            ),
            node(tokenize, ["paragraphs@spark", "tokenizer"], "documents@spark", name="tokenize"),
        ],
        tags="vocabulary",
    )
