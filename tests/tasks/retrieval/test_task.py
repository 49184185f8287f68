"""The retrieval task, from files to records."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.demo import DemoConfig, write_demo_world
from contexture.encoders.base import Encoder
from contexture.encoders.models import load_model
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.retrieval.config import RetrievalConfig, RetrievalSettings
from contexture.tasks.retrieval.evaluation import is_unseen
from contexture.tasks.retrieval.ranks import METRICS, recalls
from contexture.tasks.retrieval.task import RetrievalTask
from tests.retrieval.test_bm25 import build_bm25
from tests.tasks.retrieval import toys
from tests.tasks.retrieval.test_open_domain import write_passages

TASK = RetrievalTask()
SETTINGS = toys.settings(steps=5, shares=[50, 80], indexes=[{"kind": "hnsw"}], indexed="tuned")
OPEN = toys.settings(steps=5, shares=[50, 80], open_domain_pairs=8, open_domain=["tuned"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, an encoder, and models fine-tuned with two seeds."""
    folder = tmp_path_factory.mktemp("project")
    data = toys.write_data(folder / "data")
    toys.new_encoder(folder / "encoder", toys.vocabulary(folder / "words"))
    for seed in (0, 1):
        for option in TASK.list_options(SETTINGS, None):
            (folder / f"tuned-{seed}" / option).mkdir(parents=True)
            TASK.finetune(SETTINGS, option, make_encoders(folder)[seed], data, folder / f"tuned-{seed}" / option)
    return folder


def make_encoders(project: Path) -> list[EvaluatedEncoder]:
    """Return an encoder fine-tuned with two seeds, and two concatenated encoders."""
    start = str(project / "encoder")
    tuned = [EvaluatedEncoder("tuned", seed, (start,), project / f"tuned-{seed}") for seed in (0, 1)]
    return [*tuned, EvaluatedEncoder("both", 0, (start, start))]


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return TASK.evaluate(SETTINGS, make_encoders(project), project / "data", project / "vectors")


def evaluate(project: Path, settings: RetrievalSettings = SETTINGS, passages: Path | None = None) -> Results:
    return TASK.evaluate(settings, make_encoders(project), project / "data", project / "vectors", passages=passages)


def test_options_documents_and_shares_that_are_too_small(project: Path, tmp_path: Path) -> None:
    assert TASK.list_options(SETTINGS, None) == ["share-50", "share-80"]
    assert TASK.list_options(toys.settings(shares=[]), None) == []
    documents = TASK.load_documents(project / "data")
    assert documents is not None
    assert [*documents["text"]] == [*toys.tables()[1]["passage"].drop_duplicates()] and set(documents["title"]) == {""}
    TASK.check_settings(SETTINGS, project / "data")
    small = toys.settings(shares=[50, 1])
    with pytest.raises(ValueError, match=r"retrieval\.shares: 1% of 80 questions leaves no train, dev or test"):
        TASK.check_settings(small, project / "data")
    TASK.check_settings(small, tmp_path)  # without data
    assert TASK.load_documents(tmp_path) is None
    assert TASK.evaluate(small, make_encoders(project), tmp_path, tmp_path) == Results()


def test_each_encoder_protocol_and_metric_has_a_record(results: Results) -> None:
    combinations = [(seed, protocol) for seed in (0, 1) for protocol in ("50%", "80%", "frozen")]
    runs = [
        *[("bm25", *run) for run in combinations],
        ("both", 0, "frozen"),
        *[("tuned", *run) for run in combinations],
    ]
    ranks = results.tables["ranks"].set_index(["variant", "seed", "protocol"]).sort_index()
    constant = {"task": "retrieval", "data": "toys", "split": "test"}
    assert results.records == [
        {"variant": variant, "seed": seed, "protocol": protocol, "metric": metric, **constant}
        | {"value": pytest.approx(float(values.mean())), "examples": len(values)}
        for variant, seed, protocol in runs
        for metric, values in recalls(ranks.loc[(variant, seed, protocol)]).drop(columns="question_id").items()
    ]
    assert len(results.records) == len(runs) * len(METRICS)
    assert json.loads(json.dumps(results.records)) == results.records


def test_rankings_are_fused_with_bm25(project: Path, results: Results) -> None:
    fused = evaluate(project, toys.settings(steps=5, shares=[50, 80], hybrid=["tuned"]))
    ranks = fused.tables["ranks"]
    counts = ranks.groupby(["variant", "seed", "protocol"]).size()
    assert set(ranks["variant"]) == {"bm25", "tuned", "tuned+bm25", "both"}
    for (variant, seed, protocol), count in counts.items():  # type: ignore[misc]
        assert variant != "tuned+bm25" or count == counts["tuned", seed, protocol]
    plain = pd.DataFrame(results.records)
    same = pd.DataFrame(fused.records).query("variant != 'tuned+bm25'").reset_index(drop=True)
    pd.testing.assert_frame_equal(same, plain)  # other results do not change
    # Frozen encoders have equal weights: a candidate that is first in both rankings stays first.
    first = ranks[ranks["protocol"].eq("frozen") & ranks["seed"].eq(0)].pivot(
        index="question_id", columns="variant", values="rank"
    )
    both = first[(first["bm25"] == 1) & (first["tuned"] == 1)]
    assert len(both) and (both["tuned+bm25"] == 1).all()
    assert (first["tuned+bm25"] != first["tuned"]).any()


def test_all_are_tested_on_the_same_questions_and_frozen_ones_on_all(results: Results) -> None:
    questions, _ = toys.tables()
    ranks = results.tables["ranks"]
    for (variant, seed, protocol), part in ranks.groupby(["variant", "seed", "protocol"]):
        share = None if protocol == "frozen" else float(protocol.rstrip("%"))
        expected = questions["question_id"][is_unseen(questions, share, seed)].tolist()
        assert part["question_id"].tolist() == expected, (variant, seed, protocol)
    assert is_unseen(questions, 80, 0).sum() == 16


def test_two_equal_encoders_rank_like_a_normalized_one(results: Results, project: Path) -> None:
    from contexture.encoders.models import load_model

    questions, candidates = toys.tables()
    model = load_model(project / "encoder")
    queries = model.embed(questions["question"].tolist(), "query")
    documents = model.embed(list(zip(candidates["sentence"], candidates["passage"], strict=True)), "document")
    scores = queries @ (documents / np.linalg.norm(documents, axis=1, keepdims=True)).T
    expected = [int((row >= row[number % 40]).sum()) for number, row in enumerate(scores)]
    ranks = results.tables["ranks"].query("variant == 'both'")["rank"].to_numpy()
    assert np.mean(ranks == np.array(expected)) > 0.95  # rounding may decide a tie


def test_details_have_indexes_and_speeds(results: Results) -> None:
    assert [index["kind"] for index in results.details["indexes"]] == ["flat", "hnsw"]
    assert results.details["indexes"][0]["recall_against_exact"] == 1
    (speed,) = results.details["speeds"]
    assert speed["what"] == "BM25 search" and speed["per_second"] > 0
    assert json.loads(json.dumps(results.details)) == results.details


def test_vectors_are_kept(project: Path, results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second evaluation only embeds questions and has equal results."""
    real = Encoder.embed

    def no_candidates(self: Encoder, texts: Sequence[Any], role: Any = None) -> Any:
        assert role == "query" or len(texts) == 1
        return real(self, texts, role)

    monkeypatch.setattr(Encoder, "embed", no_candidates)
    assert evaluate(project).records == results.records


def test_the_open_domain_is_not_easier(project: Path, results: Results, tmp_path: Path) -> None:
    opened = evaluate(project, OPEN, write_passages(tmp_path / "passages"))
    table = pd.DataFrame(opened.records)
    grown = table[table["protocol"].str.endswith(" open")]
    assert set(grown["variant"]) == {"bm25", "tuned"}
    assert set(grown["protocol"]) == {"frozen open", "50% open", "80% open"}
    keys = ["variant", "seed", "protocol", "metric"]
    both = grown.assign(protocol=grown["protocol"].str.removesuffix(" open")).merge(
        pd.DataFrame(results.records), on=keys, suffixes=("_open", "")
    )
    assert len(both) == len(grown) and (both["value_open"] <= both["value"]).all()
    closed = table[~table["protocol"].str.endswith(" open")].to_dict("records")
    assert closed == [record for record in results.records if record["protocol"] in set(table["protocol"])]
    assert opened.details["indexes"] == []
    assert evaluate(project, OPEN).records == results.records


def test_frozen_encoders_have_no_results_on_shares(project: Path) -> None:
    frozen = TASK.evaluate(SETTINGS, make_encoders(project)[2:], project / "data", project / "vectors")
    assert {(record["protocol"], record["variant"]) for record in frozen.records} == {
        ("frozen", "both"),
        ("frozen", "bm25"),
    }
    assert TASK.evaluate(SETTINGS, [], project / "data", project / "vectors") == Results()


def test_records_of_bm25_match_a_search(results: Results) -> None:
    questions, candidates = toys.tables()
    index = build_bm25((candidates["sentence"] + " " + candidates["passage"]).tolist())
    _, rows = index.search(questions["question"], 1)
    right = [f"c{row}" == answers[0] for (row,), answers in zip(rows, questions["answers"], strict=True)]
    values = {(record["variant"], record["protocol"], record["metric"]): record["value"] for record in results.records}
    assert values["bm25", "frozen", "recall_at_1"] == pytest.approx(np.mean(right))


def test_questions_from_the_demo_a_file_and_a_folder(tmp_path: Path) -> None:
    demo = tmp_path / "world"
    write_demo_world(DemoConfig(pages=25, novels=1), demo)
    TASK.prepare_data(RetrievalConfig(), demo, tmp_path / "demo")
    report = json.loads((tmp_path / "demo" / "task.json").read_text())
    questions, candidates = (
        pd.read_parquet(tmp_path / "demo" / f"{name}.parquet") for name in ("questions", "candidates")
    )
    assert (report["name"], report["missing"], report["lang"]) == ("demo", {}, "en")
    assert report["counts"]["queries"] == len(questions) > 0
    assert report["counts"]["candidates"] == len(candidates)
    file = str(demo / "squad-demo.json")
    for number, source in enumerate((file, [file], str(demo))):
        data = tmp_path / f"{number}"
        name = "mine" if number else None
        TASK.prepare_data(RetrievalConfig(input=source, name=name), Path("elsewhere"), data)
        assert json.loads((data / "task.json").read_text())["name"] == (name or "squad")
        assert pd.read_parquet(data / "questions.parquet").astype(str).equals(questions.astype(str))
        assert pd.read_parquet(data / "candidates.parquet").equals(candidates)


def test_fused_ranks_of_a_share_are_those_of_reciprocal_ranks(project: Path) -> None:
    """Of the tested questions alone, in both rankings; there are too few dev questions to choose a weight."""
    ranks = evaluate(project, toys.settings(steps=5, shares=[50, 80], hybrid=["tuned"])).tables["ranks"]
    questions, candidates = toys.tables()
    texts = list(zip(candidates["sentence"], candidates["passage"], strict=True))
    index = build_bm25([" ".join(parts) for parts in texts])
    for share, seed in ((50, 0), (80, 1)):
        tested = questions[is_unseen(questions, share, seed)]
        model = load_model(project / f"tuned-{seed}/share-{share}")
        scores = model.embed(tested["question"].tolist(), "query") @ model.embed(texts, "document").T
        rankings = np.argsort(-scores, axis=1, kind="stable"), index.search(tested["question"].tolist(), 40)[1]
        expected = []
        for answers, *ranked in zip(tested["answers"], *rankings, strict=True):
            sums = np.zeros(40)
            for rows in ranked:
                sums[rows[rows >= 0]] += 1 / (61 + np.arange((rows >= 0).sum()))
            expected.append(np.argsort(-sums, kind="stable").tolist().index(int(answers[0][1:])) + 1)
        run = ranks.query("variant == 'tuned+bm25' and seed == @seed")
        run = run[run["protocol"] == f"{share}%"]
        assert run["question_id"].tolist() == tested["question_id"].tolist()
        assert np.mean(run["rank"].to_numpy() == np.array(expected)) > 0.95  # rounding may decide a tie
