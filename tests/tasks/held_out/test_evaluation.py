"""Rankings against slow loops, and recommendations by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import ndcg_score

from contexture.encoders.models import load_models
from contexture.metrics.graded import METRICS
from contexture.retrieval.config import SearchDefaults, SearchMethod
from contexture.retrieval.top import Rows
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.held_out import evaluation
from contexture.tasks.held_out.evaluation import (
    choose_search,
    evaluate_held_out,
    fuse_encoders,
    recommend_search,
    select_encoder,
    training_gains,
)
from contexture.tasks.held_out.evidence import KINDS, HeldOutEvidence, HeldOutQuestion
from tests.tasks.held_out.toys import PASSAGES, make_evidence, make_paragraph, select_kind
from tests.tasks.retrieval.toys import new_bag

USER_QUESTIONS = [
    ("what burns at night?", "Lamp"),
    ("dry wool in the hold", "en:ferry#2"),
    ("wool of the sheep", "wool"),
]
LINKED = [
    make_paragraph("en:ferry", ["All the lamps and wool on board are dear."], {"lamps": "en:lamp", "wool": "en:wool"}),
    make_paragraph("en:quay", ["The ferry comes twice a day in winter."], {"ferry": "en:ferry"}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("held_out")


@pytest.fixture(scope="module")
def evidence(folder: Path) -> HeldOutEvidence:
    return make_evidence(folder, USER_QUESTIONS, linked=LINKED)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> str:
    return new_bag(folder / "encoder")


@pytest.fixture(scope="module")
def results(folder: Path, evidence: HeldOutEvidence, encoder: str) -> Results:
    runs = [("one", 0, (encoder,)), ("one", 1, (encoder,)), ("two", 0, (encoder, encoder))]
    return evaluate_held_out([EvaluatedEncoder(*run) for run in runs], evidence, folder / "vectors")


def rank_slowly(question: HeldOutQuestion, evidence: HeldOutEvidence, *encoders: str) -> tuple[float, dict[str, float]]:
    """Return scikit-learn's nDCG@10 of a question over all candidates, and their scores, best first."""
    rows = pq.read_table(evidence.candidates).to_pylist()
    model = load_models(encoders)
    documents = model.embed([(row["title"], row["text"]) for row in rows], "document")
    if len(encoders) > 1:  # concatenated vectors have length 1
        documents = documents / np.linalg.norm(documents, axis=1, keepdims=True)
    (scores,) = model.embed([question.text], "query") @ documents.T
    best: dict[str, float] = {}
    for number, row in enumerate(rows):
        if row["doc_id"] == question.source or number in question.hidden_rows:
            continue
        if number >= len(PASSAGES) and number not in question.rest_rows:
            continue
        name = row["doc_id"] if question.by_document else row["id"]
        best[name] = max(best.get(name, -np.inf), float(scores[number]))
    ordered = {name: best[name] for name in sorted(best, key=lambda name: -best[name])}
    relevant = [[name in question.answers for name in best]]
    return float(ndcg_score(relevant, [list(best.values())], k=10)), ordered


def test_each_search_has_records_of_each_kind(evidence: HeldOutEvidence, results: Results) -> None:
    means = results.tables["questions"].groupby(["variant", "kind"])[METRICS].mean()
    searches = ["bm25", "one", "one+bm25", "two", "two+bm25"]
    runs = [(search, seed) for search in searches for seed in ((0, 1) if not search.startswith("two") else (0,))]
    constant = {"task": "held_out", "protocol": "frozen", "split": "test"}
    assert results.records == [
        {"variant": search, "seed": seed, "data": kind, "metric": metric, **constant, "value": pytest.approx(value)}
        for kind in KINDS
        for search, seed in runs
        for metric, value in means.loc[search, kind].items()
    ]
    num_questions = {kind: len(select_kind(evidence, kind)) for kind in KINDS}
    assert num_questions == {"headings": 4, "links": 2, "sentences": 4, "questions": 3}
    expected = {
        "documents": 4,
        "passages": 9,
        "held_out": 2,
        "least": 2,
        "unknown": [],
        "enough": 20,
        "asked": num_questions,
    }
    assert {name: results.details[name] for name in expected} == expected
    intervals = results.details["intervals"]
    assert list(intervals) == list(KINDS) and list(intervals["links"]["bm25"]) == ["ndcg_at_10"]
    assert intervals["links"]["one"]["ndcg_at_10"][0] == pytest.approx(means["ndcg_at_10"]["one", "links"])


def test_vector_rankings_match_a_slow_loop(evidence: HeldOutEvidence, encoder: str, results: Results) -> None:
    for variant, encoders in (("one", [encoder]), ("two", [encoder, encoder])):
        expected = [rank_slowly(question, evidence, *encoders)[0] for question in evidence.questions]
        assert len(set(np.round(expected, 3))) > 4
        table = results.tables["questions"]
        table = table[table["variant"] == variant].sort_values("query_id")
        assert table["kind"].tolist() == [question.kind for question in evidence.questions]
        assert table["ndcg_at_10"].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "answer", "by_words"),
    [
        # "at" is a stop word, no page contains "night", and one "burning".
        (USER_QUESTIONS[0][0], "en:lamp", ["en:lamp"]),
        # The page about wool has both "wool" and "sheep", the page about the ferry only "wool".
        (USER_QUESTIONS[2][0], "en:wool", ["en:wool", "en:ferry"]),
    ],
)
def test_user_questions_by_words_vectors_and_both(
    text: str, answer: str, by_words: list[str], evidence: HeldOutEvidence, encoder: str, results: Results
) -> None:
    number = next(n for n, question in enumerate(evidence.questions) if question.text == text)
    _, scores = rank_slowly(evidence.questions[number], evidence, encoder)
    order, weight = list(scores), results.details["weights"]["one"]
    width = scores[order[0]] - scores[order[-1]]
    sums = {name: weight * (score - scores[order[-1]]) / width for name, score in scores.items()}
    if by_words:  # BM25's best page has 1, the worst 0
        sums[by_words[0]] += 1 - weight
    fused = sorted(sums, key=lambda name: -sums[name])
    values = results.tables["questions"].query("query_id == @number").set_index("variant")["ndcg_at_10"]
    assert values["bm25"] == (answer in by_words)
    assert values["one"] == pytest.approx(1 / np.log2(order.index(answer) + 2))
    assert values["one+bm25"] == pytest.approx(1 / np.log2(fused.index(answer) + 2))


def bm25_metrics(evidence: HeldOutEvidence, encoder: str, folder: Path) -> list[list[float]]:
    """Return nDCG@10, recall@1 and recall@10 of each question."""
    measured = evaluate_held_out([EvaluatedEncoder("one", 0, (encoder,))], evidence, folder / "vectors")
    metrics: list[list[float]] = (
        measured.tables["questions"].query("variant == 'bm25'")[METRICS[:3]].to_numpy().tolist()
    )
    return metrics


def test_bm25_retrieves_the_rest_but_not_the_passage_of_a_sentence(tmp_path: Path, encoder: str) -> None:
    """Of two equal passages, the other one and the own rest are candidates, the own one and the other rest are not."""
    text = "Wool goes to the islands today. Wool comes from far away."
    evidence = make_evidence(tmp_path, rows=[(f"en:{name}#0", "", "", text, 0, True) for name in "ab"])
    # The other passage has all words and is first; the right rest has one of them.
    assert bm25_metrics(evidence, encoder, tmp_path) == [pytest.approx([1 / np.log2(3), 0, 1])] * 2


def test_pages_with_many_passages_do_not_crowd_out_others(tmp_path: Path, encoder: str) -> None:
    """One page has 300 passages with the word, another page has one."""
    rows = [(f"en:long#{number}", "Long", "", "wool wool", 0, False) for number in range(300)]
    rows.append(("en:short#0", "Short", "", "wool of an old and very long name that holds it back", 0, False))
    evidence = make_evidence(tmp_path, [("wool?", "Short")], rows=rows)
    assert bm25_metrics(evidence, encoder, tmp_path) == [pytest.approx([1 / np.log2(3), 0, 1])]


def test_small_kinds_are_left_out_except_user_questions(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "MIN_QUESTIONS", 5)
    encoders = [EvaluatedEncoder("one", 0, (encoder,))]
    measured = evaluate_held_out(encoders, make_evidence(tmp_path, USER_QUESTIONS[:1]), tmp_path / "vectors")
    assert {record["data"] for record in measured.records} == {"questions"}
    assert measured.details["asked"]["headings"] == 4 and measured.details["advice"]["basis"] == ["questions"]
    measured = evaluate_held_out(encoders, make_evidence(tmp_path / "none"), tmp_path / "vectors")
    assert measured.records == [] and measured.tables == {} and "advice" not in measured.details
    assert measured.details["asked"] == {"headings": 4, "links": 0, "sentences": 4, "questions": 0}


def means_table(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Return a table of means from kind → search → nDCG@10 of each question."""
    columns = ["variant", "kind", "query_id", "ndcg_at_10"]
    rows = [
        (variant, kind, f"{kind} {number}", value)
        for kind, searches in values.items()
        for variant, scores in searches.items()
        for number, value in enumerate(scores)
    ]
    return pd.DataFrame(rows, columns=columns)


def kind_scores(count: int, **searches: float) -> dict[str, list[float]]:
    """Return the same value for each question; "x_both" is x with BM25."""
    return {name.replace("_both", "+bm25"): [value] * count for name, value in searches.items()}


def test_kinds_have_equal_weight() -> None:
    headings = kind_scores(30, bm25=0.2, a=0.1, a_both=0.3, b=0.2, b_both=0.2)
    links = kind_scores(10, bm25=0.4, a=0.9, a_both=0.5, b=0.5, b_both=0.4)
    result = recommend_search(means_table({"headings": headings, "links": links}), ["a", "b"])
    assert result["means"] == pytest.approx({"bm25": 0.3, "a": 0.5, "a+bm25": 0.4, "b": 0.35, "b+bm25": 0.3})
    assert (result["best"], result["encoder"], result["basis"]) == ("a", "a", ["headings", "links"])
    assert result["gain"][0] == pytest.approx(0.2) and result["gain"][1] < 0.2 < result["gain"][2]


@pytest.mark.parametrize(
    ("headings_count", "count", "best", "basis", "gain"),
    [(40, 20, "bm25", "questions", 0), (40, 19, "a", "headings", 0.8), (0, 3, "bm25", "questions", 0)],
)
def test_twenty_user_questions_determine_the_recommendation(
    headings_count: int, count: int, best: str, basis: str, gain: float
) -> None:
    headings = kind_scores(headings_count, bm25=0.1, a=0.9, a_both=0.5)
    questions = kind_scores(count, bm25=0.5, a=0.2, a_both=0.4)
    result = recommend_search(means_table({"headings": headings, "questions": questions}), ["a"])
    assert (result["take"], result["best"], result["basis"], result["encoder"]) == (best, best, [basis], "a")
    assert result["gain"] == pytest.approx([gain] * 3)


def test_bm25_is_recommended_without_a_significant_gain() -> None:
    """Gains between −0.6 and 0.8 with mean 0.1, and gains of 0.1 each."""
    unsure = {"bm25": [0.0, 0.8, 0.1, 0.7] * 5, "a": [0.8, 0.2, 0.8, 0.2] * 5, "a+bm25": [0.0] * 20}
    result = recommend_search(means_table({"links": unsure}), ["a"])
    assert (result["best"], result["take"], result["encoder"]) == ("a", "bm25", "a")
    assert result["gain"][0] == pytest.approx(0.1) and result["gain"][1] <= 0 < result["gain"][2]
    sure = unsure | {"a": [value + 0.1 for value in unsure["bm25"]]}
    result = recommend_search(means_table({"links": sure}), ["a"])
    assert result["take"] == "a" and result["gain"] == pytest.approx([0.1] * 3)


@pytest.mark.parametrize(("untrained", "trained", "best"), [(0.6, 0.8, "x"), (0.8, 0.6, "x_none")])
def test_an_encoder_that_training_harmed_is_not_recommended(untrained: float, trained: float, best: str) -> None:
    values = {"bm25": 0.3, "x": trained, "x_both": trained - 0.1, "x_none": untrained, "x_none_both": untrained - 0.1}
    result = recommend_search(means_table({"headings": kind_scores(20, **values)}), ["x", "x_none"])
    assert result["take"] == result["encoder"] == best


def test_training_gains_by_kind() -> None:
    values = {"bm25": [0.3] * 4, "x": [0.5, 0.7, 0.5, 0.7], "x_none": [0.4, 0.4, 0.4, 0.4]}
    table = means_table({"headings": values, "links": {name: [value[0]] * 8 for name, value in values.items()}})
    gains = training_gains(table, ["x", "x_none"])
    assert set(gains) == {"headings", "links"} and set(gains["headings"]) == {"x"}
    gain, low, high = gains["headings"]["x"]
    assert gain == pytest.approx(0.2) and 0.1 - 1e-9 < low < 0.2 < high < 0.3 + 1e-9
    assert gains["links"]["x"] == pytest.approx([0.1] * 3)
    both = table.assign(variant=table["variant"] + "+bm25")
    all_rows = pd.concat([table, both[both["variant"] != "bm25+bm25"]])
    gain, low, high = recommend_search(all_rows, ["x", "x_none"])["learned"]["x"]
    assert gain == pytest.approx(0.15) and low < 0.15 < high


def test_the_encoder_is_the_best_with_or_without_bm25() -> None:
    scores = {"bm25": 0.9, "a": 0.5, "a+bm25": 0.6, "b": 0.1, "b+bm25": 0.7, "other": 0.8, "other+bm25": 0.8}
    assert select_encoder(scores, ["a", "b"]) == "b"
    assert select_encoder(scores, ["a", "other"]) == "other"


@pytest.mark.parametrize(
    ("take", "scores", "method"),
    [
        ("bm25", {"a": 0.5, "a+bm25": 0.6}, "words"),
        ("a+bm25", {"a": 0.5, "a+bm25": 0.6}, "both"),
        ("a", {"a": 0.7, "a+bm25": 0.6}, "vectors"),
        ("hub", {"a": 0.7, "a+bm25": 0.8}, "both"),  # a published encoder that is not exported
    ],
)
def test_the_index_is_searched_as_recommended(take: str, scores: dict[str, float], method: SearchMethod) -> None:
    details = {"advice": {"take": take, "means": scores}, "weights": {"a": 0.3}}
    assert choose_search(details, "a") == SearchDefaults(method, 0.3)
    assert choose_search({}, "a") == SearchDefaults("both", 0.5)


def test_a_weight_is_chosen_by_other_questions() -> None:
    """The answer is row 2. The encoder has it for even questions, BM25 for odd ones, of two generated kinds."""
    kinds = np.array(["links"] * 4 + ["headings"] * 4 + ["questions"] * 2)
    is_even = np.arange(10) % 2 == 0
    vectors, words = (
        (np.tile(np.float32([1, 0]), (10, 1)), np.where(is_right[:, None], [2, 1], [1, 2]))
        for is_right in (is_even, ~is_even)
    )

    def measure(rows: Rows) -> Any:
        return np.where(rows[:, 0] == 2, 1.0, 0.5)

    fused, weights = fuse_encoders({("a", 0): vectors, ("bm25", 0): words}, words, kinds, measure)
    # Even questions get the weight that is best for odd ones, a small one, and the other way round.
    assert list(fused) == [("a+bm25", 0)] and fused["a+bm25", 0][1][:8, 0].tolist() == [1] * 8
    assert weights == {"a": 0.1}  # all but 0.5 are right for half of each kind
    only_words = {("a", 0): words, ("bm25", 0): words}
    assert fuse_encoders(only_words, words, kinds[8:].repeat(5), measure)[1] == {"a": 0.5}
