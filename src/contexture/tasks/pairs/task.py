"""Pair classification as a task: sets of labelled sentence pairs."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.translations import XNLI_DIR
from contexture.demo.write import LANGUAGES_DIR, SNLI_DIR
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.pairs.config import PairsConfig, PairSettings, SetInLanguages
from contexture.tasks.pairs.files import read_set
from contexture.tasks.pairs.languages import language_files, read_languages
from contexture.tasks.pairs.splits import PARTS, PairSet, split_set
from contexture.tasks.task_folder import check_sets, note_missing, read_report, write_task

LOG = logging.getLogger(__name__)


class PairsTask:
    """Which relation do two sentences have? By a linear layer on their vectors, frozen and fine-tuned."""

    def read(self, source: PairsConfig, demo: Path, output_dir: Path) -> None:
        """Write `<set>.parquet` of every set, see `splits.PairSet`; its counts say how it is split. See `Task.read`.

        Raises ValueError, naming file and line, for files that are not in a format.
        """
        sets = source.input if isinstance(source.input, dict) else {DEMO: str(_made_up(demo))}
        with write_task(output_dir, sets, sets=[]) as (work, report):
            for name, files in sets.items():
                with note_missing(report, name):
                    pairs = _read(name, files)
                    if pairs.note:
                        LOG.warning("%s: %s", name, pairs.note)
                    pairs.rows.to_parquet(work / f"{name}.parquet")
                    report["sets"].append(name)
                    report["counts"][name] = _counts(pairs)

    def check(self, settings: PairSettings, data: Path) -> None:
        """Raise ValueError if encoders are to be fine-tuned on a set that the input lacks."""
        check_sets("pairs", settings.finetune, read_report(data))

    def options(self, settings: PairSettings, head: str | None) -> list[str]:
        """One model a set."""
        return settings.finetune

    def finetune(
        self, settings: PairSettings, option: str, encoder: EvaluatedEncoder, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_pairs`; nothing is written if the set is missing."""
        from contexture.tasks.pairs.finetune import finetune_pairs

        if (file := data / f"{option}.parquet").exists():
            finetune_pairs(settings, encoder, pd.read_parquet(file), folder)

    def evaluate(
        self,
        settings: PairSettings,
        encoders: Sequence[EvaluatedEncoder],
        data: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.evaluate_pairs`; sets that are missing are left out."""
        from contexture.tasks.pairs.evaluation import evaluate_pairs

        files = {name: data / f"{name}.parquet" for name in read_report(data)["counts"]}
        return evaluate_pairs(settings, encoders, files, vectors_dir, parallel_map)


def _read(name: str, files: str | list[str] | SetInLanguages) -> PairSet:
    if isinstance(files, str) and language_files(Path(files)):
        files = SetInLanguages(files)
    if isinstance(files, SetInLanguages):
        return read_languages(name, files)
    return split_set(name, read_set(name, files))


def _made_up(demo: Path) -> Path:
    """The made-up world's pairs, in all languages where it has several."""
    translated = demo / LANGUAGES_DIR / XNLI_DIR
    return translated if translated.is_dir() else demo / SNLI_DIR


def _counts(pairs: PairSet) -> dict[str, Any]:
    sizes = pairs.rows["part"].value_counts()
    counts: dict[str, Any] = {part: int(sizes[part]) for part in PARTS}
    genres = pairs.rows.loc[pairs.rows["part"] == "test", "genres"].value_counts().sort_index()
    if any(genres.index):
        counts["tested"] = {str(name): int(count) for name, count in genres.items()}
    counts |= {name: count for name, count in pairs.dropped.items() if count}
    return counts | ({"parts": pairs.note} if pairs.note else {})
