"""Fact verification as a task: claims with sentences of evidence, in the forms of FEVER."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.write import CLAIMS
from contexture.tasks.base import Contestant, Each, Results, one_by_one
from contexture.tasks.fact_verification.config import (
    JOINT,
    PAIRWISE,
    ClaimFiles,
    FactVerificationSettings,
    VerificationConfig,
)
from contexture.tasks.fact_verification.files import read_claims
from contexture.tasks.fact_verification.splits import SPLITS, claim_set
from contexture.tasks.task_folder import note_missing, read_report, write_task

ROWS = "claims.parquet"


class FactVerificationTask:
    """What does the evidence say of a claim? Frozen encoders by a probe, fine-tuned ones by a head on their states."""

    def read(self, source: VerificationConfig, demo: Path, place: Path) -> None:
        """Write the claims of all splits as `claims.parquet`, see `splits.ClaimSet`; see `Task.read`.

        Raises ValueError, naming file and line, for files that are not in the format.
        """
        if isinstance(source.input, ClaimFiles):
            name = "fever"
            files = {split: Path(file) for split in SPLITS if (file := getattr(source.input, split)) is not None}
        else:
            name, files = DEMO, {split: demo / CLAIMS / f"{split}.jsonl" for split in SPLITS}
        with write_task(place, [name]) as (work, report), note_missing(report, name):
            read = {split: read_claims(file) for split, file in files.items()}
            found = claim_set({split: claims for split, (claims, _) in read.items()}, source)
            found.rows.to_parquet(work / ROWS)
            report["counts"] = found.counts
            report["files"] = {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files.values()}

    def check(self, settings: FactVerificationSettings, data: Path) -> None:
        """Raise ValueError where claims have more evidence than a joint input has room for."""
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
        """The heads for pairs of those that read pairs in answer selection (ie_1), the joint ones of the others."""
        if head is None:
            return []
        return [one for one in settings.heads if one in (PAIRWISE if head == "ie_1" else JOINT)]

    def finetune(
        self, settings: FactVerificationSettings, option: str, contestant: Contestant, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_claims`; nothing is written where the claims are missing."""
        from contexture.tasks.fact_verification.finetune import finetune_claims

        if (claims := _claims(data)) is not None:
            finetune_claims(settings, option, contestant, claims, folder)

    def evaluate(
        self,
        settings: FactVerificationSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
    ) -> Results:
        """See `evaluation.evaluate_claims`; nothing where the claims are missing."""
        from contexture.tasks.fact_verification.evaluation import evaluate_claims

        if not (data / ROWS).exists():
            return Results()
        name = read_report(data)["name"]
        return evaluate_claims(contestants, data / ROWS, name, settings.heads, place, each)


def _claims(data: Path) -> pd.DataFrame | None:
    """The claims of a folder that `read` wrote; None where they were missing."""
    return pd.read_parquet(data / ROWS) if (data / ROWS).exists() else None
