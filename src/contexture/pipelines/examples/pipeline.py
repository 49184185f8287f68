"""The stage `examples`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.examples.nodes import count, encode, sample, training_config


def create_pipeline(system: str) -> Pipeline:
    """Documents and questions → the tables that training reads, and its configuration."""
    parameters = f"params:{system}"
    return Pipeline(
        [
            node(sample, ["documents@spark", parameters], ["examples@spark", "observation"], name="sample"),
            node(count, ["observation", "examples@files"], "examples_report", name="count"),
            node(encode, ["answers", "tokenizer", parameters], "encoded_answers@table", name="encode_answers"),
            node(training_config, parameters, "training_config", name="training_config"),
        ],
        namespace=system,
        parameters={parameters},
        inputs={"documents@spark", "tokenizer", "answers"},
        tags="examples",
    )
