"""Bitext retrieval as a task of frozen encoders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.corpus.bitext.config import BitextSet
from contexture.demo.config import DEMO
from contexture.demo.translations import TATOEBA
from contexture.demo.write import LANGUAGES
from contexture.tasks.base import Contestant, Each, FrozenTask, Results, one_by_one
from contexture.tasks.bitext_retrieval.config import BitextRetrievalConfig, BitextRetrievalSettings, TatoebaSet
from contexture.tasks.bitext_retrieval.files import read_set
from contexture.tasks.bitext_retrieval.mining_files import mining_pairs, read_part
from contexture.tasks.task_folder import note_missing, read_report, write_task


class BitextRetrievalTask(FrozenTask):
    """Which sentence of another language is the translation? The one with the largest cosine."""

    def read(self, source: BitextRetrievalConfig, demo: Path, place: Path) -> None:
        """Write `<set>.parquet` of every set, see `files.read_set`. See `Task.read`.

        Sets that are mined stay where they are: `mining` of `TASK_FILE` has their folders.
        """
        world: dict[str, str | TatoebaSet | BitextSet] = {DEMO: str(demo / LANGUAGES / TATOEBA)}
        sets = world if isinstance(source.input, str) else source.input
        with write_task(place, sets, mining={}) as (work, report):
            if not sets:
                report["missing"]["bitext_retrieval"] = "bitext_retrieval.input names no files: see docs/bitext.md"
            for name, given in sets.items():
                folder = Path(given).expanduser() if isinstance(given, str) else None
                with note_missing(report, name):
                    if folder and (mined := mining_pairs(folder)):
                        counts = {pair: _mined(folder / pair, parts) for pair, parts in mined.items()}
                        report["mining"][name], report["counts"][name] = str(folder), counts
                        continue
                    rows = read_set(name, given)
                    rows.to_parquet(work / f"{name}.parquet")
                    pairs = rows[["source_lang", "target_lang"]].agg("-".join, axis=1).value_counts().sort_index()
                    report["counts"][name] = {str(languages): int(count) for languages, count in pairs.items()}

    def evaluate(
        self,
        settings: BitextRetrievalSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
        *,
        paragraphs: Path,
    ) -> Results:
        """See `evaluation.evaluate_bitext` and `mining.evaluate_mining`; sets that are missing are left out."""
        from contexture.tasks.bitext_retrieval.evaluation import evaluate_bitext
        from contexture.tasks.bitext_retrieval.mining import evaluate_mining
        from contexture.tasks.corpus_languages import every_languages_sentences

        report = read_report(data)
        files = {name: data / f"{name}.parquet" for name in report["counts"] if name not in report["mining"]}
        folders = {name: Path(folder) for name, folder in report["mining"].items()}
        count = settings.pcr_sentences
        sentences = every_languages_sentences(paragraphs, count) if count is not None and files else {}
        found = evaluate_bitext(contestants, files, place, each, sentences)
        missing = dict(report["missing"])
        for name, languages in found.facts["without_text"].items():
            if languages:
                missing[f"PCR on {name} in {', '.join(languages)}"] = "the corpus has no text of them to fit it on"
        records = [*found.records, *evaluate_mining(contestants, folders, place, each).records]
        return Results(records, {"missing": missing})


def _mined(place: Path, parts: tuple[str, str]) -> dict[str, Any]:
    """The counts of a pair of languages that is mined, and its parts."""
    counts: dict[str, Any] = {"parts": f"threshold chosen on {parts[0]}, tested on {parts[1]}"}
    for part in parts:
        found = read_part(place, part)
        sides = dict(zip(place.name.split("-"), (len(found.source), len(found.target)), strict=True))
        counts[part] = {**sides, "gold": len(found.gold)}
    return counts
