"""What the systems' own tests begin with: sampled tables, the files that training reads, and projects to run in."""

from tests.pipelines.conftest import make_project
from tests.streams.conftest import documents, paragraphs, vocabulary
from tests.training.fixtures import examples, tokenizer, word_examples, words

__all__ = ["documents", "examples", "make_project", "paragraphs", "tokenizer", "vocabulary", "word_examples", "words"]
