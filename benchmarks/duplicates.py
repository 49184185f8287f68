"""Near duplicates of paragraphs: how many are found, and what it costs, compared with Spark's own MinHashLSH.

    python benchmarks/duplicates.py PARAGRAPHS [--copies 4] [--similarity 0.8]

PARAGRAPHS is a folder of Parquet files with the columns doc_id, paragraph_index, lang and text (a corpus run's
`paragraphs`). To each paragraph with 30 words or more, `--copies` copies are added in which words are changed at
random places, from one in ninety to one in twelve; so the right answers are known without comparing all with all.
One core, after Spark's start. One row a method:

recall      of the copies whose similarity to their original is at least --similarity; then the same for those less
            than 0.02 above it
wrong       of what was found, the share that is no near duplicate of the text it was found with
s           wall clock; and CPU seconds of Spark's JVM and its Python workers
"""

import argparse
import os
import time
from pathlib import Path

from pyspark.ml.feature import HashingTF, MinHashLSH
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.corpus.duplicates import find_duplicates
from contexture.corpus.session import start_spark
from contexture.text.minhash import SHINGLE_WORDS, choose_banding, jaccard

_CHANGED = (90, 45, 25, 12)  # one word in so many


def texts(paragraphs: DataFrame, copies: int) -> DataFrame:
    """Columns id, lang, text: the paragraphs and their changed copies."""
    draw = F.pmod(
        F.xxhash64("id", "copy", "place"), F.element_at(F.array(*map(F.lit, _CHANGED)), F.col("copy") % 4 + 1)
    )
    words = paragraphs.select(
        F.concat_ws("#", "doc_id", F.lpad(F.col("paragraph_index").cast("string"), 6, "0")).alias("id"),
        "lang",
        F.posexplode(F.split("text", " ")).alias("place", "word"),
        F.size(F.split("text", " ")).alias("words"),
    ).where("words >= 30")
    numbers = F.explode(F.sequence(F.lit(0), F.lit(copies))).alias("copy")
    changed = F.when((F.col("copy") > 0) & (draw == 0), F.concat("word", "copy")).otherwise(F.col("word"))
    return (
        words.select("*", numbers)
        .groupBy("id", "copy", "lang")
        .agg(F.array_sort(F.collect_list(F.struct("place", changed.alias("word"))))["word"].alias("words"))
        .select(F.concat_ws("~", "id", "copy").alias("id"), "lang", F.array_join("words", " ").alias("text"))
    )


def ours(frame: DataFrame, similarity: float) -> dict[str, str]:
    return {row.id: row.original for row in find_duplicates(frame, similarity).collect()}


def spark_ml(frame: DataFrame, similarity: float, tables: int) -> dict[str, str]:
    """MinHashLSH over hashed shingles: any one equal hash makes a pair, and pairs are verified."""
    words = F.split(F.lower("text"), " ")
    positions = F.sequence(F.lit(1), F.size(words) - SHINGLE_WORDS + 1)
    shingles = F.transform(positions, lambda position: F.array_join(F.slice(words, position, SHINGLE_WORDS), " "))
    vectors = HashingTF(numFeatures=1 << 20, binary=True, inputCol="shingles", outputCol="features").transform(
        frame.select("id", shingles.alias("shingles"))
    )
    model = MinHashLSH(inputCol="features", outputCol="hashes", seed=1, numHashTables=tables).fit(vectors)
    pairs = model.approxSimilarityJoin(vectors, vectors, 1 - similarity + 1e-9)
    earlier = F.col("datasetA.id") < F.col("datasetB.id")
    originals = pairs.where(earlier).groupBy("datasetB.id").agg(F.min("datasetA.id").alias("original"))
    return {row.id: row.original for row in originals.collect()}


def cpu_seconds() -> float:
    """CPU time of this process's descendants so far, those that ended included."""
    ticks, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    family = {os.getpid()}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(ticks[pid] for pid in family - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("paragraphs")
    arguments.add_argument("--copies", type=int, default=4)
    arguments.add_argument("--similarity", type=float, default=0.8)
    arguments.add_argument("--tables", type=int, default=3, help="hash tables of Spark's MinHashLSH")
    options = arguments.parse_args()
    settings = {"spark.master": "local[1]", "spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "8"}
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    spark = start_spark(settings | quiet)
    frame = texts(spark.read.parquet(options.paragraphs), options.copies).localCheckpoint()
    text = {row.id: row.text for row in frame.collect()}
    copies = {id_: jaccard(text[id_], text[f"{id_.rpartition('~')[0]}~0"]) for id_ in text if not id_.endswith("~0")}
    above = {id_ for id_, value in copies.items() if value >= options.similarity}
    border = {id_ for id_ in above if copies[id_] < options.similarity + 0.02}
    bands, rows = choose_banding(options.similarity)
    print(f"{len(text)} texts, {len(above)} copies similar enough, {len(border)} just so; {bands} bands of {rows} rows")
    print("| method | recall | at the border | wrong | s | CPU s |\n|---|---|---|---|---|---|")
    methods = {
        "Contexture": lambda: ours(frame, options.similarity),
        f"pyspark.ml, {options.tables} tables": lambda: spark_ml(frame, options.similarity, options.tables),
    }
    for name, method in methods.items():
        method()  # the JVM compiles what it runs often
        start, cpu = time.perf_counter(), cpu_seconds()
        originals = method()
        seconds, used = time.perf_counter() - start, cpu_seconds() - cpu
        wrong = sum(jaccard(text[a], text[b]) < options.similarity for a, b in originals.items())
        print(
            f"| {name} | {len(above & originals.keys()) / len(above):.4f} "
            f"| {len(border & originals.keys()) / len(border):.4f} "
            f"| {wrong / max(1, len(originals)):.4f} | {seconds:.1f} | {used:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
