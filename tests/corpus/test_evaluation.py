"""Evaluation documents, found by hashes on Spark and by a slow search in strings."""

import random

from pyspark.sql import SparkSession

from contexture.corpus.evaluation import MAX_DOCUMENTS, RUN_WORDS, EvaluationTexts, find_evaluation_documents

Row = tuple[str, str | None, str]
WORDS = [f"word{number}" for number in range(400)]


def find_documents(spark: SparkSession, rows: list[Row], evaluation: EvaluationTexts) -> set[str]:
    table = spark.createDataFrame(rows, "doc_id string, title string, text string").repartition(2)
    ids = [row.doc_id for row in find_evaluation_documents(table, evaluation).collect()]
    assert len(ids) == len(set(ids))
    return set(ids)


def find_by_brute_force(rows: list[Row], titles: list[str], texts: list[str]) -> set[str]:
    """Return the result of `find_evaluation_documents` by searching each run in each text."""

    def plain(text: str) -> str:
        return f" {' '.join(''.join(c if c.isalnum() else ' ' for c in text.lower()).split())} "

    paragraphs = [(doc_id, plain(text)) for doc_id, _, text in rows]
    wanted = {title.strip().lower() for title in titles}
    documents = {doc_id for doc_id, title, _ in rows if title and title.strip().lower() in wanted}
    for words in (plain(text).split() for text in texts):
        for run in (f" {' '.join(words[i : i + RUN_WORDS])} " for i in range(len(words) - RUN_WORDS + 1)):
            having = {doc_id for doc_id, text in paragraphs if run in text}
            documents |= having if len(having) <= MAX_DOCUMENTS else set()
    return documents


def test_every_rule(spark: SparkSession) -> None:
    thirteen, common = WORDS[:RUN_WORDS], WORDS[50 : 50 + RUN_WORDS]
    rows: list[Row] = [
        ("title", "  The OLD Mill", "Nothing else."),
        ("within another title", "The old mill of Ashmont", "Nothing else."),
        ("no title", None, "Nothing else."),
        ("run", "A", f"Before it, {'; '.join(thirteen).upper()}-and after it."),
        ("one word less", "B", f"Before it, {' '.join(thirteen[1:])} and after it."),
        ("one word changed", "C", " ".join([*thirteen[:6], "other", *thirteen[7:]])),
        ("two paragraphs", "D", " ".join(thirteen[:7])),
        ("two paragraphs", "D", " ".join(thirteen[7:])),
        ("two of its texts", "E", " ".join([*WORDS[20:33][-6:], *WORDS[33:46][:7]])),
        *((f"boilerplate {n}", "F", " ".join(common)) for n in range(MAX_DOCUMENTS + 1)),
        *((f"seldom {n}", "G", " ".join(WORDS[70:90])) for n in range(MAX_DOCUMENTS)),
    ]
    titles = ["the old  mill", "", "Elsewhere"]
    texts = [" ".join(words) for words in (thirteen, WORDS[20:33], WORDS[33:46], common, WORDS[70:90])]
    assert find_documents(spark, rows, EvaluationTexts.from_documents(titles, texts)) == {
        "title", "run", *(f"seldom {n}" for n in range(MAX_DOCUMENTS))
    }  # fmt: skip


def test_texts_without_runs_contain_nothing() -> None:
    evaluation = EvaluationTexts.from_documents([], ["too short"])
    hashes = EvaluationTexts.from_documents([], [" ".join(WORDS)]).runs
    assert len(hashes) and not evaluation.contains_runs(hashes).any()


def test_against_the_slow_search(spark: SparkSession) -> None:
    """The documents contain parts of the evaluation's texts, about as long as a run, between other words."""
    draw = random.Random(3)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(5, 40))) for _ in range(30)]
    rows: list[Row] = []
    for number in range(150):
        for _ in range(draw.randint(1, 3)):
            words = draw.choice(texts).split()
            start = draw.randrange(len(words))
            piece = [
                draw.choice((str.upper, str.title, str))(word) for word in words[start : start + draw.randint(8, 18)]
            ]
            around = [" ".join(draw.choices(WORDS, k=draw.randint(0, 5))) for _ in range(2)]
            rows.append(
                (f"{number}", f"Title {number}", draw.choice((", ", " – ", " ")).join([around[0], *piece, around[1]]))
            )
    titles = ["title 7", "TITLE 8", "title 1000"]
    expected = find_by_brute_force(rows, titles, texts)
    assert 20 < len(expected) < 130
    assert find_documents(spark, rows, EvaluationTexts.from_documents(titles, texts)) == expected
