"""Questions with words of their answers, in every format, and small encoders that can learn them."""

import json
import random
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from contexture.tasks.ranking.config import RankingConfig, RankingSettings
from contexture.tasks.ranking.task import AnswerRankingTask
from tests.tasks.retrieval.toys import BAG, WORDS, new_encoder, vocabulary

__all__ = ["BAG", "CROSS", "lines", "new_encoder", "read", "settings", "squad", "vocabulary", "wikiqa", "write_data"]

CROSS: dict[str, Any] = {
    "kind": "transformer", "hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": 0.0,
    "pooling": "cls", "cross": {"tokens": 2},
}  # fmt: skip


def settings(**changes: Any) -> RankingSettings:
    values = {
        "batch_size": 16, "steps": 50, "evaluate_every": 10, "patience": 6, "negatives": 7, "precision": "fp32",
        "optimizer": {"learning_rate": 1e-2, "warmup_steps": 5}, "finetune": ["mine"], "tokens_at_once": 600,
    }  # fmt: skip
    return TypeAdapter(RankingSettings).validate_python(values | changes)


def read(folder: Path, sets: dict[str, Any]) -> dict[str, Any]:
    """Write the data of `AnswerRankingTask` to `folder`; return its report."""
    AnswerRankingTask().prepare_data(
        TypeAdapter(RankingConfig).validate_python({"input": sets}), folder / "demo", folder
    )
    report: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    return report


def write_data(folder: Path) -> Path:
    """Write the data of one set, `mine`."""
    file = squad(folder.with_suffix(".json"))
    read(folder, {"mine": {"format": "squad", "files": str(file)}})
    return folder


def squad(file: Path, questions: int = 300, paragraphs: int = 20) -> Path:
    """Write paragraphs of six words; each question has four words of its paragraph, and no two are equal."""
    draw = random.Random(3)
    contexts = [draw.sample(WORDS, 6) for _ in range(paragraphs)]
    contexts_of: dict[str, list[str]] = {}
    while len(contexts_of) < questions:
        context = contexts[len(contexts_of) % paragraphs]
        contexts_of.setdefault(" ".join(draw.sample(context, 4)), context)
    rows = [
        {"context": " ".join(context), "question": question, "answer": context[0]}
        for question, context in contexts_of.items()
    ]
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file


def lines(file: Path, *rows: Any) -> None:
    """Write JSON lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def wikiqa(folder: Path, **splits: list[tuple[str, str, int]]) -> Path:
    """Write WikiQA files with rows of question, sentence and label."""
    folder.mkdir()
    for split in ("train", "dev", "test"):
        rows = ["QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"]
        for number, (question, sentence, label) in enumerate(splits.get(split, [])):
            rows.append(f"{split}-{question}\t{question}\tD\tTitle\tS{number}\t{sentence}\t{label}")
        (folder / f"WikiQA-{split}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder
