"""Sampling of MSPP's examples with Spark."""

import hashlib
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.joint import sample as mspp
from contexture.streams.joint.config import JointConfig, JointSampling
from contexture.streams.joint.document import COUNT_NAMES, Candidate, Pool, sample_document
from contexture.streams.joint.sample import count_mspp, sample_mspp, tables
from contexture.streams.tokens import read_documents, select_sentences, tokenize_paragraphs
from tests.streams.make import MadeParagraph, collect_for_any_partitions, paragraphs_table, random_paragraphs

MAX_TOKENS = 12
CONFIGS = {
    "paper": JointSampling(files=3),
    "released": JointSampling(
        positive_rule="following",
        hard_rule="also_preceding",
        candidate_sentences=2,
        examples_per_paragraph=2,
        files=3,
    ),
}


@pytest.mark.parametrize("config", [CONFIGS["paper"], pytest.param(CONFIGS["released"], marks=pytest.mark.slow)])
def test_examples_do_not_depend_on_partitions_and_cores(
    config: JointSampling, documents: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mspp, "SENTENCES_PER_BUCKET", 30)
    counts = []

    def sample(partitions: int) -> DataFrame:
        examples, observation = sample_mspp(documents.repartition(partitions, "sentence_count"), config, MAX_TOKENS, 11)
        examples.collect()
        counts.append(count_mspp(observation))
        return examples

    rows = collect_for_any_partitions(documents.sparkSession, config.files, sample)
    assert counts[0] == counts[1]
    assert len({row["example_id"] for row in rows}) == len(rows) == counts[0]["examples"] > 20
    for row in rows:
        assert len(row["sentences"]) == 6
        assert sorted(row["labels"]) == [0, 0, 0, 0, 1]
        assert all(0 < len(tokens) <= MAX_TOKENS for tokens in row["sentences"])


def test_spark_gives_the_same_examples_as_plain_python(documents: DataFrame) -> None:
    """With one bucket the pool is the whole corpus."""
    config = CONFIGS["paper"]
    examples, observation = sample_mspp(documents, config, MAX_TOKENS, 5)
    actual = {row["example_id"]: (row["sentences"], row["labels"]) for row in examples.collect()}
    read = read_documents(select_sentences(documents).toArrow(), MAX_TOKENS)
    pool = Pool([], [])
    for document in read:
        for _, sentences in document.paragraphs:
            pool.doc_ids.extend([document.doc_id] * len(sentences))
            pool.candidates.extend(Candidate(sentence, None) for sentence in sentences)
    expected: dict[str, tuple[list[list[int]], list[int]]] = {}
    counts: dict[str, int] = dict.fromkeys(COUNT_NAMES, 0)
    for document in read:
        sampled, counted = sample_document(document, pool, config, MAX_TOKENS, 5)
        expected |= {e.example_id: ([list(tokens) for tokens in e.sentences], e.labels) for e in sampled}
        for name in COUNT_NAMES:
            counts[name] += counted[name]
    assert actual == expected
    assert count_mspp(observation) == counts
    rows = random_paragraphs()
    whole = len({row.doc_id for row in rows}), len(rows), sum(len(row.sentences) for row in rows)
    assert (counts["documents"], counts["paragraphs"], counts["sentences"]) == whole


#: Runs must be reproducible: if these change, existing examples change.
CHECKSUMS = {"paper": "2ead0812a3c21ecb", "released": "197b271ff6c67344"}


def digest(rows: list[Row]) -> str:
    text = repr([(row["example_id"], row["sentences"], row["labels"]) for row in rows])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", CHECKSUMS)
def test_the_table_does_not_change_between_versions(name: str, documents: DataFrame) -> None:
    config = JointConfig(sentence_tokens=MAX_TOKENS + 2, sampling=CONFIGS[name])
    made = tables(config, Lengths(9, 9), 7)
    (joint,) = made.tables
    assert (joint.name, joint.reads, joint.observed, made.intermediate) == ("joint", ("documents",), True, ())
    examples, observation = joint.make(documents)
    assert digest(examples.collect()) == CHECKSUMS[name]
    assert made.count(observation, documents) == count_mspp(observation)


def test_another_seed_gives_other_examples_in_another_order(documents: DataFrame) -> None:
    first, second = (sample_mspp(documents, CONFIGS["paper"], MAX_TOKENS, seed)[0].collect() for seed in (1, 2))
    assert {row["example_id"] for row in first} != {row["example_id"] for row in second}
    common = {row["example_id"] for row in first} & {row["example_id"] for row in second}
    orders = [[row["example_id"] for row in rows if row["example_id"] in common] for rows in (first, second)]
    assert orders[0] != orders[1] != sorted(common)


def test_documents_too_short_give_an_empty_table_and_counts(spark: SparkSession, vocabulary: Path) -> None:
    rows = [MadeParagraph("en:1", 0, ["amber"]), MadeParagraph("en:2", 0, ["birch", "birch"])]
    documents = tokenize_paragraphs(paragraphs_table(spark, rows), vocabulary)
    made = tables(JointConfig(), Lengths(9, 9), 0)
    examples, observation = made.tables[0].make(documents)
    assert examples.collect() == []
    short = {"documents": 2, "documents_too_short": 2, "paragraphs": 2, "paragraphs_too_short": 2, "sentences": 3}
    assert count_mspp(observation) == dict.fromkeys(COUNT_NAMES, 0) | short
    with pytest.raises(ValueError, match=r"no example could be sampled from this corpus: .*'documents': 2"):
        made.count(observation, documents)
