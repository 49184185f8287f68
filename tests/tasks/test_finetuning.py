"""Fine-tuning: its loop on a task that can be computed, its batches, and what holds for all tasks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import BagOfWordsConfig, Lengths
from contexture.encoders.files import load_encoder
from contexture.metrics.ranking import mean_average_precision
from contexture.objectives.base import Loss, Objective
from contexture.objectives.base_config import ObjectiveConfig
from contexture.seeding import mix
from contexture.tasks.answer_selection.config import AnswersConfig
from contexture.tasks.answer_selection.finetune import finetune_answers
from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.scoring import score_model
from contexture.tasks.answer_selection.task import AnswerSelectionTask
from contexture.tasks.base import Contestant
from contexture.tasks.fact_verification.config import ClaimFiles, VerificationConfig
from contexture.tasks.fact_verification.finetune import finetune_claims
from contexture.tasks.fact_verification.model import Verifier
from contexture.tasks.fact_verification.task import FactVerificationTask
from contexture.tasks.finetuned import HEAD, Examples, FinetunedModel, Step
from contexture.tasks.finetuning import STREAM, Batches, Finetuning, finetune
from contexture.tasks.multi_hop.config import MultiHopConfig
from contexture.tasks.multi_hop.data import read_paragraphs, read_questions
from contexture.tasks.multi_hop.finetune import finetune_reader, gold_rows, joint_f1
from contexture.tasks.multi_hop.inputs import ReaderInputs
from contexture.tasks.multi_hop.reader import ReaderModel
from contexture.tasks.multi_hop.task import MultiHopTask
from contexture.tasks.pairs.config import PairsConfig
from contexture.tasks.pairs.finetune import finetune_pairs
from contexture.tasks.pairs.model import PairInputs, PairModel
from contexture.tasks.pairs.task import PairsTask
from contexture.tasks.ranking.config import RankingConfig, RankingSet
from contexture.tasks.ranking.data import read_split, read_texts
from contexture.tasks.ranking.finetune import HeldOut as RankingHeldOut
from contexture.tasks.ranking.finetune import finetune_ranking
from contexture.tasks.ranking.task import AnswerRankingTask
from contexture.tasks.retrieval.config import RetrievalConfig
from contexture.tasks.retrieval.finetune import HeldOut, answered, finetune_retrieval
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


class Towards(Objective):
    """The squared distance of a weight of its own from 1, and the sum of the encoder's weights."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, encoder: Encoder, states: Tensor, batch: Mapping[str, Any]) -> Loss:
        return Loss((self.weight - 1).square().mean() + states.sum())


class Numbers(Examples):
    """Examples that are their numbers."""

    noun = "numbers"

    def __init__(self, count: int, small_last_batch: bool = False) -> None:
        self.count, self.small_last_batch, self.steps = count, small_last_batch, list[Step]()  # type: ignore[misc]

    def __len__(self) -> int:
        return self.count

    def training_batch(self, step: Step) -> dict[str, Any]:
        self.steps.append(step)
        mask = torch.ones(1, 1, dtype=torch.long)
        texts = {"chunks": [{"input_ids": mask, "attention_mask": mask}], "rows": torch.zeros(1, dtype=torch.long)}
        return {"numbers": step.own_rows.tolist(), "texts": texts}

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
    """The best of dev scores that are `values`, one after the other; also the head, and its weight at each score."""
    head, scores, seen = Towards(encoder), iter(values), list[float]()

    def score() -> float:
        seen.append(float(head.weight.detach()))
        return next(scores)

    given = Finetuning("toward", encoder, head, Numbers(7), "value", score, lambda _: None, **task)
    return finetune(given, settings(steps=steps), Contestant("toy", 0, ("",)), folder), head, seen


@pytest.mark.parametrize(
    ("lower", "values", "best", "number"),
    [
        (False, [0.1, 0.5, 0.3, 0.2, 0.6, 0.1, 0.1, 0.1, 0.9], 0.6, 4),
        (True, [5.0, 4.0, 4.0, 4.5, 6.0, 1.0], 4.0, 1),
        (True, [3.0, float("nan"), 2.0, float("inf"), float("nan"), float("nan"), 1.0], 2.0, 2),
        (False, [-1.0, -2.0, -3.0, -4.0, 0.0], -1.0, 0),
    ],
)
def test_the_best_weights_are_kept_and_patience_has_an_end(
    lower: bool, values: list[float], best: float, number: int, encoder: Encoder, tmp_path: Path
) -> None:
    """Three scores without an improvement are enough; what comes behind them is never measured."""
    start = encoder.document.words.weight.detach().clone()
    found, head, seen = tune(encoder, values, tmp_path, lower_is_better=lower)
    assert found == best and len(seen) == number + 1 + 3
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
def test_the_weights_that_training_starts_from_are_kept_where_none_is_better(
    values: list[float], best: float, number: int, encoder: Encoder, tmp_path: Path
) -> None:
    """Patience counts from the best that training gave: it may need some steps to come back to where it began."""
    found, head, seen = tune(encoder, values, tmp_path, from_start=True)
    assert found == best and seen[0] == 0 and len(seen) == len(values) - 1
    assert float(head.weight.detach()) == seen[number]
    assert read_curves(tmp_path)["dev/value"].dropna().tolist() == values[: len(seen)]


def test_the_last_step_is_measured(encoder: Encoder, tmp_path: Path) -> None:
    found, head, seen = tune(encoder, [1.0, 2.0, 3.0], tmp_path, steps=10)
    assert found == 3.0 and len(seen) == 3 and float(head.weight.detach()) == seen[2]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("from_start", [False, True])
def test_training_whose_scores_are_no_numbers_is_an_error(
    value: float, from_start: bool, encoder: Encoder, tmp_path: Path
) -> None:
    """Also if the start is a number."""
    with pytest.raises(ValueError, match="toward: the loss was never finite: lower the learning rate, or use fp32"):
        tune(encoder, [*([1.0] if from_start else []), *[value] * 20], tmp_path, from_start=from_start)


@pytest.mark.parametrize(
    ("count", "small_last_batch", "sizes"),
    [(9, False, [4, 4]), (3, False, [2]), (9, True, [4, 4, 1]), (3, True, [3]), (1, True, [1])],
)
def test_devices_share_the_batches_of_shuffled_epochs(count: int, small_last_batch: bool, sizes: list[int]) -> None:
    epochs = []
    for epoch in range(3):
        devices = [Batches(Numbers(count, small_last_batch), settings(batch_size=4, devices=2), 1, r) for r in (0, 1)]
        steps = range(epoch * len(sizes), (epoch + 1) * len(sizes))
        shares = [[batches[step][STREAM]["numbers"] for batches in devices] for step in steps]
        assert [len(one) + len(other) for one, other in shares] == sizes
        assert all(len(one) - len(other) == size % 2 for (one, other), size in zip(shares, sizes, strict=True))
        epochs.append([number for share in shares for part in share for number in part])
        assert len(set(epochs[-1])) == sum(sizes) and set(epochs[-1]) <= set(range(count))
        assert {(step.epoch, step.seed) for step in devices[0].examples.steps} == {(epoch, 1)}  # type: ignore[attr-defined]
    assert count < 9 or epochs[0] != epochs[1] != epochs[2]


def test_every_device_has_an_example() -> None:
    with pytest.raises(ValueError, match="3 numbers to train on are too few for 4 devices"):
        Batches(Numbers(3), settings(batch_size=4, devices=4), 1)
    with pytest.raises(ValueError, match="0 numbers to train on are too few for 1 devices"):
        Batches(Numbers(0, small_last_batch=True), settings(), 1)
    with pytest.raises(ValueError, match="batch_size 16 must be a multiple of devices, 3"):
        settings(batch_size=16, devices=3)


def test_numbers_drawn_for_an_example_differ_by_epoch_and_seed() -> None:
    step = Step(np.arange(2), 0, 1, 0, 1)
    steps = (step, step, replace(step, epoch=1), replace(step, seed=2))
    drawn = [steps[0].generator(0).random(), *(one.generator(1).random() for one in steps)]
    assert drawn[1] == drawn[2] and len(set(drawn)) == 4


@dataclass(frozen=True)
class Case:
    """How a task is fine-tuned a little, and how a model on disk scores on its dev part."""

    start: str
    tune: Callable[[Contestant, Path, Path], float]
    score: Callable[[Path, Path], float]
    model: type[FinetunedModel] | None = None


ANSWERS, CLAIMS, PAIRS = answers.answers(), claims.claims(), pairs.rows()
FEW: dict[str, Any] = {"steps": 4, "evaluate_every": 2}
DEV_ANSWERS = ANSWERS[ANSWERS["split"] == "dev"].reset_index(drop=True)


def tune_reader(contestant: Contestant, data: Path, folder: Path) -> float:
    reading = replace(hops.settings().reading, epochs=2, batch_size=40)
    return finetune_reader(reading, contestant, data / "hops/hotpotqa", folder)


def score_answers(model: Path, data: Path) -> float:
    found = score_model(AnswerModel.load(model), DEV_ANSWERS)
    return mean_average_precision(found["score"], found["label"], DEV_ANSWERS["question_id"].factorize()[0])


def score_claims(folder: Path, data: Path) -> float:
    model = Verifier.load(folder)
    inputs = model.inputs(CLAIMS[CLAIMS["split"] == "dev"])
    return float((model.probabilities(inputs).argmax(1).numpy() == inputs.labels).mean())


def score_reader(folder: Path, data: Path) -> float:
    model, questions = ReaderModel.load(folder), read_questions(data / "hops/hotpotqa", "dev")
    assert (model.settings.tokens, model.settings.answer_tokens) == (48, 3) and 0 < model.settings.threshold < 1
    inputs = ReaderInputs(read_paragraphs(data / "hops/hotpotqa"), gold_rows(questions), model.encoder, 48)
    read = model.read(inputs, list(zip(questions.asked.texts, gold_rows(questions), strict=True)))
    return joint_f1(questions, read, model.settings.threshold)


def score_pairs(folder: Path, data: Path) -> float:
    model = PairModel.load(folder)
    inputs = PairInputs(PAIRS[PAIRS["part"] == "dev"], model.settings.classes, model.encoder)
    return float(inputs.is_right(model).mean())


def score_ranking(folder: Path, data: Path) -> float:
    held_out = RankingHeldOut(read_split(data / "ranking/mine", "dev"), read_texts(data / "ranking/mine"), 7, mix(0, 6))
    return held_out.loss(load_encoder(folder))


def score_retrieval(folder: Path, data: Path) -> float:
    questions, candidates = retrieval.tables()
    dev = split_questions(questions["question_id"].tolist(), 0.5, 0).eq("dev").to_numpy()
    return HeldOut(answered(questions, candidates, dev), questions, candidates, mix(0, 6)).loss(load_encoder(folder))


CASES = {
    "answer_selection": Case(
        "joint",
        lambda one, _, folder: finetune_answers(
            answers.settings(epochs=2),
            replace(one, head="ie_k"),
            [ANSWERS[ANSWERS["split"] == "train"]],
            DEV_ANSWERS,
            folder,
        ),
        score_answers,
        AnswerModel,
    ),
    "fact_verification": Case(
        "joint",
        lambda one, _, folder: finetune_claims(claims.settings(), "max_pool", one, CLAIMS, folder),
        score_claims,
        Verifier,
    ),
    "multi_hop": Case("hop", tune_reader, score_reader, ReaderModel),
    "pairs": Case(
        "plain",
        lambda one, _, folder: finetune_pairs(pairs.settings(dropout=0.1, **FEW), one, PAIRS, folder),
        score_pairs,
        PairModel,
    ),
    "ranking": Case(
        "plain",
        lambda one, data, folder: finetune_ranking(ranking.settings(**FEW), one, data / "ranking/mine", folder),
        score_ranking,
    ),
    "retrieval": Case(
        "plain",
        lambda one, _, folder: finetune_retrieval(retrieval.settings(**FEW), 50, one, *retrieval.tables(), folder),
        score_retrieval,
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    answers.new_encoder(folder / "joint", heads=("ie_k",))
    retrieval.new_encoder(folder / "plain", retrieval.vocabulary(folder / "words"))
    hops.new_encoder(folder / "hop", hops.vocabulary(folder / "hop_words"), hops.TRANSFORMER)
    hops.read(folder / "hops", hops.questions())
    ranking.write_data(folder / "ranking")
    return folder


def tune_task(task: str, project: Path, folder: Path, seed: int = 0) -> float:
    folder.mkdir()
    case = CASES[task]
    return case.tune(Contestant("toy", seed, (str(project / case.start),)), project, folder)


def weights(folder: Path) -> dict[str, Tensor]:
    files = sorted(folder.rglob("*.safetensors"))
    return {f"{file.relative_to(folder)}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


@pytest.mark.parametrize("task", CASES)
def test_the_best_weights_are_saved_and_depend_on_the_seed(task: str, project: Path, tmp_path: Path) -> None:
    scores = [tune_task(task, project, tmp_path / name, seed) for name, seed in (("1", 0), ("2", 0), ("3", 1))]
    curves = read_curves(tmp_path / "1")
    (metric,) = (name for name in curves if name.startswith("dev/"))
    measured = curves[metric].dropna()
    best = measured.min() if metric == "dev/loss" else measured.max()
    assert scores[0] == scores[1] == pytest.approx(best)
    assert CASES[task].score(tmp_path / "1", project) == pytest.approx(scores[0], abs=1e-5)
    first, again, other = (weights(tmp_path / name) for name in ("1", "2", "3"))
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    if model := CASES[task].model:
        for number, name in enumerate((HEAD, model.settings_file, "model.safetensors"), start=1):
            damaged = tmp_path / str(number) / name
            damaged.write_bytes(damaged.read_bytes()[:20])
            with pytest.raises(ValueError, match=f"{number} holds no whole ({model.title}|encoder)"):
                model.load(tmp_path / str(number))


@pytest.mark.parametrize("task", CASES)
def test_several_encoders_are_not_fine_tuned(task: str, project: Path, tmp_path: Path) -> None:
    start = str(project / CASES[task].start)
    with pytest.raises(ValueError, match="both: several encoders side by side are not fine-tuned"):
        CASES[task].tune(Contestant("both", 0, (start, start)), project, tmp_path)


@pytest.mark.parametrize(
    ("task", "source", "settings", "option"),
    [
        (AnswerSelectionTask(), AnswersConfig({"wikiqa": "none"}), answers.settings(finetune=["wikiqa"]), "wikiqa"),
        (FactVerificationTask(), VerificationConfig(ClaimFiles("none.jsonl", "none")), claims.settings(), "ie_1"),
        (MultiHopTask(), MultiHopConfig("none"), hops.settings(), "reader"),
        (PairsTask(), PairsConfig({"snli": "none"}), pairs.settings(finetune=["snli"]), "snli"),
        (AnswerRankingTask(), RankingConfig({"gone": RankingSet("wikiqa", "none")}), ranking.settings(), "gone"),
        (RetrievalTask(), RetrievalConfig("none.json"), retrieval.settings(shares=[1]), "share-1"),
    ],
    ids=CASES,
)
def test_of_missing_data_nothing_is_made(
    task: Any, source: Any, settings: Any, option: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The run goes on; what an earlier run read is thrown away."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/claims.parquet").write_text("of an earlier run")
    task.read(source, tmp_path, tmp_path / "data")
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["task.json"]
    report = json.loads((tmp_path / "data/task.json").read_text())
    assert "none" in str(report["missing"]) and "none" in caplog.text and report["counts"] == {}
    if option != "gone":
        task.check(settings, tmp_path / "data")
    contestant = Contestant("a", 0, ("b",), head="ie_1")
    task.finetune(settings, option, contestant, tmp_path / "data", tmp_path / "model")
    assert task.documents(tmp_path / "data") is None and not (tmp_path / "model").exists()
    found = task.evaluate(settings, [contestant], tmp_path / "data", tmp_path / "vectors")
    assert (found.records, found.tables) == ([], {})
