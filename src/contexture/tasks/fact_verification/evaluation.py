"""Evaluate all encoders on the claims of dev and test, frozen and fine-tuned, and baselines without an encoder."""

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
from contexture.tasks.examples import to_read
from contexture.tasks.fact_verification.model import load_verifier
from contexture.tasks.fact_verification.splits import SPLITS, labels_of
from contexture.tasks.pairs.evaluation import word_overlap
from contexture.tasks.pairs.features import Labels, classify, encode_labels, frozen_features
from contexture.tasks.sentences.vectors import VectorStore

NAME = "fact_verification"
#: Protocols of frozen encoders: by vectors of claim and evidence, and by the claim's alone.
FROZEN, CLAIM_ONLY = "frozen", "claim_only"
#: Split → the number of the predicted label of each claim.
Predictions = dict[str, Labels]


def evaluate_claims(
    encoders: Sequence[EvaluatedEncoder],
    file: Path,
    data: str,
    heads: Sequence[str],
    place: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """The accuracy of all encoders and baselines on the claims of dev and test.

    The table `judgements` has all predicted labels; the fact `examples` has claims of the best fine-tuned model.

    Args:
        encoders: their seeds are those of the baselines, too.
        file: the claims, as `splits.ClaimSet.rows` has them.
        data: their name.
        heads: the models that were fine-tuned, each a protocol.
        place: keeps vectors of the texts.
        each: measures encoders in parallel or one by one.
    """
    claims = pd.read_parquet(file)
    frozen = measure_encoders(measure_frozen, encoders, parallel_map, file, place)
    folders = {
        (encoder.variant, encoder.seed, head): encoder.finetuned / head
        for encoder in encoders
        for head in heads
        if encoder.finetuned is not None and (encoder.finetuned / head).exists()
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
    tables = [_judgements(claims, *run, split) for run in runs for split in run[-1]]
    if not tables:
        return Results()
    judgements = pd.concat(tables, ignore_index=True)
    records = [
        make_record(variant, int(seed), NAME, data, float(right.mean()), protocol, split)
        for (variant, seed, protocol, split), right in _by_run(judgements)
    ]
    return Results(records, {"examples": _examples(judgements, claims, set(heads))}, {"judgements": judgements})


def measure_frozen(encoders: Sequence[str], file: Path, place: Path) -> dict[str, Predictions]:
    """Predict by a logistic regression on [u, v, |u−v|, u∗v] of claim and mean evidence, and by one on u alone.

    Texts are embedded once, as texts of no role. The strength of the regression is that of the best accuracy on dev.
    """
    parts, labels, classes = _parts(file)
    texts = {text for rows in parts.values() for text in [*rows["claim"], *rows["evidence"].explode()]}
    lookup = VectorStore(place)(encoders, sorted(texts), NAME)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    claims = {part: torch.from_numpy(lookup(rows["claim"].tolist())).to(device) for part, rows in parts.items()}
    both = {part: frozen_features(claims[part], mean_evidence(rows, lookup).to(device)) for part, rows in parts.items()}
    try:
        return {
            FROZEN: classify(both, labels, len(classes)),
            CLAIM_ONLY: classify(claims, labels, len(classes)),
        }
    except ValueError as error:
        raise ValueError(f"{'+'.join(encoders)} on {NAME}: {error}") from error


def mean_evidence(rows: pd.DataFrame, lookup: Any) -> torch.Tensor:
    """The mean of the vectors of each claim's sentences of evidence, (N, D)."""
    sizes = rows["evidence"].map(len).to_numpy()
    vectors = lookup([text for texts in rows["evidence"] for text in texts])
    sums = np.add.reduceat(vectors, np.cumsum(sizes) - sizes, axis=0)
    return torch.from_numpy((sums / sizes[:, None]).astype(np.float32))


def measure_finetuned(folder: Path, file: Path) -> Predictions:
    """Predict the labels of each split but train with a fine-tuned model."""
    model = load_verifier(folder)
    parts, _, classes = _parts(file)
    numbers = np.array([classes.index(label) for label in model.settings.classes])
    return {
        split: numbers[model.probabilities(model.inputs(rows)).argmax(1).numpy()]
        for split, rows in parts.items()
        if split != "train"
    }


def measure_baselines(file: Path) -> dict[str, Predictions]:
    """`majority`: the most frequent label. `word_overlap`: a regression on the shares of shared words.

    Those are the shares that claim and all evidence, read as one text, have in common.
    """
    parts, labels, classes = _parts(file)
    majority = int(np.bincount(labels["train"]).argmax())
    shares = {
        part: torch.from_numpy(word_overlap(rows.assign(first=rows["claim"], second=rows["evidence"].map(" ".join))))
        for part, rows in parts.items()
    }
    return {
        "majority": {part: np.full(len(rows), majority) for part, rows in parts.items() if part != "train"},
        "word_overlap": classify(shares, labels, len(classes)),
    }


def _parts(file: Path) -> tuple[dict[str, pd.DataFrame], Predictions, list[str]]:
    """The claims of each split that is there, their labels as numbers, and the labels."""
    rows = pd.read_parquet(file)
    parts = {split: part for split in SPLITS if len(part := rows[rows["split"] == split])}
    classes = labels_of(rows)
    return parts, {split: encode_labels(part["label"].tolist(), classes) for split, part in parts.items()}, classes


def _judgements(
    claims: pd.DataFrame, variant: str, seed: int, protocol: str, predictions: Predictions, split: str
) -> pd.DataFrame:
    rows = claims.loc[claims["split"] == split, ["split", "claim_id", "label"]]
    given = np.array(labels_of(claims))[predictions[split]]
    return rows.assign(variant=variant, seed=seed, protocol=protocol, given=given)


def _by_run(judgements: pd.DataFrame) -> Iterator[tuple[Any, "pd.Series[bool]"]]:
    """Variant, seed, protocol and split → whether each claim was judged rightly."""
    for run, rows in judgements.groupby(["variant", "seed", "protocol", "split"], sort=False):
        yield run, rows["given"] == rows["label"]


def _examples(judgements: pd.DataFrame, claims: pd.DataFrame, heads: set[str]) -> list[dict[str, Any]]:
    """Claims that the best fine-tuned model on the last split judged rightly, and others."""
    last = next(split for split in reversed(SPLITS) if split in set(judgements["split"]))
    tuned = judgements[judgements["protocol"].isin(heads) & (judgements["split"] == last)]
    if tuned.empty:
        return []
    (variant, _, protocol, _), right = max(_by_run(tuned), key=lambda run: run[1].mean())
    chosen = tuned.loc[right.index].reset_index(drop=True)
    texts = claims[claims["split"] == last].reset_index(drop=True)

    def row(number: int) -> dict[str, str]:
        claim = f"{texts['claim'][number]} [{' / '.join(texts['evidence'][number])}]"
        return {"question": claim, "found": chosen["given"][number], "right": chosen["label"][number]}

    return [to_read(variant, protocol, right.tolist(), row)]
