"""Documents of words to sentences in the order of the corpus."""

from contexture.pipelines.contiguous.pipeline import create_pipeline

__all__ = ["create_pipeline"]
