"""The ablation of the two-tower paper's Table 5."""

from contexture.pipelines.ablation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
