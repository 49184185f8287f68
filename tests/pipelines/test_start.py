"""Spark's settings by the size of the text."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from contexture.corpus.config import CorpusConfig
from contexture.pipelines.datasets import SparkTable
from contexture.pipelines.hooks.start import SMALL_TEXT, SMALL_TEXT_BYTES, StartSpark
from contexture.pipelines.sources.nodes import check_inputs


def spark_settings(
    text: Path, size: int, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, conf: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings that a run of `pipeline` on a text of `size` bytes adds to those of conf/."""
    added: dict[str, Any] = {}
    session = SimpleNamespace(conf=SimpleNamespace(set=added.__setitem__))
    monkeypatch.setattr("contexture.corpus.session.start_spark", lambda settings, log: session)
    with text.open("wb") as file:
        file.truncate(size)
    check_inputs(CorpusConfig(input=str(text), lang="en"), True, {})
    hook = StartSpark()
    hook.after_context_created(SimpleNamespace(config_loader={"spark": conf}, project_path=text.parent))  # type: ignore[arg-type]
    table = "paragraphs@spark"
    hook.before_pipeline_run({}, pipeline, DataCatalog({table: SparkTable(str(text.parent / "paragraphs"))}))
    hook.before_dataset_loaded(next(node for node in pipeline.nodes if table in {*node.inputs, *node.outputs}))
    return added


def test_a_small_text_is_read_without_generated_code_unless_conf_has_settings(
    pipelines: dict[str, Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, corpus = tmp_path / "text.txt", pipelines["corpus"]
    conf = {"spark.master": "local[2]"}
    assert spark_settings(text, SMALL_TEXT_BYTES - 1, corpus, monkeypatch, conf) == SMALL_TEXT
    kept, *added = SMALL_TEXT
    settings = spark_settings(text, SMALL_TEXT_BYTES - 1, corpus, monkeypatch, conf | {kept: True})
    assert settings == {key: SMALL_TEXT[key] for key in added}


def test_a_large_text_and_tables_of_an_earlier_run_have_the_settings_of_conf(
    pipelines: dict[str, Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, corpus = tmp_path / "text.txt", pipelines["corpus"]
    assert spark_settings(text, SMALL_TEXT_BYTES, corpus, monkeypatch, {}) == {}
    later = corpus.filter(tags=["vocabulary"])
    assert spark_settings(text, 1, later, monkeypatch, {}) == {}
