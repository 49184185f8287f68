"""Questions with their paragraphs as the reader reads them: sentence by sentence, in one input."""

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

#: Where nothing is to be learned.
IGNORED = -100
#: Answers that stand in no text.
YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Input:
    """A question and the sentences that there is room for; the first slot is the question."""

    tokens: list[Ints]
    #: Of each other slot the paragraph's row and the sentence's number.
    places: list[tuple[int, int]]


@dataclass(frozen=True)
class Span:
    """Where an answer stands: a paragraph's row, a sentence's number, its first and its last token."""

    row: int
    number: int
    first: int
    last: int


class ReaderInputs:
    """What the reader is given of paragraphs, tokenized once by the vocabulary of an encoder."""

    def __init__(self, paragraphs: Paragraphs, rows: Iterable[Sequence[int]], encoder: Encoder, tokens: int) -> None:
        """`rows`: the paragraphs of each question."""
        self.paragraphs, self.tokenizer, self.specials = paragraphs, encoder.vocabulary.tokenizer, encoder.specials
        self.layout = LayoutConfig(candidates=1, sentence_tokens=tokens, positions="tokens", pooling="mean")
        used = sorted(set(chain.from_iterable(rows)))
        places = [(row, number) for row in used for number in range(len(paragraphs.sentences[row]))]
        texts = [paragraphs.sentences[row][number] for row, number in places]
        found = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        self.ids: dict[tuple[int, int], Ints] = {}
        #: Of each token the characters from which to which it goes.
        self.characters: dict[tuple[int, int], npt.NDArray[np.int32]] = {}
        for place, one in zip(places, found, strict=True):
            self.ids[place] = np.asarray(one.ids, np.int64)
            self.characters[place] = np.asarray(one.offsets, np.int32).reshape(-1, 2)

    def input(self, question: str, rows: Sequence[int]) -> Input:
        """A question, cut to a quarter of the room, and the sentences of paragraphs; what has no room is left out."""
        room = self.layout.sentence_tokens
        asked = np.asarray(self.tokenizer.encode(question, add_special_tokens=False).ids[: room // 4], np.int64)
        tokens, places = [asked], []
        room -= len(asked) + 2
        for row in rows:
            for number in range(len(self.paragraphs.sentences[row])):
                sentence = self.ids[row, number][: max(0, room - 2)]
                if len(sentence):
                    tokens.append(sentence)
                    places.append((row, number))
                    room -= len(sentence) + 2
        return Input(tokens, places)

    def batch(self, inputs: Sequence[Input]) -> Batch:
        """Inputs → what a Transformer reads, and `slots` (B, T): of a sentence's token its slot, 0 of all others.

        `there` (B, S) says which slots hold a sentence.
        """
        sizes = np.array([[len(one.tokens)] for one in inputs])
        batch = lay_out([one.tokens for one in inputs], sizes.max(), self.specials, self.layout)
        slots = np.zeros(batch["input_ids"].shape, np.int64)
        for line, one in zip(slots, inputs, strict=True):
            for slot, begin in enumerate(begins(one)[1:], start=1):
                line[begin : begin + len(one.tokens[slot])] = slot
        there = np.arange(sizes.max()) < sizes
        there[:, 0] = False
        return batch | {
            "token_type_ids": batch["token_type_ids"].clamp(max=1),
            "slots": torch.from_numpy(slots),
            "there": torch.from_numpy(there),
        }

    def span(self, answer: str, rows: Sequence[int], facts: set[Fact]) -> Span | None:
        """Where an answer stands in some paragraphs, letters' case aside: in a sentence that is a fact, if in any."""
        wanted = re.compile(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", re.IGNORECASE)
        places = [(row, number) for row in rows for number in range(len(self.paragraphs.sentences[row]))]
        places.sort(key=lambda place: (self.paragraphs.titles[place[0]], place[1]) not in facts)
        for row, number in places:
            if answer.strip() and (found := wanted.search(self.paragraphs.sentences[row][number])):
                begin, end = self.characters[row, number].T
                inside = np.flatnonzero((end > found.start()) & (begin < found.end()))
                if len(inside):
                    return Span(row, number, int(inside[0]), int(inside[-1]))
        return None

    def text(self, span: Span) -> str:
        """The words of a span."""
        characters = self.characters[span.row, span.number]
        sentence = self.paragraphs.sentences[span.row][span.number]
        return sentence[characters[span.first, 0] : characters[span.last, 1]].strip()


def begins(one: Input) -> list[int]:
    """The column of the first token of each slot."""
    ends = np.cumsum([len(some) + 2 for some in one.tokens])
    return [1, *(int(end) + 1 for end in ends[:-1])]


def labels(one: Input, answer: str, span: Span | None, facts: set[Fact], titles: Sequence[str]) -> dict[str, Any]:
    """What is right of an input whose paragraphs have these titles.

    `kind`, 0: a span, then `YES_NO`; the columns `first` and `last` of the span, `IGNORED` without one; and `support`,
    of each slot whether it is a fact.
    """
    kind = YES_NO.index(answer.lower()) + 1 if answer.lower() in YES_NO else 0
    first = last = IGNORED
    if kind == 0 and span is not None and (span.row, span.number) in one.places:
        slot = one.places.index((span.row, span.number)) + 1
        if span.last < len(one.tokens[slot]):
            first, last = (begins(one)[slot] + token for token in (span.first, span.last))
    support = [0.0, *(float((titles[row], number) in facts) for row, number in one.places)]
    return {"kind": kind, "first": first, "last": last, "support": support}
