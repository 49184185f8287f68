"""Evaluate frozen and fine-tuned encoders and baselines on the dev and test claims."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from contexture.tasks.base import (
    EvaluatedEncoder,
    ParallelMap,
    Results,
    list_seeds,
    make_record,
    measure_encoders,
    serial_map,
)
from contexture.tasks.examples import select_examples
from contexture.tasks.fact_verification.config import FactVerificationSettings
from contexture.tasks.fact_verification.model import load_verifier
from contexture.tasks.fact_verification.splits import SPLITS, list_labels
from contexture.tasks.pairs.evaluation import word_overlap
from contexture.tasks.pairs.features import Labels, classify, encode_labels, frozen_features
from contexture.tasks.sentences.vectors import VectorStore

NAME = "fact_verification"
#: Protocols of frozen encoders: vectors of claim and evidence, or only of the claim.
FROZEN, CLAIM_ONLY = "frozen", "claim_only"
#: Split → predicted class of each claim.
Predictions = dict[str, Labels]


def evaluate_claims(
    settings: FactVerificationSettings,
    encoders: Sequence[EvaluatedEncoder],
    file: Path,
    data: str,
    vectors_dir: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Return the accuracy of all encoders and baselines on the dev and test claims.

    The table `judgements` has all predicted labels; the detail `examples` has claims of the best fine-tuned model.

    Args:
        settings: their heads name the fine-tuned models, each a protocol; others are those of an earlier run.
        encoders: variants and seeds; baselines have the same seeds.
        file: Parquet file of `splits.ClaimSet.rows`.
        data: name of the data.
        vectors_dir: cache of vectors.
        parallel_map: see `Task.evaluate`.
    """
    claims = pd.read_parquet(file)
    frozen = measure_encoders(measure_frozen, encoders, parallel_map, file, vectors_dir)
    folders = {
        (encoder.variant, encoder.seed, head): encoder.finetuned_dir / head
        for encoder in encoders
        for head in settings.list_heads(encoder.head)
        if encoder.finetuned_dir is not None and (encoder.finetuned_dir / head).exists()
    }
    tuned = parallel_map(measure_finetuned, [(folder, file) for folder in folders.values()])
    runs = [
        (encoder.variant, encoder.seed, protocol, predictions)
        for encoder in encoders
        for protocol, predictions in frozen[encoder.models].items()
    ]
    runs += [(*run, predictions) for run, predictions in zip(folders, tuned, strict=True)]
    baselines = measure_baselines(file).items()
    runs += [(name, seed, FROZEN, predictions) for seed in list_seeds(encoders) for name, predictions in baselines]
    tables = [_list_judgements(claims, *run, split) for run in runs for split in run[-1]]
    if not tables:
        return Results()
    judgements = pd.concat(tables, ignore_index=True)
    records = [
        make_record(variant, int(seed), NAME, data, float(right.mean()), protocol, split, examples=len(right))
        for (variant, seed, protocol, split), right in _group_by_run(judgements)
    ]
    examples = _select_examples(judgements, claims, set(settings.heads))
    return Results(records, {"examples": examples}, {"judgements": judgements})


def measure_frozen(encoders: Sequence[str], file: Path, vectors_dir: Path) -> dict[str, Predictions]:
    """Return the labels that frozen encoders predict, by protocol: from claim and evidence, and from the claim only.

    Logistic regressions read [u, v, |u−v|, u∗v] of the vectors of claim and mean evidence, and u alone.
    Texts are embedded without a role. The regularization with the best dev accuracy is chosen.
    """
    parts, labels, classes = _read_splits(file)
    texts = {text for rows in parts.values() for text in [*rows["claim"], *rows["evidence"].explode()]}
    lookup = VectorStore(vectors_dir)(encoders, sorted(texts), NAME)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    claims = {part: torch.from_numpy(lookup(rows["claim"].tolist())).to(device) for part, rows in parts.items()}
    both = {
        part: frozen_features(claims[part], average_evidence(rows, lookup).to(device)) for part, rows in parts.items()
    }
    try:
        return {
            FROZEN: classify(both, labels, len(classes)),
            CLAIM_ONLY: classify(claims, labels, len(classes)),
        }
    except ValueError as error:
        raise ValueError(f"{'+'.join(encoders)} on {NAME}: {error}") from error


def average_evidence(rows: pd.DataFrame, lookup: Any) -> torch.Tensor:
    """Return the mean vector of each claim's evidence sentences, (N, D)."""
    sizes = rows["evidence"].map(len).to_numpy()
    vectors = lookup([text for texts in rows["evidence"] for text in texts])
    sums = np.add.reduceat(vectors, np.cumsum(sizes) - sizes, axis=0)
    return torch.from_numpy((sums / sizes[:, None]).astype(np.float32))


def measure_finetuned(folder: Path, file: Path) -> Predictions:
    """Return the labels that a fine-tuned model predicts for the dev and test claims."""
    model = load_verifier(folder)
    parts, _, classes = _read_splits(file)
    numbers = np.array([classes.index(label) for label in model.settings.classes])
    return {
        split: numbers[model.probabilities(model.inputs(rows)).argmax(1).numpy()]
        for split, rows in parts.items()
        if split != "train"
    }


def measure_baselines(file: Path) -> dict[str, Predictions]:
    """Return the labels that the baselines predict: `majority`, the most frequent label, and `word_overlap`.

    The latter is a logistic regression on the shares of words that the claim and the concatenated evidence share.
    """
    parts, labels, classes = _read_splits(file)
    majority = int(np.bincount(labels["train"]).argmax())
    shares = {
        part: torch.from_numpy(word_overlap(rows.assign(first=rows["claim"], second=rows["evidence"].map(" ".join))))
        for part, rows in parts.items()
    }
    return {
        "majority": {part: np.full(len(rows), majority) for part, rows in parts.items() if part != "train"},
        "word_overlap": classify(shares, labels, len(classes)),
    }


def _read_splits(file: Path) -> tuple[dict[str, pd.DataFrame], Predictions, list[str]]:
    """Return split → claims, split → class numbers of their labels, and the labels by class number."""
    rows = pd.read_parquet(file)
    parts = {split: part for split in SPLITS if len(part := rows[rows["split"] == split])}
    classes = list_labels(rows)
    return parts, {split: encode_labels(part["label"].tolist(), classes) for split, part in parts.items()}, classes


def _list_judgements(
    claims: pd.DataFrame, variant: str, seed: int, protocol: str, predictions: Predictions, split: str
) -> pd.DataFrame:
    """Return the claims of a split with the label that a run predicts (`given`)."""
    rows = claims.loc[claims["split"] == split, ["split", "claim_id", "label"]]
    predicted = np.array(list_labels(claims))[predictions[split]]
    return rows.assign(variant=variant, seed=seed, protocol=protocol, given=predicted)


def _group_by_run(judgements: pd.DataFrame) -> Iterator[tuple[Any, "pd.Series[bool]"]]:
    """Yield (variant, seed, protocol, split) and, for each of its claims, whether the predicted label is right."""
    for run, rows in judgements.groupby(["variant", "seed", "protocol", "split"], sort=False):
        yield run, rows["given"] == rows["label"]


def _select_examples(judgements: pd.DataFrame, claims: pd.DataFrame, heads: set[str]) -> list[dict[str, Any]]:
    """Return examples of the best fine-tuned model on the last split (test, else dev); empty without such models."""
    last = next(split for split in reversed(SPLITS) if split in set(judgements["split"]))
    tuned = judgements[judgements["protocol"].isin(heads) & (judgements["split"] == last)]
    if tuned.empty:
        return []
    (variant, _, protocol, _), right = max(_group_by_run(tuned), key=lambda run: run[1].mean())
    chosen = tuned.loc[right.index].reset_index(drop=True)
    texts = claims[claims["split"] == last].reset_index(drop=True)

    def describe_example(number: int) -> dict[str, str]:
        """Return a claim with its evidence, predicted label and right label."""
        claim = f"{texts['claim'][number]} [{' / '.join(texts['evidence'][number])}]"
        return {"question": claim, "predicted": chosen["given"][number], "right": chosen["label"][number]}

    return [select_examples(variant, protocol, right.tolist(), describe_example)]
