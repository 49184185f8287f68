"""Exports to paragraphs."""

from contexture.pipelines.corpus.pipeline import create_pipeline

__all__ = ["create_pipeline"]
