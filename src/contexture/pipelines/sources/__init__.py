"""Which files the run reads, checked before any work starts."""

from contexture.pipelines.sources.pipeline import create_pipeline, create_sentence_tasks_pipeline

__all__ = ["create_pipeline", "create_sentence_tasks_pipeline"]
