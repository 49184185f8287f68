"""Create a run's encoder, objectives and streams from its settings and files."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import TableSizes
from contexture.encoders.files import load_encoder
from contexture.encoders.transformer import Transformer, init_head_bias
from contexture.imports import resolve
from contexture.objectives.base import Objective
from contexture.seeding import mix
from contexture.streams.base import Batching, Stream, combine_needs
from contexture.streams.base_config import StreamConfig
from contexture.streams.rows import EmptyExamplesError
from contexture.training.config import Pretraining
from contexture.training.rest import RestOfRun
from contexture.vocabulary.vocabulary import Vocabulary

LOG = logging.getLogger(__name__)
#: Examples whose words are counted before training from scratch.
NUM_FREQUENCY_EXAMPLES = 10_000


@dataclass(frozen=True)
class RunFiles:
    """Folders that a run reads: examples by kind, the vocabulary, and the encoder to start from.

    `rest` is for budgets in minutes; weights depend on it only by the number of steps, which is kept.
    """

    examples: Mapping[str, Path]
    vocabulary: Path
    start: Path | None = None
    rest: RestOfRun | None = None


@dataclass(frozen=True)
class PreparedRun:
    """An encoder, its objectives, and the streams of each stage; no objectives if there are no examples."""

    encoder: Encoder
    objectives: dict[str, Objective]
    stages: list[dict[str, Stream]]
    passes: int = 1

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams of all stages by name, each with its settings of the last stage."""
        return {name: stream for stage in self.stages for name, stream in stage.items()}


def prepare(config: Pretraining, seed: int, files: RunFiles, rank: int = 0) -> PreparedRun:
    """Return a run's new or loaded encoder, its objectives and its opened streams.

    Raises ValueError if the encoder in `files.start` does not fit the run.
    """
    torch.manual_seed(mix(seed, 0))
    head = any(config.recipe.objective(name).predicts_tokens for name in config.recipe.objective_names)
    vocabulary = Vocabulary.load(files.vocabulary)
    if files.start is not None:
        encoder = load_start(files.start, config, vocabulary, head)
    else:
        # A run that starts from an untrained encoder may train its head.
        has_head = head or not config.recipe.objective_names
        encoder = build_encoder(config.encoder, config.lengths, vocabulary, required_table_sizes(config), has_head)
    encoder.recompute = config.settings.recompute
    try:
        stages, passes = open_stages(config, seed, files, encoder, rank)
    except EmptyExamplesError as error:
        LOG.warning("run %s is not trained: %s", config.run, error)
        return PreparedRun(encoder, {}, [])
    prepared = PreparedRun(encoder, {}, stages, passes)
    if files.start is None and head and config.encoder.has_scaled_init:
        init_head(encoder, prepared.streams)
    for name in config.recipe.objective_names:
        settings = config.recipe.objective(name)
        prepared.objectives[name] = resolve(settings.implementation)(settings, encoder)
        prepared.objectives[name].devices = config.settings.devices
    return prepared


def required_table_sizes(config: Pretraining) -> TableSizes:
    """Return the numbers of positions and token types that a new encoder needs, in addition to its lengths.

    All streams of the system count, because other runs may continue the encoder. Untrained published weights, with a
    fixed number of positions, need only those of `lengths`; runs that continue them check theirs.
    """
    sizes = combine_needs(config.streams, config.lengths)
    published = getattr(config.encoder, "init_from", None) is not None
    return TableSizes(types=sizes.types) if published and not config.recipe.objective_names else sizes


def open_stages(
    config: Pretraining, seed: int, files: RunFiles, encoder: Encoder, rank: int
) -> tuple[list[dict[str, Stream]], int]:
    """Return the streams of each stage, shared if their settings are equal, and the passes of an optimizer step.

    Raises EmptyExamplesError if no stream has examples, and ValueError if only some have.
    """
    pretrain, active = config.settings, {name: config.streams[name] for name in config.stream_names}
    sizes = pretrain.batch_sizes(config.run, active)
    kinds = {name: resolve(settings.implementation) for name, settings in active.items()}
    passes = pretrain.passes({name: size for name, size in sizes.items() if kinds[name].can_split})
    for name, kind in kinds.items():
        if kind.can_split and sizes[name] % (passes * pretrain.devices):
            raise ValueError(
                f"run {config.run}, stream {name}: batch_size {sizes[name]} must be a multiple of {passes} passes × "
                f"{pretrain.devices} devices"
            )
    opened: list[tuple[tuple[str, StreamConfig], Stream]] = []

    def open_stream(name: str, settings: StreamConfig) -> Stream:
        """Return the stream with these settings, which is opened at the first call."""
        for key, shared in opened:
            if key == (name, settings):
                return shared
        steps = Batching(sizes[name], passes, rank, pretrain.devices, pretrain.tokens_at_once)
        stream: Stream = kinds[name](settings, files.examples[settings.examples], encoder, mix(seed, 2), steps)
        opened.append(((name, settings), stream))
        return stream

    stages: list[dict[str, Stream]] = []
    empty: dict[str, EmptyExamplesError] = {}
    for number in range(len(config.recipe.schedule)):
        stages.append({})
        for name, settings in config.stage_streams(number).items():
            try:
                stages[-1][name] = open_stream(name, settings)
            except EmptyExamplesError as error:
                empty[name] = error
    if empty and not opened:
        raise next(iter(empty.values()))
    for name, cause in empty.items():
        objectives = [key for key, stream in config.stream_by_objective.items() if stream == name]
        raise ValueError(
            f"run {config.run}: nothing to read for {' and '.join(objectives)}, unlike for other objectives ({cause}); "
            "leave them out of the run's schedule, or add text that gives such examples"
        )
    return stages, passes


def load_start(start: Path, config: Pretraining, vocabulary: Vocabulary, head: bool) -> Encoder:
    """Load the encoder to start from, with the run's lengths.

    Raises ValueError if its tokenizer or tables do not fit this run.
    """
    encoder = load_encoder(start, head or None)
    if encoder.vocabulary.tokenizer.to_str() != vocabulary.tokenizer.to_str():
        raise ValueError(
            f"{start} has another tokenizer than the examples of run {config.run} ({vocabulary.folder}): "
            "train both on one vocabulary"
        )
    for name in config.recipe.objective_names:
        try:
            config.recipe.objective(name).check(encoder.config, config.lengths)
        except ValueError as error:
            raise ValueError(f"{start} cannot be continued by run {config.run}: {name} {error}") from None
    network = encoder.document
    if isinstance(network, Transformer):
        longest = TableSizes(positions=max(config.lengths.query, config.lengths.document))
        sizes, tables = combine_needs(config.streams, config.lengths) | longest, network.model.config
        positions = network.specials.first_position + sizes.positions
        if positions > tables.max_position_embeddings or sizes.types > tables.type_vocab_size:
            raise ValueError(
                f"{start} has {tables.max_position_embeddings} positions and {tables.type_vocab_size} token types, run "
                f"{config.run} needs {positions} and {sizes.types}: start from an encoder of this system"
            )
    encoder.lengths = config.lengths
    return encoder


def init_head(encoder: Encoder, streams: Mapping[str, Stream]) -> None:
    """Initialize the language-model head of a new encoder with the frequencies of tokens in the streams."""
    assert isinstance(encoder.document, Transformer)
    for stream in streams.values():
        try:
            ids = stream.sample_tokens(NUM_FREQUENCY_EXAMPLES)
        except NotImplementedError:
            continue
        init_head_bias(encoder.document, ids)
        return
