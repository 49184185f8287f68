"""Every objective by its name in a schedule."""

from contexture.objectives.base import Objective
from contexture.objectives.mlm import MaskedLanguageModel
from contexture.objectives.mspp import MultiSentencesInParagraph

#: name → class; each is made from (its settings, the encoder, the special tokens).
OBJECTIVES: dict[str, type[Objective]] = {
    "mlm": MaskedLanguageModel,
    "mspp": MultiSentencesInParagraph,
}
