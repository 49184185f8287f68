"""Vocabularies of whole words: the words of a text, and their ids."""

import json
import random
from pathlib import Path

import pytest

from contexture.vocabulary.tokenizers import CONFIG_FILE, TOKENIZER_FILE, load_tokenizer
from contexture.vocabulary.words import WORDS_FILE, WordsConfig, add_words, copy_words, count_trained_words, train_words

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train_vocabulary(texts: list[str], folder: Path, size: int = 100, lowercase: bool = False) -> list[str]:
    """Train on texts. Return the words in the order of their ids."""
    train_words(texts, WordsConfig(size=size, lowercase=lowercase), folder)
    return words_by_id(folder)


def words_by_id(folder: Path) -> list[str]:
    words = load_tokenizer(folder)[0].get_vocab()
    assert sorted(words.values()) == list(range(len(words)))
    return sorted(words, key=words.__getitem__)


def split_words(text: str, folder: Path) -> list[str]:
    """Train on a text. Return its words, all of which are known."""
    train_words([text, text], WordsConfig(size=100), folder)
    encoding = load_tokenizer(folder)[0].encode(text, add_special_tokens=False)
    assert "[UNK]" not in encoding.tokens
    return encoding.tokens


@pytest.mark.parametrize(
    ("raw", "treebank"),
    [
        ("I don't.", "I do n't ."),
        ("It's Ann's, isn't it?", "It 's Ann 's , is n't it ?"),
        (
            "They're sure we'll go; I'd go, I've said, I'm here",
            "They 're sure we 'll go ; I 'd go , I 've said , I 'm here",
        ),
        ("It can’t be “so”", "It ca n't be `` so ''"),
        ("well-known, (in the U.S.) 1,250.5 at 10:30", "well-known , ( in the U.S. ) 1,250.5 at 10:30"),
        ("I DON'T, SHE'S", "I DO N'T , SHE 'S"),
        ("so ... or--no", "so ... or -- no"),
        ("the 20th, 1990s, a 12-year-old; 3.5, no. 7.", "the 20th , 1990s , a 12-year-old ; 3.5 , no . 7 ."),
        ("cafe\u0301\u00a0noir", "caf\u00e9 noir"),
    ],
)
def test_raw_and_treebank_text_have_the_same_words(raw: str, treebank: str, tmp_path: Path) -> None:
    marks = {"``": '"', "''": '"'}
    expected = [marks.get(word, word) for word in treebank.split()]
    assert split_words(raw, tmp_path / "raw") == expected
    assert split_words(treebank, tmp_path / "treebank") == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [("I don 't", "I do n't"), ("I do n 't", "I do n't"), ("a -lrb- b -RRB-", "a -lrb- b -RRB-")],
)
def test_text_of_older_benchmarks_has_the_same_words(text: str, words: str, tmp_path: Path) -> None:
    assert split_words(text, tmp_path) == words.split()


def test_words_are_sorted_by_frequency_then_alphabet(tmp_path: Path) -> None:
    texts = ["elm oak ash", "elm oak ash", "elm yew yew Elm", "fir Elm"]  # elm 3; oak, ash, yew, Elm 2; fir 1
    assert train_vocabulary(texts, tmp_path / "all") == [*SPECIALS, "elm", "Elm", "ash", "oak", "yew"]
    assert train_vocabulary([*texts, *["box"] * 2, *["bay bay"] * 3], tmp_path / "cut", size=10) == [
        *SPECIALS, "bay", "elm", "Elm", "ash", "box"
    ]  # fmt: skip
    assert train_vocabulary(texts, tmp_path / "lower", lowercase=True) == [*SPECIALS, "elm", "ash", "oak", "yew"]
    tokenizer, tokens = load_tokenizer(tmp_path / "lower")
    assert tokenizer.encode("ELM fir", add_special_tokens=False).ids == [5, tokens.unk]
    assert (tokens.pad, tokens.unk, tokens.cls, tokens.sep, tokens.mask, tokens.vocab_size) == (0, 1, 2, 3, 4, 9)


def test_the_order_of_texts_makes_no_difference(tmp_path: Path) -> None:
    draw = random.Random(1)
    texts = [" ".join(f"{a}{b}" for a in "bdfg" for b in draw.sample("aeiou", 3)) for _ in range(40)]
    names = TOKENIZER_FILE, CONFIG_FILE, WORDS_FILE
    contents = []
    for _ in range(3):
        train_words(draw.sample(texts, len(texts)), WordsConfig(size=20), tmp_path)
        contents.append([(tmp_path / name).read_bytes() for name in names])
    assert contents[0] == contents[1] == contents[2]
    assert len(words_by_id(tmp_path)) == 20


def test_added_words_follow_the_trained_ones(tmp_path: Path) -> None:
    words = train_vocabulary(["elm oak elm oak"], tmp_path / "trained", lowercase=True)
    assert count_trained_words(tmp_path / "trained") == len(words) == 7
    add_words(tmp_path / "trained", ["yew", "oak", "ash", "yew", "[PAD]"], tmp_path / "more")
    tokenizer, tokens = load_tokenizer(tmp_path / "more")
    assert tokenizer.encode("Ash fir Oak", add_special_tokens=False).ids == [8, tokens.unk, 6]  # lower case, as trained
    assert tokens.vocab_size == 9
    (tmp_path / "copy").mkdir()
    copy_words(tmp_path / "more", tmp_path / "copy")
    for name in ("more", "copy"):
        assert count_trained_words(tmp_path / name) == 7 and words_by_id(tmp_path / name) == [*words, "yew", "ash"]


def test_texts_without_a_frequent_word_are_rejected(tmp_path: Path) -> None:
    for texts in ([], ["   "], ["every word here once"]):
        with pytest.raises(ValueError, match="no word occurs 2 times in the corpus"):
            train_words(texts, WordsConfig(), tmp_path / "words")
        assert not (tmp_path / "words").exists()


@pytest.mark.parametrize("left", [None, "", '{"trained": 7', "[]", "{}", '{"trained": null}'])
def test_a_missing_or_damaged_file_raises_an_error(left: str | None, tmp_path: Path) -> None:
    train_vocabulary(["elm oak elm oak"], tmp_path)
    file = tmp_path / WORDS_FILE
    assert json.loads(file.read_text("utf-8")) == {"trained": 7, "lowercase": False}
    file.unlink() if left is None else file.write_text(left, "utf-8")
    with pytest.raises(ValueError, match=r"words\.json: missing or damaged .*run the vocabulary stage"):
        count_trained_words(tmp_path)
