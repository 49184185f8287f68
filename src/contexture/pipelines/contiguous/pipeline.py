"""The stage `examples` of Quick-Thoughts."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.contiguous.nodes import count, order, training_config


def create_pipeline(system: str) -> Pipeline:
    """Documents of words → the table that training reads, its counts, and training's configuration."""
    parameters = f"params:{system}"
    return Pipeline(
        [
            node(order, ["word_documents@spark", parameters], "examples@spark", name="order_sentences"),
            node(
                count, ["word_documents@spark", "examples@files", parameters], "examples_report", name="count_sentences"
            ),
            node(training_config, parameters, "training_config", name="training_config"),
        ],
        namespace=system,
        parameters={parameters},
        inputs={"word_documents@spark"},
        tags="examples",
    )
