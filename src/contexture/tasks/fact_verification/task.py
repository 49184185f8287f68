"""Fact verification as a task: claims with sentences of evidence, in the forms of FEVER."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.write import FEVER_DIR
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.fact_verification.config import JOINT, PAIRWISE, FactVerificationSettings, VerificationConfig
from contexture.tasks.fact_verification.files import read_claims
from contexture.tasks.fact_verification.splits import SPLITS, claim_set
from contexture.tasks.task_folder import file_digests, note_missing, read_report, write_task

ROWS = "claims.parquet"


class FactVerificationTask:
    """Does the evidence support a claim? Frozen encoders answer by a probe, fine-tuned ones by a head."""

    def read(self, source: VerificationConfig, demo: Path, output_dir: Path) -> None:
        """Write the claims of all splits as `claims.parquet`, see `splits.ClaimSet`; see `Task.read`.

        Raises ValueError, naming file and line, for files that are not in the format.
        """
        named = source.files or {split: str(demo / FEVER_DIR / f"{split}.jsonl") for split in SPLITS}
        files = {split: Path(named[split]) for split in SPLITS if split in named}
        name = "fever" if source.files else DEMO
        with write_task(output_dir, [name]) as (work, report), note_missing(report, name):
            rows, counts = claim_set({split: read_claims(file)[0] for split, file in files.items()}, source)
            rows.to_parquet(work / ROWS)
            report["counts"], report["files"] = counts, file_digests(files.values())

    def check(self, settings: FactVerificationSettings, data: Path) -> None:
        """Raise ValueError if claims have more evidence than a joint input has room for."""
        if settings.layout is None or (claims := _claims(data)) is None:
            return
        most, room = int(claims["evidence"].map(len).max()), settings.layout.candidates
        if most > room:
            raise ValueError(
                f"claims have up to {most} sentences of evidence, a joint input has room for {room}: set "
                f"fact_verification.evidence={room}"
            )

    def documents(self, data: Path) -> pd.DataFrame | None:
        """The evidence of dev and test claims and the titles of its pages; see `DocumentTask`."""
        if (claims := _claims(data)) is None:
            return None
        held_out = claims[claims["split"].ne("train")].explode(["pages", "evidence"])
        return held_out[["pages", "evidence"]].set_axis(["title", "text"], axis=1).reset_index(drop=True)

    def options(self, settings: FactVerificationSettings, head: str | None) -> list[str]:
        """The heads for pairs of variants that read pairs (with the head ie_1), the joint ones of the others."""
        if head is None:
            return []
        return [option for option in settings.heads if option in (PAIRWISE if head == "ie_1" else JOINT)]

    def finetune(
        self, settings: FactVerificationSettings, option: str, encoder: EvaluatedEncoder, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_claims`; writes nothing if the claims are missing."""
        from contexture.tasks.fact_verification.finetune import finetune_claims

        if (claims := _claims(data)) is not None:
            finetune_claims(settings, option, encoder, claims, folder)

    def evaluate(
        self,
        settings: FactVerificationSettings,
        encoders: Sequence[EvaluatedEncoder],
        data: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.evaluate_claims`; empty if the claims are missing."""
        from contexture.tasks.fact_verification.evaluation import evaluate_claims

        if not (data / ROWS).exists():
            return Results()
        name = read_report(data)["name"]
        return evaluate_claims(encoders, data / ROWS, name, settings.heads, vectors_dir, parallel_map)


def _claims(data: Path) -> pd.DataFrame | None:
    """The claims that `read` wrote; None if they were missing."""
    return pd.read_parquet(data / ROWS) if (data / ROWS).exists() else None
