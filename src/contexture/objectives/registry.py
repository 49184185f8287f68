"""Every objective by its name in a schedule."""

from contexture.objectives.base import Objective
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.objectives.mlm import MaskedLanguageModel
from contexture.objectives.mspp import MultiSentencesInParagraph
from contexture.objectives.quick_thoughts import QuickThoughts
from contexture.objectives.skip_thought import SkipThought

#: name → class; each is made from (its settings, the encoder, the special tokens).
OBJECTIVES: dict[str, type[Objective]] = {
    "in_batch_negatives": InBatchNegatives,
    "mlm": MaskedLanguageModel,
    "mspp": MultiSentencesInParagraph,
    "quick_thoughts": QuickThoughts,
    "skip_thought": SkipThought,
}
