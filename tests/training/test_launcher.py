"""Folders of runs: kept if nothing changed, replaced only by complete ones."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import BertConfig, BertModel

from contexture.folders import UNFINISHED
from contexture.objectives.settings import InBatchNegativesConfig
from contexture.systems.launch import training_files
from contexture.training import launcher
from contexture.training.corpus_info import CorpusInfo, hash_tables, write_corpus_info
from contexture.training.launcher import examples_identity, launch_pretraining, run_identity
from tests.training import toys
from tests.training.runs import (
    Killed,
    Training,
    assert_same,
    kill_at,
    launch,
    list_commands,
    read_files,
    wait_until,
    weights,
)
from tests.training.toys import schedule, two_towers

RUNS = {"run": schedule(3, in_batch_negatives=1), "none": {"schedule": []}}


def read_times(folder: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def finished(training: Training) -> Path:
    assert training.launch(two_towers(runs=RUNS), "run")
    return training.folder / "run"


def test_a_finished_run_is_kept(finished: Path, examples: Path, tokenizer: Path) -> None:
    """Even if settings of another run changed."""
    old = read_times(finished)
    assert not launch(two_towers(runs=RUNS), "run", examples, tokenizer, finished)
    config = two_towers(runs=RUNS | {"none": schedule(2, mlm=1), "more": schedule(9, mlm=1)})
    assert not launch(config, "run", examples, tokenizer, finished)
    assert read_times(finished) == old
    assert not list(finished.parent.glob(f"*{UNFINISHED}"))


def test_the_identity_of_examples_depends_on_their_content(tmp_path: Path) -> None:
    """Also with equally many rows and bytes."""
    identities = []
    for token in (5, 6):
        folder = tmp_path / str(token)
        folder.mkdir()
        pq.write_table(pa.table({"tokens": [[token]]}), folder / "0.parquet", compression="none", use_dictionary=False)
        assert examples_identity(folder)["sha256"] is None  # as of an older version
        write_corpus_info(folder, CorpusInfo(sha256=hash_tables(folder, tmp_path / "missing")))
        identities.append(examples_identity(folder))
    assert identities[0]["bytes"] == identities[1]["bytes"] and identities[0]["sha256"] != identities[1]["sha256"]


def test_a_folder_with_other_files_is_not_replaced(training: Training) -> None:
    folder = training.folder / "models"
    folder.mkdir()
    (folder / "thesis.txt").touch()
    with pytest.raises(ValueError, match="models has other files, which would be deleted"):
        launch(two_towers(runs=RUNS), "run", training.examples, training.vocabulary, folder)
    assert [*folder.iterdir()] == [folder / "thesis.txt"]


#: Changes of settings on which the run depends.
CHANGES: dict[str, dict[str, Any]] = {
    "steps": {"runs": RUNS | {"run": schedule(4, in_batch_negatives=1)}},
    "optimizer": {"runs": RUNS, "optimizer": toys.OPTIMIZER | {"warmup_steps": 0}},
    "stream": {"runs": RUNS | {"run": RUNS["run"] | {"streams": {"pairs": {"mixture": "pooled"}}}}},
}


@pytest.mark.parametrize("change", [*CHANGES, "seed", "encoder", "examples", "vocabulary"])
def test_changed_inputs_of_a_run_train_it_again(
    change: str, finished: Path, examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
    config, old = two_towers(**CHANGES.get(change, {"runs": RUNS})), read_files(finished)
    if change == "encoder":
        smaller: Any = replace(config.encoders["transformer"], embedding_size=4)  # type: ignore[call-arg]
        config = replace(config, encoders=config.encoders | {"transformer": smaller})
    elif change == "examples":
        examples = Path(shutil.copytree(examples, tmp_path / "more"))
        shutil.copy(examples / "pairs/ict/part-0.parquet", examples / "pairs/ict/part-2.parquet")
    elif change == "vocabulary":
        tokenizer = toys.write_tokenizer(tmp_path / "other")
        (tokenizer / "note.txt").write_text("another one")
    arguments = config, "run", examples, tokenizer, finished, int(change == "seed")
    assert launch(*arguments)
    assert read_files(finished) != old
    assert not launch(*arguments)
    assert not [path for path in finished.parent.iterdir() if path.name.startswith("run.") and path.is_dir()]


def test_the_old_encoder_stays_until_the_new_one_is_whole(
    finished: Path, monkeypatch: pytest.MonkeyPatch, training: Training
) -> None:
    old, config = read_files(finished), two_towers(runs=RUNS | {"run": schedule(5, in_batch_negatives=1)})
    with monkeypatch.context() as patch:
        kill_at(3, patch)
        with pytest.raises(Killed):
            launch(config, "run", training.examples, training.vocabulary, finished)
    assert read_files(finished) == old
    # What was begun is resumed; then it takes the place of the old one.
    assert launch(config, "run", training.examples, training.vocabulary, finished)
    training.launch(config, "run", "alone")
    assert_same(weights(finished), weights(training.folder / "alone"))


def test_another_start_trains_a_run_again(training: Training) -> None:
    config = two_towers(runs={"base": {"schedule": []}, "run": schedule(1, in_batch_negatives=1) | {"start": "base"}})
    for seed in (0, 1):
        training.launch(config, "base", f"base-{seed}", seed=seed)
    assert training.launch(config, "run", start=training.folder / "base-0")
    assert not training.launch(config, "run", start=training.folder / "base-0")
    assert training.launch(config, "run", start=training.folder / "base-1")


def test_other_weights_in_the_folder_that_a_run_starts_from_train_it_again(training: Training) -> None:
    folder, sizes = training.folder / "published", {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = BertModel(BertConfig(**sizes, intermediate_size=32, vocab_size=300, max_position_embeddings=24))
    model.save_pretrained(folder)
    config = toys.make_system(
        lengths={"query": 12, "document": 24},
        encoders={"published": toys.transformer(init_from=str(folder))},
        streams={"pairs": {}},
        pretrain=toys.PRETRAIN | {"runs": {"none": {"schedule": []}}, "optimizer": toys.OPTIMIZER},
    )
    assert training.launch(config, "none") and not training.launch(config, "none")
    model.embeddings.word_embeddings.weight.data += 1
    model.save_pretrained(folder)
    assert training.launch(config, "none")


def test_a_corrected_objective_is_trained_again(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    config = two_towers(runs={"run": schedule(1, in_batch_negatives=1), "mlm": schedule(1, mlm=1)})
    assert training.launch(config, "run", "run") and training.launch(config, "mlm", "mlm")
    monkeypatch.setattr(InBatchNegativesConfig, "revision", 1)
    assert training.launch(config, "run", "run") and not training.launch(config, "run", "run")
    assert not training.launch(config, "mlm", "mlm")


def test_streams_that_a_run_does_not_read_need_no_examples(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """They are part of its identity, because the encoder has tables for all streams."""
    config = toys.make_mixed_system({"run": schedule(1, in_batch_negatives=1)})
    (tmp_path / "pairs").symlink_to(examples / "pairs")
    files = training_files(config, tmp_path, tokenizer, None)
    assert set(files.examples) == {stream.examples for stream in config.streams.values()} > {"pairs"}
    identity = run_identity(config.pretraining("run"), 0, files)
    assert set(identity["examples"]) == {"pairs"} and identity["examples"]["pairs"]["rows"] == 74
    assert set(identity["streams"]) == set(toys.STREAMS)
    assert launch(config, "run", tmp_path, tokenizer, tmp_path / "run")


def test_several_devices_need_arguments(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = two_towers(runs=RUNS, devices=2)
    with pytest.raises(ValueError, match=r"several devices"):
        launch_pretraining(
            config.pretraining("run"), 0, training_files(config, examples, tokenizer, None), tmp_path / "run"
        )


def test_a_process_group_is_ended(tmp_path: Path) -> None:
    """Even if they do not end by themselves, as a rank that waits for a killed one."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60) # {tmp_path}'])"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    wait_until(lambda: len(list_commands(tmp_path)) == 2)
    launcher.end_process_group(process)
    assert process.poll() is not None
    wait_until(lambda: not list_commands(tmp_path), seconds=10)  # signals are delivered asynchronously
