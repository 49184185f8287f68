from contexture.reporting.default_page import all_tables, page, remaining_sections
from contexture.reporting.page import ReportContext
from tests.reporting.make import TRAINING, measured

RECORDS = [
    *measured("mlm", [0.5, 0.7]),
    *measured("mlm", [0.9], "cr"),
    *measured("ict", [0.25], "cr"),
    *measured("ict", [0.25], "retrieval", "demo", "5%", "recall_at_10"),
    *measured("ict", [0.75], "retrieval", "demo", "80%", "recall_at_10"),
    *measured("ict", [0.125], "retrieval", "demo", "frozen", "recall_at_10"),
    *measured("ict", [0.5], "retrieval", "demo", "frozen", "recall_at_1"),
    *measured("ict", [0.9], "retrieval", "demo", "frozen", "recall_at_1", split="dev"),
    *measured("ict", [0.9], "sts14", "senteval/images", "cosine", "pearson"),
]


def test_one_table_per_task_and_data() -> None:
    probes, retrieval = all_tables(RECORDS, {"ict": "ICT"})
    assert probes.title == "Sentence tasks (SentEval)"
    assert [(column.group, column.name) for column in probes.columns[2:]] == [
        ("accuracy, SentEval's protocol", "MR"),
        ("accuracy, SentEval's protocol", "CR"),
    ]
    assert probes.rows == (("ICT", "ours, 1 seed", "–", "25.0"), ("mlm", "ours, 2 seeds", "60.0 ±127.1", "90.0"))
    assert retrieval.title == "Passage retrieval (the demo's made-up world)"
    assert [(column.group, column.name) for column in retrieval.columns[2:]] == [
        ("frozen", "R@1"),
        ("frozen", "R@10"),
        ("fine-tuned on 5%", "R@10"),
        ("fine-tuned on 80%", "R@10"),
    ]
    assert retrieval.rows == (("ICT", "ours, 1 seed", "50.0", "12.5", "25.0", "75.0"),)


def test_tasks_with_same_metrics_share_a_table() -> None:
    similar = [
        record
        for task in ("sts12", "sts13")
        for metric in ("pearson_mean", "spearman_mean")
        for record in measured("mlm", [0.5], task, "demo", "cosine", metric)
    ]
    (table,) = all_tables(similar, {})
    assert [f"{column.group}: {column.name}" for column in table.columns[2:]] == [
        "STS12: mean Pearson",
        "STS12: mean Spearman",
        "STS13: mean Pearson",
        "STS13: mean Spearman",
    ]


def test_single_scores_have_a_separate_table() -> None:
    values_by_protocol = {"frozen": 0.5, "finetuned": 0.75, "by_attention": 0.5, "by_dot": 0.25}
    rows = [
        r for protocol, v in values_by_protocol.items() for r in measured("ct", [v], "ranking", "demo", protocol, "mrr")
    ]
    rows += measured("bm25", [1.0], "ranking", "demo", "frozen", "mrr")
    whole, by_score = all_tables(rows, {"bm25": "BM25"})
    assert whole.title == "Answer ranking (the demo's made-up world)"
    assert [column.group for column in whole.columns[2:]] == ["frozen", "fine-tuned"]
    assert [row[0] for row in whole.rows] == ["BM25", "ct"]
    assert by_score.title == "Answer ranking: frozen encoders by score (the demo's made-up world)"
    assert [column.group for column in by_score.columns[2:]] == ["frozen, by attention", "frozen, by inner product"]
    assert by_score.rows == (("ct", "ours, 1 seed", "50.0", "25.0"),)


def test_page_and_remaining_sections() -> None:
    made = page(RECORDS, ReportContext("some", "Some", "A note.", trainings={"mlm": TRAINING}))
    assert [section.title for section in made.sections] == [
        "Sentence tasks (SentEval)",
        "Passage retrieval (the demo's made-up world)",
        "Training: size and speed",
    ]
    assert [section.title for section in remaining_sections(RECORDS, ["mr", "cr", "sts14"], {})] == [
        made.sections[1].title
    ]
    assert page([], ReportContext("some", "Some", "A note.")).sections == []
