"""All parameters of the project, checked when a run starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.demo.config import DemoConfig
from contexture.metrics.bm25 import Bm25Config
from contexture.metrics.search_index import IndexConfig
from contexture.strict import STRICT
from contexture.systems.mspp.document import MsppSampling
from contexture.systems.quick_thoughts.config import QuickThoughtsSystem
from contexture.systems.two_tower.config import TwoTowerSystem
from contexture.systems.two_tower.sampling import TwoTowerSampling
from contexture.tasks.sentences.files import Counts
from contexture.tasks.sentences.senteval import CLASSIFICATION
from contexture.training.config import MsppSystem, Positive
from contexture.vocabulary.tokenizers import VocabularyConfig
from contexture.vocabulary.words import WordsConfig


class ConfigurationError(ValueError):
    """A parameter that nobody knows, or an impossible value; names the file and the key."""


@dataclass(config=STRICT, frozen=True)
class AnswersConfig:
    """Where the answer-selection questions come from."""

    # demo (questions about the made-up world), or a folder with WikiQA-{train,dev,test}.tsv, plain or .gz.
    input: str = "demo"


@dataclass(config=STRICT, frozen=True)
class MsppParameters(MsppSystem):
    """The MSPP system: how its examples are drawn, and everything that training needs."""

    sampling: MsppSampling
    # Seed of the sampling.
    sampling_seed: int = 0

    def __post_init__(self) -> None:
        if self.sampling.candidates != self.layout.candidates:
            raise ValueError(
                f"sampling draws {self.sampling.candidates} candidates (positives + hard + easy negatives), "
                f"layout.candidates is {self.layout.candidates}: they must be equal"
            )
        if self.sampling.max_tokens != self.layout.sentence_tokens - 2:
            raise ValueError(
                f"sampling.max_tokens is {self.sampling.max_tokens}: it must be layout.sentence_tokens less the two "
                f"special tokens, {self.layout.sentence_tokens - 2}"
            )


@dataclass(config=STRICT, frozen=True)
class RetrievalConfig:
    """Where the questions of the retrieval benchmark come from."""

    # demo (questions about the made-up world); or a file, a folder, or a list of files.
    input: str | list[str] = "demo"
    # squad (v1.1 JSON), natural_questions (JSON lines, original or simplified).
    format: Literal["squad", "natural_questions"] = "squad"
    # Language of the passages, by which they are split into sentences.
    lang: str = "en"


@dataclass(config=STRICT, frozen=True)
class RetrievalEvaluation:
    """What is measured beside the recall of every variant."""

    # Pairs of the corpus that join the candidates in the open-domain setting (section 4.4); 0 leaves it out.
    open_domain_pairs: Annotated[int, Field(ge=0)] = 0
    # Approximate indexes to compare with exact search.
    indexes: list[IndexConfig] = Field(default_factory=list)


@dataclass(config=STRICT, frozen=True)
class AblationRow:
    """One row of the paper's Table 5."""

    # Transformer layers.
    layers: Positive
    # A run of the system.
    run: str
    # Length of the vectors.
    embedding_size: Positive


@dataclass(config=STRICT, frozen=True)
class Ablation:
    """The ablation of Table 5: what `kedro run --pipelines two_tower_ablation` trains, one after the other."""

    rows: Annotated[list[AblationRow], Field(min_length=1)]
    # Shares of the questions to train on, in percent.
    shares: Annotated[list[Annotated[float, Field(gt=0, lt=100)]], Field(min_length=1)]


@dataclass(config=STRICT, frozen=True)
class TwoTowerParameters(TwoTowerSystem):
    """The two-tower system: how its pairs are drawn, and everything that training and evaluation need."""

    sampling: TwoTowerSampling
    bm25: Bm25Config
    evaluation: RetrievalEvaluation
    ablation: Ablation
    # Seed of the sampling.
    sampling_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("query_tokens", "document_tokens"):
            drawn, read = getattr(self.sampling, name), getattr(self.layout, name)
            if drawn != read:
                raise ValueError(f"sampling.{name} is {drawn}, layout.{name} is {read}: they must be equal")
        for row in self.ablation.rows:
            if row.run not in self.pretrain.runs:
                raise ValueError(f"ablation: no run {row.run!r}; there are {sorted(self.pretrain.runs)}")


@dataclass(config=STRICT, frozen=True)
class SentenceTasksConfig:
    """Where the tasks come from that frozen encoders are measured on."""

    # demo (sentences about the made-up world), or a folder in SentEval's layout (data/downstream).
    input: str = "demo"
    # published: every file must have the published number of rows. any: other sets in the same formats.
    row_counts: Counts = "published"
    # Sentence analogies: demo, or a file of five columns: category, A, B, C, D. None: left out.
    analogies: str | None = "demo"
    # Image features and captions: a folder with {train,dev,test}_ims.npy and {train,dev,test}_caps.txt. None: left out.
    image_captions: str | None = None


@dataclass(config=STRICT, frozen=True)
class Neighbours:
    """Nearest neighbours (Quick-Thoughts, section 4.4.4) and sentence analogies (appendix A)."""

    # Whose vectors are searched.
    variants: list[str]
    # Sentences drawn from the corpus whose neighbour is shown.
    queries: Positive
    # Sentences of the corpus among which it, or the fourth sentence of an analogy, is looked for.
    pool: Positive


@dataclass(config=STRICT, frozen=True)
class OverTime:
    """Quality against training time (Quick-Thoughts, appendix C): f alone, at the snapshots of a run."""

    # Pre-training runs; none leaves the figure out.
    runs: list[str]
    # Tasks of classification.
    tasks: list[str]

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.tasks) - set(CLASSIFICATION)):
            raise ValueError(f"no task of classification is called {unknown}; there are {sorted(CLASSIFICATION)}")
        if self.runs and not self.tasks:
            raise ValueError("over_time has runs but no tasks to measure them on")


@dataclass(config=STRICT, frozen=True)
class SentenceEvaluation:
    """How frozen encoders are measured."""

    # Folds, strengths of regularisation and features of pairs: those of the paper's scripts, or SentEval's.
    protocol: Literal["skip_thoughts", "senteval"]
    # Variants whose log-probabilities are averaged (section 4.4.1).
    ensemble: list[str]
    neighbours: Neighbours
    over_time: OverTime
    # Vectors for words that were not trained, by a linear map from the word vectors.
    expansion: bool = False
    # f(s) and g(s) are brought to length 1 before they are concatenated (released code), or not (paper).
    unit_vectors: bool = True


@dataclass(config=STRICT, frozen=True)
class QuickThoughtsParameters(QuickThoughtsSystem):
    """Quick-Thoughts: how the corpus is ordered, and everything that training and evaluation need."""

    evaluation: SentenceEvaluation
    # Files of the table of sentences.
    sampling_files: Positive
    # Seed of the order of the documents.
    sampling_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evaluation.expansion:
            for name, encoder in self.encoders.items():
                if encoder.kind == "transformer":
                    raise ValueError(f"evaluation.expansion is for a gru or a bag_of_words; encoder {name} is neither")
        for name in self.evaluation.over_time.runs:
            if name not in self.pretrain.runs:
                raise ValueError(f"evaluation.over_time: no run {name!r}; there are {sorted(self.pretrain.runs)}")
            if not self.pretrain.snapshots:
                raise ValueError("evaluation.over_time needs pretrain.snapshots: 1 or more")


#: System → its parameters.
SYSTEM_PARAMETERS: dict[str, type[MsppParameters] | type[TwoTowerParameters] | type[QuickThoughtsParameters]] = {
    "mspp": MsppParameters,
    "quick_thoughts": QuickThoughtsParameters,
    "two_tower": TwoTowerParameters,
}


@dataclass(config=STRICT, frozen=True)
class Parameters:
    """Everything under conf/<environment>/parameters."""

    demo: DemoConfig
    corpus: CorpusConfig
    cleaning: CleaningConfig
    vocabulary: VocabularyConfig
    words: WordsConfig
    answers: AnswersConfig
    retrieval: RetrievalConfig
    sentence_tasks: SentenceTasksConfig
    mspp: MsppParameters
    quick_thoughts: QuickThoughtsParameters
    two_tower: TwoTowerParameters

    def __post_init__(self) -> None:
        towers = self.two_tower.encoders.items()
        encoders = {"mspp.encoder": self.mspp.encoder} | {
            f"two_tower.encoders.{name}.encoder": one.encoder for name, one in towers if one.kind == "transformer"
        }
        for name, encoder in encoders.items():
            if encoder.init_from and not self.vocabulary.published:
                raise ValueError(
                    f"{name}.init_from is {encoder.init_from}, whose weights belong to its own tokens: "
                    "set vocabulary.published to the same name or folder"
                )
        if self.cleaning.main_content is not None and self.corpus.list_items != "flag":
            raise ValueError("cleaning.main_content learns from list items: set corpus.list_items to flag")


def check_parameters(values: Mapping[str, Any], folders: list[Path], given: Mapping[str, Any]) -> Parameters:
    """Typed parameters, or ConfigurationError with every fault, the file and the key of each.

    `folders` are the configuration folders, the strongest first; `given` came on the command line.
    """
    try:
        return TypeAdapter(Parameters).validate_python(dict(values))
    except ValidationError as error:
        faults = []
        for fault in error.errors():
            key = [str(part) for part in fault["loc"]]
            said = fault["msg"]
            if fault["type"] == "unexpected_keyword_argument":
                said = "no such parameter"
            elif fault["type"] in ("missing", "missing_argument"):
                said = "missing"
            shown = f" (is {fault['input']!r})" if isinstance(fault["input"], str | int | float) else ""
            faults.append(f"{source(key, folders, given)}: {'.'.join(key)}: {said}{shown}")
        raise ConfigurationError("the configuration was refused:\n  " + "\n  ".join(faults)) from None


def source(key: list[str], folders: list[Path], given: Mapping[str, Any]) -> str:
    """The file, or --params, that sets a key; for a key that nothing sets, the file that sets what surrounds it."""
    for depth in range(len(key), 0, -1):
        if _holds(given, key[:depth]):
            return "--params"
        for folder in folders:
            for file in sorted(folder.glob("parameters*/**/*.yml")) + sorted(folder.glob("parameters*.yml")):
                if _holds(yaml.safe_load(file.read_text(encoding="utf-8")) or {}, key[:depth]):
                    return str(file)
    return str(folders[-1] / "parameters")


def _holds(tree: Any, key: list[str]) -> bool:
    for part in key:
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True
