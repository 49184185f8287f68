"""The reader: of a question and its paragraphs a span, yes or no, and the sentences that say so; and it on disk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder, to_device
from contexture.encoders.heads import sentence_states
from contexture.encoders.layout import chunks_of_like_length
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.devices import mean_of_all
from contexture.tasks.finetuned import evaluating, load_finetuned, save_finetuned
from contexture.tasks.multi_hop.data import Fact
from contexture.tasks.multi_hop.inputs import IGNORED, YES_NO, Input, ReaderInputs, Span, begins

SETTINGS = "reader.json"
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


class Reading(Objective):
    """Cross-entropy of the answer's kind, its first and its last token; binary cross-entropy of each sentence.

    A sentence is the mean of its tokens' states, the whole input that of its sentences and the question.
    """

    def __init__(self, encoder: Encoder) -> None:
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


class ReaderModel(nn.Module):
    """Encoder and head of one fine-tuned reader; a sentence whose probability reaches `threshold` is a fact."""

    def __init__(self, encoder: Encoder, tokens: int, answer_tokens: int, threshold: float = 0.5) -> None:
        super().__init__()
        self.encoder, self.tokens, self.answer_tokens, self.threshold = encoder, tokens, answer_tokens, threshold
        self.task = Reading(encoder)

    def read(self, inputs: ReaderInputs, asked: Sequence[tuple[str, Sequence[int]]]) -> list[Read]:
        """Questions, each with the rows of its paragraphs → what they are answered by."""
        given = [inputs.input(question, rows) for question, rows in asked]
        lengths = [sum(len(some) + 2 for some in one.tokens) for one in given]
        found: dict[int, Read] = {}
        with evaluating(self.encoder, self.task):
            for chunk in chunks_of_like_length(torch.tensor(lengths).numpy(), TOKENS_AT_ONCE):
                found |= zip(chunk.tolist(), self._read(inputs, [given[number] for number in chunk]), strict=True)
        return [found[number] for number in range(len(given))]

    @torch.inference_mode()
    def _read(self, inputs: ReaderInputs, given: Sequence[Input]) -> list[Read]:
        batch = to_device(inputs.batch(given), next(self.encoder.parameters()).device)
        kinds, edges, support = self.task.logits(self.encoder.states(batch), batch)
        slots = batch["slots"]
        first, last = edges.log_softmax(dim=1).unbind(-1)
        together = (slots[:, :, None] == slots[:, None, :]) & (slots > 0)[:, None, :]
        together = together.triu() & ~together.triu(self.answer_tokens)
        scores = (first[:, :, None] + last[:, None, :]).masked_fill(~together, 2 * NEVER).flatten(1)
        best = scores.argmax(dim=1).tolist()
        probable = support.sigmoid().tolist()
        width, found = slots.shape[1], []
        for one, kind, place, worth in zip(given, kinds.argmax(dim=1).tolist(), best, probable, strict=True):
            answer = YES_NO[kind - 1] if kind else _span_text(inputs, one, *divmod(place, width))
            facts = {
                (inputs.paragraphs.titles[row], number): worth[slot]
                for slot, (row, number) in enumerate(one.places, start=1)
            }
            found.append(Read(answer, facts))
        return found

    def save(self, folder: Path) -> None:
        """The encoder as all encoders are saved, the head and, last, the settings beside it."""
        settings = {"tokens": self.tokens, "answer_tokens": self.answer_tokens, "threshold": self.threshold}
        save_finetuned(self, folder, SETTINGS, settings)


def load_reader(folder: Path) -> ReaderModel:
    """A reader that `ReaderModel.save` wrote, ready to read, on the GPU where there is one.

    Raises ValueError, naming the folder, where something is missing or damaged.
    """

    def made(encoder: Encoder, settings: bytes) -> ReaderModel:
        return ReaderModel(encoder, **json.loads(settings))

    return load_finetuned(folder, SETTINGS, made, "reader")


def _span_text(inputs: ReaderInputs, one: Input, first: int, last: int) -> str:
    """The words between two columns of one slot; none where there is no sentence."""
    for slot, begin in enumerate(begins(one)):
        if slot and begin <= first < begin + len(one.tokens[slot]):
            row, number = one.places[slot - 1]
            return inputs.text(Span(row, number, first - begin, last - begin))
    return ""
