"""Questions and candidates as token ids."""

from pathlib import Path

import pandas as pd
import pytest
from tokenizers import Tokenizer

from contexture.encoders.config import PairLayoutConfig
from contexture.tasks.retrieval.data import CANDIDATE, QUESTION, encode, encode_reqa, texts_of
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer

LAYOUT = PairLayoutConfig(query_tokens=8, document_tokens=16)
TEXT = "whales sing of distant islands while ferries cross the cold strait"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("vocabulary") / "tokenizer"
    train_tokenizer([TEXT] * 3, VocabularyConfig(size=300), folder)
    return load_tokenizer(folder)[0]


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def test_each_text_gets_its_tokens_without_special_ones_and_cut(tokenizer: Tokenizer) -> None:
    questions = pd.DataFrame({"question_id": ["a", "b"], "question": ["cold whales", TEXT * 3]}, index=[7, 3])
    candidates = pd.DataFrame({"candidate_id": ["c"], "sentence": ["ferries"], "passage": [TEXT * 9]})
    asked, said = encode_reqa(questions, candidates, tokenizer, LAYOUT)
    assert asked["tokens"].tolist() == [ids(tokenizer, "cold whales"), ids(tokenizer, TEXT * 3)[:8]]
    assert said["sentence_tokens"].tolist() == [ids(tokenizer, "ferries")]
    assert said["passage_tokens"].tolist() == [ids(tokenizer, TEXT * 9)[:16]]
    assert asked.index.tolist() == [7, 3]
    assert list(questions) == ["question_id", "question"]  # the tables given are left as they are
    assert list(asked) == [*questions, *QUESTION] and list(said) == [*candidates, *CANDIDATE]


def test_equal_texts_are_tokenized_once(tokenizer: Tokenizer) -> None:
    class Counting:
        asked: list[str]

        def encode_batch_fast(self, texts: list[str], add_special_tokens: bool) -> object:
            self.asked = texts
            return tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)

    counting = Counting()
    found = encode(pd.Series(["cold", "whales", "cold", "cold"]), counting, 8)  # type: ignore[arg-type]
    assert counting.asked == ["cold", "whales"]
    assert found.tolist() == [ids(tokenizer, text) for text in ("cold", "whales", "cold", "cold")]


def test_texts_survive_their_file(tokenizer: Tokenizer, tmp_path: Path) -> None:
    candidates = pd.DataFrame(
        {"candidate_id": list("abc"), "sentence": ["cold", "", "whales sing"], "passage": ["cold strait", "of", ""]}
    )
    questions = pd.DataFrame({"question": ["whales"]})
    _, said = encode_reqa(questions, candidates, tokenizer, LAYOUT)
    said.to_parquet(tmp_path / "candidates.parquet")
    for table in (said, pd.read_parquet(tmp_path / "candidates.parquet")):
        texts = texts_of(table, CANDIDATE)
        both = list(zip(candidates["sentence"], candidates["passage"], strict=True))
        parts = [ids(tokenizer, part) for pair in both for part in pair]
        assert texts.lengths.tolist() == [[len(parts[i]), len(parts[i + 1])] for i in (0, 2, 4)]
        assert texts.tokens.tolist() == [token for part in parts for token in part]


def test_no_texts(tokenizer: Tokenizer) -> None:
    empty = pd.DataFrame({"question": pd.Series([], dtype=str)})
    asked, _ = encode_reqa(empty, pd.DataFrame({"sentence": [], "passage": []}, dtype=str), tokenizer, LAYOUT)
    texts = texts_of(asked, QUESTION)
    assert texts.lengths.shape == (0, 1) and len(texts.tokens) == 0
