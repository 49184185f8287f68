"""The loss on held-out documents, and early stopping by it."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file

from contexture.encoders.files import load_encoder
from contexture.systems.config import SystemConfig
from contexture.systems.launch import training_files
from contexture.training import checkpoints, held_out, pretrain
from contexture.training.corpus_info import CorpusInfo, write_corpus_info
from contexture.training.curves import read_curves
from contexture.training.held_out_questions import reciprocal_ranks
from contexture.training.launcher import run_identity
from contexture.training.prepare import prepare
from contexture.training.pretrain import read_summary
from tests.training import toys
from tests.training.runs import Killed, Training, are_different, assert_same
from tests.training.toys import make_mixed_system, schedule

SHARE = 0.1
#: The rows of the stream `joint` are independent, those of `pairs` are negatives of one another.
RUNS: dict[str, Any] = {
    "mspp": schedule(6, mspp=1),
    "mlm": schedule(6, mlm=1) | {"objectives": {"mlm": {"stream": "joint"}}},
    "pairs": schedule(6, in_batch_negatives=1),
    "stages": {
        "schedule": [
            {"steps": 3, "weights": {"mlm": 1, "mspp": 1}},
            {"steps": 5, "weights": {"mspp": 0.5, "in_batch_negatives": 0.25, "bitext": 2}},
        ],
        "objectives": {"mlm": {"stream": "joint"}},
    },
    "bitext": schedule(2, bitext=1),
    "derived": schedule(2, margin_distillation=1),
}


@pytest.fixture(scope="module")
def held_out_examples(examples: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples of every stream, with as many of held-out documents."""
    folder = tmp_path_factory.mktemp("held_out") / "examples"
    shutil.copytree(examples, folder)
    (folder / "held_out").mkdir()
    toys.write_examples(folder / "held_out", tokenizer)
    for kind in ("joint", "pairs", "sentences", "sequence_pairs"):
        write_corpus_info(folder / kind, CorpusInfo("text", held_out_share=SHARE))
    return folder


@pytest.fixture
def training(held_out_examples: Path, tokenizer: Path, tmp_path: Path) -> Training:
    return Training(held_out_examples, tokenizer, tmp_path)


def system(dropout: float = 0.1, pretrain: dict[str, Any] | None = None, **settings: Any) -> SystemConfig:
    values = {"share": SHARE, "evaluate_every": 2, "batches": 5} | settings
    return make_mixed_system(RUNS, dropout, **{"held_out": values} | (pretrain or {}))


def read_losses(folder: Path) -> dict[int, float]:
    """Return step → loss on held-out text."""
    curves = read_curves(folder).dropna(subset=["held_out/loss"])
    return dict(zip(curves["step"], curves["held_out/loss"], strict=True))


@pytest.mark.parametrize("micro_batch_size", [None, 4])
def test_the_loss_is_the_mean_over_all_held_out_rows(micro_batch_size: int | None, training: Training) -> None:
    """Five batches of twelve are all rows once. They are encoded again one by one, with the saved weights."""
    config = system(pretrain={"micro_batch_size": micro_batch_size})
    training.launch(config, "mspp")
    folder = training.folder / "mspp"
    prepared = prepare(
        config.pretraining("mspp"), 0, training_files(config, training.examples, training.vocabulary, None)
    )
    encoder, mspp = load_encoder(folder).eval(), prepared.objectives["mspp"].eval()
    weights = load_file(folder / "objectives.safetensors")
    mspp.load_state_dict({name.removeprefix("mspp."): tensor for name, tensor in weights.items()})
    losses = []
    with torch.no_grad():
        for file in sorted((training.examples / "held_out" / "joint").glob("*.parquet")):
            table = pq.read_table(file, columns=["sentences", "labels"])
            for row in range(len(table)):
                batch = prepared.streams["joint"].collate(table.slice(row, 1), 0, 1)
                states = encoder.transformer.states(batch | {"lengths": [int(batch["attention_mask"].sum())]})
                losses.append(float(mspp(encoder, states, batch).value))
    assert len(losses) == 60
    summary = read_summary(folder)["held_out"]
    assert summary["loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    assert (summary["batches"], summary["step"], summary["stopped_early"]) == (5, 6, False)
    measured = read_losses(folder)
    assert [*measured] == [0, 2, 4, 6] and measured[6] == summary["last"] == summary["loss"]
    assert measured[0] == summary["start"] and summary["best"] == min(measured[step] for step in (2, 4, 6))


def test_the_loss_is_the_weighted_sum_of_the_last_stage(training: Training) -> None:
    """In all stages, without objectives that read no documents of the corpus."""
    training.launch(system(), "stages")
    curves = read_curves(training.folder / "stages").dropna(subset=["held_out/loss"])
    assert curves["step"].tolist() == [0, 2, 4, 6, 8] and len(set(curves["held_out/loss"])) == 5
    names = {name for name in curves if name.startswith("held_out/")}
    assert names == {"held_out/loss", "held_out/mspp", "held_out/in_batch_negatives"}
    expected = 0.5 * curves["held_out/mspp"] + 0.25 * curves["held_out/in_batch_negatives"]
    np.testing.assert_allclose(curves["held_out/loss"], expected, rtol=1e-12)


@pytest.mark.parametrize("run", ["mlm", "pairs"])
def test_measuring_changes_nothing_and_repeats(run: str, training: Training, examples: Path) -> None:
    """The weights are those of a training that measures nothing; all seeds have the same batches and masks."""
    measured, plain = system(evaluate_every=1), make_mixed_system(RUNS, 0.1)
    unmeasured = Training(examples, training.vocabulary, training.folder)  # on equal examples
    assert_same(training.train(measured, run, "measured"), unmeasured.train(plain, run, "plain"))
    training.launch(measured, run, "again")
    assert read_losses(training.folder / "measured") == read_losses(training.folder / "again")
    for name in ("measured", "plain"):
        assert ("held_out" in read_summary(training.folder / name)) == (name == "measured")
    names = [sorted(path.name for path in (training.folder / name).iterdir()) for name in ("measured", "plain")]
    assert names[0] == names[1]
    assert not [name for name in read_curves(training.folder / "plain") if name.startswith("held_out")]
    files = training_files(measured, training.examples, training.vocabulary, None)
    config = measured.pretraining(run)
    first, second = (held_out.open_held_out(config, files, prepare(config, seed, files)) for seed in (0, 1))
    assert first and second and str(first.batches) == str(second.batches) and len(first.batches) == 5


def test_the_identity_of_a_run_without_held_out_documents_is_the_former_one(training: Training) -> None:
    files = training_files(system(), training.examples, training.vocabulary, None)
    identities = [run_identity(config.pretraining("mspp"), 0, files) for config in (make_mixed_system(RUNS), system())]
    assert "held_out" not in identities[0] and "held_out" not in identities[0]["settings"]
    assert identities[1]["held_out"]["joint"]["rows"] == 60 and identities[1]["settings"]["held_out"]["share"] == SHARE
    assert [*identities[1]["held_out"]] == ["joint"]
    questions = system(criterion="questions").pretraining("mspp")
    assert [*run_identity(questions, 0, files)["held_out"]] == ["joint", "pairs"]


@pytest.mark.slow
def test_a_run_killed_at_any_step_resumes_bit_for_bit(training: Training) -> None:
    """With the best weights, losses and patience of an uninterrupted one."""
    settings: dict[str, Any] = {"log_every": 3, "checkpoint_every": 2, "optimizer": {"learning_rate": 0.05}}
    config = system(pretrain=settings, patience=2, evaluate_every=1)
    trained = training.train(config, "stages", "trained")
    summary = read_summary(training.folder / "trained")
    assert summary["held_out"]["stopped_early"] and 3 < summary["held_out"]["best_step"] < summary["steps"] < 8
    for step in range(1, summary["steps"]):
        training.kill(config, "stages", f"killed-{step}", step)
        assert_same(trained, training.train(config, "stages", f"killed-{step}"))
        folder = training.folder / f"killed-{step}"
        assert read_summary(folder)["held_out"] == summary["held_out"]
        assert read_losses(folder) == read_losses(training.folder / "trained")


@pytest.mark.slow
def test_a_run_killed_after_it_stopped_early_stops_again(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a checkpoint of every step but the last one."""
    settings: dict[str, Any] = {"checkpoint_every": 1, "optimizer": {"learning_rate": 0.05}}
    config = system(pretrain=settings, patience=2, evaluate_every=1)
    trained = training.train(config, "stages", "trained")

    def kill(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(pretrain, "save_summary", kill)
        with pytest.raises(Killed):
            training.launch(config, "stages", "killed")
    assert_same(trained, training.train(config, "stages", "killed"))
    summaries = [read_summary(training.folder / name) for name in ("trained", "killed")]
    assert summaries[0]["held_out"] == summaries[1]["held_out"] and summaries[0]["held_out"]["stopped_early"]
    assert summaries[0]["steps"] == summaries[1]["steps"] < 8
    assert [summary["tokens"] for summary in summaries] == [summaries[0]["tokens"]] * 2


def test_patience_keeps_the_best_weights(training: Training) -> None:
    """They are those of a training that ends at the best step."""
    optimizer = {"learning_rate": 0.2, "warmup_steps": 3, "schedule": "constant"}
    runs = {"run": schedule(40, mspp=1)}
    config = replace_runs(
        system(pretrain={"optimizer": optimizer, "log_every": 50}, patience=3, evaluate_every=1), runs
    )
    stopped = training.train(config, "run")
    summary, losses = read_summary(training.folder / "run"), read_losses(training.folder / "run")
    kept, steps = summary["held_out"], summary["steps"]
    assert steps == kept["best_step"] + 3 < 40 and kept["stopped_early"] and kept["step"] == kept["best_step"]
    trained = {step: loss for step, loss in losses.items() if step}
    assert kept["best"] == kept["loss"] == losses[kept["best_step"]] == min(trained.values()) < kept["last"]
    assert kept["last"] == losses[steps]
    # The last step is recorded, too.
    assert read_curves(training.folder / "run")["step"].iloc[-1] == steps
    assert read_curves(training.folder / "run")["spent/tokens"].iloc[-1] == summary["tokens"]
    short = replace_runs(config, {"run": schedule(kept["best_step"], mspp=1)})
    assert_same(stopped, training.train(short, "run", "short"))
    longer = training.train(replace_runs(config, {"run": schedule(steps, mspp=1)}, patience=None), "run", "longer")
    assert are_different(stopped, longer)


def read_mrr(folder: Path) -> dict[int, float]:
    """Return step → mean reciprocal rank of the passages of held-out pairs."""
    curves = read_curves(folder).dropna(subset=[held_out.MRR])
    return dict(zip(curves["step"], curves[held_out.MRR], strict=True))


def test_reciprocal_ranks_by_hand() -> None:
    """Equal scores count as better; excluded documents do not count."""
    scores = torch.tensor([[3.0, 1, 2, 0], [3, 1, 2, 1], [1, -torch.inf, 0, 2], [0, 0, 0, 0]])
    assert reciprocal_ranks(scores, torch.tensor([0, 1, 2, 3])).tolist() == pytest.approx([1, 1 / 4, 1 / 3, 1 / 4])
    assert not reciprocal_ranks(torch.full((1, 2), torch.nan), torch.tensor([0])).isfinite()


@pytest.mark.parametrize("run", ["mlm", "pairs"])
def test_questions_are_ranked_among_the_passages_of_their_batch(run: str, training: Training) -> None:
    """A slow loop over the saved encoder's vectors, whatever the run was trained on."""
    config = system(criterion="questions")
    training.launch(config, run)
    folder, pretraining = training.folder / run, config.pretraining(run)
    files = training_files(config, training.examples, training.vocabulary, None)
    opened = held_out.open_held_out(pretraining, files, prepare(pretraining, 0, files))
    assert opened and opened.questions and opened.questions.count == 5
    encoder, ranks = load_encoder(folder).eval(), []
    for batch in opened.questions.batches:
        with torch.no_grad():
            questions, passages = (encoder(batch[side], side).numpy() for side in ("query", "document"))
        ids = batch["document_ids"].tolist()
        assert len(ids) == 12
        for row, question in enumerate(questions):
            score = float(question @ passages[row])
            earlier = [n for n, name in enumerate(ids) if name != ids[row] and float(question @ passages[n]) >= score]
            ranks.append(1 / (1 + len(earlier)))
    summary, measured = read_summary(folder)["held_out"], read_mrr(folder)
    assert summary["mrr"] == pytest.approx(np.mean(ranks), abs=1e-6) and summary["mrr"] == pytest.approx(measured[6])
    assert [*measured] == [0, 2, 4, 6] and summary["mrr_start"] == pytest.approx(measured[0])
    losses = read_losses(folder)
    assert [*losses] == [0, 2, 4, 6] and summary["loss"] == summary["last"] == pytest.approx(losses[6])


def test_a_question_has_equally_many_candidates_in_all_runs(training: Training) -> None:
    config = replace_runs(system(criterion="questions"), {"run": {**schedule(2, mlm=1), "batch_size": 4}})
    pretraining = config.pretraining("run")
    files = training_files(config, training.examples, training.vocabulary, None)
    opened = held_out.open_held_out(pretraining, files, prepare(pretraining, 0, files))
    assert opened and opened.questions and opened.questions.stream.batching.batch_size == 12
    assert {stream.batching.batch_size for stream in opened.streams.values()} == {4}
    with pytest.raises(ValidationError, match=r"pretrain\.batch_size\n.*a question needs several candidates"):
        system(criterion="questions", pretrain={"batch_size": 1})
    runs = {"run": {**schedule(2, mlm=1), "batch_size": 16}}
    with pytest.raises(ValidationError, match=r"pretrain\.batch_size\n.*divided among 8 devices; set a multiple"):
        make_mixed_system(runs, held_out={"share": SHARE, "criterion": "questions"}, batch_size=12, devices=8)


def test_patience_keeps_the_weights_with_the_best_questions(training: Training) -> None:
    """Also if the training is killed and resumed."""
    optimizer = {"learning_rate": 0.2, "warmup_steps": 3, "schedule": "constant"}
    pretrain = {"optimizer": optimizer, "checkpoint_every": 1}
    config = replace_runs(
        system(pretrain=pretrain, patience=3, evaluate_every=1, criterion="questions"), {"run": schedule(40, mspp=1)}
    )
    stopped = training.train(config, "run")
    summary, measured = read_summary(training.folder / "run"), read_mrr(training.folder / "run")
    kept, losses = summary["held_out"], read_losses(training.folder / "run")
    assert kept["stopped_early"] and summary["steps"] == kept["best_step"] + 3 < 40
    assert kept["mrr"] == pytest.approx(measured[kept["best_step"]])
    assert measured[kept["best_step"]] == max(value for step, value in measured.items() if step)
    assert kept["loss"] == kept["best"] == pytest.approx(losses[kept["best_step"]])
    assert kept["last"] == pytest.approx(losses[summary["steps"]])
    training.kill(config, "run", "killed", summary["steps"] - 1)
    assert_same(stopped, training.train(config, "run", "killed"))
    assert read_summary(training.folder / "killed")["held_out"] == kept


def test_questions_need_pairs_of_the_same_share(training: Training) -> None:
    with pytest.raises(
        ValidationError, match=r"pretrain\.held_out\.criterion\n.*add pairs to the streams, or set loss"
    ):
        toys.system(held_out={"criterion": "questions"})
    write_corpus_info(training.examples / "pairs", CorpusInfo("text", held_out_share=0.5))
    try:
        with pytest.raises(ValueError, match=r"pairs was sampled with a share of 0\.5 .*, examples"):
            training.launch(system(criterion="questions"), "mlm")
    finally:
        write_corpus_info(training.examples / "pairs", CorpusInfo("text", held_out_share=SHARE))


def test_patience_counts_from_the_last_stage(training: Training) -> None:
    """Losses that are not finite never are the best ones."""
    runs = {"run": {"schedule": [{"steps": 6, "weights": {"mspp": 1}}, {"steps": 9, "weights": {"mspp": 1e-9}}]}}
    optimizer = {"learning_rate": 1e-12}
    config = replace_runs(system(pretrain={"optimizer": optimizer}, patience=2, evaluate_every=2), runs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_out.HeldOutBatches, "measure", lambda *_: [float("nan")])
        training.launch(config, "run")
    summary = read_summary(training.folder / "run")
    assert summary["steps"] == 10 and summary["held_out"]["stopped_early"]
    assert summary["held_out"]["best"] is summary["held_out"]["loss"] is summary["held_out"]["start"] is None


def test_the_loss_is_measured_where_time_ends_a_training(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    config = system(evaluate_every=4)
    monkeypatch.setattr(pretrain, "resolve_budgets", lambda run, *_: (run.recipe, 1e-9))
    training.launch(config, "mspp")
    assert [*read_losses(training.folder / "mspp")] == [0, 1]
    summary = read_summary(training.folder / "mspp")
    assert (summary["steps"], summary["held_out"]["step"], summary["held_out"]["stopped_early"]) == (1, 1, False)


@pytest.mark.slow
def test_the_duration_of_a_training_is_without_measurements(
    training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = held_out.HeldOutBatches.measure

    def measure_slowly(*arguments: Any) -> list[float]:
        time.sleep(1.0)
        return measure(*arguments)

    monkeypatch.setattr(held_out.HeldOutBatches, "measure", measure_slowly)
    training.launch(system(evaluate_every=1, pretrain={"snapshots": 1}), "mspp")
    assert read_summary(training.folder / "mspp")["seconds"] < 4
    (time_file,) = (training.folder / "mspp").glob("snapshots/*/time.json")
    assert json.loads(time_file.read_text())["seconds"] < 4


def test_no_held_out_pair_is_read_twice(training: Training) -> None:
    """Also if a task has few pairs."""
    config = system(batches=50).pretraining("pairs")
    files = training_files(system(), training.examples, training.vocabulary, None)
    batches = held_out.open_held_out(config, files, prepare(config, 0, files))
    assert batches is not None
    stream = batches.streams["pairs"]
    rows = stream.rows.take(0, batches.count * stream.batching.batch_size)
    pairs = rows.select(["query", "passage"]).to_pylist()
    assert len(pairs) > 20 and len({str(pair) for pair in pairs}) == len(pairs)


@pytest.mark.slow
def test_the_duration_of_a_training_is_without_saving(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    save = checkpoints.save_checkpoint

    def save_slowly(*arguments: Any) -> None:
        time.sleep(1.5)
        save(*arguments)

    monkeypatch.setattr(checkpoints, "save_checkpoint", save_slowly)
    training.launch(system(pretrain={"checkpoint_every": 1}), "mspp")
    assert read_summary(training.folder / "mspp")["seconds"] < 4


def test_examples_that_do_not_fit_are_errors(
    training: Training, examples: Path, tokenizer: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    message = r"joint was sampled with a share of 0\.1 .*held_out\.share is 0\.2: run the stage .*, examples"
    with pytest.raises(ValueError, match=message):
        training.launch(system(share=0.2), "mspp")
    with pytest.raises(ValueError, match=r"sampled with a share of 0 held-out documents"):
        Training(examples, tokenizer, tmp_path).launch(system(), "mspp", "never_sampled")
    plain = make_mixed_system(RUNS)
    with pytest.raises(ValueError, match=r"0\.1 held-out documents, pretrain\.held_out\.share is 0: run the stage"):
        training.launch(plain, "mspp")
    with pytest.raises(ValueError, match=r"hard_pairs was sampled with a share of 0 .*, derive"):
        training.launch(system(), "derived")
    message = r"pretrain\.held_out\.share: 60 examples of the stream joint are less than a batch; raise the share"
    with pytest.raises(ValueError, match=message):
        training.launch(system(pretrain={"batch_size": 64}), "mspp")
    training.launch(system(pretrain={"batch_size": 20}), "mspp", "three_batches")
    assert read_summary(training.folder / "three_batches")["held_out"]["batches"] == 3
    training.launch(system(), "bitext")
    assert "run bitext: no loss on held-out text: the last stage reads no documents of the corpus" in caplog.text
    assert "held_out" not in read_summary(training.folder / "bitext")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("share", 0), ("share", 1), ("share", "x"), ("evaluate_every", 0), ("batches", 0), ("patience", 0),
        ("patience", 1.5), ("shares", 0.1), ("criterion", "accuracy"),
    ],
)  # fmt: skip
def test_settings_are_checked(setting: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=rf"pretrain\.held_out\.{setting}\n"):
        system(**{setting: value})


def test_no_documents_are_held_out_by_default() -> None:
    config = make_mixed_system(RUNS)
    assert config.pretrain.held_out is None and config.held_out_share == 0 and system().held_out_share == SHARE


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["loss", "questions"])
def test_two_devices_stop_like_one(criterion: str, training: Training) -> None:
    """Without dropout and masks."""
    optimizer = {"learning_rate": 0.1, "epsilon": 1e-3, "schedule": "constant"}
    trained, losses, ranks = [], [], []
    for devices in (1, 2):
        pretrain = {"optimizer": optimizer, "devices": devices}
        config = system(0.0, pretrain=pretrain, patience=2, evaluate_every=1, criterion=criterion)
        config = replace_runs(config, {"run": schedule(20, mspp=0.5, in_batch_negatives=0.25)})
        tensors = training.train(config, "run", f"{devices}")
        # The gradient of a key's bias is zero up to rounding, which Adam scales up.
        trained.append({name: tensor for name, tensor in tensors.items() if not name.endswith("key.bias")})
        losses.append(read_losses(training.folder / f"{devices}"))
        ranks.append(read_mrr(training.folder / f"{devices}") if criterion == "questions" else {})
        assert read_summary(training.folder / f"{devices}")["held_out"]["stopped_early"]
    assert_same(*trained, atol=1e-4, rtol=1e-3)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert ranks[0] == pytest.approx(ranks[1], rel=1e-3)


def replace_runs(config: SystemConfig, runs: dict[str, Any], **held_out: Any) -> SystemConfig:
    """Return a system with other runs and other settings of held-out documents."""
    values = config.to_dict()
    values["pretrain"] |= {"runs": runs, "held_out": values["pretrain"]["held_out"] | held_out}
    return toys.make_system(**values)
