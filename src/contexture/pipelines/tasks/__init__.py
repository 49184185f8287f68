"""The stage `tasks`."""

from contexture.pipelines.tasks.pipeline import create_pipeline

__all__ = ["create_pipeline"]
