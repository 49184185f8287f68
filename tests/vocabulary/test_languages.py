"""Languages of one vocabulary have shares that are smoothed."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.pipelines.vocabulary.nodes import make_tokenizer
from contexture.vocabulary.languages import shares_kept, smoothed_texts
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, paragraph_texts

LETTERS = {"en": "abcdefghijklm", "fr": "nopqrstuvwxyz"}


def written(folder: Path, texts: dict[str, list[str]]) -> Path:
    for language, found in texts.items():
        (folder / f"lang={language}").mkdir(parents=True)
        pq.write_table(pa.table({"text": found}), folder / f"lang={language}" / "part-00000.parquet")
    return folder


def texts(language: str, count: int) -> list[str]:
    return [f"{language} {number:06}" for number in range(count)]


def test_what_is_kept_by_hand() -> None:
    """√100 : √10,000 is 1 : 10, so of the larger one 1,000 are left."""
    assert shares_kept({"small": 100, "large": 10_000}, 0.5) == {"small": 1.0, "large": pytest.approx(0.1)}
    assert shares_kept({"small": 100, "large": 10_000}, 1.0) == {"small": 1.0, "large": 1.0}


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 10**12), min_size=1), st.floats(0.01, 1))
def test_languages_are_to_each_other_as_their_amounts_to_the_power(amounts: dict[str, int], exponent: float) -> None:
    kept = {language: share * amounts[language] for language, share in shares_kept(amounts, exponent).items()}
    scale = {language: kept[language] / amounts[language] ** exponent for language in amounts}
    assert max(scale.values()) == pytest.approx(min(scale.values()))
    assert all(kept[language] <= amounts[language] * (1 + 1e-9) for language in amounts)
    assert any(kept[language] == pytest.approx(amounts[language]) for language in amounts)


def test_smoothed_text_by_counts(tmp_path: Path) -> None:
    """Texts are of one length, so that amounts are counts: 300 × (4,000 / 300)^0.3 of the 4,000 are left."""
    folder = written(tmp_path, {"en": texts("en", 4000), "fr": texts("fr", 300)})
    found = list(smoothed_texts(folder, 0.3))
    assert [text for text in found if text.startswith("fr")] == texts("fr", 300)
    english = [text for text in found if text.startswith("en")]
    assert len(english) == pytest.approx(300 * (4000 / 300) ** 0.3, rel=0.1)
    assert len(set(english)) == len(english) and set(english) <= set(texts("en", 4000))
    again = smoothed_texts(folder, 0.3)
    assert list(again) == list(again) == found


def test_one_language_is_read_whole(tmp_path: Path) -> None:
    folder = written(tmp_path, {"en": texts("en", 50)})
    assert list(smoothed_texts(folder, 0.3)) == list(paragraph_texts(folder))
    with pytest.raises(FileNotFoundError, match="no Parquet file"):
        smoothed_texts(tmp_path / "none", 0.3)


def test_a_small_language_has_more_of_a_smoothed_vocabulary(tmp_path: Path) -> None:
    """There is room for half of the words: without smoothing those that are frequent, all of the large language."""
    draw = random.Random(0)
    words = {language: ["".join(draw.sample(letters, 6)) for _ in range(100)] for language, letters in LETTERS.items()}
    times = {"en": 60, "fr": 4}
    texts = {name: [f"{word} {n}" for n in range(times[name]) for word in words[name]] for name in words}
    folder = written(tmp_path / "paragraphs", texts)
    found = {}
    for exponent in (1.0, 0.1):
        config = VocabularyConfig(size=600, smoothing=exponent)
        vocabulary = load_tokenizer(make_tokenizer(config, folder, tmp_path / f"{exponent}"))[0].get_vocab()
        found[exponent] = sum(set(word.removeprefix("##")) <= set(LETTERS["fr"]) for word in vocabulary)
    assert found[0.1] > 1.5 * found[1.0]
