"""The stage `corpus`."""

from kedro.pipeline import Pipeline, node

from contexture.corpus.pages import redirects
from contexture.pipelines.corpus.nodes import (
    clean_paragraphs,
    find_paragraphs,
    learn_main_content,
    learn_sentences,
    parse_pages,
    report_corpus,
)


def create_pipeline() -> Pipeline:
    """Sources → pages → paragraphs found → paragraphs worth learning from; redirects, counts and the corpus card."""
    corpus, cleaning = "params:corpus", "params:cleaning"
    found, kept = "found_paragraphs@spark", "paragraphs@spark"
    return Pipeline(
        [
            node(learn_sentences, ["sources", corpus], "sentence_parameters", name="learn_sentences"),
            node(parse_pages, ["sources", "sentence_parameters", corpus], "pages@spark", name="parse_pages"),
            node(redirects, "pages@spark", "redirects@spark", name="select_redirects"),
            node(find_paragraphs, ["pages@spark", corpus], found, name="find_paragraphs"),
            node(learn_main_content, [found, cleaning], "main_content", name="learn_main_content"),
            node(
                clean_paragraphs,
                [found, "main_content", corpus, cleaning],
                [kept, "cleaning_report"],
                name="clean_paragraphs",
            ),
            node(
                report_corpus,
                ["pages@spark", kept, "cleaning_report", "main_content", corpus],
                ["corpus_report", "corpus_card"],
                name="report_corpus",
            ),
        ],
        tags="corpus",
    )
