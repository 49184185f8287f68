"""Two towers over pairs of a query and a document, and their baseline, a masked language model of the documents."""

import logging
from pathlib import Path

from contexture.encoders.config import TransformerTowers
from contexture.encoders.tower_files import save_towers
from contexture.encoders.towers import build_towers
from contexture.encoders.transformer import build_encoder, start_from_frequencies
from contexture.objectives.base import Objective
from contexture.systems.mspp.batches import FREQUENCY_SAMPLE, save_masked
from contexture.systems.two_tower.batches import DocumentBatches, NoPairsError, PairBatches, PairStream, parts_of
from contexture.systems.two_tower.config import TwoTowerRun, TwoTowerSystem
from contexture.training.prepare import Prepared
from contexture.training.seeding import mix
from contexture.vocabulary.tokenizers import SpecialTokens

LOG = logging.getLogger(__name__)


def prepare_two_tower(
    config: TwoTowerSystem,
    run: str,
    seed: int,
    examples: Path,
    tokenizer: Path,
    tokens: SpecialTokens,
    start: Path | None,
) -> Prepared:
    """New towers and batches of pairs, or a new encoder and batches of documents; `start` is a masked model."""
    recipe = config.pretrain.runs[run]
    folders = [examples / task for task in recipe.pairs]
    try:
        stream = PairStream(folders, recipe.mixture, mix(seed, 2))
    except NoPairsError as error:
        LOG.warning("%s is not trained: %s", run, error)
        towers = build_towers(config.encoders[recipe.encoder], config.layout, tokens)
        return Prepared(towers, None, lambda _, folder: save_towers(towers, tokenizer, folder))
    if recipe.masked:
        return _masked(config, recipe, stream, tokenizer, tokens)
    towers = build_towers(config.encoders[recipe.encoder], config.layout, tokens, str(start) if start else None)
    towers.recompute = config.pretrain.recompute

    def batches(steps: range, rank: int) -> PairBatches:
        return PairBatches(
            stream,
            towers.specials(tokens),
            config.layout,
            batch_size=config.pretrain.batch_size,
            tokens_at_once=config.pretrain.tokens_at_once,
            steps=steps,
            rank=rank,
            ranks=config.pretrain.devices,
        )

    return Prepared(towers, batches, lambda _, folder: save_towers(towers, tokenizer, folder))


def _masked(
    config: TwoTowerSystem, recipe: TwoTowerRun, stream: PairStream, tokenizer: Path, tokens: SpecialTokens
) -> Prepared:
    towers, pretrain = config.encoders[recipe.encoder], config.pretrain
    assert isinstance(towers, TransformerTowers)
    encoder = build_encoder(towers.encoder, config.layout.longest, 1, tokens)
    if towers.encoder.init_from is None:
        start_from_frequencies(
            encoder, parts_of(stream.take(0, min(stream.rows, FREQUENCY_SAMPLE)), "title", "passage").tokens
        )

    passes = pretrain.masked_passes(config.layout.document_tokens)

    def batches(steps: range, rank: int) -> DocumentBatches:
        return DocumentBatches(
            stream,
            encoder.specials(tokens),
            config.layout,
            batch_size=pretrain.batch_size,
            accumulated=passes,
            steps=steps,
            rank=rank,
            ranks=pretrain.devices,
        )

    def save(objectives: dict[str, Objective], folder: Path) -> None:
        save_masked(encoder, objectives, tokenizer, folder)

    return Prepared(encoder, batches, save, accumulated=passes)
