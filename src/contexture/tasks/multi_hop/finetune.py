"""Fine-tuning of the re-ranker and the reader for multi-hop questions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence

from contexture.encoders.base import build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.files import save_encoder
from contexture.encoders.layout import Batch
from contexture.encoders.named import find_models
from contexture.encoders.saved import is_encoder, seed_dir
from contexture.tasks.answer_selection.finetune import finetune_answers
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Examples, Step
from contexture.tasks.finetuning import Finetuning, finetune, load_start_encoder
from contexture.tasks.multi_hop.config import MultiHopSettings, ReaderSettings
from contexture.tasks.multi_hop.data import MultiHopQuestions, read_paragraphs, read_questions
from contexture.tasks.multi_hop.inputs import ReaderInputs, build_labels
from contexture.tasks.multi_hop.measures import combine_scores, score_answer, score_facts
from contexture.tasks.multi_hop.reader import ReaderModel, ReaderModelSettings, Reading
from contexture.tasks.ranking.config import Split
from contexture.tasks.ranking.data import read_split, read_texts, trainable_questions
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

SPLITS: tuple[Split, ...] = ("train", "dev")
#: Paragraphs per input of the reader.
MAX_PARAGRAPHS = 2
#: Candidates for the probability from which a sentence is a fact.
THRESHOLDS = tuple(step / 20 for step in range(1, 20))


def finetune_reranker(settings: MultiHopSettings, encoder: EvaluatedEncoder, data: Path, folder: Path) -> float:
    """Fine-tune a pairwise answer-selection model on paragraphs; return the best MAP on dev (`finetune_answers`)."""
    train, dev = (select_candidates(data, split, settings.paragraphs) for split in SPLITS)
    return finetune_answers(settings.reranker, replace(encoder, head="ie_1"), [train], dev, folder)


def select_candidates(data: Path, split: Split, count: int) -> pd.DataFrame:
    """Return rows of question, paragraph and label: gold paragraphs, then BM25's first wrong ones up to `count`."""
    questions, texts, rows = read_split(data, split), read_texts(data), []
    for number in trainable_questions(questions):
        right = questions.right[number][questions.right[number] >= 0]
        wrong = questions.candidates[number]
        wrong = wrong[~np.isin(wrong, right)][: max(1, count - len(right))]
        for label, paragraphs in ((1, right), (0, wrong)):
            rows += [(questions.ids[number], questions.texts[number], texts[row], label) for row in paragraphs]
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate", "label"])


class ReaderExamples(Examples):
    """Questions with their gold paragraphs, shuffled anew each epoch."""

    noun = "questions"

    def __init__(self, questions: MultiHopQuestions, inputs: ReaderInputs) -> None:
        self.questions, self.inputs, self.paragraphs = questions, inputs, gold_rows(questions)
        self.chosen = [number for number, rows in enumerate(self.paragraphs) if rows]
        answers = zip(questions.answers, self.paragraphs, questions.facts, strict=True)
        self.spans = [inputs.find_span(answer, rows, facts) for answer, rows, facts in answers]

    def __len__(self) -> int:
        return len(self.chosen)

    def training_batch(self, step: Step) -> Batch:
        """Return the reader's inputs of this device's questions, with the labels of `build_labels` as tensors."""
        inputs, expected = [], []
        for number in (self.chosen[row] for row in step.device_rows):
            rows = step.make_generator(number).permutation(self.paragraphs[number]).tolist()
            inputs.append(self.inputs.build_input(self.questions.ranked.texts[number], rows))
            answer, facts = self.questions.answers[number], self.questions.facts[number]
            expected.append(build_labels(inputs[-1], answer, self.spans[number], facts, self.inputs.paragraphs.titles))
        columns = {name: torch.tensor([row[name] for row in expected]) for name in ("kind", "first", "last")}
        support = pad_sequence([torch.tensor(row["support"]) for row in expected], batch_first=True)
        return self.inputs.batch(inputs) | columns | {"support": support}


def finetune_reader(settings: ReaderSettings, evaluated: EvaluatedEncoder, data: Path, folder: Path) -> float:
    """Fine-tune an encoder to read gold paragraphs; return the best joint F1 on dev (see `finetune`).

    The probability threshold of supporting facts is also chosen on dev. Raises ValueError for an encoder without token
    states.
    """
    encoder = load_start_encoder(evaluated)
    encoder.transformer.resize_tables(settings.tokens, 2)
    model = ReaderModel(encoder, ReaderModelSettings(settings.tokens))
    paragraphs = read_paragraphs(data)
    train, dev = (read_questions(data, split) for split in SPLITS)
    inputs, dev_inputs = (ReaderInputs(paragraphs, gold_rows(part), encoder, settings.tokens) for part in (train, dev))

    def read_dev() -> tuple[list[Reading], float]:
        """Return the model's answers to the dev questions, and the best threshold for their facts."""
        answers = model.read(dev_inputs, list(zip(dev.ranked.texts, gold_rows(dev), strict=True)))
        return answers, best_threshold(dev, answers)

    def save(folder: Path) -> None:
        """Write the model, with the threshold that is best on dev."""
        model.settings = replace(model.settings, threshold=read_dev()[1])
        model.save(folder)

    task = Finetuning(
        "reader",
        encoder,
        model.task,
        ReaderExamples(train, inputs),
        "joint_f1",
        lambda: joint_f1(dev, *read_dev()),
        save,
    )
    return finetune(task, settings, evaluated, folder)


def gold_rows(questions: MultiHopQuestions) -> list[list[int]]:
    """Return the rows of each question's gold paragraphs that have a text, at most `MAX_PARAGRAPHS`."""
    return [[int(row) for row in rows if row >= 0][:MAX_PARAGRAPHS] for rows in questions.ranked.right]


def best_threshold(questions: MultiHopQuestions, readings: Sequence[Reading]) -> float:
    """Return the probability threshold with the best mean F1 of supporting facts; ties: the smallest."""

    def mean_fact_f1(threshold: float) -> float:
        """Return the mean F1 of the facts whose probability reaches the threshold."""
        pairs = zip(readings, questions.facts, strict=True)
        return fmean(score_facts(reading.facts(threshold), facts).f1 for reading, facts in pairs)

    return max(THRESHOLDS, key=mean_fact_f1)


def joint_f1(questions: MultiHopQuestions, readings: Sequence[Reading], threshold: float) -> float:
    """Return the mean joint F1 of answer and supporting facts over the questions."""
    return fmean(
        combine_scores(score_answer(reading.answer, answer), score_facts(reading.facts(threshold), facts)).f1
        for reading, answer, facts in zip(readings, questions.answers, questions.facts, strict=True)
    )


def find_start_encoder(name: str, seed: int, folder: Path) -> Path:
    """Return the folder of the encoder that `name` means: a folder, its `seed-…`, or `folder` for a published model.

    A published model is converted and written to `folder`. Raises ValueError, with the name, for no model or several.
    """
    if is_encoder(encoder := seed_dir(Path(name), seed)):
        return encoder
    models = find_models(name)
    if len(models) != 1:
        raise ValueError(f"{name}: re-ranker and reader must start from one model, not {len(models)}")
    if is_encoder(encoder := Path(models[0])):
        return encoder
    train_tokenizer([], VocabularyConfig(published=models[0]), folder)
    config = TransformerConfig(init_from=models[0])
    save_encoder(build_encoder(config, Lengths(query=64, document=64), Vocabulary.load(folder)), folder)
    return folder
