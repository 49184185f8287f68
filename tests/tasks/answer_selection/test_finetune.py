"""Fine-tuning and scoring on a little made-up benchmark."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from contexture.metrics.ranking import mean_average_precision, question_metrics
from contexture.tasks.answer_selection.data import read_answers
from contexture.tasks.answer_selection.finetune import finetune
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.scoring import score_model
from contexture.training.config import MsppSystem
from contexture.training.curves import read_curves
from contexture.training.pretrain import pretrain
from tests.training.conftest import system


@pytest.fixture(scope="module")
def encoders(
    config: MsppSystem, examples: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folders = {run: tmp_path_factory.mktemp(run) for run in ("mlm", "mspp_ie")}
    for run, folder in folders.items():
        pretrain(config, run, 0, examples, tokenizer, folder)
    return folders


def dev(answers: Path) -> pd.DataFrame:
    return read_answers(answers, "dev")


@pytest.mark.parametrize("variant", ["mspp_ie", "joint_ae", "pairwise"])
def test_the_best_epoch_is_kept_and_scores_the_same_from_disk(
    variant: str, config: MsppSystem, encoders: dict[str, Path], answers: Path, tmp_path: Path
) -> None:
    best = finetune(config, variant, 0, answers, encoders["mspp_ie" if variant == "mspp_ie" else "mlm"], tmp_path)
    curve = read_curves(tmp_path)["dev/map"].dropna()
    assert best == pytest.approx(curve.max())
    scores = score_model(tmp_path, dev(answers))
    questions = dev(answers)["question_id"].factorize()[0]
    found = mean_average_precision(scores["score"].to_numpy(), scores["label"].to_numpy(), questions)
    assert found == pytest.approx(best)
    again = finetune(
        config, variant, 0, answers, encoders["mspp_ie" if variant == "mspp_ie" else "mlm"], tmp_path / "2"
    )
    assert again == best
    assert (score_model(tmp_path / "2", dev(answers))["score"] == scores["score"]).all()


def test_the_head_of_pretraining_is_carried_on_where_it_is_of_the_same_kind(
    config: MsppSystem, encoders: dict[str, Path], answers: Path, tmp_path: Path
) -> None:
    still = system()
    object.__setattr__(still.finetune.optimizer, "learning_rate", 1e-12)
    before = load_file(encoders["mspp_ie"] / "objectives.safetensors")["mspp.head.classifier.weight"]
    for variant, same in (("mspp_ie", True), ("joint_ae", False), ("pairwise", False)):
        finetune(still, variant, 0, answers, encoders["mspp_ie"], tmp_path / variant)
        after = load_answer_model(tmp_path / variant).task.head.classifier.weight
        assert (after.shape == before.shape and torch.allclose(after, before, atol=1e-6)) is same


def test_a_joint_model_reads_a_question_with_few_candidates_as_if_alone(
    config: MsppSystem, encoders: dict[str, Path], answers: Path, tmp_path: Path
) -> None:
    """Scores do not depend on what else stands in the batch, nor on empty slots of other questions."""
    finetune(config, "mspp_ie", 0, answers, encoders["mspp_ie"], tmp_path)
    table = dev(answers)
    together = score_model(tmp_path, table)["score"].to_numpy()
    for _, rows in table.groupby("question_id"):
        alone = score_model(tmp_path, rows.reset_index(drop=True))["score"].to_numpy()
        np.testing.assert_allclose(alone, together[rows.index], atol=1e-5)


def test_reranking_reorders_the_top_of_the_pairwise_model_only(
    config: MsppSystem, encoders: dict[str, Path], answers: Path, tmp_path: Path
) -> None:
    finetune(config, "mspp_ie", 0, answers, encoders["mspp_ie"], tmp_path)
    table = dev(answers)
    pairwise = np.random.default_rng(0).normal(size=len(table))
    scores = score_model(tmp_path, table, pairwise)
    assert set(scores["protocol"]) == {"grouped", "reranked"}
    reranked = scores[scores["protocol"] == "reranked"].reset_index(drop=True)
    k = config.layout.candidates
    for _, rows in table.groupby("question_id"):
        first = rows.index[np.argsort(-pairwise[rows.index])]
        second = rows.index[np.argsort(-reranked["score"].to_numpy()[rows.index])]
        assert set(first[:k]) == set(second[:k])
        assert first[k:].tolist() == second[k:].tolist()
    measured = question_metrics(scores.assign(variant="mspp_ie", seed=0, split="dev"))
    assert len(measured) == 2 * table["question_id"].nunique()
