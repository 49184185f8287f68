"""Fine-tune a pre-trained encoder on claims and their evidence (MSPP paper, section 4.2 and appendix B.1)."""

from pathlib import Path

import pandas as pd
from pydantic import TypeAdapter

from contexture.tasks.base import Contestant
from contexture.tasks.fact_verification.config import PAIRWISE, FactVerificationSettings
from contexture.tasks.fact_verification.model import Verifier, VerifierSettings
from contexture.tasks.fact_verification.splits import labels_of
from contexture.tasks.finetuning import Finetuning, finetune, load_start


def finetune_claims(
    settings: FactVerificationSettings, head: str, contestant: Contestant, claims: pd.DataFrame, folder: Path
) -> float:
    """Fine-tune an encoder with a new head; return the best accuracy on dev. See `finetune`.

    ValueError for an encoder without states of tokens, or settings without a layout.
    """
    layout = settings.require_layout("fact_verification")
    encoder = load_start(contestant)
    saved = {"head": head, "head_style": settings.head_style, "layout": layout, "classes": labels_of(claims)}
    encoder.make_room(layout.width, 2 if head in PAIRWISE else layout.candidates + 1)
    model = Verifier(encoder, TypeAdapter(VerifierSettings).validate_python(saved))
    train, dev = (model.inputs(claims[claims["split"] == split]) for split in ("train", "dev"))

    def accuracy() -> float:
        return float((model.probabilities(dev).argmax(1).numpy() == dev.labels).mean())

    task = Finetuning("fact_verification", encoder, model.task, train, "accuracy", accuracy, model.save)
    return finetune(task, settings, contestant, folder)
