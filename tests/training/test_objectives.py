"""Every objective trains on every stream that it can read."""

import pytest
from pydantic import TypeAdapter, ValidationError

from contexture.encoders.config import AnyEncoderConfig, EncoderConfig
from contexture.imports import resolve
from contexture.objectives.config import OBJECTIVES
from contexture.streams.config import STREAMS
from contexture.training.curves import read_curves
from contexture.training.pretrain import read_summary
from tests.training.runs import Training
from tests.training.toys import OPTIMIZER, PRETRAIN, make_system, schedule, transformer
from tests.training.toys import STREAMS as SETTINGS

#: In order of size.
ENCODERS = {
    "bag_of_words": {"kind": "bag_of_words", "embedding_size": 8},
    "bag_of_words_mlp": {"kind": "bag_of_words_mlp", "word_size": 8, "hidden_size": 8, "embedding_size": 8},
    "gru": {"kind": "gru", "word_size": 8, "embedding_size": 8},
    "static": {"kind": "static", "embedding_size": 8, "pooling": "mean"},
    "transformer": transformer(),
    "across": transformer(pooling="cls", cross={"tokens": 2}),
    "forward": transformer(pooling="last"),
}
#: Objectives that need dropout or a certain network.
SMALLEST = {
    "cmlm": "transformer",
    "cross_thought": "across",
    "lm": "forward",
    "mlm": "transformer",
    "mspp": "transformer",
    "simcse": "transformer",
}
#: Without ICT, BFS and WLP, which are in-batch negatives: see test_mixtures.py.
SHARED = {name: config for name, config in OBJECTIVES.items() if not config.stream_settings}
#: (stream, encoder) → objectives that read the stream and train the encoder.
READERS: dict[tuple[str, str], list[str]] = {}
for _name, _config in SHARED.items():
    for _stream in _config.streams:
        READERS.setdefault((_stream, SMALLEST.get(_name, "bag_of_words")), []).append(_name)


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_encoder_trains(kind: str, training: Training) -> None:
    training.train(make_system(**make_settings("tsdae", "sentences", kind)), "tsdae")
    assert read_curves(training.folder / "tsdae")["train/tsdae"].between(0, 30).all()


def test_the_encoders_are_of_every_kind() -> None:
    typed: TypeAdapter[EncoderConfig] = TypeAdapter(AnyEncoderConfig)
    kinds = {type(typed.validate_python(config)) for config in ENCODERS.values()}
    assert len(kinds) == len(EncoderConfig.__subclasses__())
    assert {name for name, config in OBJECTIVES.items() if config.reads_states} <= SMALLEST.keys() <= OBJECTIVES.keys()


def make_settings(name: str, stream: str, encoder: str) -> dict[str, object]:
    run = schedule(2, **{name: 1}) | {"objectives": {name: {"stream": stream}}}
    return {
        "lengths": {"query": 12, "document": 24},
        "encoders": {encoder: ENCODERS[encoder]},
        "streams": {stream: SETTINGS[stream]},
        "pretrain": PRETRAIN | {"runs": {name: run}, "optimizer": OPTIMIZER},
    }


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_smaller_encoders_fail(name: str, training: Training) -> None:
    values = make_settings(name, OBJECTIVES[name].streams[0], "bag_of_words")
    if OBJECTIVES[name].reads_states:
        with pytest.raises(
            ValidationError, match=rf"runs.{name}\n.*{name} reads states of tokens, which a bag_of_words"
        ):
            make_system(**values)
        return
    with pytest.raises(ValueError, match=name):
        training.train(make_system(**values), name, "run")


@pytest.mark.parametrize("stream", sorted(STREAMS))
def test_the_classes_of_every_stream_can_be_imported(stream: str) -> None:
    tables = STREAMS[stream].tables
    assert callable(resolve(STREAMS[stream].implementation)) and (tables is None or callable(resolve(tables)))
    assert stream in {stream for stream, _ in READERS}


@pytest.mark.parametrize(("stream", "encoder"), sorted(READERS))
def test_every_objective_trains_on_every_stream_that_it_can_read(stream: str, encoder: str, training: Training) -> None:
    """Objectives with the same stream and encoder are trained together."""
    names = READERS[stream, encoder]
    run = schedule(2, **dict.fromkeys(names, 1)) | {"objectives": {name: {"stream": stream} for name in names}}
    pretrain = PRETRAIN | {"runs": {"run": run}, "optimizer": OPTIMIZER}
    config = make_system(**make_settings(names[0], stream, encoder) | {"pretrain": pretrain})
    assert config.pretraining("run").stream_names == [stream]
    training.train(config, "run")
    curves, summary = read_curves(training.folder / "run"), read_summary(training.folder / "run")
    for name in names:
        losses = curves[f"train/{name}"]
        assert len(losses) == 2 and losses.between(0, 30).all() and (losses > 0).any()
    assert summary["steps"] == 2 and summary["tokens"] > 0 and summary["flops"] > 0
