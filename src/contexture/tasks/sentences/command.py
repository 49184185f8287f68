"""Evaluation of any model on files in SentEval's layout, for `contexture evaluate`."""

import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from contexture.tasks.sentences.downstream import TASK_NAMES, SentenceTasks
from contexture.tasks.sentences.files import RowCounts


def measure_models(
    models: list[str],
    folder: Path,
    counts: RowCounts,
    names: Collection[str] | None,
    protocol: str,
    vectors: Path | None,
) -> tuple[str, dict[str, Any]]:
    """Return the scores of concatenated models on tasks, by default all, in a folder with SentEval's layout.

    Returns the tables as text, and the results as a dictionary. Raises ValueError if the folder has none of the tasks
    or a file is wrong.
    """
    tasks = SentenceTasks.read(folder, counts, names or TASK_NAMES)
    if not tasks:
        raise ValueError(f"{folder} has none of the tasks: {' '.join(tasks.missing.values())}")
    from contexture.encoders.models import load_models  # imports torch, which takes seconds
    from contexture.tasks.sentences.evaluation import evaluate_sentences
    from contexture.tasks.sentences.probe_protocols import PROTOCOLS
    from contexture.tasks.sentences.text_tables import format_evaluation
    from contexture.tasks.sentences.vectors import embed_sentences

    sentences, model = tasks.sentences(), load_models(models)
    with tempfile.TemporaryDirectory() as temporary:
        store = embed_sentences(model, sentences, vectors or Path(temporary) / "vectors")
        evaluation = evaluate_sentences(store, tasks, PROTOCOLS[protocol])
        zeros = store.count_zeros()
    text = (
        f"{model.name}: {model.dimension} dimensions, {len(sentences):,} sentences, {zeros:,} with a zero vector"
        f"\n\n{format_evaluation(evaluation)}"
    )
    if tasks.missing:
        text += "\nMissing tasks\n" + "".join(f"{name}  {reason}\n" for name, reason in tasks.missing.items())
    figures = {"model": model.name, "dimension": model.dimension, "sentences": len(sentences), "zero_vectors": zeros}
    figures |= {"identity": model.identity, "protocol": evaluation.protocol, "missing": tasks.missing}
    rows = [{"model": model.name, **row} for row in evaluation.rows("senteval")]
    return text, {**figures, "chosen": evaluation.chosen_strengths(), "rows": rows}
