"""Which sequences of its sample a masked word attends to (Cross-Thought; Wang et al., 2020, Table 4)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from contexture.encoders.base import Encoder
from contexture.encoders.cross import attention_mask
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import StreamBatch

#: What stands for the masked word where a sequence is shown.
GAP = "▢"
#: Words with fewer letters are mostly grammar, which no other sequence need tell.
LETTERS = 4
#: As many sequences are read, and those of the sample that the last of them is of.
SEQUENCES = 512
#: Sequences of a sample whose attention to one another is kept for a picture.
SAMPLE_SEQUENCES = 64
#: Words that are shown; the numbers are of all that were found.
SHOWN = 8


@torch.inference_mode()
def attended_sequences(encoder: Encoder, batches: Iterable[StreamBatch]) -> dict[str, Any]:
    """How much a sequence attends to the one other sequence of its sample that has a word which is masked in it.

    Of every sequence that word is masked which stands once in it, in one other sequence, and least often in its batch.
    Nothing is masked in the `batches` of samples; they are read until there are `SEQUENCES`.

    Returns:
        `words`, how many; of these `first`, the share whose sequence attends more to the one with the word than to any
        other, and `times`, how often as much as to the others on average it does. Both have their `chance`: 1 over the
        number of others, and 1. `cases`: some to look at, each with its `word`, its `place` and the place `with_word`
        in the sample, the `weights` of all sequences there (of itself none), and three texts. Nothing where no word is
        like that. `sample`: attention within the first sample, see `sample_attention`.
    """
    found: list[dict[str, Any]] = []
    sample: dict[str, Any] = {}
    read = 0
    for batch in batches:
        sample = sample or sample_attention(encoder, batch)
        found += _of_batch(encoder, batch)
        read += len(batch["grid"])
        if read >= SEQUENCES:
            break
    if not found:
        return {}
    among = [[weight for weight in case["weights"] if weight is not None] for case in found]
    given = [case["weights"][case["with_word"]] for case in found]
    shown = [found[number * len(found) // min(SHOWN, len(found))] for number in range(min(SHOWN, len(found)))]
    return {
        "words": len(found),
        "first": sum(sum(other >= one for other in others) == 1 for one, others in zip(given, among, strict=True))
        / len(found),
        "chance": sum(1 / len(others) for others in among) / len(found),
        "times": sum(one * len(others) for one, others in zip(given, among, strict=True)) / len(found),
        "cases": shown,
        "sample": sample,
    }


def sample_attention(encoder: Encoder, batch: StreamBatch) -> dict[str, Any]:
    """How much the sequences of the first sample of a batch attend to one another.

    Returns:
        `documents`, the number of the document of each sequence, rising from 0; `weights`, a row for each sequence, of
        its attention to each, itself left out, as a multiple of uniform attention. At most `SAMPLE_SEQUENCES` of both.
    """
    assert encoder.cross is not None
    present, documents = batch["present"][0], batch["documents"][0]
    count = int(present.sum())
    vectors = encoder(batch["sequences"], "document")[:count]
    mask = attention_mask(present[None, :count], to_itself=False)[0]
    weights = encoder.cross.log_attention(vectors, vectors, mask).exp() * mask.sum(dim=1, keepdim=True)
    numbers = {number: order for order, number in enumerate(dict.fromkeys(documents[:count].tolist()))}
    return {
        "documents": [numbers[number] for number in documents[:SAMPLE_SEQUENCES].tolist()][:count],
        "weights": [
            [round(float(weight), 3) for weight in row[:SAMPLE_SEQUENCES]] for row in weights[:SAMPLE_SEQUENCES]
        ],
    }


def _of_batch(encoder: Encoder, batch: StreamBatch) -> list[dict[str, Any]]:
    """The cases of a batch of samples."""
    assert encoder.cross is not None
    chunks, order = batch["sequences"]["chunks"], batch["sequences"]["rows"].tolist()
    rows = [words for chunk in chunks for words in _words(encoder, chunk)]
    texts = [rows[row] for row in order]
    samples = (batch["grid"] // batch["present"].shape[1]).tolist()
    everywhere = Counter(token for text in texts for token in text)
    chosen = _chosen(encoder, texts, samples, everywhere)
    if not chosen:
        return []
    masked = [{**chunk, "input_ids": chunk["input_ids"].clone()} for chunk in chunks]
    masked_rows = [row for chunk in masked for row in chunk["input_ids"]]
    for number, (token, _) in chosen.items():
        row = masked_rows[order[number]]
        row[row == token] = encoder.vocabulary.tokens.mask
    whole, asking = (encoder({**batch["sequences"], "chunks": one}, "document") for one in (chunks, masked))
    cases = []
    for number, (token, holder) in chosen.items():
        others = [one for one, sample in enumerate(samples) if sample == samples[number]]
        present = torch.tensor([[one != number for one in others]])
        weights = encoder.cross.log_attention(asking[number][None], whole[others], present.to(asking.device))[0].exp()
        told = [None if one == number else float(weight) for one, weight in zip(others, weights, strict=True)]
        most = others[int(weights.argmax())]
        cases.append(
            {
                "word": _decoded(encoder, [token]),
                "place": others.index(number),
                "with_word": others.index(holder),
                "weights": told,
                "masked": _decoded(encoder, texts[number], token),
                "most": _decoded(encoder, texts[most]),
                "holder": _decoded(encoder, texts[holder]),
            }
        )
    return cases


def _words(encoder: Encoder, chunk: StreamBatch) -> list[list[int]]:
    """The tokens of the sequences of a chunk without the special ones around them."""
    first, lengths = encoder.document.leaders, row_lengths(chunk).tolist()
    return [row[first : length - 1] for row, length in zip(chunk["input_ids"].tolist(), lengths, strict=True)]


def _chosen(
    encoder: Encoder, texts: Sequence[Sequence[int]], samples: Sequence[int], everywhere: Counter[int]
) -> dict[int, tuple[int, int]]:
    """Sequence → the token that is masked in it, and the one other sequence of its sample where that stands."""
    standing: dict[tuple[int, int], list[int]] = {}
    for number, (text, sample) in enumerate(zip(texts, samples, strict=True)):
        for token in set(text):
            standing.setdefault((sample, token), []).append(number)
    chosen = {}
    for number, (text, sample) in enumerate(zip(texts, samples, strict=True)):
        once = [token for token, count in Counter(text).items() if count == 1 and len(standing[sample, token]) == 2]
        words = [token for token in once if _is_word(encoder, token)]
        if words:
            token = min(words, key=lambda one: (everywhere[one], one))
            one, other = standing[sample, token]
            chosen[number] = (token, other if one == number else one)
    return chosen


def _is_word(encoder: Encoder, token: int) -> bool:
    word = _decoded(encoder, [token])
    return word.isalpha() and len(word) >= LETTERS


def _decoded(encoder: Encoder, tokens: Sequence[int], gap: int | None = None) -> str:
    """Text of tokens, with a gap where the token `gap` stands."""
    decode = encoder.vocabulary.tokenizer.decode
    if gap is None:
        return str(decode(list(tokens))).strip()
    at = list(tokens).index(gap)
    return f"{_decoded(encoder, tokens[:at])} {GAP} {_decoded(encoder, tokens[at + 1 :])}".strip()
