"""Inputs of the reader: a question and the sentences of its paragraphs in one sequence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.config import LayoutConfig
from contexture.encoders.layout import Batch, Ints
from contexture.tasks.finetuned import lay_out
from contexture.tasks.multi_hop.data import Fact, Paragraphs

#: Label of inputs without an answer span.
IGNORED_LABEL = -100
#: Answers that are not spans.
YES_NO = ("yes", "no")


@dataclass(frozen=True)
class ReaderInput:
    """Tokens of a question (first slot) and of the sentences that fit."""

    tokens: list[Ints]
    #: (paragraph row, sentence number) of each other slot.
    sentences: list[tuple[int, int]]

    @property
    def starts(self) -> list[int]:
        """The position in the input of each slot's first token."""
        ends = np.cumsum([len(ids) + 2 for ids in self.tokens])
        return [1, *(int(end) + 1 for end in ends[:-1])]


@dataclass(frozen=True)
class AnswerSpan:
    """Position of an answer: paragraph row, sentence number, first and last token."""

    row: int
    number: int
    first: int
    last: int


class ReaderInputs:
    """Paragraphs for the reader, tokenized once."""

    def __init__(self, paragraphs: Paragraphs, rows: Iterable[Sequence[int]], encoder: Encoder, tokens: int) -> None:
        """`rows`: the paragraphs of each question."""
        self.paragraphs, self.tokenizer, self.specials = paragraphs, encoder.vocabulary.tokenizer, encoder.specials
        self.layout = LayoutConfig(candidates=1, sentence_tokens=tokens, positions="tokens", pooling="mean")
        keys = self._sentence_keys(sorted(set(chain.from_iterable(rows))))
        texts = [paragraphs.sentences[row][number] for row, number in keys]
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        self.ids = {key: np.asarray(encoding.ids, np.int64) for key, encoding in zip(keys, encodings, strict=True)}
        #: Start and end characters of each token.
        self.offsets: dict[tuple[int, int], npt.NDArray[np.int32]] = {
            key: np.asarray(encoding.offsets, np.int32).reshape(-1, 2)
            for key, encoding in zip(keys, encodings, strict=True)
        }

    def _sentence_keys(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return the keys of `ids` and `offsets`, (row, sentence number) of all sentences of paragraphs `rows`."""
        return [(row, number) for row in rows for number in range(len(self.paragraphs.sentences[row]))]

    def build_input(self, question: str, rows: Sequence[int]) -> ReaderInput:
        """Return the tokens of a question, cut to a quarter of the input, and of the paragraphs' sentences that fit."""
        room = self.layout.sentence_tokens
        query = np.asarray(self.tokenizer.encode(question, add_special_tokens=False).ids[: room // 4], np.int64)
        tokens, sentences = [query], []
        room -= len(query) + 2
        for key in self._sentence_keys(rows):
            sentence = self.ids[key][: max(0, room - 2)]
            if len(sentence):
                tokens.append(sentence)
                sentences.append(key)
                room -= len(sentence) + 2
        return ReaderInput(tokens, sentences)

    def batch(self, inputs: Sequence[ReaderInput]) -> Batch:
        """Return a Transformer batch of inputs with `slots` (B, T): the slot of each sentence token, otherwise 0.

        `present` (B, S) is true for slots that hold a sentence.
        """
        sizes = np.array([[len(example.tokens)] for example in inputs])
        batch = lay_out([example.tokens for example in inputs], sizes.max(), self.specials, self.layout)
        slots = np.zeros(batch["input_ids"].shape, np.int64)
        for line, example in zip(slots, inputs, strict=True):
            for slot, start in enumerate(example.starts[1:], start=1):
                line[start : start + len(example.tokens[slot])] = slot
        present = np.arange(sizes.max()) < sizes
        present[:, 0] = False
        return batch | {
            "token_type_ids": batch["token_type_ids"].clamp(max=1),
            "slots": torch.from_numpy(slots),
            "present": torch.from_numpy(present),
        }

    def find_span(self, answer: str, rows: Sequence[int], facts: set[Fact]) -> AnswerSpan | None:
        """Return where an answer occurs in paragraphs, ignoring case; sentences that are facts come first."""
        pattern = re.compile(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", re.IGNORECASE)
        titles = self.paragraphs.titles
        for row, number in sorted(self._sentence_keys(rows), key=lambda key: (titles[key[0]], key[1]) not in facts):
            if answer.strip() and (match := pattern.search(self.paragraphs.sentences[row][number])):
                begin, end = self.offsets[row, number].T
                inside = np.flatnonzero((end > match.start()) & (begin < match.end()))
                if len(inside):
                    return AnswerSpan(row, number, int(inside[0]), int(inside[-1]))
        return None

    def span_text(self, span: AnswerSpan) -> str:
        """Return the text of an answer span."""
        offsets = self.offsets[span.row, span.number]
        sentence = self.paragraphs.sentences[span.row][span.number]
        return sentence[offsets[span.first, 0] : offsets[span.last, 1]].strip()


def build_labels(
    example: ReaderInput, answer: str, span: AnswerSpan | None, facts: set[Fact], titles: Sequence[str]
) -> dict[str, Any]:
    """Return the training labels of a reader's input; `titles` are those of all paragraphs.

    `kind` is 0 for a span, then `YES_NO`. `first` and `last` are the columns of the span, `IGNORED_LABEL` without one.
    `support` says whether each slot is a fact.
    """
    kind = YES_NO.index(answer.lower()) + 1 if answer.lower() in YES_NO else 0
    first = last = IGNORED_LABEL
    if kind == 0 and span is not None and (span.row, span.number) in example.sentences:
        slot = example.sentences.index((span.row, span.number)) + 1
        if span.last < len(example.tokens[slot]):
            first, last = (example.starts[slot] + token for token in (span.first, span.last))
    support = [0.0, *(float((titles[row], number) in facts) for row, number in example.sentences)]
    return {"kind": kind, "first": first, "last": last, "support": support}
