"""Which files the run reads, checked before any work starts."""

from contexture.pipelines.sources.pipeline import create_pipeline

__all__ = ["create_pipeline"]
