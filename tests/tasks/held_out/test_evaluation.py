"""Rankings against slow loops."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import ndcg_score

from contexture.encoders.models import load_models
from contexture.metrics.graded import METRICS
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.held_out import evaluation
from contexture.tasks.held_out.evaluation import evaluate_held_out, has_published_weights
from contexture.tasks.held_out.evidence import KINDS, HeldOutEvidence, HeldOutQuestion
from contexture.training.pretrain import SUMMARY_FILE
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
    kinds = [kind for kind in KINDS if kind != "halves"]
    searches = ["bm25", "one", "one+bm25", "two", "two+bm25"]
    runs = [(search, seed) for search in searches for seed in ((0, 1) if not search.startswith("two") else (0,))]
    constant = {"task": "held_out", "protocol": "frozen", "split": "test"}
    num_questions = {kind: len(select_kind(evidence, kind)) for kind in KINDS}
    assert results.records == [
        {"variant": search, "seed": seed, "data": kind, "metric": metric, **constant}
        | {"value": pytest.approx(value), "examples": num_questions[kind]}
        for kind in kinds
        for search, seed in runs
        for metric, value in means.loc[search, kind].items()
    ]
    assert num_questions == {"headings": 4, "links": 2, "sentences": 4, "halves": 0, "questions": 3}
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
    assert list(intervals) == kinds and list(intervals["links"]["bm25"]) == ["ndcg_at_10"]
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
    assert measured.details["asked"] == {"headings": 4, "links": 0, "sentences": 4, "halves": 0, "questions": 0}


@pytest.mark.parametrize("steps", [0, 5])
def test_an_encoder_that_was_not_trained_is_measured_once(
    steps: int, evidence: HeldOutEvidence, encoder: str, tmp_path: Path
) -> None:
    run = shutil.copytree(encoder, tmp_path / "run")
    (run / SUMMARY_FILE).write_text(json.dumps({"steps": steps}))
    runs = [EvaluatedEncoder("run", 0, (str(run),)), EvaluatedEncoder("run_none", 0, (encoder,))]
    results = evaluate_held_out(runs, evidence, tmp_path / "vectors")
    trained = {"run", "run+bm25"} if steps else set()
    assert {record["variant"] for record in results.records} == {"bm25", "run_none", "run_none+bm25"} | trained
    assert set(results.details["advice"]["learned"]) == ({"run"} if steps else set())


def test_published_weights_are_recognized(tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_published_weights(EvaluatedEncoder("hub", 0, ("all-MiniLM-L6-v2",)))
    assert not has_published_weights(EvaluatedEncoder("bag", 0, (encoder,)))
    settings = {
        "encoder": {"kind": "transformer", "init_from": "base"},
        "lengths": {"query": 8, "document": 8},
        "weights": "",
    }
    (tmp_path / "encoder.json").write_text(json.dumps(settings))
    assert has_published_weights(EvaluatedEncoder("continued", 0, (str(tmp_path),)))
    (tmp_path / "encoder.json").write_text(json.dumps(settings | {"encoder": {"kind": "transformer"}}))
    assert not has_published_weights(EvaluatedEncoder("new", 0, (str(tmp_path),)))


def test_ranks_of_the_users_questions(evidence: HeldOutEvidence, results: Results) -> None:
    table = results.tables["questions"]
    ranks = results.details["ranks"]
    assert [row["question"] for row in ranks] == [text for text, _ in USER_QUESTIONS]
    assert ranks[1]["answers"] == ["en:ferry#2"]
    numbers = [n for n, question in enumerate(evidence.questions) if question.kind == "questions"]
    for number, row in zip(numbers, ranks, strict=True):
        assert list(row["ranks"]) == ["bm25", "one", "two", "one+bm25", "two+bm25"]
        values = table[table["query_id"] == number].set_index("variant")["ndcg_at_10"]
        for name in ("bm25", "two", "two+bm25"):  # of a single seed, or equal for all
            rank = row["ranks"][name]
            assert values[name] == pytest.approx(1 / np.log2(rank + 1) if rank and rank <= 10 else 0)
