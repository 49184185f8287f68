"""The stage `report`."""

from contexture.pipelines.report.pipeline import create_pipeline

__all__ = ["create_pipeline"]
