"""Language bias as a task of frozen encoders."""

from collections.abc import Sequence
from pathlib import Path

from contexture.demo.config import DEMO
from contexture.demo.translations import PAWSX_DIR
from contexture.demo.write import LANGUAGES_DIR
from contexture.folders import expand_home
from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, serial_map
from contexture.tasks.language_bias.config import LanguageBiasConfig, LanguageBiasSettings
from contexture.tasks.language_bias.files import read_sentences
from contexture.tasks.task_folder import catch_missing, read_report, write_task


class LanguageBiasTask(FrozenTask):
    """Measure the languages of nearest neighbours, before and after removing each language's component."""

    def prepare_data(self, source: LanguageBiasConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write the sentences of each set, by language, to `<set>.parquet` (see `Task.prepare_data`)."""
        sets = source.input if isinstance(source.input, dict) else {DEMO: str(demo_dir / LANGUAGES_DIR / PAWSX_DIR)}
        with write_task(output_dir, sets) as (work, report):
            if not sets:
                report["missing"]["language_bias"] = "language_bias.input names no files; see docs/cmlm-multilingual.md"
            for name, folder in sets.items():
                with catch_missing(report, name):
                    rows = read_sentences(name, expand_home(folder))
                    rows.to_parquet(work / f"{name}.parquet")
                    counts = rows["lang"].value_counts()
                    report["counts"][name] = {str(lang): int(count) for lang, count in counts.items()}

    def evaluate(
        self,
        settings: LanguageBiasSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
        *,
        paragraphs: Path,
    ) -> Results:
        """Return the share of nearest neighbours in the sentence's language, by encoder and set; skip missing sets."""
        from contexture.tasks.language_bias.evaluation import evaluate_bias

        report = read_report(data_dir)
        files = {name: data_dir / f"{name}.parquet" for name in report["counts"]}
        results = evaluate_bias(settings, encoders, files, paragraphs, vectors_dir, parallel_map)
        return Results(results.records, results.details | {"missing": report["missing"] | results.details["missing"]})
