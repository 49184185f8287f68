"""Paragraphs to a tokenizer."""

from contexture.pipelines.vocabulary.pipeline import create_pipeline

__all__ = ["create_pipeline"]
