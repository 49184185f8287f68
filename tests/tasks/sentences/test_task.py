"""Sentence tasks: files, and all encoders on all tasks."""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from pydantic import ValidationError

from contexture.demo import DemoConfig, write_demo_world
from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import GruConfig, Lengths
from contexture.encoders.files import load_encoder, save_encoder
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.sentences.config import NeighbourSettings, OverTimeSettings, SentenceSettings, SentenceTasksConfig
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.encoders import QueryEncoder
from contexture.tasks.sentences.task import SentencesTask
from contexture.tasks.sentences.vectors import VectorStore
from contexture.vocabulary.vocabulary import Vocabulary
from contexture.vocabulary.words import add_words
from tests.tasks.sentences import senteval_files
from tests.tasks.sentences.sentence_toys import KNOWN, word_average, write_tasks

CORPUS = [f"the {first} and the {second} are {verb} here {n}" for n in range(3)
          for first in KNOWN for second in KNOWN for verb in ("seen", "heard")]  # fmt: skip
ANALOGIES = "kind\tgood whale and ferry\tbad whale and ferry\tgood gull and ferry\tbad gull and ferry\n"
EVERYTHING = SentenceSettings(
    ensemble=["both", "word_average"],
    neighbours=NeighbourSettings(["both", "word_average"], queries=3, pool=50),
    over_time=OverTimeSettings(["uni"], ["trec", "cr"]),
)
PROBED = {"mr", "trec", "sick_e", "sick_r"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks, word vectors, a corpus, and two encoders with two seeds, one with snapshots."""
    folder = tmp_path_factory.mktemp("room")
    write_tasks(folder / "senteval")
    (folder / "relations.tsv").write_text(ANALOGIES)
    words = word_average(folder / "words")
    (folder / "paragraphs").mkdir()
    pq.write_table(pa.table({"sentences": [CORPUS[:100], CORPUS[100:]]}), folder / "paragraphs" / "part-0.parquet")
    for seed in range(2):
        for name, directions in (("uni", False), ("bi", True)):
            torch.manual_seed(10 * seed + directions)
            config = GruConfig("gru", 5, 6, bidirectional=directions, shared=False, plain="both")
            encoder = build_encoder(config, Lengths(50, 50), Vocabulary.load(words))
            folders = [folder / f"{name}-{seed}"]
            folders += [folders[0] / f"snapshots/0000000{step}" for step in (2, 4) if name == "uni"]
            for encoder_dir in folders:
                save_encoder(encoder, encoder_dir)
                (encoder_dir / "time.json").write_text(json.dumps({"step": int(encoder_dir.name[-1]), "seconds": 1.5}))
    source = SentenceTasksConfig(str(folder / "senteval"), "any", analogies=str(folder / "relations.tsv"))
    SentencesTask().prepare_data(source, folder, folder / "task")
    return folder


def make_encoders(project: Path) -> list[EvaluatedEncoder]:
    kinds = {"uni": ["uni"], "both": ["uni", "bi"]}
    return [
        EvaluatedEncoder(variant, seed, tuple(str(project / f"{name}-{seed}") for name in names))
        for seed in range(2)
        for variant, names in kinds.items()
    ]


@pytest.fixture(scope="module")
def embedded() -> Counter[tuple[int, str, str | None]]:
    """Number of times that each encoder embedded each text, by role."""
    return Counter()


@pytest.fixture(scope="module")
def results(project: Path, embedded: Counter[tuple[int, str, str | None]]) -> Results:
    embed = Encoder.embed

    def counted(self: Encoder, texts: Sequence[Any], role: Any = None) -> Any:
        embedded.update((self.identity["encoder"], text, role) for text in texts)
        return embed(self, texts, role)

    def evaluate() -> Results:
        corpus = {"paragraphs": project / "paragraphs", "words": project / "words"}
        return SentencesTask().evaluate(
            EVERYTHING, make_encoders(project), project / "task", project / "vectors", **corpus
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "embed", counted)
        results = evaluate()
        total = embedded.total()
        assert evaluate().records == results.records
        assert embedded.total() == total  # vectors are kept
    return results


def read(source: SentenceTasksConfig, demo: Path, output_dir: Path) -> dict[str, Any]:
    SentencesTask().prepare_data(source, demo, output_dir)
    report: dict[str, Any] = json.loads((output_dir / "task.json").read_text(encoding="utf-8"))
    return report


def test_the_files_of_the_demo(tmp_path: Path) -> None:
    write_demo_world(DemoConfig(pages=25, novels=2), tmp_path / "demo")
    report = read(SentenceTasksConfig(), tmp_path / "demo", tmp_path / "task")
    tasks = SentenceTasks.read(Path(report["folder"]), report["row_counts"])
    assert report["counts"] == {task.name: len(task.table) for task in tasks.tasks} and all(report["counts"].values())
    assert set(report["counts"]) == {"mr", "subj", "trec", "mrpc", "sick_e", "sick_r", "stsb", "sts14"}
    assert set(report["missing"]) == {"cr", "mpqa", "sst2", "sst5", "sts12", "sts13", "sts15", "sts16"}
    assert report["name"] == report["analogies"]["name"] == "demo" and Path(report["analogies"]["path"]).is_file()
    assert report["image_captions"] is None
    assert read(SentenceTasksConfig(analogies=None), tmp_path / "demo", tmp_path / "task")["analogies"] is None


def test_files_are_counted_before_any_work(tmp_path: Path) -> None:
    folder = senteval_files.write(tmp_path / "senteval")
    with pytest.raises(ValueError, match=r"rt-polarity"):
        read(SentenceTasksConfig(str(folder), analogies=None), tmp_path, tmp_path / "task")
    assert not (tmp_path / "task").exists()
    source = SentenceTasksConfig(str(folder), "any", analogies=None)
    report = read(source, tmp_path, tmp_path / "task")
    assert (report["name"], report["folder"], report["row_counts"]) == ("senteval", str(folder), "any")
    assert report["counts"]["mr"] == 3
    assert report["dropped"]["cr"] == 2  # two empty lines
    (folder / "MR/rt-polarity.pos").unlink()
    report = read(source, tmp_path, tmp_path / "task")
    assert "mr" not in report["counts"] and "rt-polarity.pos" in report["missing"]["mr"]


def test_missing_files_are_named_and_nothing_is_measured(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    report = read(SentenceTasksConfig(nowhere, analogies=nowhere, image_captions=nowhere), tmp_path, tmp_path / "task")
    assert (report["counts"], report["analogies"], report["image_captions"]) == ({}, None, None)
    assert {"mr", "sts16", "analogies", "image_captions"} < set(report["missing"])
    assert all("nowhere" in why for why in report["missing"].values())
    missing = [EvaluatedEncoder("x", 0, ("no/such/encoder",))]
    results = SentencesTask().evaluate(SentenceSettings(), missing, tmp_path / "task", tmp_path)
    assert results.records == [] and results.details["missing"] == report["missing"]


def test_other_languages_are_measured_alike_and_by_default_nothing_else_is(project: Path, tmp_path: Path) -> None:
    """The same files give the same values; missing tasks of a language are reported together."""
    (write_tasks(tmp_path / "fr") / "MR/rt-polarity.pos").unlink()
    folders = {"de": str(project / "senteval"), "fr": str(tmp_path / "fr"), "xx": str(tmp_path / "none")}
    source = SentenceTasksConfig(str(project / "senteval"), "any", languages=folders, analogies=None)
    report = read(source, project, tmp_path / "task")
    assert report["languages"]["de"]["counts"] == report["counts"] and report["languages"]["xx"]["counts"] == {}
    assert report["missing"]["senteval_fr"].startswith("mr, cr") and report["missing"]["senteval_xx"].endswith("none")
    results = SentencesTask().evaluate(
        SentenceSettings(), make_encoders(project)[:2], tmp_path / "task", tmp_path / "vectors"
    )
    table = pd.DataFrame(results.records)
    names = table["data"].str.partition("/")[0]
    senteval, german, french = (
        table[names == name].drop(columns="data") for name in ("senteval", "senteval_de", "senteval_fr")
    )
    assert len(senteval) + len(german) + len(french) == len(table)
    assert senteval.values.tolist() == german.values.tolist()
    assert set(senteval["task"]) - set(french["task"]) == {"mr"}
    assert set(table["variant"]) == {"uni", "both"} and set(table["protocol"]) == {"senteval", "cosine"}
    details = results.details
    assert details["counts"]["de"] == details["counts"]["fr"] | {"mr": details["counts"]["mr"]}
    assert len(details["chosen"]) == 2 * len(PROBED)  # main set only
    assert details["neighbours"] == details["quality_over_time"] == [] and results.tables == {}


def test_the_demo_s_other_languages_are_those_of_its_folder(project: Path, tmp_path: Path) -> None:
    source, demo = SentenceTasksConfig(analogies=None), tmp_path / "demo"
    shutil.copytree(project / "senteval", demo / "senteval")
    assert read(source, demo, tmp_path / "task")["languages"] == {}
    shutil.copytree(project / "senteval", demo / "languages/senteval/qaa")
    report = read(source, demo, tmp_path / "task")
    assert list(report["languages"]) == ["qaa"] and report["languages"]["qaa"]["counts"] == report["counts"]
    elsewhere = SentenceTasksConfig(str(project / "senteval"), "any", analogies=None)
    assert read(elsewhere, demo, tmp_path / "task")["languages"] == {}


def test_nothing_is_fine_tuned(tmp_path: Path) -> None:
    task = SentencesTask()
    assert task.list_options(SentenceSettings(), None) == []
    with pytest.raises(NotImplementedError, match="does not fine-tune"):
        task.finetune(SentenceSettings(), "model", EvaluatedEncoder("x", 0, ()), tmp_path, tmp_path)


def test_every_encoder_is_on_every_task(results: Results) -> None:
    table = pd.DataFrame(results.records)
    keys = ["variant", "seed", "task", "data", "protocol", "split", "metric"]
    assert list(table) == [*keys, "value", "examples"] and set(table["split"]) == {"test"}
    assert not table.duplicated(keys).any()
    trained = {("uni", 0), ("uni", 1), ("both", 0), ("both", 1), ("ensemble", 0), ("ensemble", 1), ("word_average", 0)}
    probes, cosines = (table[table["protocol"] == protocol] for protocol in ("senteval", "cosine"))
    tasks_by_encoder = probes.groupby(["variant", "seed"])["task"].unique()
    assert {key: set(tasks) for key, tasks in tasks_by_encoder.items()} == dict.fromkeys(trained, PROBED)
    assert {*zip(cosines["variant"], cosines["seed"], strict=True)} == trained - {("ensemble", 0), ("ensemble", 1)}
    data = table.loc[table["task"] == "sts12", "data"]
    assert set(data) == {"senteval", "senteval/MSRpar", "senteval/surprise.OnWN"}
    figures = probes[probes["variant"] == "word_average"].set_index(["task", "metric"])["value"]
    assert figures["mr", "accuracy"] == figures["trec", "accuracy"] == 1


def test_a_sentence_is_embedded_once_by_each_encoder(
    project: Path, results: Results, embedded: Counter[tuple[int, str, str | None]]
) -> None:
    """Variants share an encoder; the corpus and snapshots have other sentences."""
    sentences = SentenceTasks.read(project / "senteval", "any").sentences()
    encoders = {
        load_encoder(project / f"{name}-{seed}").identity["encoder"] for name in ("uni", "bi") for seed in (0, 1)
    }
    assert {embedded[encoder, text, None] for encoder in encoders for text in sentences} == {1}


def test_details_of_the_results(results: Results) -> None:
    details = results.details
    assert json.loads(json.dumps(details)) == details
    assert details["zero_vectors"] == {"uni": 0, "both": 0, "word_average": 1}
    chosen = {(row["variant"], row["seed"], row["task"]): row for row in details["chosen"]}
    assert len(chosen["both", 1, "mr"]["c"]) == 10 and chosen["both", 1, "mr"]["protocol"] == "senteval"
    assert not any(variant == "ensemble" for variant, *_ in chosen)
    assert set(details["counts"]) == {*PROBED, "sts12"} and "cr" in details["missing"] and details["dropped"] == {}


def test_neighbours_and_analogies(results: Results) -> None:
    rows = results.details["neighbours"]
    assert [row["model"] for row in rows] == ["both"] * 3 + ["word_average"] * 3
    assert [row["query"] for row in rows[:3]] == [row["query"] for row in rows[3:]]
    assert all(row["neighbour"] in CORPUS[:50] and row["neighbour"] != row["query"] for row in rows)
    table = pd.DataFrame(results.records).query("task == 'analogies'")
    assert {*table[["variant", "seed", "data", "protocol", "metric"]].itertuples(index=False, name=None)} == {
        (variant, 0, data, "nearest", metric)
        for variant in ("both", "word_average")
        for data in ("relations", "relations/kind")
        for metric in ("accuracy", "accuracy_excluding")
    }
    assert set(table.query("variant == 'word_average' and metric == 'accuracy'")["value"]) == {1.0}


def test_quality_over_time_measures_the_query_encoder(project: Path, results: Results) -> None:
    rows = results.details["quality_over_time"]  # the tasks have no cr
    assert {(row["run"], row["seed"], row["step"], row["seconds"], row["task"], row["metric"]) for row in rows} == {
        ("uni", seed, step, 1.5, "trec", "accuracy") for seed in range(2) for step in (2, 4)
    }
    encoder = load_encoder(project / "uni-0")
    query_encoder = QueryEncoder(encoder)
    vectors = query_encoder.embed(["who whale", "", "a good lamp"])
    assert vectors.shape == (3, query_encoder.dimension) == (3, 6)
    np.testing.assert_allclose(vectors, encoder.embed(["who whale", "", "a good lamp"])[:, :6], atol=1e-6)


def test_words_may_be_expanded(project: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    add_words(project / "words", ["harbour"], words)
    size = load_encoder(project / "uni-0").query.words.num_embeddings
    vectors = np.random.default_rng(0).normal(size=(size + 1, 4)).astype(np.float32)
    np.save(words / "word_vectors.npy", vectors)
    encoder = build_encoder(GruConfig("gru", 5, 6, shared=False, plain="both"), Lengths(50, 50), Vocabulary.load(words))
    save_encoder(encoder, tmp_path / "e")
    plain, expanded = (VectorStore(tmp_path, vectors_dir).load(str(tmp_path / "e")) for vectors_dir in (None, words))
    assert plain.identity != expanded.identity
    texts = ["good harbour", "good unheard-of", "a good whale"]
    np.testing.assert_allclose(plain.embed(texts)[[1, 2]], expanded.embed(texts)[[1, 2]], atol=1e-6)
    np.testing.assert_allclose(*plain.embed(texts)[:2], atol=1e-6)  # both words are unknown
    assert np.abs(np.diff(expanded.embed(texts)[:2], axis=0)).max() > 1e-4


def test_images_and_captions(project: Path, tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "pictures"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        np.save(folder / f"{split}_ims.npy", rng.normal(size=(4, 3)).astype(np.float32))
        captions = [f"a good {KNOWN[4 + n // 5]} {n}" for n in range(20)]
        (folder / f"{split}_caps.txt").write_text("\n".join(captions) + "\n")
    source = SentenceTasksConfig(str(tmp_path / "none"), analogies=None, image_captions=str(folder))
    SentencesTask().prepare_data(source, project, tmp_path / "task")
    results = SentencesTask().evaluate(
        SentenceSettings(), make_encoders(project)[:1], tmp_path / "task", tmp_path / "vectors"
    )
    assert {(r["task"], r["data"], r["protocol"]) for r in results.records} == {
        ("image_captions", "pictures", "ranking")
    }
    assert len(results.records) == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ensemble": ["bow"]}, r"ensemble\n.*unknown variant 'bow'; known: both, uni, word_average"),
        (
            {"over_time": {"variants": ["word_average"], "tasks": ["mr"]}},
            r"over_time\.variants\n.*unknown variant 'word_av",
        ),
        ({"over_time": {"variants": ["both"], "tasks": ["mr"]}}, "over_time: both has 2 encoders"),
        ({"neighbours": {"variants": ["uni"]}}, "pass the folder of its paragraphs"),
        ({"expansion": True}, "expansion and word_average need word vectors"),
        ({"ensemble": ["uni", "word_average"]}, "expansion and word_average need word vectors"),
    ],
)
def test_errors_name_missing_inputs(settings: dict[str, Any], message: str, project: Path) -> None:
    with pytest.raises(ValueError, match=message):
        SentencesTask().evaluate(
            SentenceSettings(**settings), make_encoders(project), project / "task", project / "never"
        )
    assert not (project / "never").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protocol": "sentevil"}, "senteval"),
        ({"ensemble": ["uni", "uni"]}, "listed twice"),
        ({"neighbours": {"variants": []}}, "at least 1"),
        ({"neighbours": {"variants": ["uni"], "pool": 0}}, "greater than 0"),
        (
            {"over_time": {"variants": ["uni"], "tasks": ["stsb"]}},
            r"over_time\.tasks\n.*unknown classification task .stsb.",
        ),
        ({"unit_vectors": True}, "unit_vectors"),
    ],
)
def test_impossible_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SentenceSettings(**settings)


def test_settings_for_fewer_variants() -> None:
    assert EVERYTHING.restrict_variants(["uni", "both"]) == EVERYTHING
    fewer = EVERYTHING.restrict_variants(["uni"])
    assert fewer.ensemble == [] and fewer.over_time == EVERYTHING.over_time
    assert fewer.neighbours == NeighbourSettings(["word_average"], queries=3, pool=50)
    fewer.check_variants(["uni"])
    assert SentenceSettings(neighbours=NeighbourSettings(["both"])).restrict_variants(["uni"]) == SentenceSettings()


def test_the_average_of_word_vectors_is_measured_with_the_first_seed(project: Path, tmp_path: Path) -> None:
    (encoder,) = (e for e in make_encoders(project) if (e.variant, e.seed) == ("uni", 1))
    results = SentencesTask().evaluate(
        SentenceSettings(),
        [encoder],
        project / "task",
        tmp_path,
        words=project / "words",
        paragraphs=project / "paragraphs",
    )
    assert {record["seed"] for record in results.records if record["variant"] == "word_average"} == {1}
