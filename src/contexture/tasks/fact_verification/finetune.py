"""Fine-tune a pre-trained encoder on claims and their evidence (MSPP paper, section 4.2 and appendix B.1)."""

from pathlib import Path

import pandas as pd

from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.fact_verification.config import PAIRWISE, FactVerificationSettings
from contexture.tasks.fact_verification.model import Verifier
from contexture.tasks.fact_verification.splits import list_labels
from contexture.tasks.finetuning import Finetuning, finetune, load_joint_encoder

NAME = "fact_verification"


def finetune_claims(
    settings: FactVerificationSettings, head: str, evaluated: EvaluatedEncoder, claims: pd.DataFrame, folder: Path
) -> float:
    """Fine-tune an encoder with a new head on claims; return the best accuracy on dev (see `finetune`)."""
    encoder, layout = load_joint_encoder(NAME, settings, evaluated, pairwise=head in PAIRWISE)
    classes = list_labels(claims)
    model = Verifier.create(encoder, head=head, head_style=settings.head_style, layout=layout, classes=classes)
    train, dev = (model.inputs(claims[claims["split"] == split]) for split in ("train", "dev"))

    def measure_dev_accuracy() -> float:
        """Return the model's accuracy on the dev claims."""
        return float((model.probabilities(dev).argmax(1).numpy() == dev.labels).mean())

    task = Finetuning.from_model(model, NAME, train, "accuracy", measure_dev_accuracy)
    return finetune(task, settings, evaluated, folder)
