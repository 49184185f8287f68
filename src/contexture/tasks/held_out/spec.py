"""Registration of questions from held-out documents."""

from contexture.tasks.held_out.config import HeldOutConfig, HeldOutSettings
from contexture.tasks.spec import TaskSpec

SPEC = TaskSpec(
    name="held_out",
    title="Held-out documents",
    settings=HeldOutSettings,
    source=HeldOutConfig,
    implementation="contexture.tasks.held_out.task:HeldOutTask",
    corpus=("passages", "paragraphs"),
    documents_note="Not used for training, except for the vocabulary, which is built from the whole text.",
    chooses_encoder=True,
    question_checker="contexture.tasks.held_out.own_questions:check_questions",
    data={
        "own_text": "your own text",
        "headings": "a heading → its section",
        "links": "a sentence with a link → the page",
        "sentences": "a sentence → the rest of its passage",
        "halves": "half of a sentence → the other half",
        "questions": "your questions",
    },
    protocols={"frozen": "frozen"},
)
