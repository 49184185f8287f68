"""Search in an index folder, and errors for damaged ones."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from contexture.encoders.bag_of_words import BagOfWordsMlp
from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import BagOfWordsMlpConfig, Lengths
from contexture.encoders.files import load_encoder, save_encoder
from contexture.folders import UNFINISHED
from contexture.retrieval import passage_search
from contexture.retrieval.config import IndexConfig
from contexture.retrieval.passage_search import Hit, PassageSearch, build_passage_index
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

PASSAGES = {
    "Whales": "whales sing of distant islands",
    "Ferries": "ferries cross the cold strait",
    "Gulls": "gulls wait on wooden piers",
    "Lamps": "brass lamps burn yellow oil",
}


def toy_encoder(folder: Path, scale: float = 4.0) -> Path:
    """Write an encoder whose inner product counts the shared tokens of two texts."""
    train_tokenizer([" ".join([*PASSAGES, *PASSAGES.values()])] * 3, VocabularyConfig(size=300), folder / "vocabulary")
    vocabulary = Vocabulary.load(folder / "vocabulary")
    tokens, size = vocabulary.tokens, vocabulary.tokens.vocab_size
    config = BagOfWordsMlpConfig("bag_of_words_mlp", size, size, size)
    encoder = build_encoder(config, Lengths(query=16, document=32), vocabulary)
    network = encoder.document
    assert isinstance(network, BagOfWordsMlp)
    with torch.no_grad():
        for layer in (network.words, network.hidden, network.output):
            layer.weight.copy_(torch.eye(size))
        network.words.weight[[tokens.cls, tokens.sep, tokens.pad]] = 0
        network.output.weight.mul_(scale)
        network.hidden.bias.zero_()
        network.output.bias.zero_()
    save_encoder(encoder, folder)
    shutil.rmtree(folder / "vocabulary")
    return folder


def toy_passages(folder: Path) -> Path:
    """Write the passages to two files."""
    rows = [
        {"passage_id": f"{number}#0", "doc_id": str(number), "title": title, "heading": "", "text": text}
        for number, (title, text) in enumerate(PASSAGES.items())
    ]
    folder.mkdir(parents=True)
    for part in range(2):
        pq.write_table(pa.Table.from_pylist(rows[part::2]), folder / f"part-{part}.parquet")
    return folder


def toy_index(folder: Path) -> Path:
    """Build an index of PASSAGES."""
    encoder = toy_encoder(folder / "encoder")
    build_passage_index(toy_passages(folder / "passages"), encoder, folder / "search")
    return folder / "search"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_index(tmp_path_factory.mktemp("index"))


@pytest.fixture
def index(built: Path, tmp_path: Path) -> Path:
    """A copy of the index for changes."""
    return Path(shutil.copytree(built, tmp_path / "search"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
def test_the_right_passage_comes_first(kind: str, index: Path) -> None:
    search = PassageSearch(index, IndexConfig(kind=kind), "vectors")  # type: ignore[arg-type]
    for title, text in PASSAGES.items():
        hits = search(" ".join(text.split()[1:4]), k=2)
        assert (hits[0].title, hits[0].text) == (title, text)
        assert hits[0].score > hits[1].score
    assert sorted(hit.title for hit in search("whales", k=50)) == sorted(PASSAGES)
    assert len(search("whales", k=1)) == 1


def test_search_by_bm25_needs_no_encoder(index: Path) -> None:
    shutil.rmtree(index / "encoder")
    shutil.rmtree(index / "vectors")
    search = PassageSearch(index, method="bm25")
    (hit,) = search("which ferries, by what strait?")
    score = search.rankings["bm25"].search(["ferries strait"], 1)[0].item()
    assert hit == Hit(score, "1#0", "Ferries", "", PASSAGES["Ferries"], None, 1)
    assert search("the of") == []


def test_both_rankings_are_fused_by_default(index: Path) -> None:
    search = PassageSearch(index)
    hits = search("gulls wait on piers of islands", k=4)
    assert search.method == "hybrid" and [hit.title for hit in hits[:2]] == ["Gulls", "Whales"]
    assert [(hit.by_vectors, hit.by_bm25) for hit in hits] == [(1, 1), (2, 2), (3, None), (4, None)]
    query, sums = "gulls wait on piers of islands", dict.fromkeys(PASSAGES, 0.0)
    for method in ("vectors", "bm25"):
        scores = {hit.title: hit.score for hit in PassageSearch(index, method=method)(query, k=4)}
        low, high = min(scores.values()), max(scores.values())
        for title, score in scores.items():
            sums[title] += 0.5 * (score - low) / (high - low)
    assert {hit.title: hit.score for hit in hits} == pytest.approx(sums)
    assert [hit.title for hit in search("gulls wait on piers of islands", k=1)] == ["Gulls"]
    assert search("\x00\x01") == []  # control characters only
    for query in ("", "  \n"):
        with pytest.raises(ValueError, match="the query is empty"):
            search(query)


def test_an_index_is_searched_by_its_defaults(index: Path) -> None:
    (index / "search.json").write_text('{"method": "vectors", "weight": 0.3}')
    shutil.rmtree(index / "bm25")
    search = PassageSearch(index)
    assert search.method == "vectors" and search("cold strait")[0].title == "Ferries"
    with pytest.raises(ValueError, match=f"{index}/bm25 is missing or damaged"):
        PassageSearch(index, method="hybrid")


def test_bm25_has_no_approximate_index(index: Path) -> None:
    with pytest.raises(ValueError, match=r"hnsw \(--approximate\) needs vectors .* by bm25: remove it"):
        PassageSearch(index, IndexConfig("hnsw"), "bm25")
    (index / "search.json").write_text('{"method": "bm25"}')
    with pytest.raises(ValueError, match="by bm25, which this index recommends: remove it"):
        PassageSearch(index, IndexConfig("ivf"))
    assert PassageSearch(index, IndexConfig("ivf"), "hybrid").method == "hybrid"


def test_a_corpus_without_passages_raises_and_keeps_the_old_index(index: Path, tmp_path: Path) -> None:
    content = contents(index)
    (tmp_path / "none").mkdir()
    for _ in range(2):  # without a file, then with an empty one
        with pytest.raises(ValueError, match="none contains no passages: there is nothing to search"):
            build_passage_index(tmp_path / "none", index / "encoder", index)
        pq.write_table(pq.read_table(index / "passages.parquet").slice(0, 0), tmp_path / "none" / "part-0.parquet")
    assert contents(index) == content
    assert not list(tmp_path.glob(f"*{UNFINISHED}"))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("encoder/encoder.json", "encoder holds no whole encoder"),
        ("encoder/model.safetensors", "encoder holds no whole encoder"),
        ("vectors/00000.npy", r"00000\.npy is missing or damaged"),
        ("vectors/vectors.json", r"vectors\.json is damaged"),
        ("passages.parquet", r"passages\.parquet is damaged"),
        ("bm25/vocab.index.json", "bm25 is missing or damaged"),
    ],
)
def test_damaged_and_missing_parts_raise(part: str, message: str, index: Path) -> None:
    file = index / part
    file.write_bytes(file.read_bytes()[:50])
    content = contents(index)
    with pytest.raises(ValueError, match=message):
        PassageSearch(index)
    assert contents(index) == content
    if file.parent == index:
        file.unlink()
    else:
        shutil.rmtree(file.parent)
    with pytest.raises(ValueError, match=f"{index}"):
        PassageSearch(index, method="hybrid")


def test_parts_must_belong_together(index: Path) -> None:
    table = pq.read_table(index / "passages.parquet")
    pq.write_table(table.slice(1), index / "passages.parquet")
    with pytest.raises(ValueError, match="3 passages, 4 vectors: build the index again"):
        PassageSearch(index)
    shutil.rmtree(index / "encoder")
    toy_encoder(index / "encoder", scale=3.0)
    content = contents(index)
    with pytest.raises(ValueError, match="was made with another encoder"):
        PassageSearch(index)
    assert contents(index) == content


def test_rebuilding_replaces_the_old_index(index: Path, tmp_path: Path) -> None:
    encoder = Path(shutil.copytree(index / "encoder", tmp_path / "encoder"))
    content = contents(index)
    (index / "left").write_text("by something else")
    build_passage_index(toy_passages(tmp_path / "passages"), encoder, index)
    assert contents(index) == content
    assert pq.read_table(index / "passages.parquet")["title"].to_pylist() == ["Whales", "Gulls", "Ferries", "Lamps"]


def test_the_index_does_not_depend_on_batch_sizes(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_search, "ROWS_PER_BATCH", 1)
    monkeypatch.setattr(passage_search, "ROWS_PER_GROUP", 1)
    build_passage_index(toy_passages(tmp_path / "passages"), index / "encoder", tmp_path / "small")
    whole, small = contents(index), contents(tmp_path / "small")
    assert pq.ParquetFile(tmp_path / "small" / "passages.parquet").num_row_groups == 4
    assert pq.read_table(tmp_path / "small" / "passages.parquet") == pq.read_table(index / "passages.parquet")
    assert small | {"passages.parquet": whole["passages.parquet"]} == whole


def test_an_interrupted_build_keeps_the_old_index_and_is_resumed(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = contents(index)
    passages = toy_passages(tmp_path / "passages")
    encoder = toy_encoder(tmp_path / "encoder", scale=3.0)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "embed", die)
        with pytest.raises(KeyboardInterrupt):
            build_passage_index(passages, encoder, index)
    assert contents(index) == content
    build_passage_index(passages, encoder, index)
    assert PassageSearch(index)("cold strait")[0].title == "Ferries"
    assert not list(tmp_path.glob(f"*{UNFINISHED}"))


def test_a_build_of_other_texts_does_not_keep_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passages, encoder = toy_passages(tmp_path / "passages"), toy_encoder(tmp_path / "encoder")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("contexture.retrieval.candidates.build_bm25", die)
        with pytest.raises(KeyboardInterrupt):
            build_passage_index(passages, encoder, tmp_path / "search")
    for file in passages.iterdir():  # texts of the same size
        table = pq.read_table(file)
        pq.write_table(pa.Table.from_pydict(table.to_pydict() | {"text": table["text"].to_pylist()[::-1]}), file)
    build_passage_index(passages, encoder, tmp_path / "search")
    hit = PassageSearch(tmp_path / "search", method="vectors")("cold strait", 1)[0]
    assert (hit.title, hit.text) == ("Lamps", PASSAGES["Ferries"])


def test_headings_are_searched_and_shown(tmp_path: Path) -> None:
    passages = toy_passages(tmp_path / "passages")
    for file in passages.iterdir():
        table = pq.read_table(file).drop_columns("heading")
        pq.write_table(
            table.append_column("heading", pa.array([f"Of {row}" for row in table["title"].to_pylist()])), file
        )
    build_passage_index(passages, toy_encoder(tmp_path / "encoder"), tmp_path / "search")
    hits = PassageSearch(tmp_path / "search", method="bm25")("of gulls, of lamps", 4)
    assert {hit.heading for hit in hits} == {"Of Gulls", "Of Lamps"}
    hit = PassageSearch(tmp_path / "search", method="vectors")("whales", 1)[0]
    model = load_encoder(tmp_path / "encoder")
    document, query = (
        model.embed([text], role)[0]
        for text, role in (((hit.title, f"{hit.heading}\n{hit.text}"), "document"), ("whales", "query"))
    )
    assert hit.score == pytest.approx(float(document @ query), rel=1e-5)
