"""The fine-tuning loop on a computable task, its batches, and common properties of all tasks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import BagOfWordsConfig, Lengths
from contexture.encoders.files import load_encoder
from contexture.metrics.ranking import mean_average_precision
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.seeding import mix
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.scoring import score_model
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from contexture.tasks.base import EvaluatedEncoder, Task
from contexture.tasks.fact_verification.config import VerificationConfig
from contexture.tasks.fact_verification.model import Verifier
from contexture.tasks.fact_verification.task import FactVerificationTask
from contexture.tasks.finetuned import HEAD_FILE, Examples, FinetunedModel, Step
from contexture.tasks.finetuning import STREAM, Batches, Finetuning, finetune
from contexture.tasks.multi_hop.config import MultiHopConfig, MultiHopSettings
from contexture.tasks.multi_hop.data import read_paragraphs, read_questions
from contexture.tasks.multi_hop.finetune import gold_rows, joint_f1
from contexture.tasks.multi_hop.inputs import ReaderInputs
from contexture.tasks.multi_hop.reader import ReaderModel
from contexture.tasks.multi_hop.task import MultiHopTask
from contexture.tasks.pairs.config import PairsConfig
from contexture.tasks.pairs.model import PairInputs, PairModel
from contexture.tasks.pairs.task import PairsTask
from contexture.tasks.ranking.config import RankingConfig, RankingSet
from contexture.tasks.ranking.data import read_split, read_texts
from contexture.tasks.ranking.finetune import RankingDevSet as RankingHeldOut
from contexture.tasks.ranking.task import AnswerRankingTask
from contexture.tasks.retrieval.config import RetrievalConfig
from contexture.tasks.retrieval.finetune import DevQuestions, list_answer_pairs
from contexture.tasks.retrieval.reqa import split_questions
from contexture.tasks.retrieval.task import RetrievalTask
from contexture.tasks.settings import StepSettings
from contexture.training.config import OptimizerConfig
from contexture.training.curves import read_curves
from contexture.vocabulary.vocabulary import Vocabulary
from tests.tasks.answer_selection import toys as answers
from tests.tasks.fact_verification import toys as claims
from tests.tasks.multi_hop import toys as hops
from tests.tasks.pairs import toys as pairs
from tests.tasks.ranking import toys as ranking
from tests.tasks.retrieval import toys as retrieval
from tests.training.runs import weights


class Towards(Objective):
    """Squared distance of a weight from 1, plus the sum of the encoder's weights."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        return Loss((self.weight - 1).square().mean() + states.sum())


class Numbers(Examples):
    noun = "numbers"

    def __init__(self, count: int, small_last_batch: bool = False) -> None:
        self.count, self.small_last_batch, self.steps = count, small_last_batch, list[Step]()  # type: ignore[misc]

    def __len__(self) -> int:
        return self.count

    def training_batch(self, step: Step) -> dict[str, Any]:
        self.steps.append(step)
        mask = torch.ones(1, 1, dtype=torch.long)
        texts = {"chunks": [{"input_ids": mask, "attention_mask": mask}], "rows": torch.zeros(1, dtype=torch.long)}
        return {"numbers": step.device_rows.tolist(), "texts": texts}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        return encoder.document.words.weight


@pytest.fixture
def encoder(project: Path) -> Encoder:
    torch.manual_seed(0)
    config = BagOfWordsConfig(kind="bag_of_words", embedding_size=3)
    return build_encoder(config, Lengths(8, 8), Vocabulary.load(project / "words"))


def settings(**values: Any) -> StepSettings:
    optimizer = OptimizerConfig(learning_rate=1e-2, schedule="constant")
    fixed: dict[str, Any] = {"batch_size": 1, "evaluate_every": 4, "patience": 3, "precision": "fp32", "steps": 40}
    return StepSettings(**(fixed | {"optimizer": optimizer} | values))


def tune(
    encoder: Encoder, values: list[float], folder: Path, steps: int = 40, **task: Any
) -> tuple[float, Towards, list[float]]:
    """Fine-tune with `values` as dev scores; return the best score, the head, and its weight at each score."""
    head, scores, seen = Towards(encoder), iter(values), list[float]()

    def score() -> float:
        seen.append(float(head.weight.detach()))
        return next(scores)

    task_parts = Finetuning("toward", encoder, head, Numbers(7), "value", score, lambda _: None, **task)
    return finetune(task_parts, settings(steps=steps), EvaluatedEncoder("toy", 0, ("",)), folder), head, seen


@pytest.mark.parametrize(
    ("lower", "values", "best", "number"),
    [
        (False, [0.1, 0.5, 0.3, 0.2, 0.6, 0.1, 0.1, 0.1, 0.9], 0.6, 4),
        (True, [5.0, 4.0, 4.0, 4.5, 6.0, 1.0], 4.0, 1),
        (True, [3.0, float("nan"), 2.0, float("inf"), float("nan"), float("nan"), 1.0], 2.0, 2),
        (False, [-1.0, -2.0, -3.0, -4.0, 0.0], -1.0, 0),
    ],
)
def test_best_weights_are_kept_until_patience_ends(
    lower: bool, values: list[float], best: float, number: int, encoder: Encoder, tmp_path: Path
) -> None:
    start = encoder.document.words.weight.detach().clone()
    result, head, seen = tune(encoder, values, tmp_path, lower_is_better=lower)
    assert result == best and len(seen) == number + 1 + 3
    assert seen == sorted(seen) and len(set(seen)) == len(seen)
    assert float(head.weight.detach()) == seen[number]
    moved = start - encoder.document.words.weight.detach()  # by 0.01 a step of Adam
    torch.testing.assert_close(moved, torch.full_like(moved, 4e-2 * (number + 1)), rtol=0.05, atol=1e-3)
    curves = read_curves(tmp_path)
    assert curves["dev/value"].dropna().tolist() == [value for value in values[: len(seen)] if value == value]
    assert curves["train/toward"].notna().any()


@pytest.mark.parametrize(
    ("values", "best", "number"),
    [([0.5, 0.4, 0.3, 0.2, 0.1, 0.9], 0.5, 0), ([0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.1, 0.1, 0.1, 0.9], 0.6, 5)],
)
def test_initial_weights_are_kept_if_they_are_best(
    values: list[float], best: float, number: int, encoder: Encoder, tmp_path: Path
) -> None:
    """Patience counts from the best score after a training step."""
    result, head, seen = tune(encoder, values, tmp_path, from_start=True)
    assert result == best and seen[0] == 0 and len(seen) == len(values) - 1
    assert float(head.weight.detach()) == seen[number]
    assert read_curves(tmp_path)["dev/value"].dropna().tolist() == values[: len(seen)]


def test_the_last_step_is_measured(encoder: Encoder, tmp_path: Path) -> None:
    result, head, seen = tune(encoder, [1.0, 2.0, 3.0], tmp_path, steps=10)
    assert result == 3.0 and len(seen) == 3 and float(head.weight.detach()) == seen[2]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("from_start", [False, True])
def test_nonfinite_scores_raise(value: float, from_start: bool, encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="toward: the loss was never finite: lower the learning rate, or use fp32"):
        tune(encoder, [*([1.0] if from_start else []), *[value] * 20], tmp_path, from_start=from_start)


@pytest.mark.parametrize(
    ("count", "small_last_batch", "sizes"),
    [(9, False, [4, 4]), (3, False, [2]), (9, True, [4, 4, 1]), (3, True, [3]), (1, True, [1])],
)
def test_devices_share_shuffled_batches(count: int, small_last_batch: bool, sizes: list[int]) -> None:
    epochs = []
    for epoch in range(3):
        devices = [Batches(Numbers(count, small_last_batch), settings(batch_size=4, devices=2), 1, r) for r in (0, 1)]
        steps = range(epoch * len(sizes), (epoch + 1) * len(sizes))
        shares = [[batches[step][STREAM]["numbers"] for batches in devices] for step in steps]
        assert [len(first) + len(second) for first, second in shares] == sizes
        assert all(len(first) - len(second) == size % 2 for (first, second), size in zip(shares, sizes, strict=True))
        epochs.append([number for share in shares for part in share for number in part])
        assert len(set(epochs[-1])) == sum(sizes) and set(epochs[-1]) <= set(range(count))
        assert {(step.epoch, step.seed) for step in devices[0].examples.steps} == {(epoch, 1)}  # type: ignore[attr-defined]
    assert count < 9 or epochs[0] != epochs[1] != epochs[2]


def test_too_few_examples_raise() -> None:
    with pytest.raises(ValueError, match="3 numbers to train on are too few for 4 devices"):
        Batches(Numbers(3), settings(batch_size=4, devices=4), 1)
    with pytest.raises(ValueError, match="0 numbers to train on are too few for 1 devices"):
        Batches(Numbers(0, small_last_batch=True), settings(), 1)
    with pytest.raises(ValueError, match="batch_size 16 must be a multiple of devices, 3"):
        settings(batch_size=16, devices=3)


def test_random_numbers_differ_by_epoch_and_seed() -> None:
    step = Step(np.arange(2), 0, 1, 0, 1)
    steps = (step, step, replace(step, epoch=1), replace(step, seed=2))
    drawn = [steps[0].make_generator(0).random(), *(first.make_generator(1).random() for first in steps)]
    assert drawn[1] == drawn[2] and len(set(drawn)) == 4


ANSWERS, CLAIMS, PAIRS = answers.make_answers(), claims.make_claims(), pairs.rows()
FEW: dict[str, Any] = {"steps": 4, "evaluate_every": 2}


def score_answers(model: Path, data: Path) -> float:
    dev = ANSWERS[ANSWERS["split"] == "dev"].reset_index(drop=True)
    result = score_model(AnswerModel.load(model), dev)
    return mean_average_precision(result["score"], result["label"], dev["question_id"].factorize()[0])


def score_claims(folder: Path, data: Path) -> float:
    model = Verifier.load(folder)
    inputs = model.inputs(CLAIMS[CLAIMS["split"] == "dev"])
    return float((model.probabilities(inputs).argmax(1).numpy() == inputs.labels).mean())


def score_reader(folder: Path, data: Path) -> float:
    model, questions = ReaderModel.load(folder), read_questions(data / "hotpotqa", "dev")
    assert model.settings.tokens == 48 and 0 < model.settings.threshold < 1
    inputs = ReaderInputs(read_paragraphs(data / "hotpotqa"), gold_rows(questions), model.encoder, 48)
    read = model.read(inputs, list(zip(questions.ranked.texts, gold_rows(questions), strict=True)))
    return joint_f1(questions, read, model.settings.threshold)


def score_pairs(folder: Path, data: Path) -> float:
    model = PairModel.load(folder)
    inputs = PairInputs(PAIRS[PAIRS["part"] == "dev"], model.settings.classes, model.encoder)
    return float(inputs.is_right(model).mean())


def score_ranking(folder: Path, data: Path) -> float:
    held_out = RankingHeldOut(read_split(data / "mine", "dev"), read_texts(data / "mine"), 7, mix(0, 6))
    return held_out.loss(load_encoder(folder))


def score_retrieval(folder: Path, data: Path) -> float:
    questions, candidates = retrieval.tables()
    dev = split_questions(questions["question_id"].tolist(), 0.5, 0).eq("dev").to_numpy()
    return DevQuestions(list_answer_pairs(questions, candidates, dev), questions, candidates, mix(0, 6)).loss(
        load_encoder(folder)
    )


@dataclass(frozen=True)
class Case:
    """Short fine-tuning of a task, and the dev score of a saved model."""

    task: Task
    settings: Any
    option: str
    start: str
    write_data: Callable[[Path], Any]
    score: Callable[[Path, Path], float]
    #: Source with missing files.
    missing: Any
    model: type[FinetunedModel] | None = None


def reading() -> MultiHopSettings:
    result = hops.settings()
    return replace(result, reading=replace(result.reading, epochs=2, batch_size=40))


CASES = {
    "answer_selection": Case(
        AnswerSelectionTask(), answers.settings(epochs=2), "toys", "joint", answers.write_data, score_answers,
        AnswersConfig({"toys": "none"}), AnswerModel,
    ),
    "fact_verification": Case(
        FactVerificationTask(), claims.settings(), "max_pool", "joint", claims.write_data, score_claims,
        VerificationConfig({"train": "none.jsonl", "dev": "none"}), Verifier,
    ),
    "multi_hop": Case(
        MultiHopTask(), reading(), "reader", "hop", lambda folder: hops.read(folder, hops.questions()), score_reader,
        MultiHopConfig("none"), ReaderModel,
    ),
    "pairs": Case(
        PairsTask(), pairs.settings(**FEW), "toys", "plain",
        lambda folder: pairs.write_data(folder, toys=PAIRS), score_pairs, PairsConfig({"toys": "none"}), PairModel,
    ),
    "ranking": Case(
        AnswerRankingTask(), ranking.settings(**FEW), "mine", "plain", ranking.write_data, score_ranking,
        RankingConfig({"mine": RankingSet("wikiqa", "none")}),
    ),
    "retrieval": Case(
        RetrievalTask(), retrieval.settings(**FEW), "share-50", "plain", retrieval.write_data, score_retrieval,
        RetrievalConfig("none.json"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    answers.make_encoder(folder / "joint", heads=("ie_k",))
    retrieval.new_encoder(folder / "plain", retrieval.vocabulary(folder / "words"))
    hops.new_encoder(folder / "hop", hops.vocabulary(folder / "hop_words"), hops.TRANSFORMER)
    for name, case in CASES.items():
        case.write_data(folder / name)
    return folder


@pytest.mark.parametrize("task", CASES)
def test_the_best_weights_are_saved_and_depend_on_the_seed(task: str, project: Path, tmp_path: Path) -> None:
    case = CASES[task]
    for name, seed in (("1", 0), ("2", 0), ("3", 1)):
        (tmp_path / name).mkdir()
        encoder = EvaluatedEncoder("toy", seed, (str(project / case.start),), head="ie_k")
        case.task.finetune(case.settings, case.option, encoder, project / task, tmp_path / name)
    curves = read_curves(tmp_path / "1")
    (metric,) = (name for name in curves if name.startswith("dev/"))
    scores = curves[metric].dropna()
    best = scores.min() if metric == "dev/loss" else scores.max()
    assert case.score(tmp_path / "1", project / task) == pytest.approx(best, abs=1e-5)
    first, again, second = (weights(tmp_path / name) for name in ("1", "2", "3"))
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert any(not torch.equal(first[name], second[name]) for name in first)
    if model := case.model:
        for number, name in enumerate((HEAD_FILE, model.settings_file, "model.safetensors"), start=1):
            damaged = tmp_path / str(number) / name
            damaged.write_bytes(damaged.read_bytes()[:20])
            with pytest.raises(ValueError, match=f"{number}.*({model.title}|encoder)"):
                model.load(tmp_path / str(number))


@pytest.mark.parametrize("task", CASES)
def test_concatenated_encoders_raise(task: str, project: Path, tmp_path: Path) -> None:
    case = CASES[task]
    encoder = EvaluatedEncoder("both", 0, (str(project / case.start),) * 2, head="ie_k")
    with pytest.raises(ValueError, match="both: concatenated encoders cannot be fine-tuned"):
        case.task.finetune(case.settings, case.option, encoder, project / task, tmp_path)


@pytest.mark.parametrize("task", CASES)
def test_missing_data_produce_nothing(task: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The run continues, and data of an earlier run are removed."""
    case: Any = CASES[task]
    (tmp_path / "data").mkdir()
    (tmp_path / "data/claims.parquet").write_text("of an earlier run")
    case.task.prepare_data(case.missing, tmp_path, tmp_path / "data")
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["task.json"]
    report = json.loads((tmp_path / "data/task.json").read_text())
    assert "none" in str(report["missing"]) and "none" in caplog.text and report["counts"] == {}
    case.task.check_settings(case.settings, tmp_path / "data")
    encoder = EvaluatedEncoder("a", 0, ("b",), head="ie_1")
    case.task.finetune(case.settings, case.option, encoder, tmp_path / "data", tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert not hasattr(case.task, "load_documents") or case.task.load_documents(tmp_path / "data") is None
    results = case.task.evaluate(case.settings, [encoder], tmp_path / "data", tmp_path / "vectors")
    assert (results.records, results.tables) == ([], {})
