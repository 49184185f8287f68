"""Models to scores and metrics."""

from contexture.pipelines.evaluate.pipeline import create_pipeline

__all__ = ["create_pipeline"]
