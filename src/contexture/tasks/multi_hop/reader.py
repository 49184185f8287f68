"""The reader: of a question and its paragraphs a span, yes or no, and the sentences that say so; and it on disk."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.heads import sentence_states
from contexture.encoders.layout import chunks_of_like_length
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.devices import mean_of_all
from contexture.strict import STRICT
from contexture.tasks.finetuned import FinetunedModel
from contexture.tasks.multi_hop.data import Fact
from contexture.tasks.multi_hop.inputs import IGNORED, YES_NO, Input, ReaderInputs, Span, begins

#: The logit of what cannot be.
NEVER = -1e4
#: Tokens, padding included, that are read at a time.
TOKENS_AT_ONCE = 16384


@dataclass(frozen=True)
class Read:
    """What the reader makes of a question: an answer, and how probable each sentence is to support it."""

    answer: str
    support: dict[Fact, float]

    def facts(self, threshold: float) -> set[Fact]:
        """The sentences that are probable enough."""
        return {fact for fact, probability in self.support.items() if probability >= threshold}


@dataclass(config=STRICT, frozen=True)
class ReaderModelSettings:
    """What the weights of a fine-tuned model alone do not tell."""

    tokens: int
    answer_tokens: int
    #: A sentence whose probability reaches it is a fact.
    threshold: float = 0.5


class Reading(Objective):
    """Cross-entropy of the answer's kind, its first and its last token; binary cross-entropy of each sentence.

    A sentence is the mean of its tokens' states, the whole input that of its sentences and the question.
    """

    def __init__(self, settings: ReaderModelSettings, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.kind = nn.Linear(encoder.hidden_size, 1 + len(YES_NO))
        self.edges = nn.Linear(encoder.hidden_size, 2)
        self.support = nn.Linear(encoder.hidden_size, 1)
        for layer in (self.kind, self.edges, self.support):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        """Loss of states (B, T, H) against `kind`, `first`, `last` (B,) and `support` (B, S)."""
        kinds, edges, support = self.logits(states, batch)
        total = nn.functional.cross_entropy(kinds, batch["kind"])
        for logits, name in zip(edges.unbind(-1), ("first", "last"), strict=True):
            there = (batch[name] != IGNORED).sum()
            lost = nn.functional.cross_entropy(logits, batch[name], ignore_index=IGNORED, reduction="sum")
            total = total + mean_of_all(lost, there) / 2
        there = batch["there"]
        lost = nn.functional.binary_cross_entropy_with_logits(support[there], batch["support"][there], reduction="sum")
        return Loss(total + mean_of_all(lost, there.sum()))

    def logits(self, states: Tensor, batch: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, H) → kinds (B, 3), first and last token (B, T, 2), support (B, S)."""
        sentences = sentence_states(states, batch["pooling"])
        count = 1 + batch["there"].sum(dim=1, keepdim=True)
        kinds = self.kind(sentences.sum(dim=1) / count)
        edges = self.edges(states).float().masked_fill(batch["slots"][:, :, None] == 0, NEVER)
        return kinds.float(), edges, self.support(sentences).float().squeeze(-1)


class ReaderModel(FinetunedModel):
    """Encoder and head of one fine-tuned reader."""

    settings_class, head_class = ReaderModelSettings, Reading
    settings_file, title = "reader.json", "reader"
    settings: ReaderModelSettings
    task: Reading

    def read(self, inputs: ReaderInputs, asked: Sequence[tuple[str, Sequence[int]]]) -> list[Read]:
        """Questions, each with the rows of its paragraphs → what they are answered by."""
        given = [inputs.input(question, rows) for question, rows in asked]
        lengths = np.array([sum(len(some) + 2 for some in one.tokens) for one in given])
        chunks = chunks_of_like_length(lengths, TOKENS_AT_ONCE)
        found: dict[int, Read] = {}
        for rows, batch, logits in self.predict(lambda rows: inputs.batch([given[row] for row in rows]), chunks):
            found |= zip(
                rows, self._answers(inputs, [given[row] for row in rows], batch["slots"], *logits), strict=True
            )
        return [found[number] for number in range(len(given))]

    def _answers(
        self, inputs: ReaderInputs, given: Sequence[Input], slots: Tensor, kinds: Tensor, edges: Tensor, support: Tensor
    ) -> Iterator[Read]:
        """The answers that the logits of a batch tell."""
        first, last = edges.log_softmax(dim=1).unbind(-1)
        together = (slots[:, :, None] == slots[:, None, :]) & (slots > 0)[:, None, :]
        together = together.triu() & ~together.triu(self.settings.answer_tokens)
        scores = (first[:, :, None] + last[:, None, :]).masked_fill(~together, 2 * NEVER).flatten(1)
        best, width = scores.argmax(dim=1).tolist(), slots.shape[1]
        kind_numbers, probable = kinds.argmax(dim=1).tolist(), support.sigmoid().tolist()
        for one, kind, place, worth in zip(given, kind_numbers, best, probable, strict=True):
            answer = YES_NO[kind - 1] if kind else _span_text(inputs, one, *divmod(place, width))
            facts = {
                (inputs.paragraphs.titles[row], number): worth[slot]
                for slot, (row, number) in enumerate(one.places, start=1)
            }
            yield Read(answer, facts)


load_reader = ReaderModel.load


def _span_text(inputs: ReaderInputs, one: Input, first: int, last: int) -> str:
    """The words between two columns of one slot; none where there is no sentence."""
    for slot, begin in enumerate(begins(one)):
        if slot and begin <= first < begin + len(one.tokens[slot]):
            row, number = one.places[slot - 1]
            return inputs.text(Span(row, number, first - begin, last - begin))
    return ""
