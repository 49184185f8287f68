"""The Spark side: paragraphs to documents to examples, the same however the work is cut up."""

import gzip
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from contexture.sampling import mspp
from contexture.sampling.mspp import COUNTS, RELEASED_CODE, MsppSampling, count_mspp, sample_mspp
from contexture.sampling.mspp_document import Candidate, Pool, sample_document
from contexture.sampling.tokens import read_documents, tokenize_paragraphs
from contexture.text.vocabulary import VocabularyConfig, load_tokenizer, train_tokenizer

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "larch"]
PARAGRAPHS = "doc_id string, paragraph_index int, sentences array<string>"
MAX_TOKENS = 12


def made_up_paragraphs(documents: int = 24, seed: int = 3) -> list[tuple[str, int, list[str]]]:
    rng = random.Random(seed)
    rows: list[tuple[str, int, list[str]]] = []
    for document in range(documents):
        for paragraph in range(rng.randint(1, 4)):
            sentences = [" ".join(rng.choices(WORDS, k=rng.randint(3, 16))) + "." for _ in range(rng.randint(1, 5))]
            rows.append((f"en:{document}", paragraph, sentences))
    return rows


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=300), folder)
    return folder


@pytest.fixture(scope="module")
def paragraphs(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(made_up_paragraphs(), PARAGRAPHS)


@pytest.fixture(scope="module")
def documents(paragraphs: DataFrame, vocabulary: Path, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The documents table, read from disk as `sample_mspp` asks."""
    folder = str(tmp_path_factory.mktemp("documents") / "table")
    tokenize_paragraphs(paragraphs, vocabulary, MAX_TOKENS).write.parquet(folder)
    return paragraphs.sparkSession.read.parquet(folder)


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    names = {key: key.replace("__", ".") for key in values}
    before = {name: spark.conf.get(name) for name in names.values()}
    for key, value in values.items():
        spark.conf.set(names[key], value)
    yield
    for name, old in before.items():
        if old is not None:
            spark.conf.set(name, old)


def by_document(table: DataFrame) -> list[Row]:
    return sorted(table.collect(), key=lambda row: str(row["doc_id"]))


def test_each_sentence_becomes_its_token_ids_in_place(documents: DataFrame, vocabulary: Path) -> None:
    tokenizer, _ = load_tokenizer(vocabulary)
    expected: dict[str, list[tuple[int, list[list[int]]]]] = {}
    for doc_id, index, sentences in made_up_paragraphs():
        ids = [tokenizer.encode(text, add_special_tokens=False).ids[:MAX_TOKENS] for text in sentences]
        expected.setdefault(doc_id, []).append((index, ids))
    rows = by_document(documents)
    found = {row["doc_id"]: [(p["paragraph_index"], p["sentences"]) for p in row["paragraphs"]] for row in rows}
    assert found == expected
    assert {row["doc_id"]: row["sentence_count"] for row in rows} == {
        doc_id: sum(len(sentences) for _, sentences in parts) for doc_id, parts in expected.items()
    }
    longest = max(len(ids) for parts in expected.values() for _, sentences in parts for ids in sentences)
    assert longest == MAX_TOKENS


@pytest.mark.parametrize("partitions", [1, 7])
def test_documents_do_not_depend_on_partitions(
    partitions: int, paragraphs: DataFrame, documents: DataFrame, vocabulary: Path
) -> None:
    shuffled = paragraphs.orderBy("sentences", ascending=partitions > 1).repartition(partitions)
    with settings(paragraphs.sparkSession, spark__sql__execution__arrow__maxRecordsPerBatch="5"):
        assert by_document(tokenize_paragraphs(shuffled, vocabulary, MAX_TOKENS)) == by_document(documents)


def test_what_has_no_token_is_left_out(spark: SparkSession, vocabulary: Path) -> None:
    rows = [
        ("en:1", 0, ["\u200d", "amber", ""]),
        ("en:1", 1, []),
        ("en:1", 2, [" "]),
        ("en:1", 4, ["birch", "cedar"]),
        ("en:2", 0, [""]),
    ]
    table = tokenize_paragraphs(spark.createDataFrame(rows, PARAGRAPHS).coalesce(1), vocabulary, MAX_TOKENS)
    [row] = table.collect()
    assert row["doc_id"] == "en:1"
    assert [(p["paragraph_index"], len(p["sentences"])) for p in row["paragraphs"]] == [(0, 1), (4, 2)]
    assert row["sentence_count"] == 3


def test_tokenizing_needs_a_vocabulary(paragraphs: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        tokenize_paragraphs(paragraphs, tmp_path, MAX_TOKENS)


CONFIGS = {
    "paper": MsppSampling(max_tokens=MAX_TOKENS, files=3),
    "released": MsppSampling(
        positive_rule=RELEASED_CODE.positive_rule,
        hard_rule=RELEASED_CODE.hard_rule,
        candidate_sentences=RELEASED_CODE.candidate_sentences,
        examples_per_paragraph=2,
        max_tokens=MAX_TOKENS,
        files=3,
    ),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_examples_do_not_depend_on_partitions_and_cores(
    config: MsppSampling, documents: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mspp, "SENTENCES_PER_BUCKET", 30)
    tables = []
    for partitions, shuffles, adaptive in ((1, "1", "true"), (3, "7", "false"), (7, "2", "true")):
        with settings(
            documents.sparkSession, spark__sql__shuffle__partitions=shuffles, spark__sql__adaptive__enabled=adaptive
        ):
            examples, observation = sample_mspp(documents.repartition(partitions, "sentence_count"), config, 11)
            assert examples.rdd.getNumPartitions() == config.files
            tables.append((examples.collect(), count_mspp(observation)))
    assert tables[0] == tables[1] == tables[2]
    rows, counts = tables[0]
    assert len({row["example_id"] for row in rows}) == len(rows) == counts["examples"] > 20
    for row in rows:
        assert len(row["sentences"]) == 6
        assert sorted(row["labels"]) == [0, 0, 0, 0, 1]
        assert all(0 < len(tokens) <= MAX_TOKENS for tokens in row["sentences"])


def test_tables_agree_with_sampling_document_by_document(documents: DataFrame) -> None:
    """With one bucket the pool is the whole corpus, so that plain Python can do the same."""
    config = CONFIGS["paper"]
    examples, observation = sample_mspp(documents, config, 5)
    found = {row["example_id"]: (row["sentences"], row["labels"]) for row in examples.collect()}
    arrow = documents.toArrow()
    read = read_documents(arrow)
    pool = Pool([], [])
    for document in read:
        for _, sentences in document.paragraphs:
            pool.doc_ids.extend([document.doc_id] * len(sentences))
            pool.candidates.extend(Candidate(sentence, None) for sentence in sentences)
    expected = {}
    counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
    for document in read:
        sampled, counted = sample_document(document, pool, config, 5)
        expected |= {e.example_id: ([list(tokens) for tokens in e.sentences], e.labels) for e in sampled}
        for name in COUNTS:
            counts[name] += counted[name]
    assert found == expected
    assert count_mspp(observation) == counts
    rows = made_up_paragraphs()
    assert counts["documents"] == len({doc_id for doc_id, _, _ in rows})
    assert counts["paragraphs"] == len(rows)
    assert counts["sentences"] == sum(len(sentences) for _, _, sentences in rows)


def test_another_seed_gives_other_examples_in_another_order(documents: DataFrame) -> None:
    first, second = (sample_mspp(documents, CONFIGS["paper"], seed)[0].collect() for seed in (1, 2))
    assert {row["example_id"] for row in first} != {row["example_id"] for row in second}
    common = {row["example_id"] for row in first} & {row["example_id"] for row in second}
    orders = [[row["example_id"] for row in rows if row["example_id"] in common] for rows in (first, second)]
    assert orders[0] != orders[1] != sorted(common)


@pytest.mark.parametrize("rows", [[], [("en:1", 0, ["amber"]), ("en:2", 0, ["birch", "birch"])]], ids=["none", "short"])
def test_documents_too_short_give_an_empty_table_and_counts(
    rows: list[tuple[str, int, list[str]]], spark: SparkSession, vocabulary: Path
) -> None:
    table = tokenize_paragraphs(spark.createDataFrame(rows, PARAGRAPHS), vocabulary, MAX_TOKENS)
    examples, observation = sample_mspp(table, CONFIGS["paper"], 1)
    assert examples.collect() == []
    expected = dict.fromkeys(COUNTS, 0)
    if rows:
        expected |= {"documents": 2, "documents_too_short": 2, "paragraphs": 2, "paragraphs_too_short": 2}
        expected["sentences"] = 3
    assert count_mspp(observation) == expected


def test_real_text_gives_examples(spark: SparkSession, shared_data: Path, tmp_path: Path) -> None:
    """English novels, one paragraph a line; sentences are cut at full stops here, which will do."""
    texts = sorted((shared_data / "books" / "eltec_eng" / "txt").glob("*.txt.gz"))[:2]
    rows = []
    for path in texts:
        lines = gzip.decompress(path.read_bytes()).decode().split("\n")[:400]
        rows += [(path.name, i, [s for s in line.split(". ") if s.strip()]) for i, line in enumerate(lines)]
    train_tokenizer([s for _, _, ss in rows for s in ss], VocabularyConfig(size=1000), tmp_path)
    table = tokenize_paragraphs(spark.createDataFrame(rows, PARAGRAPHS), tmp_path, 62)
    examples, observation = sample_mspp(table, MsppSampling(files=2), 1)
    _, specials = load_tokenizer(tmp_path)
    tokens = [token for row in examples.collect() for sentence in row["sentences"] for token in sentence]
    counts = count_mspp(observation)
    assert counts["documents"] == 2
    assert counts["examples"] == counts["paragraphs"] - counts["paragraphs_too_short"] > 50
    assert not {specials.cls, specials.sep, specials.pad, specials.mask} & set(tokens)
    assert tokens.count(specials.unk) < len(tokens) / 200
