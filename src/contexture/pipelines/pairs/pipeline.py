"""The stage `examples` of two towers."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.named import fixed
from contexture.pipelines.pairs.nodes import count, encode, pack, sample, training_config
from contexture.systems.two_tower.config import PAIR_TASKS


def create_pipeline(system: str) -> Pipeline:
    """Documents and questions → the tables that training reads, and its configuration."""
    parameters = f"params:{system}"
    tables = [f"{task}-pairs@spark" for task in PAIR_TASKS]
    sampling = [
        node(
            fixed(sample, task),
            ["passages@spark", "documents@spark", parameters],
            table,
            name=f"sample_{task}",
        )
        for task, table in zip(PAIR_TASKS, tables, strict=True)
    ]
    return Pipeline(
        [
            node(pack, ["documents@spark", "paragraphs@spark", parameters], "passages@spark", name="pack"),
            *sampling,
            node(count, ["pairs_place", *tables], ["pairs_report", "pairs@files"], name="count"),
            node(
                encode,
                ["questions", "candidates", "tokenizer", parameters],
                ["encoded_questions@table", "encoded_candidates@table"],
                name="encode_questions",
            ),
            node(training_config, parameters, "training_config", name="training_config"),
        ],
        namespace=system,
        parameters={parameters},
        inputs={"documents@spark", "paragraphs@spark", "tokenizer", "questions", "candidates"},
        tags="examples",
    )
