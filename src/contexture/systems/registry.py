"""What there is, by name: streams, tasks, systems. A line each; their classes are loaded when they are used."""

from contexture.imports import resolve
from contexture.tasks.answer_selection.config import AnswerSelectionSettings
from contexture.tasks.base import Task
from contexture.tasks.beir.config import BeirSettings
from contexture.tasks.bitext_retrieval.config import BitextRetrievalSettings
from contexture.tasks.fact_verification.config import FactVerificationSettings
from contexture.tasks.held_out.config import HeldOutSettings
from contexture.tasks.language_bias.config import LanguageBiasSettings
from contexture.tasks.multi_hop.config import MultiHopSettings
from contexture.tasks.pairs.config import PairSettings
from contexture.tasks.ranking.config import RankingSettings
from contexture.tasks.retrieval.config import RetrievalSettings
from contexture.tasks.reviews.config import ReviewSettings
from contexture.tasks.sentences.config import SentenceSettings
from contexture.tasks.settings import TaskSettings

#: Tasks: the settings of measuring and fine-tuning, the class, and the parameters that say where the files are.
TASKS: dict[str, tuple[type[TaskSettings], str, str]] = {
    "answer_selection": (
        AnswerSelectionSettings,
        "contexture.tasks.answer_selection.task:AnswerSelectionTask",
        "answers",
    ),
    "beir": (BeirSettings, "contexture.tasks.beir.task:BeirTask", "beir"),
    "bitext_retrieval": (
        BitextRetrievalSettings,
        "contexture.tasks.bitext_retrieval.task:BitextRetrievalTask",
        "bitext_retrieval",
    ),
    "fact_verification": (
        FactVerificationSettings,
        "contexture.tasks.fact_verification.task:FactVerificationTask",
        "verification",
    ),
    "language_bias": (
        LanguageBiasSettings,
        "contexture.tasks.language_bias.task:LanguageBiasTask",
        "language_bias",
    ),
    "multi_hop": (MultiHopSettings, "contexture.tasks.multi_hop.task:MultiHopTask", "multi_hop"),
    "pairs": (PairSettings, "contexture.tasks.pairs.task:PairsTask", "pairs"),
    "ranking": (RankingSettings, "contexture.tasks.ranking.task:AnswerRankingTask", "ranking"),
    "retrieval": (RetrievalSettings, "contexture.tasks.retrieval.task:RetrievalTask", "retrieval"),
    "held_out": (HeldOutSettings, "contexture.tasks.held_out.task:HeldOutTask", "held_out"),
    "reviews": (ReviewSettings, "contexture.tasks.reviews.task:ReviewsTask", "reviews"),
    "sentences": (SentenceSettings, "contexture.tasks.sentences.task:Sentences", "sentence_tasks"),
}

#: Systems: the module of each one's page. Their settings are those of `conf/<environment>/parameters/<system>.yml`.
SYSTEMS: dict[str, str] = {
    "mspp": "contexture.systems.mspp.page",
    "two_tower": "contexture.systems.two_tower.page",
    "quick_thoughts": "contexture.systems.quick_thoughts.page",
    "cmlm": "contexture.systems.cmlm.page",
    "cmlm_multilingual": "contexture.systems.cmlm_multilingual.page",
    "cross_thought": "contexture.systems.cross_thought.page",
    "league": "contexture.systems.league.page",
    "own_text": "contexture.systems.own_text.page",
}


def task_of(name: str) -> Task:
    """A task by its name."""
    found: Task = resolve(TASKS[name][1])()
    return found
