"""The stage `adopt`."""

from contexture.pipelines.adopt.pipeline import create_pipeline

__all__ = ["create_pipeline"]
