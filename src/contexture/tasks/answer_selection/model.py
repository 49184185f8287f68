"""A fine-tuned answer-selection model."""

from contexture.tasks.answer_selection.head import AnswerSelection, AnswerSettings
from contexture.tasks.finetuned import FinetunedModel


class AnswerModel(FinetunedModel):
    """Encoder and head of one fine-tuned variant."""

    settings_class, head_class = AnswerSettings, AnswerSelection
    settings_file, title = "answer_selection.json", "answer-selection model"
    settings: AnswerSettings
    task: AnswerSelection


load_answer_model = AnswerModel.load
