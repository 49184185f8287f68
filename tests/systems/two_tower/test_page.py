import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.two_tower.page import NOTE, TITLE, page
from tests.reporting.golden import check_page
from tests.reporting.make import TRAINING, measured

CONTEXT = ReportContext(
    system="two_tower",
    title=TITLE,
    note=NOTE,
    examples={
        "wlp": {"pairs": 77, "tokens": 7777, "mean_query_tokens": 21.5, "mean_document_tokens": 79.5},
        "bfs": {"pairs": 0, "tokens": 0, "mean_query_tokens": 0.0, "mean_document_tokens": 0.0},
    },
    details={
        "retrieval": {
            "name": "squad",
            "counts": {"queries": 10570, "candidates": 10123, "tuples": 11000},
            "indexes": [
                {"kind": "hnsw", "recall_against_exact": 0.991, "queries_per_second": 9876.0, "build_seconds": 2.0}
            ],
            "speeds": [{"what": "Encoding candidates", "unit": "candidates", "per_second": 321.0}],
        }
    },
    trainings={"ict": TRAINING},
)


def recalls(
    variant: str, protocol: str, values: list[float], data: str = "squad", metric: str = "recall_at_10"
) -> list[Record]:
    return measured(variant, values, "retrieval", data, protocol, metric, system="two_tower")


RECORDS = [
    *recalls("ict_bfs_wlp", "1%", [0.50, 0.52, 0.54]),
    *recalls("bm25", "1%", [0.55, 0.55, 0.56]),
    *recalls("ict", "1%", [0.45]),
    *recalls("ict_bfs_wlp", "80%", [0.75]),
    *recalls("bm25", "80%", [0.56]),
    *recalls("ict_bfs_wlp", "1%", [0.58], metric="sentence_recall_at_10"),
]


#: With an ablation, open-domain retrieval, frozen towers, and another task.
MORE = [
    *RECORDS,
    *recalls("ict layers=2 embedding_size=64", "10% ablation", [0.5], metric="recall_at_100"),
    *recalls("ict", "5% open", [0.333]),
    *recalls("ict", "frozen open", [0.125]),
    *recalls("ict", "frozen", [0.25]),
    *measured("ict", [0.625], "mr", system="two_tower"),
]
OTHER_SETS = [*recalls("bm25", "1%", [0.1], "natural_questions"), *recalls("ict", "30%", [0.2], "demo")]


@pytest.mark.parametrize(
    ("name", "records", "context"),
    [
        ("two_tower", RECORDS, CONTEXT),  # differences −5, −3, −2: mean −3.33, standard deviation 1.53
        ("two_tower-more", MORE, CONTEXT),
        ("two_tower-sets", OTHER_SETS, CONTEXT),
        ("two_tower-not-run", [], ReportContext("two_tower", "Two-tower", "No results.")),
    ],
)
def test_page(name: str, records: list[Record], context: ReportContext) -> None:
    check_page(name, records, context, page)


@pytest.mark.parametrize("protocol", ["test", "1% closed", "open"])
def test_unknown_protocols_are_errors(protocol: str) -> None:
    with pytest.raises(ValueError, match=rf"a share of the questions such as '1%', .*'protocol': '{protocol}'"):
        page(recalls("ict", protocol, [0.1]), CONTEXT)
