"""The stage `vocabulary`."""

from kedro.pipeline import Pipeline, node

from contexture.pipelines.vocabulary.nodes import make_tokenizer, make_word_vectors, make_words, tokenize


def create_pipeline() -> Pipeline:
    """Paragraphs → tokenizer → documents of token ids."""
    return Pipeline(
        [
            node(
                make_tokenizer,
                ["paragraphs@files", "params:vocabulary", "tokenizer_place"],
                "tokenizer",
                name="make_tokenizer",
            ),
            node(tokenize, ["paragraphs@spark", "tokenizer"], "documents@spark", name="tokenize"),
        ],
        tags="vocabulary",
    )


def create_words_pipeline() -> Pipeline:
    """Paragraphs → words → documents of their ids → the words with their vectors."""
    words = "params:words"
    return Pipeline(
        [
            node(make_words, ["paragraphs@files", words, "word_list_place"], "word_list", name="make_words"),
            node(tokenize, ["paragraphs@spark", "word_list"], "word_documents@spark", name="tokenize_words"),
            node(
                make_word_vectors,
                ["word_list", "word_documents@files", words, "words_place"],
                "words",
                name="make_word_vectors",
            ),
        ],
        tags="vocabulary",
    )
