"""Spark's settings by the size of the text."""

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

CONF = {"spark.master": "local[2]"}


def spark_settings(
    text: Path, size: int, pipeline: Pipeline, conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return the settings with which a run of `pipeline` on a text of `size` bytes starts Spark."""
    with text.open("wb") as file:
        file.truncate(size)
    check_inputs(CorpusConfig(input=str(text), lang="en"), True, {})
    monkeypatch.setattr("contexture.corpus.session.start_spark", lambda settings, log: settings)
    hook = StartSpark()
    hook.after_context_created(SimpleNamespace(config_loader={"spark": conf}, project_path=text.parent))  # type: ignore[arg-type]
    catalog = DataCatalog({"paragraphs@spark": SparkTable(str(text.parent / "paragraphs"))})
    hook.before_pipeline_run({}, pipeline, catalog)
    assert hook.started is not None
    settings: dict[str, Any] = hook.started.result()
    return settings


def test_a_small_text_is_read_without_generated_code_unless_conf_says_otherwise(
    pipelines: dict[str, Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, corpus = tmp_path / "text.txt", pipelines["corpus"]
    assert spark_settings(text, SMALL_TEXT_BYTES - 1, corpus, CONF, monkeypatch) == SMALL_TEXT | CONF
    own = CONF | dict.fromkeys(SMALL_TEXT, "of conf/")
    assert spark_settings(text, SMALL_TEXT_BYTES - 1, corpus, own, monkeypatch) == own


def test_a_large_text_or_tables_of_an_earlier_run_have_the_settings_of_conf(
    pipelines: dict[str, Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, corpus = tmp_path / "text.txt", pipelines["corpus"]
    assert spark_settings(text, SMALL_TEXT_BYTES, corpus, CONF, monkeypatch) == CONF
    later = corpus.filter(tags=["vocabulary"])
    assert spark_settings(text, 1, later, CONF, monkeypatch) == CONF
