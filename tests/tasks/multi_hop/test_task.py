"""Multi-hop questions as a task: fine-tuning, and from files to records."""

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
from contexture.tasks.base import EvaluatedEncoder, Results
from contexture.tasks.multi_hop.config import MultiHopConfig, MultiHopSettings, ReaderSettings
from contexture.tasks.multi_hop.evaluation import ANSWER_METRICS, RECALL
from contexture.tasks.multi_hop.finetune import find_start_encoder, select_candidates
from contexture.tasks.multi_hop.task import MultiHopTask
from contexture.tasks.ranking.config import RankingSettings
from contexture.tasks.ranking.data import read_split
from contexture.vocabulary.vocabulary import Vocabulary
from tests.tasks.multi_hop import toys
from tests.training.toys import OPTIMIZER, PRETRAIN, make_system, transformer

TASK = MultiHopTask()


def make_quick_settings(**changes: Any) -> MultiHopSettings:
    """Return settings with one or two training steps."""
    settings = toys.settings(**changes)
    reading = replace(settings.reading, epochs=1, batch_size=40)
    return replace(settings, reranker=replace(settings.reranker, epochs=1), reading=reading)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread, which is faster for small models."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    toys.read(folder / "data", toys.questions())
    words = toys.vocabulary(folder / "words")
    toys.new_encoder(folder / "transformer", words, toys.TRANSFORMER)
    toys.new_encoder(folder / "bag", words, toys.BAG)
    return folder


def make_encoders(project: Path, tuned: Path | None = None) -> list[EvaluatedEncoder]:
    names = ("transformer", "bag")
    return [EvaluatedEncoder(name, 0, (str(project / name),), tuned / name if tuned else None) for name in names]


def get_values(results: Results, variant: str, protocol: str = "frozen") -> dict[str, float]:
    """Return metric → value after checking all records."""
    check_records([record | {"system": "toys"} for record in results.records])
    records = [r for r in results.records if (r["variant"], r["protocol"]) == (variant, protocol)]
    return {record["metric"]: record["value"] for record in records}


def test_variants_without_a_reader_have_retrieval_metrics_only(project: Path, tmp_path: Path) -> None:
    results = TASK.evaluate(make_quick_settings(), make_encoders(project), project / "data", tmp_path)
    for variant in ("transformer", "bag", "bm25"):
        assert get_values(results, variant).keys() == {RECALL}
    assert 0 <= get_values(results, "bag")[RECALL] < get_values(results, "bm25")[RECALL] == 1
    assert results.details["notes"][-1].endswith("without a Transformer fine-tuned to read: transformer, bag")
    assert "questions are split by a hash of their ids" in results.details["notes"][0]
    assert results.details["examples"] == []
    assert results.details["scores"] == {"frozen": {"transformer": "cosine", "bag": "cosine"}}


def test_more_paragraphs_hold_more_gold_ones(project: Path, tmp_path: Path) -> None:
    few, many = (
        TASK.evaluate(make_quick_settings(paragraphs=count), make_encoders(project), project / "data", tmp_path)
        for count in (1, 1000)
    )
    assert get_values(few, "bm25")[RECALL] == 0.5
    assert get_values(many, "bag")[RECALL] == get_values(many, "bm25")[RECALL] == 1


def test_unusable_questions_are_rejected_before_anything_is_trained(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    for split, count, message in (("train", 60, "no test question with a gold"), ("test", 9, "no train question with")):
        file.write_text(json.dumps(toys.questions(count)))
        TASK.prepare_data(MultiHopConfig({split: str(file)}), tmp_path, tmp_path / split)  # type: ignore[dict-item]
        with pytest.raises(ValueError, match=f"multi_hop.input has {message}"):
            TASK.check_settings(make_quick_settings(), tmp_path / split)


@torch.no_grad()
def test_ties_rank_gold_paragraphs_last(project: Path, tmp_path: Path) -> None:
    """Candidates are in BM25's order, which must not break ties."""
    encoder = load_encoder(project / "bag")
    for weight in encoder.parameters():
        weight.zero_()
    save_encoder(encoder, tmp_path / "same")
    same = EvaluatedEncoder("same", 0, (str(tmp_path / "same"),))
    results = TASK.evaluate(make_quick_settings(paragraphs=5), [same], project / "data", tmp_path / "vectors")
    assert get_values(results, "same")[RECALL] == 0 and get_values(results, "bm25")[RECALL] == 1


def test_without_questions_nothing_is_trained(project: Path, tmp_path: Path) -> None:
    """The run continues with an empty model folder."""
    toys.read(tmp_path / "data", None)
    config = make_system(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer()},
        streams={},
        pretrain=PRETRAIN | {"optimizer": OPTIMIZER, "runs": {"none": {"schedule": []}}},
        tasks={"multi_hop": {}},
    )
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    arguments = ["train", "finetune", "--variant", "none", "--task", "multi_hop", "--option", "reader"]
    arguments += ["--encoders", str(project / "transformer")]
    for option, name in (("config", "config.json"), ("data", "data"), ("output", "reader")):
        arguments += [f"--{option}", str(tmp_path / name)]
    main(arguments)
    assert [file.name for file in (tmp_path / "reader").iterdir()] == ["identity.json"]


def test_start_of_folders_and_of_published_models(project: Path, tmp_path: Path) -> None:
    words = Vocabulary.load(project / "words")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=words.tokens.vocab_size, max_position_embeddings=64, **sizes)
    BertForMaskedLM(config).save_pretrained(tmp_path / "published")
    words.copy(tmp_path / "published")
    encoder = load_encoder(find_start_encoder(str(tmp_path / "published"), 0, tmp_path / "start"))
    assert encoder.hidden_size == 8 and encoder.vocabulary.tokens == words.tokens
    assert find_start_encoder(str(project / "transformer"), 1, tmp_path / "other") == project / "transformer"
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/seed-1").symlink_to(project / "bag")
    assert find_start_encoder(str(tmp_path / "seeds"), 1, tmp_path / "other") == tmp_path / "seeds/seed-1"
    with pytest.raises(ValueError, match="start from one model"):
        find_start_encoder(f"{project / 'bag'}+{project / 'bag'}", 0, tmp_path / "other")


def test_the_re_ranker_learns_gold_paragraphs_against_the_first_wrong_ones(project: Path) -> None:
    table = select_candidates(project / "data/hotpotqa", "train", 5)
    labels = table.groupby("question_id")["label"]
    assert set(labels.sum()) == {2} and set(labels.size()) == {5}
    assert labels.ngroups == len(read_split(project / "data/hotpotqa", "train"))


def test_options_follow_the_settings(project: Path, tmp_path: Path) -> None:
    assert TASK.list_options(make_quick_settings(), None) == ["reranker", "reader"]
    assert TASK.list_options(make_quick_settings(reader="roberta-base"), None) == []
    tuned = make_quick_settings(retrieval={"finetune": ["hotpotqa"]})
    assert TASK.list_options(tuned, None) == ["hotpotqa", "reranker", "reader"]
    assert (
        tuned.get_option_settings("reader") == tuned.reading
        and tuned.get_option_settings("hotpotqa") == tuned.retrieval
    )
    with pytest.raises(ValueError, match="unknown set squad; only hotpotqa"):
        make_quick_settings(retrieval={"finetune": ["squad"]})
    with pytest.raises(ValueError, match=r"retrieval\.scores\n.*unknown variant 'x'; known: bag"):
        make_quick_settings(retrieval={"scores": {"x": "dot"}}).check_variants(["bag"])
    with pytest.raises(ValueError, match="there is no such folder"):
        TASK.check_settings(make_quick_settings(reader="./nowhere"), project / "data")
    for option in ("reranker", "reader"):  # a bag of words has no states of tokens
        TASK.finetune(make_quick_settings(), option, make_encoders(project)[1], project / "data", tmp_path / "model")
    toys.read(tmp_path / "none", None)
    TASK.finetune(make_quick_settings(), "reader", make_encoders(project)[0], tmp_path / "none", tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_a_shared_reader_answers_for_all_variants(project: Path, tmp_path: Path) -> None:
    """It is trained once; answers depend on the retrieved paragraphs."""
    settings = toys.settings(reader=str(project / "transformer"))
    settings = replace(settings, reading=replace(settings.reading, epochs=8))
    results = TASK.evaluate(settings, make_encoders(project), project / "data", tmp_path)
    for variant in ("transformer", "bag", "bm25"):
        assert get_values(results, variant).keys() == {RECALL, *ANSWER_METRICS} <= set(METRICS)
    bm25 = get_values(results, "bm25")
    assert bm25["answer_em"] > 0.7 and bm25["support_f1"] > 0.6
    assert bm25["joint_f1"] > get_values(results, "bag")["joint_f1"]
    assert any("are shared by all variants" in note for note in results.details["notes"])
    (example,) = results.details["examples"]
    assert example["variant"] == "bm25" and " (read in T " in example["answered"][0]["predicted"]
    kept = [tmp_path / "reader/seed-0" / name / "kept" for name in ("reranker", "reader")]
    for file in kept:
        file.touch()
    again = TASK.evaluate(settings, make_encoders(project)[:1], project / "data", tmp_path)
    assert all(file.exists() for file in kept)
    assert again.records[0] in results.records


@pytest.mark.slow
def test_each_variant_may_have_its_own_reader(project: Path, tmp_path: Path) -> None:
    settings = make_quick_settings()
    settings = replace(settings, retrieval=replace(settings.retrieval, finetune=["hotpotqa"], steps=60))
    variants = make_encoders(project, tmp_path / "tuned")
    for variant in variants:
        for option in TASK.list_options(settings, None):
            output = tmp_path / "tuned" / variant.variant / option
            output.mkdir(parents=True)
            TASK.finetune(settings, option, variant, project / "data", output)
    results = TASK.evaluate(settings, variants, project / "data", tmp_path / "vectors")
    for protocol in ("frozen", "finetuned"):
        assert get_values(results, "transformer", protocol).keys() == {RECALL, *ANSWER_METRICS}
        assert get_values(results, "bag", protocol).keys() == {RECALL}
    assert get_values(results, "bm25").keys() == {RECALL}
    assert get_values(results, "bag", "finetuned")[RECALL] > get_values(results, "bag")[RECALL]
    assert results.details["notes"][-1].endswith("without a Transformer fine-tuned to read: bag")


def test_a_model_depends_on_its_own_settings_only() -> None:
    first = MultiHopSettings()
    for option, changed in (
        ("reader", MultiHopSettings(reading=ReaderSettings(epochs=9))),
        ("reranker", MultiHopSettings(paragraphs=9)),
        ("hotpotqa", MultiHopSettings(retrieval=RankingSettings(steps=9))),
    ):
        for model in ("reader", "reranker", "hotpotqa"):
            assert (first.identity(model) == changed.identity(model)) == (model != option)
    scored = MultiHopSettings(retrieval=RankingSettings(scores={"a": "dot"}, finetune=["hotpotqa"]))
    assert scored.identity("hotpotqa") == first.identity("hotpotqa")
