import math
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.retrieval import bm25 as bm25_module
from contexture.retrieval.bm25 import Bm25, write_bm25
from contexture.retrieval.config import Bm25Config

TEXTS = [
    "The mill on the Ashe ground rye, and only rye.",
    "A bridge crosses the Ashe below the mill; the bridge is of stone.",
    "Rye bread keeps longer than wheat bread.",
    "The mill on the Ashe ground rye, and only rye.",
]


def build_bm25(texts: Sequence[str], config: Bm25Config | None = None) -> Bm25:
    """Build an index; its files stay mapped after their folder is removed."""
    with tempfile.TemporaryDirectory() as folder:
        write_bm25(texts, Path(folder), config)
        return Bm25(Path(folder))


def score_by_formula(texts: list[str], query: str, k1: float, b: float) -> list[float]:
    """Return Lucene's BM25 by its formula, of texts without stop words and endings."""
    documents = [text.split() for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        counts, score = Counter(words), 0.0
        for word in query.split():
            holding = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            score += idf * counts[word] / (counts[word] + k1 * (1 - b + b * len(words) / mean))
        scores.append(score)
    return scores


words = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "ee", "ff"]), min_size=1, max_size=8).map(" ".join)


@settings(deadline=None, max_examples=50)  # the cores may be shared
@given(st.lists(words, min_size=1, max_size=12), words, st.sampled_from([0.9, 1.5]), st.sampled_from([0.0, 0.4, 1.0]))
def test_scores_match_the_formula(texts: list[str], query: str, k1: float, b: float) -> None:
    expected = score_by_formula(texts, query, k1, b)
    scores, rows = build_bm25(texts, Bm25Config(k1=k1, b=b, language="en")).search([query], len(texts))
    is_row = rows[0] >= 0
    assert sorted(rows[0][is_row]) == [row for row, score in enumerate(expected) if score > 0]
    assert scores[0][is_row] == pytest.approx([expected[row] for row in rows[0][is_row]], rel=1e-5)
    assert np.isneginf(scores[0][~is_row]).all()


def test_ties_are_ordered_by_row() -> None:
    scores, rows = build_bm25(TEXTS).search(["Who ground rye?"], 4)
    assert rows.tolist() == [[0, 3, 2, -1]]
    assert scores[0, 0] == scores[0, 1] > scores[0, 2] > 0
    many = build_bm25(TEXTS * 50)
    assert many.search(["rye mill"], 120)[1][0, :100].tolist() == [r for r in range(200) if r % 4 in (0, 3)]


def test_stop_words_are_removed() -> None:
    assert build_bm25(TEXTS).search(["what is on the"], 2)[1].tolist() == [[-1, -1]]
    assert (build_bm25(TEXTS, Bm25Config(stop_words=False)).search(["on the"], 2)[1] >= 0).all()


def test_words_match_by_their_stems_in_the_detected_language() -> None:
    assert build_bm25(TEXTS).search(["MILLS grinding", "breads' keeping"], 1)[1].tolist() == [[0], [2]]
    assert build_bm25(TEXTS, Bm25Config(stemming=False)).search(["breads"], 1)[1].tolist() == [[-1]]
    german = ["Die alten Häuser standen am Ufer des Flusses, und niemand wusste, wem sie früher einmal gehört hatten."]
    index = build_bm25(german)
    assert index.config.language == "de" and index.search(["das Haus am Fluss"], 1)[1].tolist() == [[0]]
    assert build_bm25(["x y z"]).config.language == "en"


def test_sizes() -> None:
    index = build_bm25(TEXTS)
    assert len(index) == 4
    assert index.search(["rye"], 100)[1].shape == (1, 4)
    assert index.search([], 3)[1].shape == (0, 3)
    scores, rows = index.search(["xylophone", "", "bridge"], 2)
    assert rows.tolist() == [[-1, -1], [-1, -1], [1, -1]]
    assert np.isneginf(scores[:2]).all()
    with pytest.raises(ValueError, match="the 0 best"):
        index.search(["rye"], 0)
    with pytest.raises(ValueError, match="no candidates"):
        build_bm25([])
    with pytest.raises(ValueError, match="none of the 2 candidates contains a word"):
        build_bm25(["", "? …"])


def test_files_equal_those_of_bm25s_for_any_batch_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    texts = [" ".join(draw.choices(TEXTS[0].split() + TEXTS[1].split(), k=draw.randrange(12))) for _ in range(60)]
    tokenizer = bm25s.tokenization.Tokenizer(stopwords="english", stemmer=Stemmer.Stemmer("english"))
    tokens = tokenizer.tokenize(texts, return_as="tuple", allow_empty=False, show_progress=False)
    expected_index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    expected_index.index(tokens, show_progress=False)
    expected_index.save(tmp_path / "theirs", show_progress=False)
    expected = {file.name: file.read_bytes() for file in (tmp_path / "theirs").iterdir()}
    for texts_per_batch, postings in ((1, 1), (7, 40), (1000, 10_000)):
        monkeypatch.setattr(bm25_module, "TEXTS_PER_BATCH", texts_per_batch)
        monkeypatch.setattr(bm25_module, "POSTINGS_PER_BATCH", postings)
        index_dir = tmp_path / f"{texts_per_batch}"
        index_dir.mkdir()
        write_bm25(iter(texts), index_dir, Bm25Config(k1=0.9, b=0.4))
        (index_dir / "bm25.json").unlink()
        assert {file.name: file.read_bytes() for file in index_dir.iterdir()} == expected, texts_per_batch


def test_a_damaged_index_raises(tmp_path: Path) -> None:
    config = Bm25Config(k1=0.9, b=0.4, language="en", stop_words=False)
    write_bm25(TEXTS, tmp_path, config)
    assert {file.suffix for file in tmp_path.iterdir()} == {".npy", ".json"}
    for file in tmp_path.iterdir():
        whole = file.read_bytes()
        for part in (None, b"", whole[: len(whole) - 3]):
            file.unlink()
            if part is not None:
                file.write_bytes(part)
            with pytest.raises(ValueError, match=f"{tmp_path} is missing or damaged"):
                Bm25(tmp_path)
            file.write_bytes(whole)
    index = Bm25(tmp_path)
    assert index.config == config and index.search(["bridge"], 1)[1].tolist() == [[1]]


@pytest.mark.parametrize("bad", [{"k1": -1}, {"b": 1.1}, {"language": "klingon"}, {"stemmer": "porter"}])
def test_settings_are_checked(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Bm25Config(**bad)
