"""Language bias as a task of frozen encoders."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.demo.config import DEMO
from contexture.demo.translations import PAWSX
from contexture.demo.write import LANGUAGES
from contexture.folders import work_folder
from contexture.tasks.base import TASK_FILE, Contestant, Each, FrozenTask, Results, one_by_one
from contexture.tasks.language_bias.config import LanguageBiasConfig, LanguageBiasSettings
from contexture.tasks.language_bias.files import read_sentences
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)


class LanguageBiasTask(FrozenTask):
    """Of which languages are a sentence's nearest neighbours? Before and after each language's component is removed."""

    def read(self, source: LanguageBiasConfig, demo: Path, place: Path) -> None:
        """Write `<set>.parquet` of every set, see `files.read_sentences`. See `Task.read`."""
        sets = source.input if isinstance(source.input, dict) else {DEMO: str(demo / LANGUAGES / PAWSX)}
        report: dict[str, Any] = {"name": ", ".join(sets), "counts": {}, "missing": {}}
        if not sets:
            report["missing"]["language_bias"] = "language_bias.input names no files: see docs/cmlm-multilingual.md"
        with work_folder(place) as work:
            for name, given in sets.items():
                try:
                    rows = read_sentences(name, Path(given).expanduser())
                except BenchmarkMissing as error:
                    LOG.warning("%s", error)
                    report["missing"][name] = str(error)
                    continue
                rows.to_parquet(work / f"{name}.parquet")
                report["counts"][name] = {str(lang): int(count) for lang, count in rows["lang"].value_counts().items()}
            (work / TASK_FILE).write_text(json.dumps(report, indent=1), encoding="utf-8")

    def evaluate(
        self,
        settings: LanguageBiasSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
        *,
        paragraphs: Path,
    ) -> Results:
        """See `evaluation.evaluate_bias`; sets that are missing are left out."""
        from contexture.tasks.language_bias.evaluation import evaluate_bias

        report = json.loads((data / TASK_FILE).read_text(encoding="utf-8"))
        files = {name: data / f"{name}.parquet" for name in report["counts"]}
        found = evaluate_bias(settings, contestants, files, paragraphs, place, each)
        missing = dict(report["missing"])
        for name, languages in found.facts["without_text"].items():
            if languages:
                missing[f"language bias of {name} in {', '.join(languages)}"] = "the corpus has no text of them for PCR"
        return Results(found.records, found.facts | {"missing": missing})
