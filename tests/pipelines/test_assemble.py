"""What the league shows of trainings: epochs, and the untrained start of each variant."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from contexture.paths import METRICS_FILE, RUN_FILE
from contexture.pipelines.report.assemble import (
    collect_records,
    count_epochs,
    count_examples,
    count_tokens,
    find_starts,
    get_held_out_losses,
)
from contexture.pipelines.system import resolve_all
from contexture.streams.tokens import tokenize_paragraphs
from contexture.systems.resolved import ResolvedSystem
from contexture.training.pretrain import SUMMARY_FILE, read_stage_steps
from tests.environments import checked
from tests.streams.make import MadeParagraph, paragraphs_table
from tests.systems.league.toys import make_costly_records
from tests.training.toys import make_mixed_system, write_tokenizer


@pytest.fixture(scope="module")
def league() -> ResolvedSystem:
    return resolve_all(checked("base"))["league"]


def test_tokens_of_a_text_are_counted_from_the_metadata(spark: SparkSession, tmp_path: Path) -> None:
    made = [
        MadeParagraph("en:1", 0, ["kana lona", "mipo"]),
        MadeParagraph("en:1", 1, ["rudi"]),
        MadeParagraph("en:2", 0, ["sega"]),
    ]
    tokenizer = write_tokenizer(tmp_path / "tokenizer")
    documents = tokenize_paragraphs(paragraphs_table(spark, made), tokenizer).cache()
    documents.write.parquet(str(tmp_path / "documents"))
    expected = sum(
        len(sentence)
        for row in documents.collect()
        for paragraph in row["paragraphs"]
        for sentence in paragraph["sentences"]
    )
    assert count_tokens(tmp_path / "documents") == expected >= 5
    assert count_tokens(tmp_path / "none") == 0


def test_records_have_finite_losses_on_held_out_documents(tmp_path: Path) -> None:
    losses = {"start": 9.0, "loss": 5.5, "best": 5.5, "last": 6.0, "step": 20, "stopped_early": True}
    for summary, expected in (
        ({"held_out": losses}, {"held_out_loss": 5.5, "held_out_loss_start": 9.0, "stopped_early": True}),
        ({"held_out": losses | {"loss": None}}, {}),
        ({}, {}),
    ):
        (tmp_path / SUMMARY_FILE).write_text(json.dumps(summary))
        assert get_held_out_losses(tmp_path) == expected


def test_records_of_an_ablation_are_of_the_same_text(tmp_path: Path) -> None:
    system = resolve_all(checked("base"))["two_tower"]
    rows = [
        {"system": "two_tower_ablation", "variant": variant, "training_text": text}
        for variant, text in (("ict layers=1", "letters"), ("ict layers=2", "novels"))
    ]
    rows.append({"system": "two_tower_ablation", "variant": "published"})
    (tmp_path / METRICS_FILE).write_text(json.dumps(rows))

    def collect(folder: Path = tmp_path) -> list[dict[str, Any]]:
        return collect_records(system, "novels", "fedc", 1000, tmp_path, folder, {})

    expected = [{"system": "two_tower", "variant": "ict layers=2", "training_text": "novels"}]
    assert collect() == expected and collect(tmp_path / "none") == []
    for checksum, records in (("fedc", expected), ("0123", [])):  # another file of the same name
        (tmp_path / RUN_FILE).write_text(json.dumps({"text_sha256": checksum}))
        assert collect() == records


def test_epochs_are_tokens_read_divided_by_those_of_the_text(league: ResolvedSystem) -> None:
    """Variants with words instead of subwords, and those without training, have none."""
    records = [
        *make_costly_records("mlm", [0.5, 0.6], tokens=3000),
        *make_costly_records("untrained", [0.5], tokens=0),
        *make_costly_records("cmlm: cmlm", [0.5], tokens=500),
        *make_costly_records("quick_thoughts: uni", [0.5], tokens=500),
        *make_costly_records("quick_thoughts", [0.5], tokens=1000),  # the league's own row of this name
    ]
    assert [count_epochs(league, record, 2000) for record in records] == [1.5, 1.5, None, 0.25, None, 0.5]
    assert count_epochs(league, records[0], 0) is None


@pytest.mark.parametrize(
    ("variant", "start"),
    [
        ("mlm", "untrained"),
        ("mlm_mspp_ict", "untrained"),
        ("cross_thought", "untrained_cross"),
        ("lm", "untrained_last"),
        ("cmlm: mlm", "cmlm: untrained"),
        # Another encoder than `cmlm: untrained` has.
        ("cmlm: cmlm_proj", None),
        ("untrained", None),
        ("two_tower: static_ict", "two_tower: static_none"),
        # Two runs.
        ("quick_thoughts: combine", None),
    ],
)
def test_the_start_of_a_variant_has_its_encoder(variant: str, start: str | None, league: ResolvedSystem) -> None:
    assert find_starts(league).get(variant) == start


def test_examples_are_those_that_each_stage_reads(tmp_path: Path) -> None:
    run = {"schedule": [{"steps": 4, "weights": {"mlm": 1}}, {"steps": 3, "weights": {"mlm": 1, "bitext": 1}}]}
    config = make_mixed_system({"run": run | {"batch_size": {"bitext": 5, "joint": 7}}})
    recipe = config.pretraining("run").recipe
    for steps, by_stage, examples in ((7, [4, 3], 4 * 7 + 3 * 12), (5, [4, 1], 4 * 7 + 12), (3, [3, 0], 3 * 7)):
        (tmp_path / SUMMARY_FILE).write_text(json.dumps({"steps": steps}))
        assert read_stage_steps(recipe, tmp_path) == by_stage
        assert count_examples(config, "run", by_stage) == examples
    (tmp_path / "steps.json").write_text("[[2, null], [9, null]]")  # of a budget
    (tmp_path / SUMMARY_FILE).write_text(json.dumps({"steps": 11}))
    assert read_stage_steps(recipe, tmp_path) == [2, 9]
