"""Encoders to answer-selection models."""

from contexture.pipelines.finetune.pipeline import create_pipeline

__all__ = ["create_pipeline"]
