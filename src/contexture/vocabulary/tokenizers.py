"""Subword vocabularies, trained on the corpus or copied from a published model, as Hugging Face folders.

A folder has `tokenizer.json` and `tokenizer_config.json`. `transformers.AutoTokenizer` loads it; so does
`load_tokenizer`, which needs neither transformers nor torch.
"""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field
from pydantic.dataclasses import dataclass
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from contexture.packages import encoder_path
from contexture.strict import STRICT

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"

#: Minimum count of a word, and of a pair of subwords that is merged.
MIN_FREQUENCY = 2

#: Special tokens by role, in the order of their ids.
SPECIALS = {
    "wordpiece": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "bpe": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"},
}


@dataclass(config=STRICT, frozen=True)
class VocabularyConfig:
    """Settings of a vocabulary of subwords."""

    # WordPiece as in BERT, or byte-level BPE as in RoBERTa.
    kind: Literal["wordpiece", "bpe"] = "wordpiece"
    # Number of subwords, special tokens included. A small corpus may give fewer.
    size: Annotated[int, Field(ge=300)] = 8000
    # Text of several languages is resampled in proportion to (amount ^ smoothing). CMLM's 0.3 gives small languages a
    # larger share. 1: no resampling.
    smoothing: Annotated[float, Field(gt=0, le=1)] = 1.0
    # Fold case (WordPiece: also strip accents).
    lowercase: bool = True
    # Name or folder of a published tokenizer to use instead. The four keys above are then ignored.
    published: str | None = None
    # Size of the subwords' vectors, made from the corpus for encoders that start from them.
    vector_size: Annotated[int, Field(gt=0)] = 300


@plain_dataclass(frozen=True)
class SpecialTokens:
    """Ids of the special tokens, and the number of rows of an embedding table."""

    cls: int
    sep: int
    pad: int
    mask: int
    unk: int
    vocab_size: int


class ReiterableTexts(Iterable[str]):
    """Texts that each iteration reads from the start."""

    def __init__(self, read: Callable[[], Iterator[str]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[str]:
        return self._read()


def paragraph_texts(folder: Path, column: Literal["text", "sentences"] = "text") -> Iterable[str]:
    """Stream texts, or their sentences, from a folder of Parquet files in the order of file names.

    The result can be iterated repeatedly. Raises FileNotFoundError if there is no Parquet file and, while reading,
    ValueError for a file that is damaged or has no such column.
    """
    # Like Spark, skip hidden paths: unfinished files and markers.
    hidden = re.compile(r"(^|/)[_.]")
    files = [path for path in sorted(folder.rglob("*.parquet")) if not hidden.search(str(path.relative_to(folder)))]
    if not files:
        raise FileNotFoundError(f"{folder}: no Parquet files; run the corpus stage first")
    return ReiterableTexts(lambda: (text for path in files for text in _read_texts(path, column)))


def _read_texts(path: Path, column: str) -> Iterator[str]:
    """Yield the texts in a column of a Parquet file, which has texts or lists of texts; empty ones are skipped."""
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if column not in names:
                raise ValueError(
                    f"{path}: no column {column!r} (columns: {', '.join(names)}); use the paragraphs table"
                )
            for batch in file.iter_batches(batch_size=4096, columns=[column]):
                values = batch.column(0)
                texts = values.flatten() if pa.types.is_list(values.type) else values
                yield from filter(None, texts.to_pylist())
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: damaged Parquet file ({error}); run the stage that writes it again") from error


def train_tokenizer(texts: Iterable[str], config: VocabularyConfig, folder: Path) -> None:
    """Train the tokenizer of `config` on `texts`, or fetch the published one, and write it into `folder`.

    The result is a function of the words and their counts, whatever the order of texts and the number of threads.
    Raises ValueError for an iterator (texts are read twice), for texts without a word, and for a published tokenizer
    that cannot be loaded or lacks one of the five special tokens.
    """
    if config.published is not None:
        write_tokenizer(folder, *_load_published(config.published))
    else:
        if iter(texts) is texts:
            raise ValueError("texts are read twice: pass a list or paragraph_texts(folder), not an iterator")
        if not any(text.strip() for text in texts):
            raise ValueError("no text to train a vocabulary on: the corpus is empty; add text")
        tokenizer = {"wordpiece": _train_wordpiece, "bpe": _train_bpe}[config.kind](texts, config)
        extra_tokens = {"bos_token": "<s>", "eos_token": "</s>"} if config.kind == "bpe" else {}
        write_tokenizer(folder, tokenizer.to_str(pretty=True), tokenizer_config(config.kind, **extra_tokens))
    load_tokenizer(folder)


def load_tokenizer(folder: Path) -> tuple[Tokenizer, SpecialTokens]:
    """Load a tokenizer and the ids of its special tokens from a folder.

    The tokenizer neither pads nor truncates, and treats the name of a special token in a text, such as "[MASK]", as
    ordinary text. Raises FileNotFoundError if one of the two files is missing, and ValueError, naming the file, if one
    is damaged or one of the roles cls, sep, pad, mask and unk has no token.
    """
    for path in (folder / TOKENIZER_FILE, folder / CONFIG_FILE):
        if not path.is_file():
            raise FileNotFoundError(f"{path}: missing; run the vocabulary stage or choose a folder with this file")
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    except Exception as error:  # the library raises Exception
        raise ValueError(f"{folder / TOKENIZER_FILE}: not a tokenizer ({error})") from error
    try:
        config = json.loads((folder / CONFIG_FILE).read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{folder / CONFIG_FILE}: not valid JSON ({error})") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    ids = {role: _special_id(role, tokenizer, config, folder) for role in SPECIALS["wordpiece"]}
    # Published vocabularies may have gaps, so use the largest id, not the number of tokens.
    return tokenizer, SpecialTokens(**ids, vocab_size=max(tokenizer.get_vocab().values()) + 1)


def copy_tokenizer(source: Path, folder: Path) -> None:
    """Copy the files of a tokenizer folder into another folder."""
    for name in (TOKENIZER_FILE, CONFIG_FILE):
        shutil.copyfile(source / name, folder / name)


def _special_id(role: str, tokenizer: Tokenizer, config: dict[str, Any], folder: Path) -> int:
    """Return the id of the special token with a role, such as mask; raises ValueError if the tokenizer has none."""
    token = config.get(f"{role}_token")
    if isinstance(token, dict):  # a serialized AddedToken
        token = token.get("content")
    token_id = tokenizer.token_to_id(token) if isinstance(token, str) else None
    if token_id is None:
        raise ValueError(
            f"{folder / CONFIG_FILE}: no usable '{role}_token' ({token!r}); "
            "a tokenizer needs cls, sep, pad, mask and unk, as BERT's and RoBERTa's have"
        )
    return token_id


def _train_wordpiece(texts: Iterable[str], config: VocabularyConfig) -> Tokenizer:
    """Return a WordPiece tokenizer, trained reproducibly with the library's trainer.

    The trainer numbers the continuing characters (`##a`) in the order of a hash map with a random seed, and these
    numbers break ties between equal counts. Passing them, sorted, as special tokens fixes the numbers, and so the
    merges.
    """
    normalizer = normalizers.BertNormalizer(lowercase=config.lowercase)
    splitter = pre_tokenizers.BertPreTokenizer()
    alphabet, continuing = _select_alphabet(_count_characters(texts, normalizer), splitter, max(128, config.size // 8))
    specials = list(SPECIALS["wordpiece"].values())
    trainer = trainers.WordPieceTrainer(
        vocab_size=config.size,
        min_frequency=MIN_FREQUENCY,
        special_tokens=specials + continuing,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        continuing_subword_prefix="##",
        show_progress=False,
    )
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer, trained.pre_tokenizer = normalizer, splitter
    trained.train_from_iterator(texts, trainer)
    # A new tokenizer with the same vocabulary, in which only the five special tokens are special.
    tokenizer = Tokenizer(models.WordPiece(trained.get_vocab(), unk_token="[UNK]", continuing_subword_prefix="##"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(specials)
    return _add_templates(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ["[CLS]", "[SEP]"])


def _train_bpe(texts: Iterable[str], config: VocabularyConfig) -> Tokenizer:
    """Return a trained byte-level BPE tokenizer. Its alphabet has a fixed order, so ties are already reproducible."""
    specials = list(SPECIALS["bpe"].values())
    trainer = trainers.BpeTrainer(
        vocab_size=config.size,
        min_frequency=MIN_FREQUENCY,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer = Tokenizer(models.BPE())
    if config.lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainer)
    return _add_templates(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>", ["<s>", "</s>"])


def _add_templates(tokenizer: Tokenizer, single: str, pair: str, specials: list[str]) -> Tokenizer:
    """Let a tokenizer put special tokens around single texts and pairs, as in the templates, and return it."""
    ids = [(token, tokenizer.token_to_id(token)) for token in specials]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    return tokenizer


def _count_characters(texts: Iterable[str], normalizer: normalizers.Normalizer) -> Counter[str]:
    """Return how often each character is in the texts after normalization, which works on single characters."""
    raw: Counter[str] = Counter()
    for text in texts:
        raw.update(text)
    counts: Counter[str] = Counter()
    for character, count in raw.items():
        for normalized in "".join(normalizer.normalize_str(character).split()):
            counts[normalized] += count
    return counts


def _select_alphabet(
    counts: Counter[str], splitter: pre_tokenizers.PreTokenizer, limit: int
) -> tuple[list[str], list[str]]:
    """Return the most frequent characters that fit into `limit` vocabulary entries, and their `##` forms.

    Punctuation and Chinese characters are words of their own and have no `##` form.
    """
    alphabet: list[str] = []
    continuing: list[str] = []
    for character, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if len(alphabet) + len(continuing) + 2 > limit:
            break
        alphabet.append(character)
        if len(splitter.pre_tokenize_str(f"a{character}a")) == 1:
            continuing.append(f"##{character}")
    return sorted(alphabet), sorted(continuing)


def tokenizer_config(kind: str, **extra_tokens: str) -> str:
    """Return the JSON text of `CONFIG_FILE`, which assigns the special tokens of a kind of tokenizer to roles."""
    tokens = {f"{role}_token": token for role, token in SPECIALS[kind].items()}
    return json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **tokens, **extra_tokens}, indent=2)


def _load_published(name: str) -> tuple[str, str]:
    """Return the JSON texts of the two files of a published tokenizer."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(encoder_path(name), trust_remote_code=False)
    except Exception as error:  # transformers raises OSError, ValueError, KeyError and others
        raise ValueError(
            f"published tokenizer {name!r} cannot be loaded from a folder, the Hugging Face cache or hub; check "
            f"the name and the network ({error})"
        ) from error
    if not tokenizer.is_fast:
        raise ValueError(f"published tokenizer {name!r} has no fast version (tokenizer.json); choose another")
    if not tokenizer.get_vocab().keys() - set(tokenizer.all_special_tokens):  # transformers makes an empty one
        raise ValueError(f"published tokenizer {name!r} has no files; save the tokenizer there with save_pretrained")
    with tempfile.TemporaryDirectory() as temporary:
        tokenizer.save_pretrained(temporary)
        saved = Path(temporary)
        return (saved / TOKENIZER_FILE).read_text("utf-8"), (saved / CONFIG_FILE).read_text("utf-8")


def have_same_tokens(name: str, other: str) -> bool:
    """Return whether two published tokenizers have the same tokens with the same ids.

    Raises ValueError if one cannot be loaded.
    """
    first, second = (Tokenizer.from_str(_load_published(tokenizer)[0]).get_vocab() for tokenizer in (name, other))
    return first == second


def write_tokenizer(folder: Path, tokenizer_json: str, config_json: str) -> None:
    """Write the two files of a tokenizer. The second is written last: without it the folder is not a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG_FILE).unlink(missing_ok=True)
    for name, text in ((TOKENIZER_FILE, tokenizer_json), (CONFIG_FILE, config_json)):
        partial = folder / f".{name}.partial"
        partial.write_text(text, "utf-8")
        partial.replace(folder / name)
