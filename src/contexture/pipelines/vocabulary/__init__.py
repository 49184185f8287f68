"""Paragraphs to tokenizers."""

from contexture.pipelines.vocabulary.pipeline import create_pipeline, create_subwords_pipeline, create_words_pipeline

__all__ = ["create_pipeline", "create_subwords_pipeline", "create_words_pipeline"]
