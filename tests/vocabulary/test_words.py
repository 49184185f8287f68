"""Vocabularies of whole words: which words a text has, and which ids they get."""

import json
import random
from pathlib import Path

import pytest

from contexture.vocabulary.tokenizers import CONFIG_FILE, TOKENIZER_FILE, load_tokenizer
from contexture.vocabulary.words import WORDS_FILE, WordsConfig, add_words, copy_words, count_trained_words, train_words

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def trained(texts: list[str], folder: Path, size: int = 100, lowercase: bool = False) -> list[str]:
    """The words in the order of their ids."""
    train_words(texts, WordsConfig(size=size, lowercase=lowercase), folder)
    return in_order(folder)


def in_order(folder: Path) -> list[str]:
    words = load_tokenizer(folder)[0].get_vocab()
    assert sorted(words.values()) == list(range(len(words)))
    return sorted(words, key=words.__getitem__)


def words_of(text: str, folder: Path) -> list[str]:
    """The words of a text that are all known."""
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
def test_raw_text_and_that_of_a_treebank_have_the_same_words(raw: str, treebank: str, tmp_path: Path) -> None:
    marks = {"``": '"', "''": '"'}
    expected = [marks.get(word, word) for word in treebank.split()]
    assert words_of(raw, tmp_path / "raw") == expected
    assert words_of(treebank, tmp_path / "treebank") == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [("I don 't", "I do n't"), ("I do n 't", "I do n't"), ("a -lrb- b -RRB-", "a -lrb- b -RRB-")],
)
def test_words_of_older_benchmarks_are_those_of_all_others(text: str, words: str, tmp_path: Path) -> None:
    assert words_of(text, tmp_path) == words.split()


def test_the_most_frequent_words_come_first_and_ties_in_the_order_of_the_alphabet(tmp_path: Path) -> None:
    texts = ["elm oak ash", "elm oak ash", "elm yew yew Elm", "fir Elm"]  # elm 3; oak, ash, yew, Elm 2; fir 1
    assert trained(texts, tmp_path / "all") == [*SPECIALS, "elm", "Elm", "ash", "oak", "yew"]
    assert trained([*texts, *["box"] * 2, *["bay bay"] * 3], tmp_path / "cut", size=10) == [
        *SPECIALS, "bay", "elm", "Elm", "ash", "box"
    ]  # fmt: skip
    assert trained(texts, tmp_path / "lower", lowercase=True) == [*SPECIALS, "elm", "ash", "oak", "yew"]
    tokenizer, tokens = load_tokenizer(tmp_path / "lower")
    assert tokenizer.encode("ELM fir", add_special_tokens=False).ids == [5, tokens.unk]
    assert (tokens.pad, tokens.unk, tokens.cls, tokens.sep, tokens.mask, tokens.vocab_size) == (0, 1, 2, 3, 4, 9)


def test_the_order_of_the_texts_changes_no_byte(tmp_path: Path) -> None:
    draw = random.Random(1)
    texts = [" ".join(f"{a}{b}" for a in "bdfg" for b in draw.sample("aeiou", 3)) for _ in range(40)]
    names = TOKENIZER_FILE, CONFIG_FILE, WORDS_FILE
    contents = []
    for _ in range(3):
        train_words(draw.sample(texts, len(texts)), WordsConfig(size=20), tmp_path)
        contents.append([(tmp_path / name).read_bytes() for name in names])
    assert contents[0] == contents[1] == contents[2]
    assert len(in_order(tmp_path)) == 20


def test_added_words_stand_behind_the_trained_ones(tmp_path: Path) -> None:
    words = trained(["elm oak elm oak"], tmp_path / "trained", lowercase=True)
    assert count_trained_words(tmp_path / "trained") == len(words) == 7
    add_words(tmp_path / "trained", ["yew", "oak", "ash", "yew", "[PAD]"], tmp_path / "more")
    tokenizer, tokens = load_tokenizer(tmp_path / "more")
    assert tokenizer.encode("Ash fir Oak", add_special_tokens=False).ids == [8, tokens.unk, 6]  # as before, lower case
    assert tokens.vocab_size == 9
    (tmp_path / "copy").mkdir()
    copy_words(tmp_path / "more", tmp_path / "copy")
    for name in ("more", "copy"):
        assert count_trained_words(tmp_path / name) == 7 and in_order(tmp_path / name) == [*words, "yew", "ash"]


def test_texts_without_a_frequent_word_are_rejected(tmp_path: Path) -> None:
    for texts in ([], ["   "], ["every word here once"]):
        with pytest.raises(ValueError, match="no word occurs 2 times in the corpus"):
            train_words(texts, WordsConfig(), tmp_path / "words")
        assert not (tmp_path / "words").exists()


@pytest.mark.parametrize("left", [None, "", '{"trained": 7', "[]", "{}", '{"trained": null}'])
def test_a_missing_or_damaged_file_is_named(left: str | None, tmp_path: Path) -> None:
    trained(["elm oak elm oak"], tmp_path)
    file = tmp_path / WORDS_FILE
    assert json.loads(file.read_text("utf-8")) == {"trained": 7, "lowercase": False}
    file.unlink() if left is None else file.write_text(left, "utf-8")
    with pytest.raises(ValueError, match=r"words\.json: missing or damaged .*run the vocabulary stage"):
        count_trained_words(tmp_path)
