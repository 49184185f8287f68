"""The stage `examples`."""

from contexture.pipelines.examples.pipeline import create_pipeline

__all__ = ["create_pipeline"]
