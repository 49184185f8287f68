"""Passages and pairs of a real Greek export with links."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from contexture.corpus.config import CorpusConfig
from contexture.corpus.pages import extract_paragraphs, read_pages
from contexture.corpus.sources import find_sources
from contexture.encoders.config import Lengths
from contexture.streams.packing import pack_passages
from contexture.streams.pairs.config import PAIR_TASKS, PairSampling
from contexture.streams.pairs.sample import count_pairs, sample_pairs
from contexture.streams.tokens import tokenize_paragraphs
from contexture.vocabulary.tokenizers import VocabularyConfig, paragraph_texts, train_tokenizer
from tests.streams.make import save_table


@pytest.mark.slow
def test_a_real_export_gives_pairs_for_every_task(spark: SparkSession, shared_data: Path, tmp_path: Path) -> None:
    config = CorpusConfig(input=str(shared_data / "wikipedia" / "elwiki-truncated-100k.xml.xz"))
    pages = save_table(
        extract_paragraphs(read_pages(spark, find_sources(config), config), config), tmp_path / "paragraphs"
    )
    train_tokenizer(paragraph_texts(tmp_path / "paragraphs"), VocabularyConfig(), tmp_path / "vocabulary")
    documents = save_table(tokenize_paragraphs(pages, tmp_path / "vocabulary"), tmp_path / "documents")
    sampling, lengths = PairSampling(files=2), Lengths(query=64, document=288)
    passages = save_table(pack_passages(documents, pages, lengths.document, sampling.files), tmp_path / "passages")

    total = F.size("title_tokens") + F.size("tokens") + 3
    assert passages.where((total > lengths.document) & (F.size("sentence_lengths") > 1)).count() == 0
    packed = passages.agg(F.sum(F.size("sentence_lengths")), F.sum(F.size("tokens")), F.count("*")).collect()[0]
    said = documents.select(F.explode(F.flatten("paragraphs.sentences")).alias("sentence"))
    assert tuple(packed)[:2] == tuple(said.agg(F.count("*"), F.sum(F.size("sentence"))).collect()[0])
    assert packed[2] > 4_000
    characters = F.sum(F.length(F.translate("text", " ", "")))
    assert passages.agg(characters).collect() == pages.agg(characters).collect()

    least = {"ict": 3_400, "bfs": 3_600, "wlp": 2_500}
    for task in PAIR_TASKS:
        pairs = sample_pairs(task, passages, documents, sampling, lengths, 0).cache()
        counts = count_pairs(pairs)
        assert counts["pairs"] == pairs.select("pair_id").distinct().count() >= least[task]
        assert 20 < counts["mean_query_tokens"] < 40
        assert 150 < counts["mean_document_tokens"] < 200
        assert pairs.where((F.size("query") == 0) | (F.size("passage") == 0)).count() == 0
        assert pairs.where(F.size("title") + F.size("passage") + 3 > lengths.document).count() == 0
        pairs.unpersist()
