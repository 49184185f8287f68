"""The stage `corpus`."""

from kedro.pipeline import Pipeline, node

from contexture.config import Parameters
from contexture.corpus.pages import select_redirects
from contexture.pipelines.corpus import nodes
from contexture.pipelines.named import fixed
from contexture.pipelines.sources.pipeline import create_world_pipeline


def create_pipeline(parameters: Parameters) -> Pipeline:
    """Return the stage `corpus`: sources → pages → paragraphs to learn from, redirects, counts and the corpus card."""
    corpus, cleaning = parameters.corpus, parameters.cleaning
    paragraphs, kept = "raw_paragraphs@spark", "paragraphs@spark"
    return Pipeline(
        [
            node(fixed(nodes.learn_sentences, corpus), "sources", "sentence_parameters", name="learn_sentences"),
            node(
                fixed(nodes.parse_pages, corpus), ["sources", "sentence_parameters"], "pages@spark", name="parse_pages"
            ),
            node(select_redirects, "pages@spark", "redirects@spark", name="select_redirects"),
            node(fixed(nodes.find_paragraphs, corpus), "pages@spark", paragraphs, name="find_paragraphs"),
            node(fixed(nodes.learn_main_content, cleaning), paragraphs, "main_content", name="learn_main_content"),
            node(
                fixed(nodes.clean_paragraphs, corpus, cleaning),
                ["pages@spark", paragraphs, "main_content", *(f"{task}-data" for task in cleaning.evaluation)],
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


def create_bitext_pipeline(parameters: Parameters) -> Pipeline:
    """Return the stage for bitext: files → all pairs → pairs to learn from, and their counts."""
    pairs, settings = "raw_bitext@spark", (parameters.bitext, parameters.demo)
    world, demo_dir = create_world_pipeline(parameters, [parameters.bitext.input])
    outputs = ["bitext@spark", "bitext_report"]
    return world + Pipeline(
        [
            node(fixed(nodes.read_bitext, *settings), demo_dir, pairs, name="read_bitext"),
            node(fixed(nodes.clean_bitext, *settings), [demo_dir, pairs], outputs, name="clean_bitext"),
        ],
        tags="corpus",
    )


def create_nli_pipeline(parameters: Parameters) -> Pipeline:
    """Return the stage for NLI: files → pairs of premise and hypothesis in all languages."""
    world, demo_dir = create_world_pipeline(parameters, [parameters.nli.input])
    return world + Pipeline(
        [node(fixed(nodes.read_nli, parameters.nli), demo_dir, "nli@spark", name="read_nli", tags="corpus")]
    )
