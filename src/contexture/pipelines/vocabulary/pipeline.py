"""The stage `vocabulary`."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.pipelines.named import fixed
from contexture.pipelines.vocabulary.nodes import (
    make_subword_statistics,
    make_tokenizer,
    make_word_vectors,
    make_words,
    tokenize,
)


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Return the stage `vocabulary`: paragraphs → tokenizer → documents of token ids."""
    learn = fixed(make_tokenizer, parameters.vocabulary)
    return Pipeline(
        [
            node(learn, ["paragraphs@files", "params:tokenizer_dir"], "tokenizer", name="make_tokenizer"),
            node(tokenize, ["paragraphs@spark", "tokenizer"], "documents@spark", name="tokenize_paragraphs"),
        ],
        tags="vocabulary",
    )


def create_subwords_pipeline(parameters: Parameters, dataset: str) -> Pipeline:
    """Return the stage for subwords: documents → `subwords`, with IDF, or `subword_vectors`, also with vectors."""
    make = fixed(make_subword_statistics, parameters.vocabulary, dataset == "subword_vectors")
    inputs = ["tokenizer", "documents@files", f"params:{dataset}_dir"]
    return Pipeline([node(make, inputs, dataset, name=f"make_{dataset}")], tags="vocabulary")


def create_words_pipeline(parameters: Parameters) -> Pipeline:
    """Return the stage for words: paragraphs → words → documents of their ids → words with IDF and vectors."""
    learn, make = fixed(make_words, parameters.words), fixed(make_word_vectors, parameters.words)
    return Pipeline(
        [
            node(learn, ["paragraphs@files", "params:word_list_dir"], "word_list", name="make_word_list"),
            node(tokenize, ["paragraphs@spark", "word_list"], "word_documents@spark", name="tokenize_words"),
            node(make, ["word_list", "word_documents@files", "params:words_dir"], "words", name="make_word_vectors"),
        ],
        tags="vocabulary",
    )
