"""The settings of every stream, by the stream's name."""

from contexture.streams.base_config import StreamConfig
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.streams.joint.config import JointConfig
from contexture.streams.nli.config import NliStreamConfig
from contexture.streams.pairs.config import PairsConfig, PassagesConfig
from contexture.streams.sentences.config import ContiguousConfig, SentencesConfig
from contexture.streams.sequence_pairs.config import SequencePairsConfig, SequencesConfig
from contexture.streams.sequence_samples.config import SequenceSamplesConfig, ShortSequencesConfig

#: Streams of batches: their settings, which tell where the rest is.
STREAMS: dict[str, type[StreamConfig]] = {
    "bitext": BitextStreamConfig,
    "contiguous": ContiguousConfig,
    "joint": JointConfig,
    "nli": NliStreamConfig,
    "pairs": PairsConfig,
    "passages": PassagesConfig,
    "sentences": SentencesConfig,
    "sequence_samples": SequenceSamplesConfig,
    "sequence_pairs": SequencePairsConfig,
    "sequences": SequencesConfig,
    "short_sequences": ShortSequencesConfig,
}
