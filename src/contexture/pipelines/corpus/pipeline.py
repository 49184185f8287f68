"""The stage `corpus`."""

from kedro.pipeline import Pipeline, node

from contexture.corpus.pages import redirects
from contexture.pipelines.corpus.nodes import parse_pages, report_corpus, select_paragraphs


def create_pipeline() -> Pipeline:
    """Exports → pages → paragraphs, redirects and counts."""
    return Pipeline(
        [
            node(parse_pages, ["sources", "params:corpus"], "pages@spark", name="parse_pages"),
            node(select_paragraphs, ["pages@spark", "params:corpus"], "paragraphs@spark", name="select_paragraphs"),
            node(redirects, "pages@spark", "redirects@spark", name="select_redirects"),
            node(report_corpus, "pages@spark", "corpus_report", name="report_corpus"),
        ],
        tags="corpus",
    )
