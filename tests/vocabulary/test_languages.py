"""Resampling of the text of several languages."""

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.pipelines.vocabulary.nodes import make_tokenizer
from contexture.vocabulary.languages import repetition_factors, resample_texts
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, paragraph_texts

LETTERS = {"en": "abcdefghijklm", "fr": "nopqrstuvwxyz"}


def write_languages(folder: Path, texts: dict[str, list[str]]) -> Path:
    for language, language_texts in texts.items():
        (folder / f"lang={language}").mkdir(parents=True)
        pq.write_table(pa.table({"text": language_texts}), folder / f"lang={language}" / "part-00000.parquet")
    return folder


def make_texts(language: str, count: int) -> list[str]:
    return [f"{language} {number:06}" for number in range(count)]


def test_repetition_factors_by_hand() -> None:
    """1 : 10 of 10,100 rows are 918.2 and 9,181.8."""
    times = repetition_factors({"small": 100, "large": 10_000}, 0.5)
    assert times == pytest.approx({"small": 9.181818, "large": 0.9181818})
    assert repetition_factors({"small": 100, "large": 10_000}, 1.0) == pytest.approx({"small": 1.0, "large": 1.0})


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 10**9), min_size=1), st.floats(0.01, 1))
def test_resampling_keeps_the_total_and_smooths_shares(counts: dict[str, int], exponent: float) -> None:
    amounts = {language: times * counts[language] for language, times in repetition_factors(counts, exponent).items()}
    assert sum(amounts.values()) == pytest.approx(sum(counts.values()))
    scale = [amounts[language] / count**exponent for language, count in counts.items()]
    assert max(scale) == pytest.approx(min(scale))


def test_texts_are_repeated_by_their_factors(tmp_path: Path) -> None:
    """Texts have equal length, so amounts are counts: √1,600 : √100 is 4 : 1, or 1,360 and 340 of 1,700."""
    folder = write_languages(tmp_path, {"en": make_texts("en", 1600), "fr": make_texts("fr", 100)})
    counts = Counter(resample_texts(folder, 0.5))
    english, french = (
        {text: counts[text] for text in make_texts(name, size)} for name, size in (("en", 1600), ("fr", 100))
    )
    assert sum(english.values()) == pytest.approx(1360, rel=0.03) and set(english.values()) == {0, 1}
    assert sum(french.values()) == pytest.approx(340, rel=0.05) and set(french.values()) == {3, 4}
    again = resample_texts(folder, 0.5)
    assert Counter(again) == Counter(again) == counts == Counter({**english, **french})


def test_a_single_language_is_not_resampled(tmp_path: Path) -> None:
    folder = write_languages(tmp_path, {"en": make_texts("en", 50)})
    assert list(resample_texts(folder, 0.3)) == list(paragraph_texts(folder))
    with pytest.raises(FileNotFoundError, match="no Parquet file"):
        resample_texts(tmp_path / "none", 0.3)


def test_smoothing_gives_a_small_language_more_of_the_vocabulary(tmp_path: Path) -> None:
    """Only half of the words fit: without smoothing, rare ones are of the large language, too."""
    draw = random.Random(0)
    words = {language: ["".join(draw.sample(letters, 6)) for _ in range(100)] for language, letters in LETTERS.items()}
    times = {"en": 60, "fr": 4}
    texts = {
        name: [f"{word} {n}" for rank, word in enumerate(names, 1) for n in range(30 * times[name] // rank)]
        for name, names in words.items()
    }
    folder = write_languages(tmp_path / "paragraphs", texts)
    sizes = {}
    for exponent in (1.0, 0.1):
        config = VocabularyConfig(size=600, smoothing=exponent)
        vocabulary = load_tokenizer(make_tokenizer(config, folder, tmp_path / f"{exponent}"))[0].get_vocab()
        sizes[exponent] = sum(set(word.removeprefix("##")) <= set(LETTERS["fr"]) for word in vocabulary)
    assert sizes[0.1] > 1.5 * sizes[1.0]
