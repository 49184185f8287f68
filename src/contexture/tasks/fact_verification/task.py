"""Fact verification as a task: claims with sentences of evidence, in the forms of FEVER."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.write import FEVER_DIR
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.fact_verification.config import FactVerificationSettings, VerificationConfig
from contexture.tasks.fact_verification.files import read_claims
from contexture.tasks.fact_verification.splits import SPLITS, build_claim_set
from contexture.tasks.task_folder import catch_missing, hash_files, read_report, write_task

CLAIMS_FILE = "claims.parquet"


class FactVerificationTask:
    """Classify claims by their evidence: frozen encoders with a probe, fine-tuned ones with a head."""

    def prepare_data(self, source: VerificationConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write the claims of all splits to `claims.parquet` (`splits.ClaimSet.rows`); see `Task.prepare_data`.

        Raise ValueError with file and line for an invalid file.
        """
        paths = source.files or {split: str(demo_dir / FEVER_DIR / f"{split}.jsonl") for split in SPLITS}
        files = {split: Path(paths[split]) for split in SPLITS if split in paths}
        name = "fever" if source.files else DEMO
        with write_task(output_dir, [name]) as (work, report), catch_missing(report, name):
            rows, counts = build_claim_set({split: read_claims(file)[0] for split, file in files.items()}, source)
            rows.to_parquet(work / CLAIMS_FILE)
            report["counts"], report["files"] = counts, hash_files(files.values())

    def check_settings(self, settings: FactVerificationSettings, data_dir: Path) -> None:
        """Raise ValueError if claims have more evidence than fits into a joint input."""
        if settings.layout is None or (claims := _load_claims(data_dir)) is None:
            return
        max_evidence, room = int(claims["evidence"].map(len).max()), settings.layout.candidates
        if max_evidence > room:
            raise ValueError(
                f"claims have up to {max_evidence} sentences of evidence, but a joint input has room for {room}: set "
                f"fact_verification.evidence={room}"
            )

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """Return the evidence of dev and test claims with page titles; see `DocumentTask`."""
        if (claims := _load_claims(data_dir)) is None:
            return None
        held_out = claims[claims["split"].ne("train")].explode(["pages", "evidence"])
        return held_out[["pages", "evidence"]].set_axis(["title", "text"], axis=1).reset_index(drop=True)

    def list_options(self, settings: FactVerificationSettings, head: str | None) -> list[str]:
        """Return the heads to fine-tune (`FactVerificationSettings.list_heads`)."""
        return settings.list_heads(head)

    def finetune(
        self,
        settings: FactVerificationSettings,
        option: str,
        encoder: EvaluatedEncoder,
        data_dir: Path,
        model_dir: Path,
    ) -> None:
        """Fine-tune the encoder with the head `option` and write the model; write nothing if the claims are missing."""
        from contexture.tasks.fact_verification.finetune import finetune_claims

        if (claims := _load_claims(data_dir)) is not None:
            finetune_claims(settings, option, encoder, claims, model_dir)

    def evaluate(
        self,
        settings: FactVerificationSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the results of all encoders and baselines (`evaluation.evaluate_claims`); none without claims."""
        from contexture.tasks.fact_verification.evaluation import evaluate_claims

        if not (data_dir / CLAIMS_FILE).exists():
            return Results()
        name = read_report(data_dir)["name"]
        return evaluate_claims(settings, encoders, data_dir / CLAIMS_FILE, name, vectors_dir, parallel_map)


def _load_claims(data_dir: Path) -> pd.DataFrame | None:
    """Return the claims that `prepare_data` wrote; None if they are missing."""
    return pd.read_parquet(data_dir / CLAIMS_FILE) if (data_dir / CLAIMS_FILE).exists() else None
