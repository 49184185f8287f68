"""Pair classification as a task."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.translations import XNLI_DIR
from contexture.demo.write import LANGUAGES_DIR, SNLI_DIR
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.pairs.config import MultilingualSet, PairsConfig, PairSettings
from contexture.tasks.pairs.files import read_set
from contexture.tasks.pairs.languages import find_language_files, read_languages
from contexture.tasks.pairs.splits import PARTS, PairSet, split_set
from contexture.tasks.task_folder import catch_missing, check_sets, read_report, write_task

LOG = logging.getLogger(__name__)


class PairsTask:
    """Predict the relation of two sentences by a linear layer on their vectors, frozen and fine-tuned."""

    def prepare_data(self, source: PairsConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write the labelled pairs of each set to `<set>.parquet` (see `Task.prepare_data`); count them by part.

        Raises ValueError, naming file and line, for another format.
        """
        sets = source.input if isinstance(source.input, dict) else {DEMO: str(_demo_pairs_dir(demo_dir))}
        with write_task(output_dir, sets, sets=[]) as (work, report):
            for name, files in sets.items():
                with catch_missing(report, name):
                    pairs = _read_pairs(name, files)
                    if pairs.note:
                        LOG.warning("%s: %s", name, pairs.note)
                    pairs.rows.to_parquet(work / f"{name}.parquet")
                    report["sets"].append(name)
                    report["counts"][name] = _count_pairs(pairs)

    def check_settings(self, settings: PairSettings, data_dir: Path) -> None:
        """Raise ValueError if a set of `finetune` is not in the input."""
        check_sets("pairs", settings.finetune, read_report(data_dir))

    def list_options(self, settings: PairSettings, head: str | None) -> list[str]:
        """Return the sets to fine-tune on; each has one model."""
        return settings.finetune

    def finetune(
        self, settings: PairSettings, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path
    ) -> None:
        """Fine-tune the encoder on the pairs of the set `option`; write nothing if the set is missing."""
        from contexture.tasks.pairs.finetune import finetune_pairs

        if (file := data_dir / f"{option}.parquet").exists():
            finetune_pairs(settings, encoder, pd.read_parquet(file), model_dir)

    def evaluate(
        self,
        settings: PairSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the accuracy of all encoders and baselines (`evaluate_pairs`). Missing sets are skipped."""
        from contexture.tasks.pairs.evaluation import evaluate_pairs

        files = {name: data_dir / f"{name}.parquet" for name in read_report(data_dir)["counts"]}
        return evaluate_pairs(settings, encoders, files, vectors_dir, parallel_map)


def _read_pairs(name: str, files: str | list[str] | MultilingualSet) -> PairSet:
    """Return the pairs of a set in one or several languages, assigned to train, dev and test."""
    if isinstance(files, str) and find_language_files(Path(files)):
        files = MultilingualSet(files)
    if isinstance(files, MultilingualSet):
        return read_languages(name, files)
    return split_set(name, read_set(name, files))


def _demo_pairs_dir(demo: Path) -> Path:
    """Return the folder of the demo's pairs, in all languages if it has several."""
    translated = demo / LANGUAGES_DIR / XNLI_DIR
    return translated if translated.is_dir() else demo / SNLI_DIR


def _count_pairs(pairs: PairSet) -> dict[str, Any]:
    """Return the numbers of pairs by part, of test pairs by genres, and of dropped pairs, and how the set was split."""
    sizes = pairs.rows["part"].value_counts()
    counts: dict[str, Any] = {part: int(sizes[part]) for part in PARTS}
    genres = pairs.rows.loc[pairs.rows["part"] == "test", "genres"].value_counts().sort_index()
    if any(genres.index):
        counts["tested"] = {str(name): int(count) for name, count in genres.items()}
    counts |= {name: count for name, count in pairs.dropped.items() if count}
    return counts | ({"parts": pairs.note} if pairs.note else {})
