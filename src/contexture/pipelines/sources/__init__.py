"""The stage `sources`."""

from contexture.pipelines.sources.pipeline import create_pipeline

__all__ = ["create_pipeline"]
