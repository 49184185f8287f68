"""Passages to an index that `contexture search` reads."""

from contexture.pipelines.search.pipeline import create_pipeline

__all__ = ["create_pipeline"]
