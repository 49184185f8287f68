"""The reader: predicts a span or yes/no, and the supporting sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as settings_dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.heads import sentence_states
from contexture.encoders.layout import group_by_length
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.devices import global_mean
from contexture.strict import STRICT
from contexture.tasks.finetuned import FinetunedModel
from contexture.tasks.multi_hop.data import Fact
from contexture.tasks.multi_hop.inputs import IGNORED_LABEL, YES_NO, AnswerSpan, ReaderInput, ReaderInputs

#: Logit of tokens outside sentences.
MASKED_LOGIT = -1e4
MAX_ANSWER_TOKENS = 30
#: Tokens per batch, including padding.
TOKENS_AT_ONCE = 16384


@dataclass(frozen=True)
class Reading:
    """An answer, and the support probability of each sentence."""

    answer: str
    support: dict[Fact, float]

    def facts(self, threshold: float) -> set[Fact]:
        """Return the sentences whose probability of being a supporting fact reaches the threshold."""
        return {fact for fact, probability in self.support.items() if probability >= threshold}


@settings_dataclass(config=STRICT, frozen=True)
class ReaderModelSettings:
    """Settings saved with the weights of a fine-tuned reader."""

    tokens: int
    #: A sentence is a fact from this probability on.
    threshold: float = 0.5


class ReaderHead(Objective):
    """Cross-entropy of the answer's kind, first and last token; binary cross-entropy of each sentence.

    A sentence is the mean of its token states; the input is the mean of its sentences and question.
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
        """Return the loss of states (B, T, H) against `kind`, `first`, `last` (B,) and `support` (B, S)."""
        kinds, edges, support = self.logits(states, batch)
        total = nn.functional.cross_entropy(kinds, batch["kind"])
        for logits, name in zip(edges.unbind(-1), ("first", "last"), strict=True):
            count = (batch[name] != IGNORED_LABEL).sum()
            loss = nn.functional.cross_entropy(logits, batch[name], ignore_index=IGNORED_LABEL, reduction="sum")
            total = total + global_mean(loss, count) / 2
        present = batch["present"]
        loss = nn.functional.binary_cross_entropy_with_logits(
            support[present], batch["support"][present], reduction="sum"
        )
        return Loss(total + global_mean(loss, present.sum()))

    def logits(self, states: Tensor, batch: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits of states (B, T, H): kinds (B, 3), first and last token (B, T, 2), support (B, S)."""
        sentences = sentence_states(states, batch["pooling"])
        count = 1 + batch["present"].sum(dim=1, keepdim=True)
        kinds = self.kind(sentences.sum(dim=1) / count)
        edges = self.edges(states).float().masked_fill(batch["slots"][:, :, None] == 0, MASKED_LOGIT)
        return kinds.float(), edges, self.support(sentences).float().squeeze(-1)


class ReaderModel(FinetunedModel):
    """Encoder and head of a fine-tuned reader."""

    settings_class, head_class = ReaderModelSettings, ReaderHead
    settings_file, title = "reader.json", "reader"
    settings: ReaderModelSettings
    task: ReaderHead

    def read(self, inputs: ReaderInputs, questions: Sequence[tuple[str, Sequence[int]]]) -> list[Reading]:
        """Return the answers to questions, read in the paragraphs whose rows each question comes with."""
        examples = [inputs.build_input(question, rows) for question, rows in questions]
        lengths = np.array([sum(len(ids) + 2 for ids in example.tokens) for example in examples])
        chunks = group_by_length(lengths, TOKENS_AT_ONCE)
        results: dict[int, Reading] = {}
        for rows, batch, logits in self.predict(lambda rows: inputs.batch([examples[row] for row in rows]), chunks):
            answers = _decode_answers(inputs, [examples[row] for row in rows], batch["slots"], *logits)
            results |= zip(rows, answers, strict=True)
        return [results[number] for number in range(len(examples))]


load_reader = ReaderModel.load


def _decode_answers(
    inputs: ReaderInputs, examples: Sequence[ReaderInput], slots: Tensor, kinds: Tensor, edges: Tensor, support: Tensor
) -> Iterator[Reading]:
    """Yield the most probable answer of each input, and the support probabilities of its sentences, from logits."""
    first, last = edges.log_softmax(dim=1).unbind(-1)
    allowed = (slots[:, :, None] == slots[:, None, :]) & (slots > 0)[:, None, :]
    allowed = allowed.triu() & ~allowed.triu(MAX_ANSWER_TOKENS)
    scores = (first[:, :, None] + last[:, None, :]).masked_fill(~allowed, 2 * MASKED_LOGIT).flatten(1)
    best, width = scores.argmax(dim=1).tolist(), slots.shape[1]
    kind_numbers, probabilities = kinds.argmax(dim=1).tolist(), support.sigmoid().tolist()
    for example, kind, position, by_slot in zip(examples, kind_numbers, best, probabilities, strict=True):
        answer = YES_NO[kind - 1] if kind else _get_span_text(inputs, example, *divmod(position, width))
        facts = {
            (inputs.paragraphs.titles[row], number): by_slot[slot]
            for slot, (row, number) in enumerate(example.sentences, start=1)
        }
        yield Reading(answer, facts)


def _get_span_text(inputs: ReaderInputs, example: ReaderInput, first: int, last: int) -> str:
    """Return the text from token `first` to `last` of an input; "" if no sentence has the first token."""
    for slot, start in enumerate(example.starts):
        if slot and start <= first < start + len(example.tokens[slot]):
            row, number = example.sentences[slot - 1]
            return inputs.span_text(AnswerSpan(row, number, first - start, last - start))
    return ""
