"""Files of parallel sentences to a table of pairs."""

from contexture.pipelines.bitext.pipeline import create_pipeline

__all__ = ["create_pipeline"]
