"""Links between documents: from the title that a link names to the document that a reader would come to."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812


def destinations(pages: DataFrame) -> DataFrame:
    """One row for every title that leads to a document: lang, title and the document's doc_id.

    As on a wiki, a redirect to a redirect leads nowhere. A document's title comes before a redirect of that name; of
    several documents of one title the first counts.
    """
    kept = pages.where("dropped is null")
    documents = kept.where("redirect is null").groupBy("lang", "title").agg(F.min("doc_id").alias("doc_id"))
    redirects = kept.where("redirect is not null").select("lang", F.col("title").alias("name"), "redirect")
    moved = redirects.join(documents.withColumnRenamed("title", "redirect"), ["lang", "redirect"])
    titles = documents.withColumn("moved", F.lit(False)).unionByName(
        moved.select("lang", F.col("name").alias("title"), "doc_id", F.lit(True).alias("moved"))
    )
    return titles.groupBy("lang", "title").agg(F.min_by("doc_id", F.struct("moved", "doc_id")).alias("doc_id"))


def resolve_links(pages: DataFrame) -> DataFrame:
    """One row for each paragraph of the pages, `paragraph`; each link gets the `doc_id` of its document, or null.

    The join sees each title once per page, so a title linked from everywhere gives at most a row per page.
    """
    titles = "array_distinct(flatten(transform(paragraphs, p -> p.links.target)))"
    linked = pages.select("doc_id", "lang", F.explode(F.expr(titles)).alias("title"))
    known = linked.join(destinations(pages).withColumnRenamed("doc_id", "leads_to"), ["lang", "title"])
    maps = known.groupBy("doc_id").agg(
        F.map_from_entries(F.array_sort(F.collect_list(F.struct("title", "leads_to")))).alias("leads_to")
    )
    rows = pages.join(maps, "doc_id", "left").withColumn("paragraph", F.explode("paragraphs")).drop("paragraphs")
    resolved = F.col("paragraph").withField("links", _resolved(F.col("paragraph")["links"]))
    return rows.withColumn("paragraph", resolved).drop("leads_to")


def _resolved(links: Column) -> Column:
    return F.transform(links, lambda link: link.withField("doc_id", F.col("leads_to")[link["target"]]))
