"""Answer sentence selection: rank the candidate sentences of a question (MSPP paper, section 3.1)."""

from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.config import HeadKind, HeadStyle, LayoutConfig
from contexture.encoders.heads import EvidenceHead, sentence_states
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.devices import gather_devices
from contexture.strict import STRICT
from contexture.tasks.answer_selection.data import IGNORED


@dataclass(config=STRICT, frozen=True)
class AnswerSettings:
    """Settings of a fine-tuned model besides its weights."""

    head: HeadKind
    head_style: HeadStyle
    layout: LayoutConfig


class AnswerSelection(Objective):
    """Binary cross-entropy per candidate: joint over k of them (`ie_k`, `ae_k`) or pairwise (`ie_1`)."""

    def __init__(self, settings: AnswerSettings, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.head = EvidenceHead(settings.head, encoder.hidden_size, settings.head_style)

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Return the loss of states (B, T, H) against `labels` (B, k), or (B, 1) for pairs; −100 marks an empty slot.

        The average over devices is the mean over all candidates, also if devices have different numbers of them.
        """
        labels = batch["labels"].flatten()
        logits = self.logits(states, batch).flatten(0, 1).float()
        total = nn.functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
        return Loss(total / gather_devices((labels != IGNORED).sum()[None]).float().mean())

    def logits(self, states: Tensor, batch: StreamBatch) -> Tensor:
        """Return logits (B, k, 2) of states (B, T, H): each candidate's logits of being a wrong and a right answer."""
        logits: Tensor = self.head(sentence_states(states, batch["pooling"]))
        return logits


def relevance(logits: Tensor) -> Tensor:
    """Return the log-odds (…) that a candidate is a right answer, from its logits (…, 2)."""
    return nn.functional.log_softmax(logits.float(), dim=-1).diff(dim=-1).squeeze(-1)
