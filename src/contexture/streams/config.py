"""The registry of streams by name."""

from contexture.imports import resolve
from contexture.streams.base_config import StreamConfig

#: Settings classes, which name the implementations.
_SETTINGS = {
    "bitext": "bitext.config:BitextStreamConfig",
    "contiguous": "sentences.config:ContiguousConfig",
    "hard_pairs": "pairs.config:HardPairsConfig",
    "joint": "joint.config:JointConfig",
    "nli": "nli.config:NliStreamConfig",
    "pairs": "pairs.config:PairsConfig",
    "passages": "pairs.config:PassagesConfig",
    "sentences": "sentences.config:SentencesConfig",
    "sequence_samples": "sequence_samples.config:SequenceSamplesConfig",
    "sequence_pairs": "sequence_pairs.config:SequencePairsConfig",
    "sequences": "sequence_pairs.config:SequencesConfig",
    "short_sequences": "sequence_samples.config:ShortSequencesConfig",
}

STREAMS: dict[str, type[StreamConfig]] = {
    name: resolve(f"contexture.streams.{settings}") for name, settings in _SETTINGS.items()
}
