"""Frozen encoders of sentences on SentEval and STS, and among the sentences of a corpus."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contexture.demo.config import DEMO
from contexture.demo.sentence_tasks import ANALOGIES
from contexture.demo.write import LANGUAGES, SENTENCES
from contexture.tasks.base import WORD_AVERAGE, Contestant, Each, FrozenTask, Results, one_by_one
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.analogy_files import read_analogies
from contexture.tasks.sentences.caption_files import SPLITS, read_image_captions
from contexture.tasks.sentences.config import SentenceSettings, SentenceTasksConfig
from contexture.tasks.task_folder import read_report, write_task

if TYPE_CHECKING:
    from contexture.tasks.sentences.downstream import SentenceTasks

LOG = logging.getLogger(__name__)
SENTEVAL = "senteval"


class Sentences(FrozenTask):
    """The task of encoders of sentences, which are measured as they are."""

    def read(self, source: SentenceTasksConfig, demo: Path, place: Path) -> None:
        """See `Task.read`. A file that is not as published is a ValueError here, before hours are spent.

        `TASK_FILE` also says in which `folder` the files are and by which `row_counts` they are read, how many lines
        were `dropped`, and `name` and `path` of the `analogies` and the `image_captions`, or null; `languages` has
        `folder`, `counts` and `dropped` of the tasks in each other language, by its code.
        """
        from contexture.tasks.sentences.downstream import SentenceTasks

        made_up = source.input == DEMO
        folder = demo / SENTENCES if made_up else Path(source.input)
        name = DEMO if made_up else SENTEVAL
        counts = "any" if made_up else source.row_counts
        tasks = SentenceTasks.read(folder, counts)
        missing = dict(tasks.missing)
        languages: dict[str, dict[str, Any]] = {}
        for code, given in _languages(source, demo).items():
            of_language = SentenceTasks.read(Path(given), counts)
            languages[code] = _told(Path(given), of_language)
            if of_language.missing:
                missing[f"{name}_{code}"] = f"{', '.join(of_language.missing)}: not in {given}"
        further: dict[str, dict[str, str] | None] = {}
        for other, find in (("analogies", _analogies), ("image_captions", _image_captions)):
            try:
                further[other] = find(source, demo)
            except BenchmarkMissing as error:
                further[other], missing[other] = None, str(error)
        for what, reason in missing.items():
            # The made-up world never has them all: nobody need do anything about it.
            LOG.log(logging.INFO if made_up else logging.WARNING, "%s is left out: %s", what, reason)
        report = {"row_counts": counts, **_told(folder, tasks), "languages": languages, "missing": missing, **further}
        with write_task(place, [name], **report):
            pass

    def evaluate(
        self,
        settings: SentenceSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
        *,
        paragraphs: Path | None = None,
        words: Path | None = None,
    ) -> Results:
        """See `Task.evaluate`.

        Args:
            settings: what is measured.
            contestants: their encoders give the vectors of texts of no role, or of queries over time.
            data: the folder that `read` wrote.
            place: vectors of one set of sentences by one encoder are kept here, in a folder of their own.
            each: how contestants are measured, side by side or one by one.
            paragraphs: folder of the table of paragraphs, in which neighbours are looked for.
            words: folder of a vocabulary of words with vectors: the variant `word_average`, and for expansion.

        Returns:
            Records, those in another language of `<name>_<code>`; and as facts: `counts` and `dropped` rows by task,
            what is `missing` and why, the strengths that were `chosen`, `zero_vectors` by variant (neither of other
            languages), `neighbours`, and `quality_over_time`.

        Raises:
            ValueError: a variant that is named in the settings is not there, or what it needs is not given.
        """
        from contexture.tasks.sentences.contestants import (
            measure_over_time,
            measure_tasks,
            rank_captions,
            search_corpus,
        )
        from contexture.tasks.sentences.downstream import SentenceTasks
        from contexture.tasks.sentences.vectors import VectorStore

        _check(settings, contestants, paragraphs, words)
        told = read_report(data)
        store = VectorStore(place, words if settings.expansion else None)
        everyone = [*contestants, *([] if words is None else [Contestant(WORD_AVERAGE, 0, (str(words),))])]
        folder, counts, asked = Path(told["folder"]), told["row_counts"], settings.over_time
        languages: dict[str, Any] = told["languages"]
        found = Results(facts={"missing": told["missing"]})
        for name in ("counts", "dropped"):
            found.facts[name] = told[name] | {code: of[name] for code, of in languages.items() if of[name]}
        found.facts.update(chosen=[], zero_vectors={}, neighbours=[], quality_over_time=[])
        sets = {told["name"]: told} | {f"{told['name']}_{code}": of for code, of in languages.items()}
        for called, of in sets.items():
            if of["counts"]:
                tasks = SentenceTasks.read(Path(of["folder"]), counts, of["counts"])
                records, chosen, zeros = measure_tasks(settings, everyone, tasks, called, store, each)
                found.records.extend(records)
                if of is told:
                    found.facts.update(chosen=chosen, zero_vectors=zeros)
        if settings.neighbours and paragraphs:
            records, neighbours = search_corpus(
                settings.neighbours, settings.seed, everyone, paragraphs, told["analogies"], store
            )
            found.records.extend(records)
            found.facts["neighbours"] = neighbours
        if told["image_captions"]:
            found.records.extend(rank_captions(contestants, told["image_captions"], store))
        if asked and (there := [name for name in asked.tasks if name in told["counts"]]):
            whose = [one for one in contestants if one.variant in asked.variants]
            tasks = SentenceTasks.read(folder, counts, there)
            found.facts["quality_over_time"] = measure_over_time(settings.protocol, whose, tasks, store)
        return found


def _languages(source: SentenceTasksConfig, demo: Path) -> dict[str, str]:
    """Code → the folder of the tasks in that language."""
    if source.languages or source.input != DEMO:
        return source.languages
    folder = demo / LANGUAGES / SENTENCES
    return {of.name: str(of) for of in sorted(folder.glob("*/"))}


def _told(folder: Path, tasks: "SentenceTasks") -> dict[str, Any]:
    """What `TASK_FILE` says of the tasks of a folder."""
    every: list[Any] = [*tasks.classification, *tasks.relatedness, *tasks.similarity]
    return {
        "folder": str(folder),
        "counts": {task.name: len(task.table) for task in every},
        "dropped": {task.name: lines for task in every if (lines := getattr(task, "dropped", 0))},
    }


def _analogies(source: SentenceTasksConfig, demo: Path) -> dict[str, str] | None:
    """What the analogies are called in records, and their file; read once, to see that it can be."""
    if source.analogies is None:
        return None
    made_up = source.analogies == DEMO
    path = demo / SENTENCES / ANALOGIES if made_up else Path(source.analogies)
    read_analogies(path)
    return {"name": DEMO if made_up else path.name.split(".")[0], "path": str(path)}


def _image_captions(source: SentenceTasksConfig, demo: Path) -> dict[str, str] | None:
    """The same of images and captions."""
    if source.image_captions is None:
        return None
    folder = Path(source.image_captions)
    for split in SPLITS:
        read_image_captions(folder, split)
    return {"name": folder.resolve().name, "path": str(folder)}


def _check(
    settings: SentenceSettings, contestants: Sequence[Contestant], paragraphs: Path | None, words: Path | None
) -> None:
    settings.check_variants({one.variant for one in contestants})
    searched = settings.neighbours.variants if settings.neighbours else []
    if words is None and (settings.expansion or WORD_AVERAGE in [*settings.ensemble, *searched]):
        raise ValueError(f"expansion and {WORD_AVERAGE} need word vectors: give the folder of words")
    if settings.neighbours and paragraphs is None:
        raise ValueError("neighbours are looked for in the corpus: give the folder of its paragraphs")
    for one in contestants:
        if settings.over_time and one.variant in settings.over_time.variants and len(one.encoders) > 1:
            raise ValueError(f"over_time: {one.variant} is of {len(one.encoders)} encoders; name variants of one")
