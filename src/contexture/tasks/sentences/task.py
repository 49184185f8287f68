"""Sentence tasks of frozen encoders: SentEval, STS, neighbours, analogies and captions."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contexture.demo.config import DEMO
from contexture.demo.sentence_tasks import ANALOGIES
from contexture.demo.write import LANGUAGES_DIR, SENTEVAL_DIR
from contexture.tasks.base import (
    WORD_AVERAGE,
    EvaluatedEncoder,
    FrozenTask,
    ParallelMap,
    Results,
    list_seeds,
    serial_map,
)
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.config import SentenceSettings, SentenceTasksConfig
from contexture.tasks.task_folder import read_report, write_task

if TYPE_CHECKING:
    from contexture.tasks.sentences.downstream import SentenceTasks

LOG = logging.getLogger(__name__)
SENTEVAL = "senteval"


class SentencesTask(FrozenTask):
    """Measure frozen encoders on sentence tasks."""

    def prepare_data(self, source: SentenceTasksConfig, demo_dir: Path, output_dir: Path) -> None:
        """Check all files and write the report `TASK_FILE` of what they contain; raises ValueError for a wrong file.

        `TASK_FILE` also has the `folder` and `row_counts` of the files, the numbers of `dropped` lines, and `name` and
        `path` of `analogies` and `image_captions`, or null. `languages` has `folder`, `counts` and `dropped` of each
        other language, by code.
        """
        from contexture.tasks.sentences.downstream import SentenceTasks

        is_demo = source.input == DEMO
        folder, name = (demo_dir / SENTEVAL_DIR, DEMO) if is_demo else (Path(source.input), SENTEVAL)
        counts = "any" if is_demo else source.row_counts
        tasks = SentenceTasks.read(folder, counts)
        missing = dict(tasks.missing)
        languages: dict[str, dict[str, Any]] = {}
        for code, language_dir in _find_languages(source, demo_dir).items():
            translated = SentenceTasks.read(Path(language_dir), counts)
            languages[code] = _describe_tasks(Path(language_dir), translated)
            if translated.missing:
                missing[f"{name}_{code}"] = f"{', '.join(translated.missing)}: not in {language_dir}"
        more_sets: dict[str, dict[str, str] | None] = {}
        for key, find in (("analogies", _find_analogies), ("image_captions", _find_image_captions)):
            try:
                more_sets[key] = find(source, demo_dir)
            except BenchmarkMissing as error:
                more_sets[key], missing[key] = None, str(error)
        for key, reason in missing.items():
            # The demo has only some of the tasks.
            LOG.log(logging.INFO if is_demo else logging.WARNING, "%s is skipped: %s", key, reason)
        report = {"row_counts": counts, **_describe_tasks(folder, tasks), "languages": languages, "missing": missing}
        with write_task(output_dir, [name], **report, **more_sets):
            pass

    def evaluate(
        self,
        settings: SentenceSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
        *,
        paragraphs: Path | None = None,
        words: Path | None = None,
    ) -> Results:
        """Return the scores of all frozen encoders on all sentence tasks; see `Task.evaluate`.

        `paragraphs` is the corpus folder in which neighbours are searched. `words` is a folder of word vectors, for the
        variant `word_average` and for expansion. Raises ValueError for an unknown variant or a missing input.

        Records in another language have the data `<name>_<code>`. Details: `counts` and `dropped` rows by task,
        `missing` tasks with reasons, `chosen` strengths and `zero_vectors` by variant (both of the main language only),
        `neighbours`, and `quality_over_time`.
        """
        from contexture.tasks.sentences.downstream import SentenceTasks
        from contexture.tasks.sentences.encoders import (
            measure_over_time,
            measure_tasks,
            rank_captions,
            search_corpus,
        )
        from contexture.tasks.sentences.vectors import VectorStore

        _check_inputs(settings, encoders, paragraphs, words)
        report = read_report(data_dir)
        store = VectorStore(vectors_dir, words if settings.expansion else None)
        first_seed = min(list_seeds(encoders), default=0)
        averages = [] if words is None else [EvaluatedEncoder(WORD_AVERAGE, first_seed, (str(words),))]
        with_average = [*encoders, *averages]
        languages: dict[str, Any] = report["languages"]
        results = Results(details={"missing": report["missing"]})
        for key in ("counts", "dropped"):
            results.details[key] = report[key] | {
                code: counts[key] for code, counts in languages.items() if counts[key]
            }
        results.details.update(chosen=[], zero_vectors={}, neighbours=[], quality_over_time=[])

        def read_tasks(folder: str, names: Sequence[str]) -> SentenceTasks:
            return SentenceTasks.read(Path(folder), report["row_counts"], names)

        sets = {report["name"]: report} | {f"{report['name']}_{code}": counts for code, counts in languages.items()}
        for name, tasks_of_set in sets.items():
            if tasks_of_set["counts"]:
                tasks = read_tasks(tasks_of_set["folder"], [*tasks_of_set["counts"]])
                records, chosen, zeros = measure_tasks(settings, with_average, tasks, name, store, parallel_map)
                results.records.extend(records)
                if tasks_of_set is report:
                    results.details.update(chosen=chosen, zero_vectors=zeros)
        if settings.neighbours and paragraphs:
            records, neighbours = search_corpus(
                settings.neighbours, with_average, paragraphs, report["analogies"], store
            )
            results.records.extend(records)
            results.details["neighbours"] = neighbours
        if report["image_captions"]:
            results.records.extend(rank_captions(encoders, report["image_captions"], store))
        over_time = settings.over_time
        if over_time and (names := [name for name in over_time.tasks if name in report["counts"]]):
            followed = [encoder for encoder in encoders if encoder.variant in over_time.variants]
            tasks = read_tasks(report["folder"], names)
            results.details["quality_over_time"] = measure_over_time(settings.protocol, followed, tasks, store)
        return results


def _find_languages(source: SentenceTasksConfig, demo: Path) -> dict[str, str]:
    """Return code → folder of the tasks, for each other language than the main one."""
    if source.languages or source.input != DEMO:
        return source.languages
    folders = sorted((demo / LANGUAGES_DIR / SENTEVAL_DIR).glob("*/"))
    return {folder.name: str(folder) for folder in folders}


def _describe_tasks(folder: Path, tasks: "SentenceTasks") -> dict[str, Any]:
    """Return the report of a folder's tasks for `TASK_FILE`: the folder, and counts of rows and dropped lines."""
    return {
        "folder": str(folder),
        "counts": {task.name: len(task.table) for task in tasks.tasks},
        "dropped": {task.name: lines for task in tasks.tasks if (lines := getattr(task, "dropped", 0))},
    }


def _find_analogies(source: SentenceTasksConfig, demo: Path) -> dict[str, str] | None:
    """Return name and path of the analogies after checking the file; None if they are not configured."""
    from contexture.tasks.sentences.analogies import read_analogies

    if source.analogies is None:
        return None
    is_demo = source.analogies == DEMO
    path = demo / SENTEVAL_DIR / ANALOGIES if is_demo else Path(source.analogies)
    read_analogies(path)
    return {"name": DEMO if is_demo else path.name.split(".")[0], "path": str(path)}


def _find_image_captions(source: SentenceTasksConfig, demo: Path) -> dict[str, str] | None:
    """Return name and path of the image captions after checking the files; None if not configured."""
    if source.image_captions is None:
        return None
    from contexture.tasks.sentences.image_captions import SPLITS, read_image_captions

    folder = Path(source.image_captions)
    for split in SPLITS:
        read_image_captions(folder, split)
    return {"name": folder.resolve().name, "path": str(folder)}


def _check_inputs(
    settings: SentenceSettings, encoders: Sequence[EvaluatedEncoder], paragraphs: Path | None, words: Path | None
) -> None:
    """Raise ValueError if the settings name an unknown variant, or need word vectors or paragraphs that are missing."""
    settings.check_variants({encoder.variant for encoder in encoders})
    searched = settings.neighbours.variants if settings.neighbours else []
    if words is None and (settings.expansion or WORD_AVERAGE in [*settings.ensemble, *searched]):
        raise ValueError(f"expansion and {WORD_AVERAGE} need word vectors; pass the folder as words")
    if settings.neighbours and paragraphs is None:
        raise ValueError("neighbours need the corpus; pass the folder of its paragraphs")
    followed = settings.over_time.variants if settings.over_time else []
    for encoder in encoders:
        if encoder.variant in followed and len(encoder.models) > 1:
            raise ValueError(
                f"over_time: {encoder.variant} has {len(encoder.models)} encoders; choose variants with one"
            )
