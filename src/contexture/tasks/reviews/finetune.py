"""Fine-tuning of an encoder and a linear layer on English reviews (CMLM, section 4.5.2 and Table 6)."""

from pathlib import Path

import pandas as pd

from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuning import Finetuning, finetune, load_start_encoder
from contexture.tasks.reviews.config import ReviewSettings
from contexture.tasks.reviews.model import ReviewInputs, ReviewModel


def finetune_reviews(settings: ReviewSettings, evaluated: EvaluatedEncoder, rows: pd.DataFrame, folder: Path) -> float:
    """Fine-tune an encoder with a new linear layer; return the best accuracy on dev (see `finetune`)."""
    model = ReviewModel.create(load_start_encoder(evaluated))
    train, dev = (rows[rows["part"] == part] for part in ("train", "dev"))
    examples = make_inputs(train, model, settings.tokens_at_once)
    dev_inputs = make_inputs(dev, model)

    def dev_accuracy() -> float:
        return float(dev_inputs.is_right(model).mean())

    task = Finetuning.from_model(model, "reviews", examples, "accuracy", dev_accuracy)
    return finetune(task, settings, evaluated, folder)


def make_inputs(rows: pd.DataFrame, model: ReviewModel, tokens_at_once: int = 0) -> ReviewInputs:
    """Return a model's inputs of a table of reviews (`files.read_reviews`)."""
    return ReviewInputs(rows["text"].tolist(), rows["label"].tolist(), model.encoder, tokens_at_once)
