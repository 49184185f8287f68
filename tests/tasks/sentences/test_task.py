"""Encoders of sentences as a task: its files, all contestants on all of it, every sentence embedded once."""

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
from contexture.tasks.base import Contestant, Results
from contexture.tasks.sentences.config import Neighbours, OverTime, SentenceSettings, SentenceTasksConfig
from contexture.tasks.sentences.contestants import QueryAlone
from contexture.tasks.sentences.downstream import SentenceTasks
from contexture.tasks.sentences.task import Sentences
from contexture.tasks.sentences.vectors import VectorStore
from contexture.vocabulary.vocabulary import Vocabulary
from contexture.vocabulary.words import add_words
from tests.tasks.sentences import senteval_files
from tests.tasks.sentences.sentence_toys import KNOWN, word_average, write_tasks

CORPUS = [f"the {one} and the {other} are {how} here {n}" for n in range(3)
          for one in KNOWN for other in KNOWN for how in ("seen", "heard")]  # fmt: skip
ANALOGIES = "kind\tgood whale and ferry\tbad whale and ferry\tgood gull and ferry\tbad gull and ferry\n"
EVERYTHING = SentenceSettings(
    ensemble=["both", "word_average"],
    neighbours=Neighbours(["both", "word_average"], queries=3, pool=50),
    over_time=OverTime(["uni"], ["trec", "cr"]),
)
PROBED = {"mr", "trec", "sick_e", "sick_r"}


def read(source: SentenceTasksConfig, demo: Path, place: Path) -> dict[str, Any]:
    Sentences().read(source, demo, place)
    found: dict[str, Any] = json.loads((place / "task.json").read_text(encoding="utf-8"))
    return found


def test_the_files_of_the_demo(tmp_path: Path) -> None:
    write_demo_world(DemoConfig(pages=25, novels=2), tmp_path / "demo")
    found = read(SentenceTasksConfig(), tmp_path / "demo", tmp_path / "task")
    assert found["name"] == "demo"
    tasks = SentenceTasks.read(Path(found["folder"]), found["row_counts"])
    every: list[Any] = [*tasks.classification, *tasks.relatedness, *tasks.similarity]
    names = [task.name for task in every]
    assert set(found["counts"]) == set(names) == {"mr", "subj", "trec", "mrpc", "sick_e", "sick_r", "stsb", "sts14"}
    assert all(rows > 0 for rows in found["counts"].values())
    assert set(found["missing"]) == {"cr", "mpqa", "sst2", "sst5", "sts12", "sts13", "sts15", "sts16"}
    assert found["analogies"]["name"] == "demo" and Path(found["analogies"]["path"]).is_file()
    assert found["image_captions"] is None
    assert read(SentenceTasksConfig(analogies=None), tmp_path / "demo", tmp_path / "task")["analogies"] is None


def test_files_are_counted_before_any_work(tmp_path: Path) -> None:
    folder = senteval_files.write(tmp_path / "senteval")
    with pytest.raises(ValueError, match=r"rt-polarity"):
        read(SentenceTasksConfig(str(folder), analogies=None), tmp_path, tmp_path / "task")
    assert not (tmp_path / "task").exists()
    given = SentenceTasksConfig(str(folder), "any", analogies=None)
    found = read(given, tmp_path, tmp_path / "task")
    assert (found["name"], found["folder"], found["row_counts"]) == ("senteval", str(folder), "any")
    assert found["counts"]["mr"] == 3
    assert found["dropped"]["cr"] == 2  # two empty lines
    (folder / "MR/rt-polarity.pos").unlink()
    found = read(given, tmp_path, tmp_path / "task")
    assert "mr" not in found["counts"] and "rt-polarity.pos" in found["missing"]["mr"]


def test_what_is_not_there_is_named_and_nothing_is_measured(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    found = read(SentenceTasksConfig(nowhere, analogies=nowhere, image_captions=nowhere), tmp_path, tmp_path / "task")
    assert (found["counts"], found["analogies"], found["image_captions"]) == ({}, None, None)
    assert {"mr", "sts16", "analogies", "image_captions"} < set(found["missing"])
    assert all("nowhere" in why for why in found["missing"].values())
    results = Sentences().evaluate(
        SentenceSettings(), [Contestant("x", 0, ("no/such/encoder",))], tmp_path / "task", tmp_path
    )
    assert results.records == [] and results.facts["missing"] == found["missing"]


def test_other_languages_are_measured_alike(room: Path, tmp_path: Path) -> None:
    """The same files under another name give the same figures; what a language lacks is named in one line."""
    (write_tasks(tmp_path / "fr") / "MR/rt-polarity.pos").unlink()
    folders = {"de": str(room / "senteval"), "fr": str(tmp_path / "fr"), "xx": str(tmp_path / "none")}
    source = SentenceTasksConfig(str(room / "senteval"), "any", languages=folders, analogies=None)
    found = read(source, room, tmp_path / "task")
    assert found["languages"]["de"]["counts"] == found["counts"] and found["languages"]["xx"]["counts"] == {}
    assert found["missing"]["senteval_fr"].startswith("mr, cr") and found["missing"]["senteval_xx"].endswith("none")
    results = Sentences().evaluate(SentenceSettings(), contestants(room)[:2], tmp_path / "task", tmp_path / "vectors")
    table = pd.DataFrame(results.records)
    base = table["data"].str.partition("/")[0]
    assert set(base) == {"senteval", "senteval_de", "senteval_fr"}
    one, other, fewer = (
        table[base == name].drop(columns="data") for name in ("senteval", "senteval_de", "senteval_fr")
    )
    assert one.values.tolist() == other.values.tolist() and set(one["task"]) - set(fewer["task"]) == {"mr"}
    assert results.facts["counts"]["de"] == results.facts["counts"]["fr"] | {"mr": results.facts["counts"]["mr"]}
    assert len(results.facts["chosen"]) == 2 * len(PROBED)  # of the main set alone


def test_the_demo_s_other_languages_are_those_that_lie_there(room: Path, tmp_path: Path) -> None:
    shutil.copytree(room / "senteval", tmp_path / "demo/senteval")
    assert read(SentenceTasksConfig(analogies=None), tmp_path / "demo", tmp_path / "task")["languages"] == {}
    shutil.copytree(room / "senteval", tmp_path / "demo/languages/senteval/qaa")
    found = read(SentenceTasksConfig(analogies=None), tmp_path / "demo", tmp_path / "task")
    assert list(found["languages"]) == ["qaa"] and found["languages"]["qaa"]["counts"] == found["counts"]
    results = Sentences().evaluate(SentenceSettings(), contestants(room)[:1], tmp_path / "task", tmp_path / "vectors")
    assert {"demo", "demo_qaa"} < {record["data"] for record in results.records}
    elsewhere = SentenceTasksConfig(str(room / "senteval"), "any", analogies=None)
    assert read(elsewhere, tmp_path / "demo", tmp_path / "task")["languages"] == {}


def test_nothing_is_fine_tuned(tmp_path: Path) -> None:
    task = Sentences()
    assert task.options(SentenceSettings(), None) == []
    with pytest.raises(NotImplementedError, match="nothing to fine-tune"):
        task.finetune(SentenceSettings(), "model", Contestant("x", 0, ()), tmp_path, tmp_path)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks, words with vectors, a corpus, and two encoders of two seeds, one with snapshots."""
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
            places = [folder / f"{name}-{seed}"]
            places += [places[0] / f"snapshots/0000000{step}" for step in (2, 4) if name == "uni"]
            for place in places:
                save_encoder(encoder, place)
                (place / "time.json").write_text(json.dumps({"step": int(place.name[-1]), "seconds": 1.5}))
    source = SentenceTasksConfig(str(folder / "senteval"), "any", analogies=str(folder / "relations.tsv"))
    Sentences().read(source, folder, folder / "task")
    return folder


def contestants(room: Path) -> list[Contestant]:
    kinds = {"uni": ["uni"], "both": ["uni", "bi"]}
    return [
        Contestant(variant, seed, tuple(str(room / f"{name}-{seed}") for name in names))
        for seed in range(2)
        for variant, names in kinds.items()
    ]


def evaluate(room: Path, place: Path, settings: SentenceSettings = EVERYTHING) -> Results:
    return Sentences().evaluate(
        settings, contestants(room), room / "task", place, paragraphs=room / "paragraphs", words=room / "words"
    )


@pytest.fixture(scope="module")
def asked() -> Counter[tuple[int, str, str | None]]:
    """How often each encoder embedded each text in which role."""
    return Counter()


@pytest.fixture(scope="module")
def results(room: Path, asked: Counter[tuple[int, str, str | None]]) -> Results:
    embed = Encoder.embed

    def counted(self: Encoder, texts: Sequence[Any], role: Any = None) -> Any:
        asked.update((self.identity["encoder"], text, role) for text in texts)
        return embed(self, texts, role)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "embed", counted)
        found = evaluate(room, room / "vectors")
        before = asked.total()
        assert evaluate(room, room / "vectors").records == found.records
        assert asked.total() == before  # vectors are kept
    return found


def test_every_contestant_is_on_every_task(results: Results) -> None:
    keys = ("variant", "seed", "task", "data", "protocol", "split", "metric")
    assert all(list(record) == [*keys, "value"] and record["split"] == "test" for record in results.records)
    assert len({tuple(record[key] for key in keys) for record in results.records}) == len(results.records)
    probes = [record for record in results.records if record["protocol"] == "senteval"]
    every = {("uni", 0), ("uni", 1), ("both", 0), ("both", 1), ("ensemble", 0), ("ensemble", 1), ("word_average", 0)}
    for variant, seed in every:
        assert {r["task"] for r in probes if (r["variant"], r["seed"]) == (variant, seed)} == PROBED
    cosines = {(r["variant"], r["seed"]) for r in results.records if r["protocol"] == "cosine"}
    assert cosines == {one for one in every if one[0] != "ensemble"}
    assert {r["data"] for r in results.records if r["task"] == "sts12"} == {
        "senteval", "senteval/MSRpar", "senteval/surprise.OnWN",
    }  # fmt: skip
    figures = {(r["task"], r["metric"]): r["value"] for r in probes if r["variant"] == "word_average"}
    assert figures["mr", "accuracy"] == figures["trec", "accuracy"] == 1


def test_a_sentence_is_embedded_once_by_each_encoder(
    room: Path, results: Results, asked: Counter[tuple[int, str, str | None]]
) -> None:
    """Both variants share an encoder; the corpus and snapshots are other sets of sentences."""
    sentences = SentenceTasks.read(room / "senteval", "any").sentences()
    encoders = {load_encoder(room / f"{name}-{seed}").identity["encoder"] for name in ("uni", "bi") for seed in (0, 1)}
    counts = {asked[encoder, text, None] for encoder in encoders for text in sentences}
    assert counts == {1}


def test_facts_for_the_page(results: Results) -> None:
    facts = results.facts
    assert json.loads(json.dumps(facts)) == facts
    assert facts["zero_vectors"] == {"uni": 0, "both": 0, "word_average": 1}
    chosen = {(row["variant"], row["seed"], row["task"]): row for row in facts["chosen"]}
    assert len(chosen["both", 1, "mr"]["c"]) == 10 and chosen["both", 1, "mr"]["protocol"] == "senteval"
    assert not any(variant == "ensemble" for variant, *_ in chosen)
    assert set(facts["counts"]) == {*PROBED, "sts12"} and "cr" in facts["missing"] and facts["dropped"] == {}


def test_neighbours_and_analogies(results: Results) -> None:
    found = results.facts["neighbours"]
    assert [row["model"] for row in found] == ["both"] * 3 + ["word_average"] * 3
    assert [row["query"] for row in found[:3]] == [row["query"] for row in found[3:]]
    assert all(row["neighbour"] in CORPUS[:50] and row["neighbour"] != row["query"] for row in found)
    rows = [r for r in results.records if r["task"] == "analogies"]
    assert {(r["variant"], r["seed"]) for r in rows} == {("both", 0), ("word_average", 0)}
    assert {(r["data"], r["protocol"]) for r in rows} == {("relations", "nearest"), ("relations/kind", "nearest")}
    assert {r["value"] for r in rows if r["variant"] == "word_average" and r["metric"] == "accuracy"} == {1.0}


def test_quality_over_time_is_of_queries_alone(room: Path, results: Results) -> None:
    rows = results.facts["quality_over_time"]  # the tasks have no cr
    assert {(row["run"], row["seed"], row["step"], row["seconds"], row["task"], row["metric"]) for row in rows} == {
        ("uni", seed, step, 1.5, "trec", "accuracy") for seed in range(2) for step in (2, 4)
    }
    encoder = load_encoder(room / "uni-0")
    alone = QueryAlone(encoder)
    vectors = alone.embed(["who whale", "", "a good lamp"])
    assert vectors.shape == (3, alone.dimension) == (3, 6)
    np.testing.assert_allclose(vectors, encoder.embed(["who whale", "", "a good lamp"])[:, :6], atol=1e-6)


def test_words_may_be_expanded(room: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    add_words(room / "words", ["harbour"], words)
    size = load_encoder(room / "uni-0").query.words.num_embeddings
    vectors = np.random.default_rng(0).normal(size=(size + 1, 4)).astype(np.float32)
    np.save(words / "word_vectors.npy", vectors)
    encoder = build_encoder(GruConfig("gru", 5, 6, shared=False, plain="both"), Lengths(50, 50), Vocabulary.load(words))
    save_encoder(encoder, tmp_path / "e")
    plain, expanded = (VectorStore(tmp_path, some).load(str(tmp_path / "e")) for some in (None, words))
    assert plain.identity != expanded.identity
    texts = ["good harbour", "good unheard-of", "a good whale"]
    np.testing.assert_allclose(plain.embed(texts)[[1, 2]], expanded.embed(texts)[[1, 2]], atol=1e-6)
    np.testing.assert_allclose(*plain.embed(texts)[:2], atol=1e-6)  # both words are unknown
    assert np.abs(np.diff(expanded.embed(texts)[:2], axis=0)).max() > 1e-4


def test_images_and_captions(room: Path, tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "pictures"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        np.save(folder / f"{split}_ims.npy", rng.normal(size=(4, 3)).astype(np.float32))
        captions = [f"a good {KNOWN[4 + n // 5]} {n}" for n in range(20)]
        (folder / f"{split}_caps.txt").write_text("\n".join(captions) + "\n")
    source = SentenceTasksConfig(str(tmp_path / "none"), analogies=None, image_captions=str(folder))
    Sentences().read(source, room, tmp_path / "task")
    found = Sentences().evaluate(SentenceSettings(), contestants(room)[:1], tmp_path / "task", tmp_path / "vectors")
    assert {(r["task"], r["data"], r["protocol"]) for r in found.records} == {("image_captions", "pictures", "ranking")}
    assert len(found.records) == 8


def test_by_default_frozen_encoders_are_measured_and_no_more(room: Path, tmp_path: Path) -> None:
    found = Sentences().evaluate(SentenceSettings(), contestants(room)[:1], room / "task", tmp_path)
    assert {record["variant"] for record in found.records} == {"uni"}
    assert {record["protocol"] for record in found.records} == {"senteval", "cosine"}
    assert found.facts["neighbours"] == found.facts["quality_over_time"] == [] and found.tables == {}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ensemble": ["bow"]}, r"ensemble: no variant is called bow; there are \['both', 'uni', 'word_average'\]"),
        ({"over_time": {"variants": ["word_average"], "tasks": ["mr"]}}, "over_time: no variant is called word_av"),
        ({"over_time": {"variants": ["both"], "tasks": ["mr"]}}, "over_time: both is of 2 encoders"),
        ({"neighbours": {"variants": ["uni"]}}, "give the folder of its paragraphs"),
        ({"expansion": True}, "expansion and word_average need word vectors"),
        ({"ensemble": ["uni", "word_average"]}, "expansion and word_average need word vectors"),
    ],
)
def test_what_the_settings_need_is_asked_for_at_once(settings: dict[str, Any], said: str, room: Path) -> None:
    with pytest.raises(ValueError, match=said):
        Sentences().evaluate(SentenceSettings(**settings), contestants(room), room / "task", room / "never")
    assert not (room / "never").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"protocol": "sentevil"}, "senteval"),
        ({"ensemble": ["uni", "uni"]}, "stands there twice"),
        ({"neighbours": {"variants": []}}, "at least 1"),
        ({"neighbours": {"variants": ["uni"], "pool": 0}}, "greater than 0"),
        ({"over_time": {"variants": ["uni"], "tasks": ["stsb"]}}, r"no task of classification is called \['stsb'\]"),
        ({"unit_vectors": True}, "unit_vectors"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SentenceSettings(**settings)


def test_settings_for_fewer_variants() -> None:
    assert EVERYTHING.restricted(["uni", "both"]) == EVERYTHING
    fewer = EVERYTHING.restricted(["uni"])
    assert fewer.ensemble == [] and fewer.over_time == EVERYTHING.over_time
    assert fewer.neighbours == Neighbours(["word_average"], queries=3, pool=50)
    fewer.check_variants(["uni"])
    assert SentenceSettings(neighbours=Neighbours(["both"])).restricted(["uni"]) == SentenceSettings()
