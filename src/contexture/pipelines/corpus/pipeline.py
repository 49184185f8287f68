"""The stage `corpus`."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.corpus.pages import select_redirects
from contexture.pipelines.corpus import nodes
from contexture.pipelines.named import fixed


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Sources → pages → paragraphs found → paragraphs worth learning from; redirects, counts and the corpus card."""
    corpus, cleaning = parameters.corpus, parameters.cleaning
    found, kept = "found_paragraphs@spark", "paragraphs@spark"
    return Pipeline(
        [
            node(fixed(nodes.learn_sentences, corpus), "sources", "sentence_parameters", name="learn_sentences"),
            node(
                fixed(nodes.parse_pages, corpus), ["sources", "sentence_parameters"], "pages@spark", name="parse_pages"
            ),
            node(select_redirects, "pages@spark", "redirects@spark", name="redirects"),
            node(fixed(nodes.find_paragraphs, corpus), "pages@spark", found, name="find_paragraphs"),
            node(fixed(nodes.learn_main_content, cleaning), found, "main_content", name="learn_main_content"),
            node(
                fixed(nodes.clean_paragraphs, corpus, cleaning),
                [found, "main_content", *(f"{task}-data" for task in cleaning.evaluation)],
                [kept, "cleaning_report"],
                name="clean_paragraphs",
            ),
            node(
                fixed(nodes.report_corpus, corpus),
                ["pages@spark", kept, "cleaning_report", "main_content"],
                ["corpus_report", "corpus_card"],
                name="report_corpus",
            ),
        ],
        tags="corpus",
    )
