"""The description of answer selection."""

from contexture.tasks.answer_selection.config import AnswersConfig, AnswerSelectionSettings
from contexture.tasks.spec import LeagueUse, ModelUsage, TaskSpec

#: Also used for the re-ranker of multi-hop questions.
USAGE = ModelUsage(
    file="answer_selection.json",
    purpose="to choose the sentence that answers",
    code="""from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.scoring import score_candidates

candidates = ["A sentence.", "Another sentence."]
scores = score_candidates(load_answer_model('.'), "a question", candidates)
answer = candidates[scores.argmax()]""",
)

SPEC = TaskSpec(
    name="answer_selection",
    title="Answer selection",
    settings=AnswerSelectionSettings,
    source=AnswersConfig,
    implementation="contexture.tasks.answer_selection.task:AnswerSelectionTask",
    has_documents=True,
    former_key="answers",
    data={"wikiqa": "WikiQA", "trecqa": "TREC-QA", "asnq": "ASNQ"},
    protocols={
        "frozen": "frozen",
        "bi_encoder": "fine-tuned as bi-encoder",
        "grouped": "fine-tuned",
        "reranked": "fine-tuned, re-ranking",
    },
    league=(
        LeagueUse(
            "Choosing answers",
            "Of the sentences of a page, pick the one that answers.",
            "For choosing answers",
            "map",
            "MAP",
            "100 if right answers always rank above wrong ones",
            task="answer_selection",
            tuned=("bi_encoder", "grouped"),
        ),
    ),
    usage=USAGE,
)
