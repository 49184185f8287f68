"""Sampling of sentences in corpus order (Quick-Thoughts, section 4.3): documents to one row per sentence."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import shuffle_into_files
from contexture.streams.sentences.config import SentencesConfig
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import select_sentences


def contiguous_sentences(documents: DataFrame, max_words: int, files: int, seed: int) -> DataFrame:
    """Return one row per sentence: `document`, `position` in it from 0, and `tokens` cut at `max_words`.

    The seed decides the order of documents. Each document is in one of `files` files; reading them in the order of
    their names gives the corpus. Documents with one sentence, which has no neighbour, are dropped. The same documents
    and seed give the same rows on any number of cores.
    """
    flat = select_sentences(documents).select("doc_id", F.flatten("sentences").alias("sentences"))
    return (
        shuffle_into_files(flat.where(F.size("sentences") > 1), files, seed, "doc_id")
        .select(F.col("doc_id").alias("document"), F.posexplode("sentences").alias("position", "words"))
        .select("document", "position", F.slice("words", 1, max_words).alias("tokens"))
    )


def count_sentences(documents: DataFrame, max_words: int) -> dict[str, int]:
    """Count documents, sentences and words of `contiguous_sentences`, dropped documents and cut sentences."""
    lengths = F.transform(F.flatten("sentences"), F.size)
    row = (
        select_sentences(documents)
        .select(lengths.alias("lengths"))
        .selectExpr("size(lengths) AS size", "IF(size(lengths) > 1, lengths, array()) AS kept")
        .selectExpr(
            "count_if(size > 1) AS documents",
            "sum(size(kept)) AS sentences",
            f"sum(aggregate(kept, 0L, (total, words) -> total + least(words, {max_words}))) AS words",
            f"sum(size(filter(kept, words -> words > {max_words}))) AS sentences_cut",
            "count_if(size = 1) AS documents_of_one_sentence",
        )
        .collect()[0]
    )
    return {name: int(value or 0) for name, value in row.asDict().items()}


def tables(config: SentencesConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define the table of sentences in corpus order, cut to the encoder's length, and its counts."""

    def make_sentences(documents: DataFrame) -> DataFrame:
        return contiguous_sentences(documents, lengths.document, config.files, seed)

    def count_examples(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        """Return the counts of `count_sentences`; ValueError if no document has two sentences."""
        counts = count_sentences(documents, lengths.document)
        if not counts["sentences"]:
            raise ValueError(f"no document of the corpus has two sentences: {counts}; add longer documents")
        return counts

    return ExampleTables([ExampleTable("sentences", make_sentences, ("documents",))], count_examples)
