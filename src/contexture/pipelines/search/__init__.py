"""The stage `search`."""

from contexture.pipelines.search.pipeline import create_pipeline

__all__ = ["create_pipeline"]
