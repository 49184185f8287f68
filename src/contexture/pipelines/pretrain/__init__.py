"""The stage `pretrain`."""

from contexture.pipelines.pretrain.pipeline import create_pipeline

__all__ = ["create_pipeline"]
