"""The stage `evaluate`."""

from contexture.pipelines.evaluate.pipeline import create_pipeline

__all__ = ["create_pipeline"]
