"""Fine-tuning of an encoder and a linear layer on sentence pairs (Cross-Thought, sections 3.3 and 4.2)."""

from pathlib import Path

import pandas as pd

from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuning import Finetuning, finetune, load_start_encoder
from contexture.tasks.pairs.config import PairSettings
from contexture.tasks.pairs.model import PairInputs, PairModel, PairModelSettings
from contexture.tasks.pairs.splits import sample_rows


def finetune_pairs(settings: PairSettings, evaluated: EvaluatedEncoder, rows: pd.DataFrame, folder: Path) -> float:
    """Fine-tune an encoder with a new linear layer; return the best accuracy on dev (see `finetune`)."""
    encoder = load_start_encoder(evaluated)
    train, dev = (rows[rows["part"] == part] for part in ("train", "dev"))
    classes = sorted(train["label"].unique())
    model = PairModel(encoder, PairModelSettings(classes, settings.features))
    examples = PairInputs(sample_rows(train, settings.train_rows), classes, encoder, settings.tokens_at_once)
    dev_inputs = PairInputs(dev, classes, encoder)

    def dev_accuracy() -> float:
        return float(dev_inputs.is_right(model).mean())

    task = Finetuning("pairs", encoder, model.task, examples, "accuracy", dev_accuracy, model.save)
    return finetune(task, settings, evaluated, folder)
