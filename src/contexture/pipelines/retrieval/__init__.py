"""Towers and questions to rankings and their metrics."""

from contexture.pipelines.retrieval.pipeline import create_pipeline

__all__ = ["create_pipeline"]
