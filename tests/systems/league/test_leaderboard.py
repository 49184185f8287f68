"""Leaderboards of saved results."""

from contexture.reporting.provenance import Provenance
from contexture.reporting.saved_results import SavedResults
from contexture.systems.league.leaderboard import MAX_TRAINED_ROWS, make_leaderboards
from tests.reporting.make import COST, measured

SQUAD = ("retrieval", "squad", "frozen", "recall_at_10")
RUN = Provenance(text="a-very-long-name-of-an-export.xml.bz2", text_sha256="0123456789")
UNTRAINED = COST | {"steps": 0, "seconds": 0.0, "flops": 0.0}


def saved(*records: dict, run: Provenance = RUN, system: str = "some") -> SavedResults:  # type: ignore[type-arg]
    return SavedResults({system: run}, list(records))


def test_rows_of_all_files_are_sorted_and_name_their_text() -> None:
    larger = COST | {"flops": 3e12, "seconds": 180.0}
    trained = [measured("ict", [0.5], *SQUAD, cost=COST)[0], measured("ict", [0.5, 0.5], *SQUAD, cost=larger)[1]]
    first = saved(*trained, *measured("bm25", [0.9], *SQUAD), *measured("untrained", [0.3], *SQUAD, cost=UNTRAINED))
    bm25 = measured("bm25", [0.9, 0.9], *SQUAD)  # with each seed
    second = saved(*measured("mlm", [0.6], *SQUAD, cost=COST), *bm25, run=Provenance())
    (table,) = make_leaderboards({"a": first, "b": second}, {"some": {"ict": "ICT"}})
    assert table.title == "Search, frozen: R@10, SQuAD" and table.caption.startswith("R@10: percent of questions")
    text = "a-very-long-name-of-an-export… (01234567)"
    assert table.rows == (
        ("BM25", "some", "90.0", "–", "–", "–", "–", "a and b"),
        ("mlm", "some", "60.0", "1", "unknown (unknown)", "1.0T", "1.0", "b"),
        ("ICT", "some", "50.0 ±0.0", "2", text, "2.0T", "2.0", "a"),
        ("Untrained", "some", "30.0", "1", "–", "0", "0.0", "a"),
    )


def test_each_use_data_set_and_way_of_tuning_has_a_table() -> None:
    records = [
        *measured("ict", [0.5], *SQUAD),
        *measured("ict", [0.5], "retrieval", "squad", "80%", "recall_at_10"),
        *measured("ict", [0.5], "answer_selection", "wikiqa", "grouped", "map"),
        *measured("ict", [0.5, 0.7], "bitext_retrieval", "tatoeba/deu-eng", "frozen", "accuracy"),
        *measured("ict", [0.3, 0.5], "bitext_retrieval", "tatoeba/eng-deu", "frozen", "accuracy"),
        *measured("ict", [0.5], "mr"),
    ]
    tables = make_leaderboards({"a": saved(*records)}, {})
    # Means of both directions: 0.4 and 0.6; t(0.975, 1) = 12.706; 14.14 / √2 = 10.
    assert tables[-1].rows[0][2:4] == ("50.0 ±127.1", "2") and "mean over all directions" in tables[-1].caption
    assert [table.title for table in tables] == [
        "Search, frozen: R@10, SQuAD",
        "Search, fine-tuned on 80%: R@10, SQuAD",
        "Choosing answers, fine-tuned: MAP, WikiQA",
        "Classification, mean of 1 task: accuracy, SentEval, protocol senteval",
        "Finding translations, frozen: accuracy, Tatoeba",
    ]


def test_only_the_best_trained_rows_are_shown_with_all_others() -> None:
    trained = [record for i in range(20) for record in measured(f"run_{i}", [i / 100], *SQUAD, cost=COST)]
    (table,) = make_leaderboards({"a": saved(*trained, *measured("bm25", [0.0], *SQUAD))}, {})
    assert [row[0] for row in table.rows] == [*(f"run_{i}" for i in range(19, 19 - MAX_TRAINED_ROWS, -1)), "BM25"]
    assert "The best 15 of 20 trained rows, and all rows without training." in table.caption
