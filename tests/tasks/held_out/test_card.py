"""Results on held-out documents in the card of an exported encoder."""

from contexture.tasks.held_out.card import card_results


def test_section_and_results_of_a_card() -> None:
    record = {"variant": "bm25", "seed": 0, "data": "headings", "metric": "ndcg_at_10", "value": 0.25}
    single, both = record | {"variant": "a", "value": 0.5}, record | {"variant": "a+bm25", "value": 0.625}
    unused = [single | {"seed": 1}, single | {"metric": "recall_at_10"}, single | {"variant": "b"}]
    links = [record | {"data": "links"}]
    questions = [record | {"data": "questions", "value": 0.5}, single | {"data": "questions", "value": 0.75}]
    section, results = card_results([record, single, both, *unused, *links, *questions], "a")
    lines = section.splitlines()
    assert lines[1] == "## Results"
    assert lines[-5:] == [
        "| | BM25 | this encoder | both |",
        "|---|---|---|---|",
        "| a heading → its section | 25.0 | 50.0 | 62.5 |",
        "| a sentence with a link → the page | 25.0 | – | – |",
        "| your questions | 50.0 | 75.0 | – |",
    ]
    assert [(result.dataset_type, result.metric_type, result.metric_value) for result in results] == [
        ("held-out-headings", "ndcg_at_10", 0.5),
        ("held-out-questions", "ndcg_at_10", 0.75),
    ]
    assert card_results([], "a") == ("", [])
