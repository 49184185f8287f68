"""Metrics to tables, pictures and pages."""

from contexture.pipelines.report.pipeline import create_pipeline, create_retrieval_pipeline, create_sentence_pipeline

__all__ = ["create_pipeline", "create_retrieval_pipeline", "create_sentence_pipeline"]
