"""Which sequences of its sample a masked word attends to (Cross-Thought; Wang et al., 2020, Table 4)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from contexture.encoders.base import Encoder
from contexture.encoders.cross import attention_mask
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import StreamBatch

#: Replaces the masked word in texts.
GAP = "▢"
#: Shorter words are mostly function words, which need no other sequence.
MIN_LETTERS = 4
#: Number of sequences to read; the last sample is completed.
MAX_SEQUENCES = 512
#: Maximum number of sequences in the attention plot of a sample.
MAX_SAMPLE_SEQUENCES = 64
#: Maximum number of cases to report; the measures use all words.
MAX_CASES = 8


@torch.inference_mode()
def measure_attention(encoder: Encoder, batches: Iterable[StreamBatch]) -> dict[str, Any]:
    """Measure how much a sequence attends to the one other sequence that contains its masked word.

    In each sequence, the masked word is one that occurs once in it and in exactly one other sequence of the sample; of
    several, the rarest in the batch. The `batches` of samples are unmasked and read up to `MAX_SEQUENCES` sequences.

    Returns a dictionary, which is empty if there are no such words:

    - `words`: number of words
    - `first`: share of words for which the sequence with the word gets the most attention of all
    - `chance`: the same for random attention
    - `times`: mean attention to that sequence as a multiple of uniform attention
    - `cases`: examples with `word`, position `place` of the masked sequence and `with_word` of the other one, `weights`
      of all sequences of the sample (None for itself), and the texts `masked`, `most` and `holder`
    - `sample`: attention within the first sample, see `sample_attention`
    """
    cases: list[dict[str, Any]] = []
    sample: dict[str, Any] = {}
    num_sequences = 0
    for batch in batches:
        sample = sample or sample_attention(encoder, batch)
        cases += _find_cases(encoder, batch)
        num_sequences += len(batch["grid"])
        if num_sequences >= MAX_SEQUENCES:
            break
    if not cases:
        return {}
    all_weights = [[weight for weight in case["weights"] if weight is not None] for case in cases]
    holder_weights = [case["weights"][case["with_word"]] for case in cases]
    pairs = list(zip(holder_weights, all_weights, strict=True))
    count = min(MAX_CASES, len(cases))
    return {
        "words": len(cases),
        "first": sum(sum(other >= weight for other in weights) == 1 for weight, weights in pairs) / len(cases),
        "chance": sum(1 / len(weights) for weights in all_weights) / len(cases),
        "times": sum(weight * len(weights) for weight, weights in pairs) / len(cases),
        "cases": [cases[number * len(cases) // count] for number in range(count)],
        "sample": sample,
    }


def sample_attention(encoder: Encoder, batch: StreamBatch) -> dict[str, Any]:
    """Measure how much the sequences of a batch's first sample attend to one another.

    Returns:
        `documents`: index of each sequence's document, ascending from 0. `weights`: one row per sequence with its
        attention to each, itself excluded, as a multiple of uniform attention. At most `MAX_SAMPLE_SEQUENCES` of both.
    """
    assert encoder.cross is not None
    count = int(batch["present"][0].sum())
    vectors = encoder(batch["sequences"], "document")[:count]
    mask = attention_mask(batch["present"][:1, :count], to_itself=False)[0]
    weights = encoder.cross.log_attention(vectors, vectors, mask).exp() * mask.sum(dim=1, keepdim=True)
    documents, limit = batch["documents"][0, :count].tolist(), MAX_SAMPLE_SEQUENCES
    numbers = {number: order for order, number in enumerate(dict.fromkeys(documents))}
    return {
        "documents": [numbers[number] for number in documents[:limit]],
        "weights": [[round(float(weight), 3) for weight in row] for row in weights[:limit, :limit]],
    }


def _find_cases(encoder: Encoder, batch: StreamBatch) -> list[dict[str, Any]]:
    """Return a case for each sequence of a batch that has a word to mask; see `measure_attention` for the keys."""
    assert encoder.cross is not None
    chunks, order = batch["sequences"]["chunks"], batch["sequences"]["rows"].tolist()
    leaders = encoder.document.num_leading
    rows = [
        row[leaders : length - 1]  # without the special tokens
        for chunk in chunks
        for row, length in zip(chunk["input_ids"].tolist(), row_lengths(chunk).tolist(), strict=True)
    ]
    texts = [rows[row] for row in order]
    samples = (batch["grid"] // batch["present"].shape[1]).tolist()
    chosen = _choose_words(encoder, texts, samples)
    if not chosen:
        return []
    masked = [{**chunk, "input_ids": chunk["input_ids"].clone()} for chunk in chunks]
    masked_rows = [row for chunk in masked for row in chunk["input_ids"]]
    for number, (token, _) in chosen.items():
        row = masked_rows[order[number]]
        row[row == token] = encoder.vocabulary.tokens.mask
    vectors, masked_vectors = (
        encoder({**batch["sequences"], "chunks": inputs}, "document") for inputs in (chunks, masked)
    )
    cases = []
    for number, (token, holder) in chosen.items():
        members = [member for member, sample in enumerate(samples) if sample == samples[number]]
        present = torch.tensor([[member != number for member in members]])
        weights = encoder.cross.log_attention(
            masked_vectors[number][None], vectors[members], present.to(masked_vectors.device)
        )[0].exp()
        gap = texts[number].index(token)
        left, right = _decode(encoder, texts[number][:gap]), _decode(encoder, texts[number][gap + 1 :])
        cases.append(
            {
                "word": _decode(encoder, [token]),
                "place": members.index(number),
                "with_word": members.index(holder),
                "weights": [
                    None if member == number else float(weight) for member, weight in zip(members, weights, strict=True)
                ],
                "masked": f"{left} {GAP} {right}".strip(),
                "most": _decode(encoder, texts[members[int(weights.argmax())]]),
                "holder": _decode(encoder, texts[holder]),
            }
        )
    return cases


def _choose_words(
    encoder: Encoder, texts: Sequence[Sequence[int]], samples: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """Return sequence → its token to mask, and the number of the one other sequence of the sample with this token."""
    frequency = Counter(token for text in texts for token in text)
    holders: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (text, sample) in enumerate(zip(texts, samples, strict=True)):
        for token in set(text):
            holders[sample, token].append(number)
    chosen = {}
    for number, (text, sample) in enumerate(zip(texts, samples, strict=True)):
        unique_tokens = [
            token for token, count in Counter(text).items() if count == 1 and len(holders[sample, token]) == 2
        ]
        if words := [token for token in unique_tokens if _is_long_word(_decode(encoder, [token]))]:
            token = min(words, key=lambda word: (frequency[word], word))
            (holder,) = set(holders[sample, token]) - {number}
            chosen[number] = (token, holder)
    return chosen


def _is_long_word(text: str) -> bool:
    """Return whether a text has only letters, at least `MIN_LETTERS`."""
    return text.isalpha() and len(text) >= MIN_LETTERS


def _decode(encoder: Encoder, tokens: Sequence[int]) -> str:
    """Return the text of token ids."""
    return str(encoder.vocabulary.tokenizer.decode(list(tokens))).strip()
