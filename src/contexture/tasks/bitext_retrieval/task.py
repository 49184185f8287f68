"""Bitext retrieval as a task of frozen encoders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.corpus.bitext.config import BitextSet
from contexture.demo.config import DEMO
from contexture.demo.translations import TATOEBA_DIR
from contexture.demo.write import LANGUAGES_DIR
from contexture.folders import expand_home
from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, measure_rows, serial_map
from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings, TatoebaSet
from contexture.tasks.bitext_retrieval.files import list_mining_parts, read_mining_part, read_set
from contexture.tasks.task_folder import catch_missing, read_report, write_task


class BitextRetrievalTask(FrozenTask):
    """Retrieve the translation of a sentence by cosine among the sentences of another language."""

    def prepare_data(self, source: BitextRetrievalConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write the translated sentences of each set to `<set>.parquet` (see `files.read_set`, `Task.prepare_data`).

        Sets for mining are not copied; `mining` of `TASK_FILE` has their folders.
        """
        world: dict[str, str | TatoebaSet | BitextSet] = {DEMO: str(demo_dir / LANGUAGES_DIR / TATOEBA_DIR)}
        sets = world if isinstance(source.input, str) else source.input
        with write_task(output_dir, sets, mining={}) as (work, report):
            if not sets:
                report["missing"]["bitext_retrieval"] = "bitext_retrieval.input names no files; see docs/bitext.md"
            for name, files in sets.items():
                with catch_missing(report, name):
                    folder = expand_home(files) if isinstance(files, str) else None
                    if folder and (mined := list_mining_parts(folder)):
                        report["mining"][name] = str(folder)
                        report["counts"][name] = {
                            pair: _count_mining_parts(folder / pair, parts) for pair, parts in mined.items()
                        }
                        continue
                    rows = read_set(name, files)
                    rows.to_parquet(work / f"{name}.parquet")
                    pairs = rows[["source_lang", "target_lang"]].agg("-".join, axis=1).value_counts().sort_index()
                    report["counts"][name] = {str(languages): int(count) for languages, count in pairs.items()}

    def evaluate(
        self,
        settings: BitextRetrievalSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
        *,
        paragraphs: Path,
    ) -> Results:
        """Return the scores of all encoders in retrieval and in mining of translations. Missing sets are skipped."""
        from contexture.tasks.bitext_retrieval.evaluation import evaluate_bitext
        from contexture.tasks.bitext_retrieval.mining import measure_mining
        from contexture.tasks.corpus_languages import read_pcr_texts

        report = read_report(data_dir)
        files = {name: data_dir / f"{name}.parquet" for name in report["counts"] if name not in report["mining"]}
        sentences = settings.pcr_sentences if files else None
        pcr = None if sentences is None else read_pcr_texts(sentences, paragraphs)
        results = evaluate_bitext(encoders, files, vectors_dir, parallel_map, pcr)
        for name, folder in report["mining"].items():
            results.records.extend(
                measure_rows(measure_mining, encoders, parallel_map, name, Path(folder), vectors_dir)
            )
        missing = report["missing"] | results.details["missing"]
        return Results(results.records, {"missing": missing, "pcr_sentences": sentences})


def _count_mining_parts(pair_dir: Path, parts: tuple[str, str]) -> dict[str, Any]:
    """Return which parts of a language pair are used for what, and the numbers of their sentences and pairs."""
    counts: dict[str, Any] = {"parts": f"threshold chosen on {parts[0]}, tested on {parts[1]}"}
    for name in parts:
        part = read_mining_part(pair_dir, name)
        sizes = len(part.source), len(part.target)
        counts[name] = {**dict(zip(pair_dir.name.split("-"), sizes, strict=True)), "gold": len(part.gold)}
    return counts
