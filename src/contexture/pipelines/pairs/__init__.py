"""Documents to the pairs of the two-tower system."""

from contexture.pipelines.pairs.pipeline import create_pipeline

__all__ = ["create_pipeline"]
