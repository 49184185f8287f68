"""Frozen encoders of sentences to everything that is measured of them."""

from contexture.pipelines.sentences.pipeline import create_pipeline

__all__ = ["create_pipeline"]
