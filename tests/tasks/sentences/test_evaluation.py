"""All tasks of a folder with one model, compared with values computed in other ways."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from contexture.tasks.sentences.downstream import TASK_NAMES, SentenceTasks
from contexture.tasks.sentences.evaluation import Evaluation, evaluate_sentences
from contexture.tasks.sentences.probe_protocols import PROTOCOLS
from contexture.tasks.sentences.text_tables import align_columns, format_evaluation
from contexture.tasks.sentences.vectors import SentenceVectors, embed_sentences
from tests.tasks.sentences.sentence_toys import STS, WordCounts, write_tasks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def tasks(folder: Path) -> SentenceTasks:
    return SentenceTasks.read(folder, "any")


@pytest.fixture(scope="module")
def vectors(tasks: SentenceTasks, tmp_path_factory: pytest.TempPathFactory) -> SentenceVectors:
    return embed_sentences(WordCounts(), tasks.sentences(), tmp_path_factory.mktemp("vectors") / "v")


@pytest.fixture(scope="module", params=sorted(PROTOCOLS))
def evaluation(request: pytest.FixtureRequest, tasks: SentenceTasks, vectors: SentenceVectors) -> Evaluation:
    return evaluate_sentences(vectors, tasks, PROTOCOLS[request.param])


def test_available_tasks_are_read_and_missing_ones_named(folder: Path, tasks: SentenceTasks) -> None:
    names = [[task.name for task in kind] for kind in (tasks.classification, tasks.relatedness, tasks.similarity)]
    assert names == [["mr", "trec", "sick_e"], ["sick_r"], ["sts12", "sick_r"]]
    assert len(tasks) == 6
    assert set(tasks.missing) == set(TASK_NAMES) - {"mr", "trec", "sick_e", "sick_r", "sts12"}
    assert tasks.missing["cr"].startswith("CR is not here: looked for ")
    selected = SentenceTasks.read(folder, "any", ["sick_r", "mr", "cr"])
    assert [task.name for task in selected.tasks] == ["mr", "sick_r", "sick_r"]
    assert list(selected.missing) == ["cr"]


def test_a_sentence_of_several_tasks_is_embedded_once(tasks: SentenceTasks, tmp_path: Path) -> None:
    sentences = tasks.sentences()
    assert len(set(sentences)) == len(sentences)
    assert {text for a, b, _ in STS for text in (a, b)} <= set(sentences)
    assert sentences[0] == tasks.classification[0].table["text"][0]
    models = WordCounts(), WordCounts()
    for model in models:
        vectors = embed_sentences(model, sentences, tmp_path / "v")
    evaluate_sentences(vectors, tasks, PROTOCOLS["senteval"])
    assert [model.embedded_texts for model in models] == [sentences, []]
    assert vectors.count_zeros() == 1  # "nothing known"


def test_wrong_folders_names_and_files(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown task 'imdb'; .*unknown task 'snli'; "):
        SentenceTasks.read(folder, "any", ["imdb", "mr", "snli"])
    nowhere = SentenceTasks.read(tmp_path / "nowhere")
    assert not nowhere and set(nowhere.missing) == set(TASK_NAMES)
    with pytest.raises(ValueError, match=r"rt-polarity\.neg has 40 rows where the published file has 5,331"):
        SentenceTasks.read(folder)


def test_similarity_by_hand(evaluation: Evaluation) -> None:
    cosines = []
    for a, b, _ in STS:
        left, right = WordCounts().embed([a, b]).astype(float)
        norms = np.linalg.norm(left) * np.linalg.norm(right)
        cosines.append(float(left @ right / norms) if norms else 0.0)
    scores = [score for *_, score in STS]
    expected = {}
    for kind, correlation in {"pearson": pearsonr, "spearman": spearmanr}.items():
        first = expected["toys/MSRpar", kind] = correlation(cosines, scores)[0]
        second = expected["toys/surprise.OnWN", kind] = correlation(cosines[::-2], scores[::-2])[0]
        expected["toys", f"{kind}_mean"] = (first + second) / 2
        expected["toys", f"{kind}_weighted_mean"] = (7 * first + 4 * second) / 11
        expected["toys", f"{kind}_pooled"] = correlation(cosines + cosines[::-2], scores + scores[::-2])[0]
    rows = [row for row in evaluation.rows("toys") if row["task"] == "sts12"]
    assert {row["protocol"] for row in rows} == {"cosine"}
    assert {(row["data"], row["metric"]): row["value"] for row in rows} == pytest.approx(expected, abs=1e-9)


def test_separable_classes_are_separated(evaluation: Evaluation) -> None:
    rows = [row for row in evaluation.rows("toys") if row["protocol"] == evaluation.protocol]
    values = {(row["task"], row["metric"]): row["value"] for row in rows}
    assert values["mr", "accuracy"] == values["trec", "accuracy"] == 1
    # A third of the pairs are of the same thing; the other two kinds have equal features.
    assert 1 / 3 <= values["sick_e", "accuracy"] <= 1
    assert values["sick_r", "pearson"] > 0.5 and values["sick_r", "mse"] >= 0
    assert {name: len(c) for name, c in evaluation.chosen_strengths().items()} == {
        "mr": 10,
        "trec": 1,
        "sick_e": 1,
        "sick_r": 1,
    }


def test_rows_are_distinct_finite_and_say_what_was_measured_and_how(evaluation: Evaluation) -> None:
    rows = evaluation.rows("toys")
    assert len({(row["task"], row["data"], row["protocol"], row["metric"]) for row in rows}) == len(rows)
    assert all(isinstance(row["value"], float) and np.isfinite(row["value"]) for row in rows)
    assert {row["split"] for row in rows} == {"test"}
    trained, cosine = ("toys", evaluation.protocol), ("toys", "cosine")
    assert {(row["task"], row["data"], row["protocol"]) for row in rows} == {
        *((name, *trained) for name in ("mr", "trec", "sick_e", "sick_r")),
        ("sick_r", *cosine),  # a single subset is not named
        ("sts12", *cosine),
        ("sts12", "toys/MSRpar", "cosine"),
        ("sts12", "toys/surprise.OnWN", "cosine"),
    }


def test_the_tables(evaluation: Evaluation) -> None:
    blocks = [block.splitlines() for block in format_evaluation(evaluation).split("\n\n")]
    assert [title for title, *_ in blocks] == [
        f"Probes ({evaluation.protocol})",
        f"Relatedness ({evaluation.protocol})",
        "Similarity (cosine), by aggregation of the subsets",
        "Similarity (cosine), by subset",
    ]
    assert blocks[0][2].split()[:3] == ["mr", "100.00", "–"]
    aggregates = evaluation.similarity["sts12"].aggregates
    assert blocks[2][2].split() == ["sts12", "11"] + [
        f"{100 * aggregates[f'{kind}_{way}']:.2f}"
        for kind in ("pearson", "spearman")
        for way in ("mean", "weighted_mean", "pooled")
    ]
    assert [line.split()[:3] for line in blocks[3][2:]] == [
        ["sts12", "MSRpar", "7"],
        ["sts12", "surprise.OnWN", "4"],
        ["sick_r", "test", "24"],
    ]
    for _, *rows in blocks:
        assert len({len(row) for row in rows}) == 1  # figures are flush right


def test_columns_are_aligned() -> None:
    assert (
        align_columns([["task", "figure"], ["long", "1.0"], ["b", "10.0"]])
        == "task  figure\nlong     1.0\nb       10.0"
    )
    assert format_evaluation(Evaluation("senteval", {}, {}, {})) == "\n"
