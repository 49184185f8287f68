"""Multi-hop questions as a task: fine-tuning, and from the files to the records."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from contexture.commands.main import main
from contexture.encoders.files import load_encoder, save_encoder
from contexture.reporting.records import METRICS, check_records
from contexture.tasks.base import Contestant, Results
from contexture.tasks.multi_hop.config import MultiHopConfig, MultiHopSettings
from contexture.tasks.multi_hop.evaluation import ANSWERED, FOUND
from contexture.tasks.multi_hop.finetune import candidates, start_of
from contexture.tasks.multi_hop.task import MultiHopTask
from contexture.tasks.ranking.data import read_split
from contexture.vocabulary.vocabulary import Vocabulary
from tests.tasks.multi_hop import toys
from tests.training.toys import OPTIMIZER, PRETRAIN, configured, transformer

TASK = MultiHopTask()


def quick(**others: Any) -> MultiHopSettings:
    """A step or two of everything."""
    found = toys.settings(**others)
    return replace(
        found, reranker=replace(found.reranker, epochs=1), reading=replace(found.reading, epochs=1, batch_size=40)
    )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As `compute` has it: what is so small is slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    toys.read(folder / "data", toys.questions())
    toys.vocabulary(folder / "words")
    toys.new_encoder(folder / "transformer", folder / "words", toys.TRANSFORMER)
    toys.new_encoder(folder / "bag", folder / "words", toys.BAG)
    return folder


def contestants(project: Path, tuned: Path | None = None) -> list[Contestant]:
    names = ("transformer", "bag")
    return [Contestant(name, 0, (str(project / name),), tuned / name if tuned else None) for name in names]


def value(results: Results, variant: str, metric: str, protocol: str = "frozen") -> float:
    (found,) = [
        record["value"]
        for record in results.records
        if (record["variant"], record["metric"], record["protocol"]) == (variant, metric, protocol)
    ]
    return float(found)


def metrics(results: Results, variant: str, protocol: str) -> set[str]:
    return {r["metric"] for r in results.records if (r["variant"], r["protocol"]) == (variant, protocol)}


def test_without_a_reader_there_is_retrieval_alone(project: Path, tmp_path: Path) -> None:
    found = TASK.evaluate(quick(), contestants(project), project / "data", tmp_path)
    check_records([record | {"system": "toys"} for record in found.records])
    for variant in ("transformer", "bag", "bm25"):
        assert metrics(found, variant, "frozen") == {FOUND}
    assert value(found, "bm25", FOUND) == 1
    assert 0 <= value(found, "bag", FOUND) < 1
    assert found.facts["notes"][-1].endswith("no Transformer fine-tuned to read: transformer, bag")
    assert "questions are split by a hash of their ids" in found.facts["notes"][0]
    assert found.facts["examples"] == [] and found.facts["scores"] == {
        "frozen": {"transformer": "cosine", "bag": "cosine"}
    }


def test_more_paragraphs_hold_more_gold_ones(project: Path, tmp_path: Path) -> None:
    few, all_ = (
        TASK.evaluate(quick(paragraphs=count), contestants(project), project / "data", tmp_path) for count in (1, 1000)
    )
    assert value(few, "bm25", FOUND) == 0.5
    assert value(all_, "bag", FOUND) == value(all_, "bm25", FOUND) == 1


def test_questions_that_do_not_do_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    file = tmp_path / "some.json"
    for split, count, said in (("train", 60, "no test question with a gold"), ("test", 9, "no train question with")):
        file.write_text(json.dumps(toys.questions(count)))
        TASK.read(MultiHopConfig({split: str(file)}), tmp_path, tmp_path / split)  # type: ignore[dict-item]
        with pytest.raises(ValueError, match=f"multi_hop.input has {said}"):
            TASK.check(quick(), tmp_path / split)


@torch.no_grad()
def test_vectors_that_tell_nothing_find_nothing(project: Path, tmp_path: Path) -> None:
    """Candidates come in BM25's order; among equal scores it must not count."""
    encoder = load_encoder(project / "bag")
    for weight in encoder.parameters():
        weight.zero_()
    save_encoder(encoder, tmp_path / "same")
    same = Contestant("same", 0, (str(tmp_path / "same"),))
    found = TASK.evaluate(quick(paragraphs=5), [same], project / "data", tmp_path / "vectors")
    assert value(found, "same", FOUND) == 0 and value(found, "bm25", FOUND) == 1


def test_of_missing_questions_nothing_is_made(project: Path, tmp_path: Path) -> None:
    """The run goes on: an empty folder stands for the model."""
    toys.read(tmp_path / "data", None)
    config = configured(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer()},
        streams={},
        pretrain=PRETRAIN | {"optimizer": OPTIMIZER, "runs": {"none": {"schedule": []}}},
        tasks={"multi_hop": {}},
    )
    (tmp_path / "config.json").write_text(json.dumps(config.plain()))
    told = ["train", "finetune", "--config", str(tmp_path / "config.json"), "--variant", "none", "--task", "multi_hop"]
    told += ["--option", "reader", "--data", str(tmp_path / "data"), "--encoders", str(project / "transformer")]
    main([*told, "--output", str(tmp_path / "reader")])
    assert [file.name for file in (tmp_path / "reader").iterdir()] == ["identity.json"]


def test_a_published_model_is_what_they_start_from(project: Path, tmp_path: Path) -> None:
    words = Vocabulary.load(project / "words")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=words.tokens.vocab_size, max_position_embeddings=64, **sizes)
    BertForMaskedLM(config).save_pretrained(tmp_path / "published")
    words.copy(tmp_path / "published")
    found = load_encoder(start_of(str(tmp_path / "published"), 0, tmp_path / "start"))
    assert found.hidden_size == 8 and found.vocabulary.tokens == words.tokens
    assert start_of(str(project / "transformer"), 1, tmp_path / "other") == project / "transformer"
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/seed-1").symlink_to(project / "bag")
    assert start_of(str(tmp_path / "seeds"), 1, tmp_path / "other") == tmp_path / "seeds/seed-1"
    with pytest.raises(ValueError, match="start from one model"):
        start_of(f"{project / 'bag'}+{project / 'bag'}", 0, tmp_path / "other")


def test_the_re_ranker_learns_gold_paragraphs_against_the_first_wrong_ones(project: Path) -> None:
    table = candidates(project / "data/hotpotqa", "train", 5)
    each = table.groupby("question_id")["label"]
    assert set(each.sum()) == {2} and set(each.size()) == {5}
    assert each.ngroups == len(read_split(project / "data/hotpotqa", "train"))


def test_options_follow_the_settings(project: Path, tmp_path: Path) -> None:
    assert TASK.options(quick(), None) == ["reranker", "reader"]
    assert TASK.options(quick(reader="roberta-base"), None) == []
    tuned = quick(retrieval={"finetune": ["hotpotqa"]})
    assert TASK.options(tuned, None) == ["hotpotqa", "reranker", "reader"]
    assert tuned.of("reader") == tuned.reading and tuned.of("hotpotqa") == tuned.retrieval
    with pytest.raises(ValueError, match="there is hotpotqa alone, not squad"):
        quick(retrieval={"finetune": ["squad"]})
    with pytest.raises(ValueError, match="scores: no variant is called x"):
        quick(retrieval={"scores": {"x": "dot"}}).check_variants(["bag"])
    with pytest.raises(ValueError, match="there is no such folder"):
        TASK.check(quick(reader="./nowhere"), project / "data")
    for option in ("reranker", "reader"):  # a bag of words has no states of tokens
        TASK.finetune(quick(), option, contestants(project)[1], project / "data", tmp_path)
    toys.read(tmp_path / "none", None)
    TASK.finetune(quick(), "reader", contestants(project)[0], tmp_path / "none", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["none"]


def test_a_fixed_reader_answers_what_was_found(project: Path, tmp_path: Path) -> None:
    """It is trained once; what is measured of the whole way depends on what retrieval found."""
    settings = toys.settings(reader=str(project / "transformer"))
    settings = replace(settings, reading=replace(settings.reading, epochs=8))
    found = TASK.evaluate(settings, contestants(project), project / "data", tmp_path)
    check_records([record | {"system": "toys"} for record in found.records])
    for variant in ("transformer", "bag", "bm25"):
        assert metrics(found, variant, "frozen") == {FOUND, *ANSWERED} <= set(METRICS)
    assert value(found, "bm25", "answer_em") > 0.7 and value(found, "bm25", "support_f1") > 0.6
    assert value(found, "bm25", "joint_f1") > value(found, "bag", "joint_f1")
    assert any("are the same for all" in note for note in found.facts["notes"])
    (shown,) = found.facts["examples"]
    assert shown["variant"] == "bm25" and " (read in T " in shown["answered"][0]["found"]
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.safetensors")}
    again = TASK.evaluate(settings, contestants(project)[:1], project / "data", tmp_path)
    assert before == {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.safetensors")}
    assert json.dumps(again.records[0]) in map(json.dumps, found.records)


def test_own_transformers_read_and_fine_tuned_vectors_find(project: Path, tmp_path: Path) -> None:
    settings = quick()
    settings = replace(settings, retrieval=replace(settings.retrieval, finetune=["hotpotqa"], steps=60))
    every = contestants(project, tmp_path / "tuned")
    for one in every:
        for option in TASK.options(settings, None):
            assert one.finetuned is not None
            (one.finetuned / option).mkdir(parents=True)
            TASK.finetune(settings, option, one, project / "data", one.finetuned / option)
    found = TASK.evaluate(settings, every, project / "data", tmp_path / "vectors")
    for protocol in ("frozen", "finetuned"):
        assert metrics(found, "transformer", protocol) == {FOUND, *ANSWERED}
        assert metrics(found, "bag", protocol) == {FOUND}
    assert metrics(found, "bm25", "frozen") == {FOUND}
    assert value(found, "bag", FOUND, "finetuned") > value(found, "bag", FOUND)
    assert found.facts["notes"][-1].endswith("no Transformer fine-tuned to read: bag")
