"""The stage `examples`."""

from kedro.pipeline import Pipeline, node

from contexture.imports import resolve
from contexture.pipelines.examples.nodes import count_examples, training_config
from contexture.pipelines.named import fixed
from contexture.streams.base_config import StreamConfig
from contexture.streams.tables import ExampleTables
from contexture.systems.config import SAMPLING_SEED, SystemConfig
from contexture.systems.resolved import ResolvedSystem

#: Tables of the corpus that examples are made of, by the kind of vocabulary.
_TEXTS = {"paragraphs": "paragraphs@spark", "bitext": "bitext@spark", "nli": "nli@spark"}
CORPUS = {
    "subwords": _TEXTS | {"documents": "documents@spark", "tokenizer": "tokenizer"},
    "words": _TEXTS | {"documents": "word_documents@spark", "tokenizer": "word_list"},
}


def create_pipeline(system: ResolvedSystem) -> Pipeline:
    """Return the stage `examples`: documents → tables of examples, counts, and the configuration of training."""
    config = system.config
    parts = [
        _create_stream_pipeline(system.name, config, kind, stream, stream.tables)
        for kind, stream in config.examples().items()
        if stream.tables is not None
    ]
    data = {task: f"{task}-data" for task in config.tasks}
    written = node(fixed(training_config, config), data or None, "training_config", name="write_training_config")
    return sum(parts, start=Pipeline([written], namespace=system.name, inputs=set(data.values()), tags="examples"))


def _create_stream_pipeline(
    system: str, config: SystemConfig, kind: str, stream: StreamConfig, tables: str
) -> Pipeline:
    """Return the nodes that sample and count the examples of one kind, as a pipeline."""
    corpus = CORPUS[config.vocabulary]
    made = _define_tables(config, stream, tables)
    nodes, read, observed = [], [], []
    for table in [*made.tables, *made.held_out]:
        inputs = [corpus.get(name, f"{name}-examples@spark") for name in table.reads]
        label = table.name.replace("/", "_")
        outputs = [f"{table.name}-examples@spark"] + ([f"{table.name}-observed"] if table.observed else [])
        observed += outputs[1:]
        read += [outputs[0]] if table.name not in made.intermediate else []
        nodes.append(node(table.make, inputs, outputs if table.observed else outputs[0], name=f"sample_{label}"))
    # Observed counts are complete when the table is written: the folder is an input to wait for that.
    counted = [*observed, *(f"{name.removesuffix('@spark')}@files" for name in read)] if observed else read
    nodes.append(
        node(
            fixed(count_examples, made.count, config.held_out_share if stream.has_documents else 0.0),
            [f"params:{kind}-examples_dir", "sources", "cleaning_report", *counted, corpus["documents"]],
            [f"{kind}-counts", f"{kind}-folder"],
            name=f"count_{kind}",
        )
    )
    used = {name for sample in nodes for name in sample.inputs} & set(corpus.values())
    return Pipeline(nodes, namespace=system, inputs={"sources", "cleaning_report", *used}, tags="examples")


def _define_tables(config: SystemConfig, stream: StreamConfig, tables: str) -> ExampleTables:
    """Return the tables of a stream's examples; if the system holds out documents, with theirs apart."""
    made: ExampleTables = resolve(tables)(stream, config.sampled_lengths, SAMPLING_SEED)
    if not (config.held_out_share and stream.has_documents):
        return made
    from contexture.streams.held_out import hold_out  # loads pyspark

    return hold_out(made, config.held_out_share)
