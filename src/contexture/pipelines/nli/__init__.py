"""Labelled pairs of premise and hypothesis to a table."""

from contexture.pipelines.nli.pipeline import create_pipeline

__all__ = ["create_pipeline"]
