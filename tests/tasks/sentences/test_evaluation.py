"""All tasks of a folder on one model: each sentence once, figures as they are by other routes."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from contexture.tasks.sentences.downstream import NAMES, SentenceTasks
from contexture.tasks.sentences.evaluation import Evaluation, evaluate_sentences
from contexture.tasks.sentences.probe_protocols import PROTOCOLS
from contexture.tasks.sentences.similarity import similarity
from contexture.tasks.sentences.text_tables import aligned, evaluation_text
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


def test_what_is_there_is_read_and_what_is_not_is_named(tasks: SentenceTasks) -> None:
    assert [task.name for task in tasks.classification] == ["mr", "trec", "sick_e"]
    assert [task.name for task in tasks.relatedness] == ["sick_r"]
    assert [task.name for task in tasks.similarity] == ["sts12", "sick_r"]
    assert len(tasks) == 6
    assert set(tasks.missing) == set(NAMES) - {"mr", "trec", "sick_e", "sick_r", "sts12"}
    assert tasks.missing["cr"].startswith("CR is not here: looked for ")


def test_a_sentence_of_several_tasks_is_embedded_once(tasks: SentenceTasks, tmp_path: Path) -> None:
    sentences = tasks.sentences()
    assert len(set(sentences)) == len(sentences)
    assert Counter(sentences)["a good whale 0"] == 1  # in MR, and three times in STS12
    assert {text for a, b, _ in STS for text in (a, b)} <= set(sentences)
    assert sentences[0] == tasks.classification[0].table["text"][0]
    model = WordCounts()
    embed_sentences(model, sentences, tmp_path / "v")
    assert model.asked == sentences
    again = WordCounts()
    evaluate_sentences(embed_sentences(again, sentences, tmp_path / "v"), tasks, PROTOCOLS["senteval"])
    assert again.asked == []


def test_only_some_tasks(folder: Path) -> None:
    some = SentenceTasks.read(folder, "any", ["sick_r", "mr", "cr"])
    assert [task.name for task in some.classification] == ["mr"]
    assert len(some.relatedness) == len(some.similarity) == 1
    assert list(some.missing) == ["cr"]


def test_wrong_folders_names_and_files(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no task is called imdb, snli; there are mr, cr, "):
        SentenceTasks.read(folder, "any", ["imdb", "mr", "snli"])
    nowhere = SentenceTasks.read(tmp_path / "nowhere")
    assert not nowhere and set(nowhere.missing) == set(NAMES)
    with pytest.raises(ValueError, match=r"rt-polarity\.neg has 40 rows where the published file has 5,331"):
        SentenceTasks.read(folder)
    (tmp_path / "MR").mkdir()
    (tmp_path / "MR" / "rt-polarity.neg").write_text("a bad one\n")
    with gzip.open(tmp_path / "MR" / "rt-polarity.pos.gz", "wt") as file:
        file.write("a good one\n")
    assert len(SentenceTasks.read(tmp_path, "any").sentences()) == 2


def test_similarity_by_hand(evaluation: Evaluation) -> None:
    model = WordCounts()
    cosines = []
    for a, b, _ in STS:
        left, right = model.embed([a, b]).astype(float)
        norms = np.linalg.norm(left) * np.linalg.norm(right)
        cosines.append(float(left @ right / norms) if norms else 0.0)
    scores = [score for *_, score in STS]
    first = pearsonr(cosines, scores)[0], spearmanr(cosines, scores)[0]
    second = pearsonr(cosines[::-2], scores[::-2])[0], spearmanr(cosines[::-2], scores[::-2])[0]
    both = cosines + cosines[::-2], scores + scores[::-2]
    found = {
        (row["data"], row["metric"]): row["value"]
        for row in evaluation.rows("toys")
        if row["task"] == "sts12" and row["protocol"] == "cosine"
    }
    subsets = [
        found.pop((f"toys/{name}", kind)) for name in ("MSRpar", "surprise.OnWN") for kind in ("pearson", "spearman")
    ]
    np.testing.assert_allclose(subsets, [*first, *second], atol=1e-9)
    expected = {}
    for place, (kind, correlation) in enumerate({"pearson": pearsonr, "spearman": spearmanr}.items()):
        expected[kind + "_mean"] = (first[place] + second[place]) / 2
        expected[kind + "_weighted_mean"] = (7 * first[place] + 4 * second[place]) / 11
        expected[kind + "_pooled"] = correlation(*both)[0]
    assert {key for _, key in found} == set(expected)
    for key, value in expected.items():
        assert found["toys", key] == pytest.approx(value)


def test_what_is_separable_is_separated(evaluation: Evaluation) -> None:
    rows = [row for row in evaluation.rows("toys") if row["protocol"] == evaluation.protocol]
    found = {(row["task"], row["metric"]): row["value"] for row in rows}
    assert found["mr", "accuracy"] == 1
    assert found["trec", "accuracy"] == 1
    # A third of the pairs are of the same thing; the other two kinds have equal features.
    assert 1 / 3 <= found["sick_e", "accuracy"] <= 1
    assert found["sick_r", "pearson"] > 0.5
    assert found["sick_r", "mse"] >= 0
    assert {name for name, _ in found} == {"mr", "trec", "sick_e", "sick_r"}


def test_rows_are_distinct_finite_and_say_what_was_measured_and_how(evaluation: Evaluation) -> None:
    rows = evaluation.rows("toys")
    assert len({(row["task"], row["data"], row["protocol"], row["metric"]) for row in rows}) == len(rows)
    assert all(isinstance(row["value"], float) and np.isfinite(row["value"]) for row in rows)
    assert {row["split"] for row in rows} == {"test"}
    how = {
        task: {(row["data"], row["protocol"]) for row in rows if row["task"] == task}
        for task in {row["task"] for row in rows}
    }
    trained, cosine = ("toys", evaluation.protocol), ("toys", "cosine")
    assert how["mr"] == how["sick_e"] == {trained}
    assert how["sick_r"] == {trained, cosine}  # its one subset has no name of its own
    assert how["sts12"] == {cosine, ("toys/MSRpar", "cosine"), ("toys/surprise.OnWN", "cosine")}


def test_strengths_are_told_for_each_fold(evaluation: Evaluation) -> None:
    chosen = evaluation.chosen()
    assert list(chosen) == ["mr", "trec", "sick_e", "sick_r"]
    assert len(chosen["mr"]) == 10
    assert len(chosen["trec"]) == len(chosen["sick_r"]) == 1


def test_the_tables(evaluation: Evaluation) -> None:
    text = evaluation_text(evaluation)
    blocks = text.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        f"Probes ({evaluation.protocol})",
        f"Relatedness ({evaluation.protocol})",
        "Similarity (cosine), by the way to make one figure of all subsets",
        "Similarity (cosine), by subset",
    ]
    assert blocks[0].splitlines()[2].split()[:3] == ["mr", "100.00", "–"]
    sts12 = evaluation.similarity["sts12"]
    assert blocks[2].splitlines()[2].split() == ["sts12", "11"] + [
        f"{100 * sts12.aggregates[key]:.2f}"
        for kind in ("pearson", "spearman")
        for key in (f"{kind}_mean", f"{kind}_weighted_mean", f"{kind}_pooled")
    ]
    assert [line.split()[:3] for line in blocks[3].splitlines()[2:]] == [
        ["sts12", "MSRpar", "7"],
        ["sts12", "surprise.OnWN", "4"],
        ["sick_r", "test", "24"],
    ]
    for block in blocks:
        header, *rows = block.splitlines()[1:]
        assert len({len(row) for row in (header, *rows)}) == 1  # figures are flush right


def test_columns_are_aligned() -> None:
    assert aligned(["a", "figure"], [["long", "1.0"], ["b", "10.0"]]) == "a     figure\nlong     1.0\nb       10.0"


def test_zero_vectors_are_counted(tasks: SentenceTasks, vectors: SentenceVectors) -> None:
    assert vectors.zeros() == 1  # "nothing known"
    assert similarity(tasks.similarity[0], vectors).zero_vectors == 2
