"""A run's encoder, objectives and streams, made from its settings and files."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Needs
from contexture.encoders.files import load_encoder
from contexture.encoders.transformer import Transformer, start_from_frequencies
from contexture.imports import resolve
from contexture.objectives.base import Objective
from contexture.seeding import mix
from contexture.streams.base import Batching, Stream, combine_needs
from contexture.streams.base_config import StreamConfig
from contexture.streams.rows import EmptyExamplesError
from contexture.training.config import Pretraining
from contexture.vocabulary.vocabulary import Vocabulary

LOG = logging.getLogger(__name__)
#: Examples whose words are counted before training from scratch.
FREQUENCY_SAMPLE = 10_000


@dataclass(frozen=True)
class Files:
    """The files that a run reads: folders of examples by their kind, of the tokenizer, and of a continued encoder."""

    examples: Mapping[str, Path]
    vocabulary: Path
    start: Path | None = None


@dataclass(frozen=True)
class Prepared:
    """What is trained, and the streams of each stage by name; no objectives if the text gives nothing to train on."""

    encoder: Encoder
    objectives: dict[str, Objective]
    stages: list[dict[str, Stream]]
    passes: int = 1

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams of all stages, each as the last stage reads it."""
        return {name: stream for stage in self.stages for name, stream in stage.items()}


def prepare(config: Pretraining, seed: int, files: Files, rank: int = 0) -> Prepared:
    """New weights, or those of `files.start` (ValueError if they do not fit), and the streams of the objectives."""
    torch.manual_seed(mix(seed, 0))
    head = any(config.recipe.objective(name).predicts_tokens for name in config.recipe.names)
    vocabulary = Vocabulary.load(files.vocabulary)
    if files.start is not None:
        encoder = continued(files.start, config, vocabulary, head)
    else:
        # A run that continues an untrained encoder may train its head.
        has_head = head or not config.recipe.names
        encoder = build_encoder(config.encoder, config.lengths, vocabulary, required_rows(config), has_head)
    encoder.recompute = config.settings.recompute
    try:
        stages, passes = open_stages(config, seed, files, encoder, rank)
    except EmptyExamplesError as error:
        LOG.warning("%s is not trained: %s", config.run, error)
        return Prepared(encoder, {}, [])
    prepared = Prepared(encoder, {}, stages, passes)
    if files.start is None and head and config.encoder.scales_weights:
        start_head(encoder, prepared.streams)
    for name in config.recipe.names:
        settings = config.recipe.objective(name)
        prepared.objectives[name] = resolve(settings.implementation)(settings, encoder)
    return prepared


def required_rows(config: Pretraining) -> Needs:
    """Positions and token types that the tables of the run's new encoder need, in addition to its lengths.

    All streams of the system count, because other runs may continue the encoder. Untrained published weights, whose
    table has a fixed size, need positions for `lengths` alone: a run that continues them checks it against its streams.
    """
    needs = combine_needs(config.streams, config.lengths)
    published = getattr(config.encoder, "init_from", None) is not None
    return Needs(types=needs.types) if published and not config.recipe.names else needs


def open_stages(
    config: Pretraining, seed: int, files: Files, encoder: Encoder, rank: int
) -> tuple[list[dict[str, Stream]], int]:
    """The streams of each stage, shared if their settings are equal, and the forward passes of an optimizer step."""
    pretrain, active = config.settings, {name: config.streams[name] for name in config.active}
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
        for key, shared in opened:
            if key == (name, settings):
                return shared
        steps = Batching(sizes[name], passes, rank, pretrain.devices, pretrain.tokens_at_once)
        stream: Stream = kinds[name](settings, files.examples[settings.examples], encoder, mix(seed, 2), steps)
        opened.append(((name, settings), stream))
        return stream

    stages = [config.stage_streams(number) for number in range(len(config.recipe.schedule))]
    return [{name: open_stream(name, settings) for name, settings in stage.items()} for stage in stages], passes


def continued(start: Path, config: Pretraining, vocabulary: Vocabulary, head: bool) -> Encoder:
    """The encoder in a folder, if it reads the tokens of this run's batches and its tables have the rows they need."""
    encoder = load_encoder(start, head or None)
    if encoder.vocabulary.tokenizer.to_str() != vocabulary.tokenizer.to_str():
        raise ValueError(
            f"{start} reads other tokens than the examples of run {config.run}, which {vocabulary.folder} made: "
            "train both on one vocabulary"
        )
    for name in config.recipe.names:
        try:
            config.recipe.objective(name).check(encoder.config, config.lengths)
        except ValueError as error:
            raise ValueError(f"{start} cannot be continued by run {config.run}: {name} {error}") from None
    network = encoder.document
    if isinstance(network, Transformer):
        needs, tables = combine_needs(config.streams, config.lengths), network.model.config
        positions = network.specials.first_position + needs.positions
        if positions > tables.max_position_embeddings or needs.types > tables.type_vocab_size:
            raise ValueError(
                f"{start} has {tables.max_position_embeddings} positions and {tables.type_vocab_size} token types, run "
                f"{config.run} needs {positions} and {needs.types}: begin with an encoder of this system"
            )
    return encoder


def start_head(encoder: Encoder, streams: Mapping[str, Stream]) -> None:
    """Start the language-model head of a new encoder from the frequencies of the tokens that it will predict."""
    assert isinstance(encoder.document, Transformer)
    for stream in streams.values():
        try:
            ids = stream.sample_tokens(FREQUENCY_SAMPLE)
        except NotImplementedError:
            continue
        start_from_frequencies(encoder.document, ids)
        return
