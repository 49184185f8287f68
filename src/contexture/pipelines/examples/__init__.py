"""Paragraphs and questions to token ids."""

from contexture.pipelines.examples.pipeline import create_pipeline

__all__ = ["create_pipeline"]
