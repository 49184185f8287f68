"""The stage `examples`."""

from kedro.pipeline import Pipeline, node

from contexture.imports import resolve
from contexture.paths import HELD_OUT_DIR
from contexture.pipelines.examples.nodes import (
    DocumentPart,
    count_documents,
    count_examples,
    select_documents,
    training_config,
)
from contexture.pipelines.named import fixed
from contexture.streams.base_config import StreamConfig
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
    sampled = {kind: stream for kind, stream in config.examples().items() if stream.tables is not None}
    held_out = config.held_out_examples()
    parts = [
        _create_stream_pipeline(system.name, config, kind, stream, "training" if kind in held_out else "all")
        for kind, stream in sampled.items()
    ]
    parts += [
        _create_stream_pipeline(system.name, config, kind, stream, "held_out") for kind, stream in held_out.items()
    ]
    data = {task: f"{task}-data" for task in config.tasks}
    written = node(fixed(training_config, config), data or None, "training_config", name="write_training_config")
    return sum(parts, start=Pipeline([written], namespace=system.name, inputs=set(data.values()), tags="examples"))


def _create_stream_pipeline(
    system: str, config: SystemConfig, kind: str, stream: StreamConfig, part: DocumentPart
) -> Pipeline:
    """Return the nodes that sample and count the examples of one kind, of all or some documents, as a pipeline."""
    corpus, folder = CORPUS[config.vocabulary], f"{HELD_OUT_DIR}/" if part == "held_out" else ""
    made = resolve(str(stream.tables))(stream, config.sampled_lengths, SAMPLING_SEED)
    share = config.pretrain.held_out.share if config.pretrain.held_out else 0.0
    nodes, read, observed = [], [], []
    for table in made.tables:
        inputs = [corpus.get(name, f"{folder}{name}-examples@spark") for name in table.reads]
        name = folder + table.name
        outputs = [f"{name}-examples@spark"] + ([f"{name}-observed"] if table.observed else [])
        observed += outputs[1:]
        read += [outputs[0]] if table.name not in made.intermediate else []
        make = table.make if part == "all" else fixed(select_documents, table.make, table.reads, share, part)
        made_name = f"sample_{name.replace('/', '_')}"
        nodes.append(node(make, inputs, outputs if table.observed else outputs[0], name=made_name))
    # Observed counts are complete when the table is written: the folder is an input to wait for that.
    counted = [*observed, *(f"{name.removesuffix('@spark')}@files" for name in read)] if observed else read
    count = made.count if part == "all" else fixed(count_documents, made.count, share, part)
    nodes.append(
        node(
            fixed(count_examples, count),
            [f"params:{folder}{kind}-examples_dir", "sources", "cleaning_report", *counted, corpus["documents"]],
            [f"{folder}{kind}-counts", f"{folder}{kind}-folder"],
            name=f"count_{(folder + kind).replace('/', '_')}",
        )
    )
    used = {name for sample in nodes for name in sample.inputs} & set(corpus.values())
    return Pipeline(nodes, namespace=system, inputs={"sources", "cleaning_report", *used}, tags="examples")
