"""The stage `finetune`."""

from contexture.pipelines.finetune.pipeline import create_pipeline

__all__ = ["create_pipeline"]
