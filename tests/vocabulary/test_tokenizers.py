"""Vocabularies of subwords: files, reproducibility and errors."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers

from contexture.vocabulary.tokenizers import (
    CONFIG_FILE,
    TOKENIZER_FILE,
    VocabularyConfig,
    have_same_tokens,
    load_tokenizer,
    paragraph_texts,
    train_tokenizer,
)

KINDS = ["wordpiece", "bpe"]


def texts_with_ties(seed: int = 0, words: int = 400) -> list[str]:
    """Return random words in which most pairs of characters are equally frequent, so that merges depend on ties."""
    rng = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyzéàü"
    lexicon = ["".join(rng.choices(letters, k=rng.randint(2, 8))) for _ in range(words)]
    return [" ".join(rng.choices(lexicon, k=12)) + "." for _ in range(100)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {kind: tmp_path_factory.mktemp("vocabulary") / kind for kind in KINDS}
    for kind, folder in made.items():
        train_tokenizer(texts_with_ties(), VocabularyConfig(kind=kind, size=400), folder)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("kind", "first"),
    [("wordpiece", "[PAD] [UNK] [CLS] [SEP] [MASK]"), ("bpe", "<s> <pad> </s> <unk> <mask>")],
)
def test_transformers_loads_the_folder_with_all_special_tokens(kind: str, first: str, folders: dict[str, Path]) -> None:
    from transformers import AutoTokenizer

    published = AutoTokenizer.from_pretrained(folders[kind])
    tokenizer, specials = load_tokenizer(folders[kind])
    assert [tokenizer.id_to_token(i) for i in range(5)] == first.split()  # in the published order
    roles = ("cls", "sep", "pad", "mask", "unk")
    ids = [getattr(specials, role) for role in roles]
    assert published.is_fast
    assert [getattr(published, f"{role}_token_id") for role in roles] == ids and len(set(ids)) == 5
    assert len(published) == specials.vocab_size == tokenizer.get_vocab_size() == 400
    for text in texts_with_ties():
        assert specials.unk not in tokenizer.encode(text).ids
    assert published(text)["input_ids"] == [specials.cls, *tokenizer.encode(text).ids[1:-1], specials.sep]


@pytest.mark.parametrize("kind", KINDS)
def test_training_does_not_depend_on_threads_and_order(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(texts_with_ties()[::-1]))
    program = (
        "import json, sys; from pathlib import Path; from contexture.vocabulary.tokenizers import *;"
        "texts = json.loads(Path(sys.argv[1]).read_text());"
        "train_tokenizer(texts, VocabularyConfig(kind=sys.argv[2], size=400), Path(sys.argv[3]))"
    )
    for threads in ("1", "2"):
        folder = tmp_path / threads
        environment = {**os.environ, "RAYON_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", program, texts, kind, folder], env=environment, check=True)
        for name in (TOKENIZER_FILE, CONFIG_FILE):
            assert (folder / name).read_bytes() == (folders[kind] / name).read_bytes()


def test_byte_level_decodes_any_text(folders: dict[str, Path]) -> None:
    tokenizer, _ = load_tokenizer(folders["bpe"])
    for text in ("naïve 你好", "a  b\n", "<s> is </s> no token here", "\U0001f600"):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids) == text


def test_names_of_special_tokens_are_ordinary_text(folders: dict[str, Path]) -> None:
    for kind, text in (("wordpiece", "abc [SEP] [MASK]"), ("bpe", "abc </s><mask>")):
        tokenizer, specials = load_tokenizer(folders[kind])
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert not {specials.cls, specials.sep, specials.mask, specials.pad} & set(ids)


def test_lowercase_is_optional(tmp_path: Path) -> None:
    texts = ["Abc abc ABC Äb äb"] * 5
    for kind in KINDS:
        for lowercase in (True, False):
            config = VocabularyConfig(kind=kind, size=300, lowercase=lowercase)  # type: ignore[arg-type]
            train_tokenizer(texts, config, tmp_path / f"{kind}{lowercase}")
            tokenizer, _ = load_tokenizer(tmp_path / f"{kind}{lowercase}")
            assert (tokenizer.encode("ABC").ids == tokenizer.encode("abc").ids) == lowercase


@given(st.characters(exclude_categories=["Cs"]), st.booleans())
def test_normalization_works_on_single_characters(character: str, lowercase: bool) -> None:
    """The alphabet is counted on single characters, but the trainer reads whole texts."""
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    normalized = normalizer.normalize_str(character)
    assert normalizer.normalize_str(f"a{character}b{character}").split() == f"a{normalized}b{normalized}".split()


def test_rare_characters_do_not_fill_the_vocabulary(tmp_path: Path) -> None:
    common = texts_with_ties()
    rare = ["".join(chr(0x4E00 + i) for i in range(2000))]
    train_tokenizer(common + rare, VocabularyConfig(size=300), tmp_path)
    tokenizer, specials = load_tokenizer(tmp_path)
    single = [token for token in tokenizer.get_vocab() if len(token.removeprefix("##")) == 1]
    assert specials.vocab_size == 300
    assert len(single) <= 128
    assert specials.unk not in tokenizer.encode(common[0]).ids


def test_a_published_tokenizer_can_be_a_folder(folders: dict[str, Path], tmp_path: Path) -> None:
    train_tokenizer([], VocabularyConfig(published=str(folders["bpe"])), tmp_path / "copy")
    copied, specials = load_tokenizer(tmp_path / "copy")
    original, expected = load_tokenizer(folders["bpe"])
    assert specials == expected
    assert copied.get_vocab() == original.get_vocab()
    text = texts_with_ties()[3]
    assert copied.encode(text).ids == original.encode(text).ids


def test_padding_and_truncation_of_a_published_tokenizer_are_disabled(folders: dict[str, Path], tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folders["wordpiece"] / TOKENIZER_FILE))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=50)
    tokenizer.save(str(tmp_path / TOKENIZER_FILE))
    (tmp_path / CONFIG_FILE).write_text((folders["wordpiece"] / CONFIG_FILE).read_text())
    text = texts_with_ties()[0]
    assert load_tokenizer(tmp_path)[0].encode(text).ids == load_tokenizer(folders["wordpiece"])[0].encode(text).ids


def test_special_tokens_can_be_objects_and_ids_can_have_gaps(tmp_path: Path) -> None:
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 9, "word": 40}
    Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]")).save(str(tmp_path / TOKENIZER_FILE))
    roles = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    config = {f"{role}_token": {"content": token, "lstrip": True} for role, token in roles.items()}
    (tmp_path / CONFIG_FILE).write_text(json.dumps(config))
    _, specials = load_tokenizer(tmp_path)
    assert (specials.mask, specials.vocab_size) == (9, 41)


@pytest.mark.parametrize("published", ["no-such-owner/no-such-tokenizer", "/no/such/folder", "empty"])
def test_a_missing_published_tokenizer_raises_an_error(
    published: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    if published == "empty":
        (tmp_path / "empty").mkdir()
        published = str(tmp_path / "empty")
    with pytest.raises(ValueError, match=rf"published tokenizer '{published}' cannot be loaded"):
        train_tokenizer([], VocabularyConfig(published=published), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_published_tokenizer_without_a_mask_token_raises_an_error(folders: dict[str, Path], tmp_path: Path) -> None:
    config = json.loads((folders["bpe"] / CONFIG_FILE).read_text())
    del config["mask_token"]
    (tmp_path / TOKENIZER_FILE).write_text((folders["bpe"] / TOKENIZER_FILE).read_text())
    (tmp_path / CONFIG_FILE).write_text(json.dumps(config))
    with pytest.raises(ValueError, match="no usable 'mask_token'"):
        train_tokenizer([], VocabularyConfig(published=str(tmp_path)), tmp_path / "out")


def test_iterators_and_empty_texts_raise_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read twice"):
        train_tokenizer(iter(["a b"]), VocabularyConfig(), tmp_path)
    for texts in ([], ["", " \n"]):
        for kind in KINDS:
            with pytest.raises(ValueError, match="corpus is empty"):
                train_tokenizer(texts, VocabularyConfig(kind=kind), tmp_path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_missing_and_damaged_files_raise_an_error(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=TOKENIZER_FILE):
        load_tokenizer(tmp_path)
    (tmp_path / TOKENIZER_FILE).write_text('{"version": ')
    with pytest.raises(FileNotFoundError, match=CONFIG_FILE):
        load_tokenizer(tmp_path)
    (tmp_path / CONFIG_FILE).write_text("{")
    with pytest.raises(ValueError, match=f"{TOKENIZER_FILE}: not a tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / TOKENIZER_FILE).write_text((folders["bpe"] / TOKENIZER_FILE).read_text())
    with pytest.raises(ValueError, match=f"{CONFIG_FILE}: not valid JSON"):
        load_tokenizer(tmp_path)


def write_parquet(path: Path, **columns: list[str | None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_paragraph_texts_are_in_file_order_and_can_be_read_twice(tmp_path: Path) -> None:
    write_parquet(tmp_path / "part-00001.parquet", text=["c", None, "d"])
    write_parquet(tmp_path / "part-00000.parquet", text=["a", "", "b"], title=["x", "y", "z"])
    write_parquet(tmp_path / "_temporary" / "part-00000.parquet", text=["half-written"])
    texts = paragraph_texts(tmp_path)
    assert list(texts) == list(texts) == ["a", "b", "c", "d"]


def test_paragraph_texts_name_the_damaged_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run the corpus stage"):
        paragraph_texts(tmp_path)
    write_parquet(tmp_path / "a.parquet", title=["x"])
    with pytest.raises(ValueError, match=r"a\.parquet: no column 'text' \(columns: title\)"):
        list(paragraph_texts(tmp_path))
    write_parquet(tmp_path / "a.parquet", text=["word"] * 1000)
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a\.parquet: damaged Parquet file"):
        list(paragraph_texts(tmp_path))


def test_a_folder_with_weights_only_has_no_tokenizer(tmp_path: Path) -> None:
    """transformers makes one without words."""
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match="has no files; save the tokenizer there"):
        have_same_tokens(str(tmp_path), str(tmp_path))
